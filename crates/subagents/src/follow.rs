//! Following one subagent: reads its log as a client would, until the subagent has nothing more to do.
//!
//! Each running subagent has one task, which `Threads` owns and joins. The task ends with the subagent's Turn, and stops
//! that Turn when the scope is over. It owns a cursor, and records changes in [`Shared`].

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::engine::TurnContext;
use bobbin_core::{Command, CoreError, Ended, Frame, FrameBody, Read, ThreadHandle, Waker};
use bobbin_model::sub_agent::started_by_parent;
use bobbin_model::{Event, Seq, ThreadId, TurnId};

use crate::shared::{Shared, Unfollowed};
use crate::sub_agent::Used;

/// Bytes of frames read at once.
const READ_BYTES: usize = 64 << 10;
/// Pause before a Thread that could not be loaded is tried again.
const RETRY: Duration = Duration::from_millis(250);

/// Follows a subagent, from an event number or (`None`) from its present state.
pub(crate) async fn follow(turn: TurnContext, shared: Arc<Shared>, id: ThreadId, from: Option<Seq>) {
    let mut follower = Follower {
        turn,
        shared,
        id,
        next: from,
        stopped: false,
    };
    loop {
        match follower.once().await {
            Then::Again => {
                // The command to stop may be lost with its owner.
                follower.stopped = false;
                tokio::select! {
                    () = follower.turn.threads().stopping().cancelled() => break,
                    () = tokio::time::sleep(RETRY) => {}
                }
            }
            Then::Unfollowed => return,
            Then::Lost => break,
        }
    }
    follower.shared.give_up(&follower.id);
}

#[derive(PartialEq, Eq)]
enum Then {
    /// Its owner failed; a new owner will load it.
    Again,
    /// It has nothing more to do, and another task may follow it by now.
    Unfollowed,
    /// It was deleted, or the server ends.
    Lost,
}

/// The starter of the open Turn.
enum Starter {
    /// The parent's agent: the Turn is stopped too.
    Parent,
    /// A user: the Turn goes on by itself.
    User,
    /// No Turn is open.
    Nobody,
}

struct Follower {
    turn: TurnContext,
    shared: Arc<Shared>,
    id: ThreadId,
    next: Option<Seq>,
    /// The command to stop its Turn was sent.
    stopped: bool,
}

impl Follower {
    async fn once(&mut self) -> Then {
        let handle = match self.turn.threads().thread(&self.id).await {
            Ok(handle) => handle,
            Err(CoreError::Refused(_)) => {
                self.shared.gone(&self.id);
                return Then::Lost;
            }
            Err(CoreError::Stopping) => return Then::Lost,
            Err(CoreError::Store(_) | CoreError::StoppedNotStored(_) | CoreError::Busy) => {
                return Then::Again;
            }
        };
        let waker = Waker::default();
        handle.log().watch(&waker);
        let then = self.read(&handle, &waker).await;
        handle.log().unwatch(&waker);
        then
    }

    async fn read(&mut self, handle: &Arc<ThreadHandle>, waker: &Waker) -> Then {
        let mut changes = self.shared.changes();
        loop {
            let mut input_pending = false;
            let Some(next) = self.next else {
                if self.read_state(handle).await.is_err() {
                    return Then::Again;
                }
                continue;
            };
            match handle.log().read(next, READ_BYTES) {
                Read::Gone { .. } => {
                    self.next = None;
                    continue;
                }
                Read::Entries { entries, next } => {
                    let more = !entries.is_empty();
                    let started = entries.iter().any(|frame| starts_turn(frame));
                    for frame in entries {
                        if let Some(used) = self.shared.note(&self.id, &frame) {
                            self.count(used).await;
                        }
                    }
                    self.next = Some(next);
                    if started && self.shared.over.is_cancelled() {
                        match self.starter(handle).await {
                            Ok(Starter::Parent) => self.stopped = false,
                            Ok(Starter::User) => return Then::Lost,
                            Ok(Starter::Nobody) => {}
                            Err(_) => return Then::Again,
                        }
                    }
                    if more {
                        continue;
                    }
                    // The check runs under the lock, so a call that sends an input meanwhile knows whether it is
                    // followed.
                    changes.mark_unchanged();
                    match self.shared.unfollow(&self.id, || handle.log().visible() < next) {
                        Unfollowed::Yes => return Then::Unfollowed,
                        Unfollowed::InputPending => input_pending = true,
                        Unfollowed::AtWork => {}
                    }
                }
            }
            match handle.ended() {
                Some(Ended::Deleted) => {
                    self.shared.gone(&self.id);
                    return Then::Lost;
                }
                Some(Ended::Stopped) => return Then::Lost,
                Some(Ended::Failed) => {
                    self.next = None;
                    return Then::Again;
                }
                None => {}
            }
            tokio::select! {
                () = waker.woken() => {}
                _ = changes.changed(), if input_pending => {}
                () = self.shared.over.cancelled(), if !self.stopped => {
                    // Its log shows when it has stopped. A command that was not recorded is sent again.
                    self.stopped = handle.ask(|reply| Command::ParentEnded { reply }).await.is_ok();
                    if !self.stopped && handle.ended().is_none() {
                        return Then::Again;
                    }
                    // A Turn that a user has started since goes on by itself.
                    if let Ok(Starter::User) = self.starter(handle).await {
                        return Then::Lost;
                    }
                }
                () = self.turn.threads().stopping().cancelled() => return Then::Lost,
            }
        }
    }

    /// Returns who started the open Turn of the subagent.
    async fn starter(&self, handle: &ThreadHandle) -> Result<Starter, CoreError> {
        let state = self.turn.threads().snapshot(handle).await?.state;
        Ok(match started_by_parent(&state) {
            Some(_) => Starter::Parent,
            None if state.live.is_some() => Starter::User,
            None => Starter::Nobody,
        })
    }

    /// Reads its whole state, because its frames are gone.
    async fn read_state(&mut self, handle: &ThreadHandle) -> Result<(), CoreError> {
        let snapshot = self.turn.threads().snapshot(handle).await?;
        let last = match &snapshot.state.live {
            Some(_) => None,
            None => self
                .turn
                .threads()
                .turns_before(&self.id, TurnId(u32::MAX), 1)
                .await?
                .pop(),
        };
        if let Some(missed) = self.shared.set_state(&self.id, &snapshot.state, last.as_ref()) {
            self.count(missed).await;
        }
        self.next = Some(snapshot.at.next());
        Ok(())
    }

    /// Adds its usage to the parent's Turn.
    async fn count(&self, used: Used) {
        let counted = self
            .turn
            .sub_agent_used(self.id.clone(), used.usage, used.cost_micros);
        // A Turn that is over takes no more usage.
        let _ = counted.await;
    }
}

fn starts_turn(frame: &Frame) -> bool {
    matches!(&frame.body, FrameBody::Recorded(event) if matches!(**event, Event::TurnStarted { .. }))
}

/// Returns once the event with this number is visible in the log, or the owner has ended.
pub(crate) async fn shown(handle: &ThreadHandle, seq: Seq) {
    let waker = Waker::default();
    handle.log().watch(&waker);
    while handle.log().visible() < seq && handle.ended().is_none() {
        waker.woken().await;
    }
    handle.log().unwatch(&waker);
}
