//! Outgoing calls that wait for an answer, and the ids of recently abandoned ones. Plain data.
//!
//! Bounded by the callers, who each hold one future and take their result from here; a limit bounds the table of
//! late answers. Rules: peer spec 10.2 and 10.3.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::task::{Poll, Waker};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::error::CallError;
use crate::recent::Recent;

pub(crate) type CallResult = Result<Box<RawValue>, CallError>;

/// A call on its way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) method: Box<str>,
    /// The task that waits for the answer.
    pub(crate) caller: Option<Waker>,
    pub(crate) timeout: Option<Timeout>,
}

/// When a call times out, and the original time limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeout {
    pub(crate) deadline: Instant,
    pub(crate) after: Duration,
}

impl Timeout {
    /// Returns a deadline this far away, at most as far as a clock can represent.
    pub(crate) fn new(now: Instant, after: Duration) -> Self {
        // Thirty years of 365 days: further than any connection lives, well within any clock.
        const FAR: Duration = Duration::from_hours(262_800);
        Self {
            deadline: now + after.min(FAR),
            after,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Calls {
    last_id: u64,
    pending: Recent<u64, Pending>,
    /// Results of calls whose callers have not polled since.
    ended: Recent<u64, CallResult>,
    deadlines: BTreeSet<(Instant, u64)>,
    grace: Grace,
}

/// Ids whose late answer is expected, oldest first.
#[derive(Debug)]
struct Grace {
    order: VecDeque<(Instant, u64)>,
    /// The methods of these calls.
    methods: HashMap<u64, Box<str>>,
    window: Duration,
    cap: usize,
}

impl Calls {
    pub(crate) fn new(window: Duration, cap: usize) -> Self {
        Self {
            last_id: 0,
            pending: Recent::new(),
            ended: Recent::new(),
            deadlines: BTreeSet::new(),
            grace: Grace {
                order: VecDeque::new(),
                methods: HashMap::new(),
                window,
                cap,
            },
        }
    }

    /// The id of the next call: 1, 2, 3, …
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn insert(&mut self, id: u64, pending: Pending) {
        if let Some(timeout) = pending.timeout {
            self.deadlines.insert((timeout.deadline, id));
        }
        self.pending.insert(id, pending);
    }

    /// Removes a call, for any reason.
    pub(crate) fn remove(&mut self, id: u64) -> Option<Pending> {
        let pending = self.pending.remove(&id)?;
        if let Some(timeout) = pending.timeout {
            self.deadlines.remove(&(timeout.deadline, id));
        }
        Some(pending)
    }

    /// Stores the result of a removed call for its caller, who is to be woken.
    pub(crate) fn store_result(&mut self, id: u64, outcome: CallResult) {
        self.ended.insert(id, outcome);
    }

    /// Returns the result of a call, or registers `waker` until there is one. Also returns the waker registered
    /// before, which must be dropped after the state is unlocked.
    pub(crate) fn poll(&mut self, id: u64, waker: &Waker) -> (Poll<CallResult>, Option<Waker>) {
        if let Some(outcome) = self.ended.remove(&id) {
            return (Poll::Ready(outcome), None);
        }
        let Some(pending) = self.pending.get_mut(&id) else {
            return (Poll::Ready(Err(CallError::ShutDown)), None);
        };
        let known = pending
            .caller
            .as_ref()
            .is_some_and(|known| known.will_wake(waker));
        let former = if known {
            None
        } else {
            pending.caller.replace(waker.clone())
        };
        (Poll::Pending, former)
    }

    /// Removes a call that its caller abandons. Returns whether it was still open, and its registered waker.
    pub(crate) fn give_up(&mut self, id: u64, now: Instant) -> (bool, Option<Waker>) {
        self.ended.remove(&id);
        let Some(pending) = self.remove(id) else {
            return (false, None);
        };
        self.forgive(id, pending.method, now);
        (true, pending.caller)
    }

    /// Returns the method of the call with this id, even after it was abandoned.
    pub(crate) fn method(&self, id: u64) -> Option<&str> {
        let pending = self.pending.get(&id).map(|pending| &pending.method);
        pending.or_else(|| self.grace.methods.get(&id)).map(AsRef::as_ref)
    }

    /// Returns the earliest deadline.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(deadline, _)| deadline)
    }

    /// Removes one call whose deadline has passed; late answers to its id are expected for a while.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<(u64, Pending)> {
        let &(deadline, id) = self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        let pending = self.remove(id)?;
        self.forgive(id, pending.method.clone(), now);
        Some((id, pending))
    }

    /// Remembers an id whose answer may still come.
    pub(crate) fn forgive(&mut self, id: u64, method: Box<str>, now: Instant) {
        self.prune(now);
        if self.grace.order.len() >= self.grace.cap
            && let Some((_, oldest)) = self.grace.order.pop_front()
        {
            self.grace.methods.remove(&oldest);
        }
        self.grace.order.push_back((now, id));
        self.grace.methods.insert(id, method);
    }

    /// Whether an answer to this id is merely late. True once for each id.
    pub(crate) fn take_late(&mut self, id: u64, now: Instant) -> bool {
        self.prune(now);
        if self.grace.methods.remove(&id).is_none() {
            return false;
        }
        self.grace.order.retain(|&(_, entry)| entry != id);
        true
    }

    fn prune(&mut self, now: Instant) {
        while let Some(&(since, id)) = self.grace.order.front()
            && now.duration_since(since) >= self.grace.window
        {
            self.grace.order.pop_front();
            self.grace.methods.remove(&id);
        }
    }

    /// Removes every call, oldest first.
    pub(crate) fn drain(&mut self) -> Vec<(u64, Pending)> {
        self.deadlines.clear();
        let mut all: Vec<_> = self.pending.drain().collect();
        all.sort_unstable_by_key(|&(id, _)| id);
        all
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn has_deadline(&self) -> bool {
        !self.deadlines.is_empty()
    }

    pub(crate) fn grace_len(&mut self, now: Instant) -> usize {
        self.prune(now);
        self.grace.order.len()
    }
}
