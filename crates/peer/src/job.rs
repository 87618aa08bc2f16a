//! One incoming request or notification on its way to its handler.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::handlers::{CallEntry, NotificationEntry};
use crate::lanes::Track;
use crate::ticket::Ticket;

/// Key of a job in the running table; rises in arrival order.
pub(crate) type Slot = u64;

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) ticket: Arc<Ticket>,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) target: Target,
}

/// Jobs to start, oldest first. Usually there is one, which needs no allocation.
#[derive(Debug, Default)]
pub(crate) enum Starts {
    #[default]
    None,
    One(Job),
    Many(VecDeque<Job>),
}

impl Starts {
    pub(crate) fn push(&mut self, job: Job) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(job),
            Self::One(first) => Self::Many(VecDeque::from([first, job])),
            Self::Many(mut all) => {
                all.push_back(job);
                Self::Many(all)
            }
        };
    }

    pub(crate) fn pop(&mut self) -> Option<Job> {
        match self {
            Self::Many(all) => all.pop_front(),
            Self::None => None,
            Self::One(_) => match std::mem::take(self) {
                Self::One(job) => Some(job),
                Self::None | Self::Many(_) => None,
            },
        }
    }

    /// Moves everything in `more` to the end.
    pub(crate) fn append(&mut self, more: &mut Self) {
        while let Some(job) = more.pop() {
            self.push(job);
        }
    }

    /// Removes the only job, if there is one and it is `wanted`.
    pub(crate) fn only(&mut self, wanted: impl Fn(&Job) -> bool) -> Option<Job> {
        match self {
            Self::One(job) if wanted(job) => self.pop(),
            // Several jobs, or the rest of several.
            Self::None | Self::One(_) | Self::Many(_) => None,
        }
    }
}

/// The handler of a job.
#[derive(Debug)]
pub(crate) enum Target {
    Call(Arc<CallEntry>),
    Notification(Arc<NotificationEntry>),
}

impl Job {
    pub(crate) fn slot(&self) -> Slot {
        self.ticket.slot
    }

    pub(crate) fn track(&self) -> Track {
        match &self.target {
            Target::Call(entry) => entry.track,
            Target::Notification(entry) => entry.track,
        }
    }

    /// Whether its starter polls its future first, without a task of its own.
    pub(crate) fn is_inline(&self) -> bool {
        match &self.target {
            Target::Call(entry) => entry.inline,
            Target::Notification(entry) => entry.inline,
        }
    }

    /// Whether no work waits for the end of its future. Such a job is recorded only if its first poll does not
    /// finish it.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(&self.target, Target::Call(entry)
            if entry.inline && entry.track == Track::Concurrent && !entry.drops_on_cancel)
    }

    /// Whether a cancel drops its future, rather than only setting the token.
    pub(crate) fn drops_on_cancel(&self) -> bool {
        match &self.target {
            Target::Call(entry) => entry.inline || entry.drops_on_cancel,
            Target::Notification(entry) => entry.inline || entry.drops_on_cancel,
        }
    }

    pub(crate) fn is_droppable(&self) -> bool {
        matches!(&self.target, Target::Notification(entry) if entry.droppable)
    }

    pub(crate) fn params_len(&self) -> usize {
        self.params.as_ref().map_or(0, |params| params.get().len())
    }
}
