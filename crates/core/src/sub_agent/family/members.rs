//! The subagents of one run of a Turn as the family and those who follow them both see them: one short lock.
//!
//! Bounded by what a Thread may ever have of them.

use bobbin_model::{ThreadId, ThreadState, Turn, TurnId};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::Frame;
use crate::engine::EngineWish;
use crate::sub_agent::Standing;
use crate::sub_agent::member::{Member, Used};

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

    pub(in crate::sub_agent) fn stands(&self, id: &ThreadId, state: &ThreadState, last: Option<&Turn>) {
        self.change(id, |member| member.stands(state, last));
        self.bump();
    }

    pub(in crate::sub_agent) fn gone(&self, id: &ThreadId) {
        self.change(id, |member| member.standing = Standing::Gone);
        self.bump();
    }

    /// Ceases to follow a member that is not at work, if `idle` says that it has nothing new. Returns whether that is
    /// so.
    pub(in crate::sub_agent) fn let_go(&self, id: &ThreadId, idle: impl FnOnce() -> bool) -> bool {
        let done = self.change(id, |member| {
            let done = !member.runs() && idle();
            if done {
                member.let_go();
            }
            done
        });
        if done != Some(false) {
            self.bump();
        }
        done.unwrap_or(true)
    }

    /// Ceases to follow a member, whatever it does.
    pub(in crate::sub_agent) fn give_up(&self, id: &ThreadId) {
        self.change(id, Member::let_go);
        self.bump();
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
