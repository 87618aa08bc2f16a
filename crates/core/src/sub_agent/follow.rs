//! Following one subagent: its log is read as a client's cursor would read it, until it has nothing more to do.
//!
//! One task a subagent at work, owned by the hub, which joins it. It ends with the subagent's Turn, and has that Turn
//! stopped when the family is over. It holds a cursor and what [`super::member`] knows.

use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{Event, Seq, ThreadId, TurnId};
use tokio::sync::oneshot;

use super::begun_above;
use super::family::{LetGo, Shared};
use super::member::Used;
use crate::engine::EngineWish;
use crate::{Command, CoreError, Ended, Frame, FrameBody, Hub, Read, ThreadHandle, Waker};

/// Bytes of frames read at once.
const READ_BYTES: usize = 64 << 10;
/// Pause before a Thread that could not be had is asked for again.
const AGAIN: Duration = Duration::from_millis(250);

/// Follows a subagent, from a number on or (`None`) from how it stands.
pub(super) async fn follow(hub: Arc<Hub>, shared: Arc<Shared>, id: ThreadId, from: Option<Seq>) {
    let mut follower = Follower {
        hub,
        shared,
        id,
        next: from,
        stopped: false,
    };
    loop {
        match follower.once().await {
            Then::Again => {
                // What its owner was told may be lost with that.
                follower.stopped = false;
                tokio::select! {
                    () = follower.hub.stopping.cancelled() => break,
                    () = tokio::time::sleep(AGAIN) => {}
                }
            }
            Then::LetGo => return,
            Then::Lost => break,
        }
    }
    follower.shared.give_up(&follower.id);
}

#[derive(PartialEq, Eq)]
enum Then {
    /// Its owner failed; there will be another.
    Again,
    /// It has nothing more to do, and may be followed by another by now.
    LetGo,
    /// It is gone, or the server ends.
    Lost,
}

/// Who began the Turn that is open.
enum Began {
    /// The agent above: it is stopped too.
    Above,
    /// A person: it goes on by itself.
    Person,
    /// None is open.
    Over,
}

struct Follower {
    hub: Arc<Hub>,
    shared: Arc<Shared>,
    id: ThreadId,
    next: Option<Seq>,
    /// Its Turn was told to stop.
    stopped: bool,
}

impl Follower {
    async fn once(&mut self) -> Then {
        let handle = match self.hub.thread(&self.id).await {
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
            let mut held = false;
            let Some(next) = self.next else {
                if self.look(handle).await.is_err() {
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
                    let begun = entries.iter().any(|frame| begins(frame));
                    for frame in entries {
                        if let Some(used) = self.shared.note(&self.id, &frame) {
                            self.tell(used).await;
                        }
                    }
                    self.next = Some(next);
                    if begun && self.shared.over.is_cancelled() {
                        match self.began(handle).await {
                            Ok(Began::Above) => self.stopped = false,
                            Ok(Began::Person) => return Then::Lost,
                            Ok(Began::Over) => {}
                            Err(_) => return Then::Again,
                        }
                    }
                    if more {
                        continue;
                    }
                    // Looked at with the lock held: whoever gives it more to do meanwhile finds it let go, or sees
                    // that it is followed.
                    changes.mark_unchanged();
                    match self.shared.let_go(&self.id, || handle.log().visible() < next) {
                        LetGo::Done => return Then::LetGo,
                        LetGo::Held => held = true,
                        LetGo::AtWork => {}
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
                _ = changes.changed(), if held => {}
                () = self.shared.over.cancelled(), if !self.stopped => {
                    // It is told by its log that it has stopped. What is not on record has not been said.
                    self.stopped = answer(handle, |reply| Command::LetGo { reply }).await.is_ok();
                    if !self.stopped && handle.ended().is_none() {
                        return Then::Again;
                    }
                    // What a person has begun since goes on by itself.
                    if let Ok(Began::Person) = self.began(handle).await {
                        return Then::Lost;
                    }
                }
                () = self.hub.stopping.cancelled() => return Then::Lost,
            }
        }
    }

    /// Says whose the Turn is that has begun in it when nothing was to begin any more.
    async fn began(&self, handle: &ThreadHandle) -> Result<Began, CoreError> {
        let state = self.hub.snapshot(handle).await?.state;
        Ok(match begun_above(&state) {
            Some(_) => Began::Above,
            None if state.live.is_some() => Began::Person,
            None => Began::Over,
        })
    }

    /// Sees how it stands as a whole.
    async fn look(&mut self, handle: &ThreadHandle) -> Result<(), CoreError> {
        let snapshot = self.hub.snapshot(handle).await?;
        let last = match &snapshot.state.live {
            Some(_) => None,
            None => self.hub.turns_before(&self.id, TurnId(u32::MAX), 1).await?.pop(),
        };
        if let Some(missed) = self.shared.stands(&self.id, &snapshot.state, last.as_ref()) {
            self.tell(missed).await;
        }
        self.next = Some(snapshot.at.next());
        Ok(())
    }

    /// Has what it used counted above.
    async fn tell(&self, used: Used) {
        let wish = EngineWish::BelowUsed {
            child: self.id.clone(),
            usage: used.usage,
            cost_micros: used.cost_micros,
        };
        // The Turn above takes nothing more: then nobody counts.
        drop(self.shared.wishes.send((self.shared.turn, wish)).await);
    }
}

fn begins(frame: &Frame) -> bool {
    matches!(&frame.body, FrameBody::Recorded(event) if matches!(**event, Event::TurnStarted { .. }))
}

/// Sends a command and waits for its answer.
pub(super) async fn answer<T: Send + 'static>(
    handle: &ThreadHandle,
    command: impl FnOnce(crate::Reply<T>) -> Command,
) -> Result<T, CoreError> {
    let (done, answered) = oneshot::channel();
    // Nobody waits any more: nothing to tell.
    let reply = Box::new(move |result| drop(done.send(result)));
    handle.send(command(reply)).await;
    answered.await.unwrap_or(Err(CoreError::Stopping))
}

/// Returns once a number of a log is shown.
pub(super) async fn shown(handle: &ThreadHandle, seq: Seq) {
    let waker = Waker::default();
    handle.log().watch(&waker);
    while handle.log().visible() < seq && handle.ended().is_none() {
        waker.woken().await;
    }
    handle.log().unwatch(&waker);
}
