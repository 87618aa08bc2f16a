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

/// Jobs to start, oldest first. Most often there is one, which takes no room of its own.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    first: Option<Job>,
    rest: VecDeque<Job>,
}

impl Starts {
    pub(crate) fn push(&mut self, job: Job) {
        if self.first.is_none() && self.rest.is_empty() {
            self.first = Some(job);
        } else {
            self.rest.push_back(job);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Job> {
        self.first.take().or_else(|| self.rest.pop_front())
    }

    /// Moves everything in `more` behind what is here.
    pub(crate) fn append(&mut self, more: &mut Self) {
        while let Some(job) = more.pop() {
            self.push(job);
        }
    }

    /// Takes the one job there is, if it is the only one and `wanted`.
    pub(crate) fn only(&mut self, wanted: impl Fn(&Job) -> bool) -> Option<Job> {
        match (&self.first, self.rest.len()) {
            (Some(job), 0) if wanted(job) => self.first.take(),
            (None, 1) if self.rest.front().is_some_and(wanted) => self.rest.pop_front(),
            (Some(_) | None, _) => None,
        }
    }
}

/// What will handle it.
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

    /// Whether its future is first polled by whoever starts it, without a task of its own.
    pub(crate) fn is_inline(&self) -> bool {
        match &self.target {
            Target::Call(entry) => entry.inline,
            Target::Notification(entry) => entry.inline,
        }
    }

    /// Whether a cancel drops its future, as against only telling it.
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
