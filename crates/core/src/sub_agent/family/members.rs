//! The subagents of one run of a Turn as the family and those who follow them both see them: one short lock.
//!
//! Bounded by what a Thread may ever have of them; what they said is kept of the last [`REMEMBERED`] that have ended.

use std::collections::VecDeque;
use std::sync::Arc;

use bobbin_agent_api::sub_agent::Standing;
use bobbin_model::{ThreadId, ThreadState, Turn, TurnId};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::Frame;
use crate::engine::EngineWish;
use crate::sub_agent::member::{Member, Used};

/// Members that have ended of which it is remembered what they said (a guess: more than one call asks about; each up to
/// 32 KiB).
const REMEMBERED: usize = 64;

/// What the family and those who follow its members both see.
pub(in crate::sub_agent) struct Shared {
    pub(in crate::sub_agent) turn: TurnId,
    /// Nothing goes on any more.
    pub(in crate::sub_agent) over: CancellationToken,
    pub(in crate::sub_agent) wishes: mpsc::Sender<(TurnId, EngineWish)>,
    pub(super) members: Mutex<Members>,
    pub(super) changed: watch::Sender<u64>,
}

#[derive(Default)]
pub(super) struct Members {
    pub(super) list: Vec<Member>,
    /// Places taken by those that are just being started.
    pub(super) starting: usize,
    /// Those that have ended and are remembered, oldest first.
    ended: VecDeque<ThreadId>,
    /// Calls that wait for members which all ask people something.
    pub(super) held_up: usize,
}

impl Shared {
    pub(super) fn bump(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    pub(super) fn change<T>(&self, id: &ThreadId, change: impl FnOnce(&mut Member) -> T) -> Option<T> {
        let mut members = self.members.lock();
        members
            .list
            .iter_mut()
            .find(|member| member.id == *id)
            .map(change)
    }

    /// Takes note of a frame of a member's log.
    pub(in crate::sub_agent) fn note(&self, id: &ThreadId, frame: &Frame) -> Option<Used> {
        if frame.delta().is_some() {
            return None;
        }
        let used = self.change(id, |member| member.note(frame)).flatten();
        self.bump();
        used
    }

    /// Takes note of how a member stands as a whole.
    pub(in crate::sub_agent) fn stands(
        &self,
        id: &ThreadId,
        state: &ThreadState,
        last: Option<&Turn>,
    ) -> Option<Used> {
        let missed = self.change(id, |member| member.stands(state, last)).flatten();
        self.bump();
        missed
    }

    pub(in crate::sub_agent) fn gone(&self, id: &ThreadId) {
        self.change(id, |member| member.standing = Standing::Gone);
        self.bump();
    }

    /// Ceases to follow a member that is not at work, if `idle` says that it has nothing new.
    pub(in crate::sub_agent) fn let_go(&self, id: &ThreadId, idle: impl FnOnce() -> bool) -> LetGo {
        let done = self.change(id, |member| {
            let done = match (member.runs() || !idle(), member.held > 0) {
                (true, _) => LetGo::AtWork,
                (false, true) => LetGo::Held,
                (false, false) => LetGo::Done,
            };
            if done == LetGo::Done {
                member.let_go();
            }
            done
        });
        let done = done.unwrap_or(LetGo::Done);
        if done == LetGo::Done {
            self.remember(id);
            self.bump();
        }
        done
    }

    /// Ceases to follow a member, whatever it does.
    pub(in crate::sub_agent) fn give_up(&self, id: &ThreadId) {
        self.change(id, Member::let_go);
        self.remember(id);
        self.bump();
    }

    /// Keeps what a member said that has ended, and forgets that of the one that ended longest ago.
    fn remember(&self, id: &ThreadId) {
        let mut members = self.members.lock();
        let Members { list, ended, .. } = &mut *members;
        ended.retain(|other| other != id);
        ended.push_back(id.clone());
        if ended.len() > REMEMBERED
            && let Some(oldest) = ended.pop_front()
            && let Some(member) = list.iter_mut().find(|member| member.id == oldest)
            && !member.followed
        {
            member.forget();
        }
    }

    /// Returns how a member stands, as far as that is remembered.
    pub(super) fn standing(&self, id: &ThreadId) -> Option<Standing> {
        let known = |member: &mut Member| member.remembered.then(|| member.standing.clone());
        self.change(id, known).flatten()
    }

    /// Keeps a member followed that is, until it has been given something.
    pub(super) fn hold(self: &Arc<Self>, id: &ThreadId) -> Option<Held> {
        let held = self.change(id, |member| {
            member.held += usize::from(member.followed);
            member.followed
        });
        held.filter(|held| *held).map(|_| Held {
            shared: self.clone(),
            id: id.clone(),
        })
    }

    /// Returns a count that changes with the members.
    pub(in crate::sub_agent) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn add(&self, id: &ThreadId, nickname: Option<&String>, place: Option<OwnedSemaphorePermit>) {
        {
            let mut members = self.members.lock();
            let known = members.list.iter().position(|member| member.id == *id);
            let index = known.unwrap_or_else(|| {
                members.list.push(Member::new(id.clone(), nickname.cloned()));
                members.list.len() - 1
            });
            if let Some(member) = members.list.get_mut(index) {
                member.standing = Standing::Running;
                member.remembered = true;
                member.followed = true;
                member.place = place.or(member.place.take());
            }
        }
        self.bump();
    }

    pub(super) fn is_followed(&self, id: &ThreadId) -> bool {
        self.change(id, |member| member.followed).unwrap_or(false)
    }

    /// Returns what is to be said of those that are waited for.
    pub(super) fn awaited(&self, ids: &[&ThreadId]) -> Awaited {
        let members = self.members.lock();
        let mut awaited = Awaited::Done;
        for member in members
            .list
            .iter()
            .filter(|member| member.followed && ids.contains(&&member.id))
        {
            if member.standing != Standing::Asking {
                return Awaited::AtWork;
            }
            awaited = Awaited::Asking;
        }
        awaited
    }

    pub(super) fn is_quiet(&self) -> bool {
        let members = self.members.lock();
        members.starting == 0 && !members.list.iter().any(|member| member.followed)
    }
}

/// What came of ceasing to follow a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sub_agent) enum LetGo {
    /// It is followed no more.
    Done,
    /// It has something to do.
    AtWork,
    /// It is just being given something; the count of changes tells when that is over.
    Held,
}

