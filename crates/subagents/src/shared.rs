//! The state that the scope shares with the tasks that follow its subagents, behind one short lock.
//!
//! Bounded by the most subagents of a Thread. Memory has the answers of the last [`REMEMBERED`] subagents that ended.

use std::collections::VecDeque;
use std::sync::Arc;

use bobbin_agent_api::sub_agent::SubAgentStatus;
use bobbin_core::Frame;
use bobbin_model::{ThreadId, ThreadState, Turn};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio_util::sync::CancellationToken;

use crate::sub_agent::{SubAgent, Used};

/// Most ended subagents whose answers stay in memory, each up to 32 KiB (a guess: more than one call asks about).
const REMEMBERED: usize = 64;

/// The state that the scope shares with the tasks that follow its subagents.
pub(crate) struct Shared {
    /// Cancelled when the scope is over.
    pub(crate) over: CancellationToken,
    pub(crate) all: Mutex<All>,
    pub(crate) changed: watch::Sender<u64>,
}

#[derive(Default)]
pub(crate) struct All {
    pub(crate) list: Vec<SubAgent>,
    /// Places of subagents that are being started.
    pub(crate) starting: usize,
    /// Ended subagents whose answers are in memory, oldest first.
    ended: VecDeque<ThreadId>,
    /// Calls that wait for subagents which all wait for a user.
    pub(crate) waiting_for_users: usize,
}

impl Shared {
    pub(crate) fn new(over: CancellationToken) -> Self {
        Self {
            over,
            all: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn bump(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    pub(crate) fn change<T>(&self, id: &ThreadId, change: impl FnOnce(&mut SubAgent) -> T) -> Option<T> {
        let mut all = self.all.lock();
        all.list.iter_mut().find(|child| child.id == *id).map(change)
    }

    /// Applies a frame of a subagent's log. Returns the usage of the Turn that the frame ends.
    pub(crate) fn note(&self, id: &ThreadId, frame: &Frame) -> Option<Used> {
        if frame.delta().is_some() {
            return None;
        }
        let used = self.change(id, |child| child.note(frame)).flatten();
        self.bump();
        used
    }

    /// Sets the whole state of a subagent. Returns the usage of a Turn whose end was missed.
    pub(crate) fn set_state(&self, id: &ThreadId, state: &ThreadState, last: Option<&Turn>) -> Option<Used> {
        let missed = self.change(id, |child| child.set_state(state, last)).flatten();
        self.bump();
        missed
    }

    pub(crate) fn gone(&self, id: &ThreadId) {
        self.change(id, |child| child.status = SubAgentStatus::Gone);
        self.bump();
    }

    /// Stops following a subagent that does not run, if `idle` reports that its log has nothing new.
    pub(crate) fn unfollow(&self, id: &ThreadId, idle: impl FnOnce() -> bool) -> Unfollowed {
        let done = self.change(id, |child| {
            let done = match (child.runs() || !idle(), child.pending_inputs > 0) {
                (true, _) => Unfollowed::AtWork,
                (false, true) => Unfollowed::InputPending,
                (false, false) => Unfollowed::Yes,
            };
            if done == Unfollowed::Yes {
                child.unfollow();
            }
            done
        });
        let done = done.unwrap_or(Unfollowed::Yes);
        if done == Unfollowed::Yes {
            self.remember(id);
            self.bump();
        }
        done
    }

    /// Stops following a subagent, whatever it does.
    pub(crate) fn give_up(&self, id: &ThreadId) {
        self.change(id, SubAgent::unfollow);
        self.remember(id);
        self.bump();
    }

    /// Retains the answer of an ended subagent in memory. At the limit, drops the oldest answer.
    fn remember(&self, id: &ThreadId) {
        let mut all = self.all.lock();
        let All { list, ended, .. } = &mut *all;
        ended.retain(|other| other != id);
        ended.push_back(id.clone());
        if ended.len() > REMEMBERED
            && let Some(oldest) = ended.pop_front()
            && let Some(child) = list.iter_mut().find(|child| child.id == oldest)
            && !child.followed
        {
            child.forget();
        }
    }

    /// Returns the status of a subagent, if it is in memory.
    pub(crate) fn status(&self, id: &ThreadId) -> Option<SubAgentStatus> {
        let known = |child: &mut SubAgent| child.remembered.then(|| child.status.clone());
        self.change(id, known).flatten()
    }

    /// Returns a guard: the subagent stays followed until it is dropped. `None` if the subagent is not followed.
    pub(crate) fn expect_input(self: &Arc<Self>, id: &ThreadId) -> Option<PendingInput> {
        let followed = self.change(id, |child| {
            child.pending_inputs += usize::from(child.followed);
            child.followed
        });
        followed.filter(|followed| *followed).map(|_| PendingInput {
            shared: self.clone(),
            id: id.clone(),
        })
    }

    /// Returns a receiver of a count that grows with each change of a subagent.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn add(&self, id: &ThreadId, nickname: Option<&String>, place: Option<OwnedSemaphorePermit>) {
        {
            let mut all = self.all.lock();
            let known = all.list.iter().position(|child| child.id == *id);
            let index = known.unwrap_or_else(|| {
                all.list.push(SubAgent::new(id.clone(), nickname.cloned()));
                all.list.len() - 1
            });
            if let Some(child) = all.list.get_mut(index) {
                child.status = SubAgentStatus::Running;
                child.remembered = true;
                child.followed = true;
                child.place = place.or(child.place.take());
            }
        }
        self.bump();
    }

    pub(crate) fn is_followed(&self, id: &ThreadId) -> bool {
        self.change(id, |child| child.followed).unwrap_or(false)
    }

    /// Returns the joint status of the subagents that a call waits for.
    pub(crate) fn awaited(&self, ids: &[&ThreadId]) -> Awaited {
        let all = self.all.lock();
        let mut awaited = Awaited::Done;
        for child in all
            .list
            .iter()
            .filter(|child| child.followed && ids.contains(&&child.id))
        {
            if child.status != SubAgentStatus::Asking {
                return Awaited::AtWork;
            }
            awaited = Awaited::Asking;
        }
        awaited
    }

    pub(crate) fn is_quiet(&self) -> bool {
        let all = self.all.lock();
        all.starting == 0 && !all.list.iter().any(|child| child.followed)
    }
}

/// Whether a subagent is still followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfollowed {
    /// No task follows it any more.
    Yes,
    /// It has something to do.
    AtWork,
    /// An input is on its way to it. The count of changes grows once the input has arrived.
    InputPending,
}

/// A guard: the subagent stays followed until it is dropped.
pub(crate) struct PendingInput {
    shared: Arc<Shared>,
    id: ThreadId,
}

impl Drop for PendingInput {
    fn drop(&mut self) {
        self.shared.change(&self.id, |child| child.pending_inputs -= 1);
        self.shared.bump();
    }
}

/// The joint status of the subagents that a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// One of them runs.
    AtWork,
    /// All that have not ended wait for a user.
    Asking,
    /// All have ended.
    Done,
}