/// A member that stays followed while this lives.
pub(super) struct Held {
    shared: Arc<Shared>,
    id: ThreadId,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shared.change(&self.id, |member| member.held -= 1);
        self.shared.bump();
    }
}

/// How members that are waited for stand together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// One of them is at work.
    AtWork,
    /// All that have not ended ask people something.
    Asking,
    /// All have ended.
    Done,
}

/// A call that waits for people and not for work, while it lives.
pub(super) struct HeldUp<'a>(&'a Shared);

impl<'a> HeldUp<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        shared.members.lock().held_up += 1;
        shared.bump();
        Self(shared)
    }
}

impl Drop for HeldUp<'_> {
    fn drop(&mut self) {
        self.0.members.lock().held_up -= 1;
        self.0.bump();
    }
}

/// A place among those at work, until its holder is a member.
pub(super) struct Reserved {
    pub(super) shared: Arc<Shared>,
    pub(super) place: Option<OwnedSemaphorePermit>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.shared.members.lock().starting -= 1;
        self.shared.bump();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Arc<Shared> {
        Arc::new(Shared {
            turn: TurnId(1),
            over: CancellationToken::new(),
            wishes: mpsc::channel(1).0,
            members: Mutex::default(),
            changed: watch::Sender::new(0),
        })
    }

    fn finish(shared: &Shared, id: &ThreadId) {
        shared.change(id, |member| {
            member.standing = Standing::Finished("done".to_owned());
        });
    }

    #[test]
    fn one_that_is_being_given_something_stays_followed_with_its_place() {
        let shared = shared();
        let id = ThreadId::new("thread_a");
        assert!(shared.hold(&id).is_none());
        shared.add(&id, None, None);
        assert_eq!(shared.let_go(&id, || true), LetGo::AtWork);
        finish(&shared, &id);
        let held = shared.hold(&id);
        let mut changes = shared.changes();
        assert_eq!(shared.let_go(&id, || true), LetGo::Held);
        assert!(shared.is_followed(&id));
        drop(held);
        assert!(changes.has_changed().unwrap(), "whoever follows it looks again");
        changes.mark_unchanged();
        assert_eq!(shared.let_go(&id, || false), LetGo::AtWork);
        assert_eq!(shared.let_go(&id, || true), LetGo::Done);
        assert!(shared.hold(&id).is_none() && !shared.is_followed(&id));
    }

    #[test]
    fn what_many_have_said_is_left_to_the_store() {
        let shared = shared();
        let ids: Vec<_> = (0..=REMEMBERED)
            .map(|n| ThreadId::new(format!("thread_{n}")))
            .collect();
        for id in &ids {
            shared.add(id, None, None);
            finish(&shared, id);
            assert_eq!(shared.let_go(id, || true), LetGo::Done);
        }
        assert_eq!(shared.standing(&ids[0]), None);
        let last = Some(Standing::Finished("done".to_owned()));
        assert_eq!(shared.standing(&ids[1]), last);
        assert_eq!(shared.standing(&ids[REMEMBERED]), last);
        // One that is at work again is known again.
        shared.add(&ids[0], None, None);
        assert_eq!(shared.standing(&ids[0]), Some(Standing::Running));
    }
}