/// A guard that counts a call as waiting for users until it is dropped.
pub(crate) struct WaitingForUsers<'a>(&'a Shared);

impl<'a> WaitingForUsers<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        shared.all.lock().waiting_for_users += 1;
        shared.bump();
        Self(shared)
    }
}

impl Drop for WaitingForUsers<'_> {
    fn drop(&mut self) {
        self.0.all.lock().waiting_for_users -= 1;
        self.0.bump();
    }
}

/// A reserved place for a subagent that is not in the list yet.
pub(crate) struct Reserved {
    pub(crate) shared: Arc<Shared>,
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.shared.all.lock().starting -= 1;
        self.shared.bump();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Arc<Shared> {
        Arc::new(Shared::new(CancellationToken::new()))
    }

    fn finish(shared: &Shared, id: &ThreadId) {
        shared.change(id, |child| {
            child.status = SubAgentStatus::Finished("done".to_owned());
        });
    }

    #[test]
    fn a_subagent_with_an_input_on_its_way_stays_followed_with_its_place() {
        let shared = shared();
        let id = ThreadId::new("thread_a");
        assert!(shared.expect_input(&id).is_none());
        shared.add(&id, None, None);
        assert_eq!(shared.unfollow(&id, || true), Unfollowed::AtWork);
        finish(&shared, &id);
        let pending = shared.expect_input(&id);
        let mut changes = shared.changes();
        assert_eq!(shared.unfollow(&id, || true), Unfollowed::InputPending);
        assert!(shared.is_followed(&id));
        drop(pending);
        assert!(
            changes.has_changed().unwrap(),
            "the task that follows it checks again"
        );
        changes.mark_unchanged();
        assert_eq!(shared.unfollow(&id, || false), Unfollowed::AtWork);
        assert_eq!(shared.unfollow(&id, || true), Unfollowed::Yes);
        assert!(shared.expect_input(&id).is_none() && !shared.is_followed(&id));
    }

    #[test]
    fn the_answers_of_many_are_left_to_the_store() {
        let shared = shared();
        let ids: Vec<_> = (0..=REMEMBERED)
            .map(|n| ThreadId::new(format!("thread_{n}")))
            .collect();
        for id in &ids {
            shared.add(id, None, None);
            finish(&shared, id);
            assert_eq!(shared.unfollow(id, || true), Unfollowed::Yes);
        }
        assert_eq!(shared.status(&ids[0]), None);
        let last = Some(SubAgentStatus::Finished("done".to_owned()));
        assert_eq!(shared.status(&ids[1]), last);
        assert_eq!(shared.status(&ids[REMEMBERED]), last);
        // A subagent that runs again is in memory again.
        shared.add(&ids[0], None, None);
        assert_eq!(shared.status(&ids[0]), Some(SubAgentStatus::Running));
    }
}
