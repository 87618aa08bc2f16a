//! The subscriptions of one Session: plain data and the rules for taking the next batch.
//!
//! A Session reads each subscribed Thread through one cursor, and the workspace's log through another. A broadcast
//! frame is in both logs. It is taken from the Thread's log if a cursor covers it, so each event reaches a connection
//! at most once and in the Thread's order.

use std::collections::HashMap;
use std::sync::Arc;

use bobbin_core::{Ended, Frame, Log, Read, ThreadHandle, Threads, Waker};
use bobbin_model::{ItemId, Seq, ThreadId, TurnId, UnixMillis};
use tokio::time::Instant;

use crate::Dialect;
use crate::subscription::{Approver, Subscription};

/// The first frame of a new cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The next frame.
    Now,
    /// An old frame at this Seq. Broadcasts from before now are left out: they were sent when they happened.
    Replay(Seq),
    /// The frame at this Seq.
    At(Seq),
    /// The frame at this Seq, whose first messages the client already has. The client has seen nothing later, and is
    /// sent `Synced` when it has caught up.
    After(Seq, u8),
}

/// The moment when a cursor ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Never: the client subscribed.
    Unsubscribed,
    /// At the end of this Turn, which the client started, and of the queued Turns that follow directly.
    TurnEnds(TurnId),
    /// At the end of this Turn, which another client started. Its Approvals are not asked here.
    OthersTurnEnds(TurnId),
    /// After this Seq.
    Seq(Seq),
}

/// A Thread to subscribe to, from where and for how long.
#[derive(Debug)]
pub struct SubscribeOptions {
    /// The Thread.
    pub handle: Arc<ThreadHandle>,
    /// First frame.
    pub start: Start,
    /// End.
    pub lifetime: Lifetime,
}

/// Frames that a removed cursor covered. Remembered until the workspace's log has passed them, so that they are not
/// sent twice.
struct Covered {
    thread: ThreadId,
    from: Seq,
    next: Seq,
    until_everyone: Seq,
}

/// All cursors of one Session.
pub(crate) struct Subscriptions {
    everyone: Option<Seq>,
    threads: HashMap<ThreadId, Subscription>,
    covered: Vec<Covered>,
    asked: Answerable,
    waker: Waker,
    /// The end of each pause.
    held: Vec<Instant>,
}

/// The kinds of questions that a client answers in the Threads it follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answerable {
    /// It answers Approvals.
    pub(crate) approves: bool,
    /// It answers questions of a model.
    pub(crate) inquiries: bool,
}

impl Answerable {
    /// Counts the client at a Thread.
    pub(crate) fn add_to(self, thread: &ThreadHandle) {
        if self.approves {
            thread.add_approver();
        }
        if self.inquiries {
            thread.add_asked();
        }
    }

    /// Reverts [`Self::add_to`].
    pub(crate) fn remove_from(self, thread: &ThreadHandle) {
        if self.approves {
            thread.remove_approver();
        }
        if self.inquiries {
            thread.remove_asked();
        }
    }
}

/// A batch is cut into at most so many parts when many Threads have frames.
const SHARES: usize = 16;

/// The next work of the pump.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) frames: Vec<Arc<Frame>>,
    /// Broadcast frames of Threads without a cursor here.
    pub(crate) news: Vec<Arc<Frame>>,
    /// Threads whose next frame is no longer in memory.
    pub(crate) behind: Vec<ThreadId>,
    /// Threads whose open Approvals must be asked.
    pub(crate) greet: Vec<Arc<ThreadHandle>>,
    /// Threads whose cursor has ended.
    pub(crate) over: Vec<ThreadId>,
    /// Those of `over` whose questions are settled by that.
    pub(crate) settled: Vec<ThreadId>,
    /// Whether any cursor moved; then there may be more to read.
    pub(crate) moved: bool,
    /// The end of the pause; nothing was taken.
    pub(crate) held_until: Option<Instant>,
    /// The client cannot be served any more.
    pub(crate) broken: Option<Broken>,
}

/// The reason why a Session cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It missed broadcasts.
    TooFarBehind,
    /// A Thread it follows could not be stored.
    ThreadFailed,
}

impl Subscriptions {
    pub(crate) fn new(dialect: &dyn Dialect, waker: Waker) -> Self {
        let asked = Answerable {
            approves: dialect.approves(),
            inquiries: dialect.is_asked(),
        };
        Self {
            everyone: None,
            threads: HashMap::new(),
            covered: Vec::new(),
            asked,
            waker,
            held: Vec::new(),
        }
    }

    /// Pauses taking until [`Subscriptions::release`] with the same moment, or until that moment.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.held.push(until);
        self.waker.wake();
    }

    pub(crate) fn release(&mut self, until: Instant) {
        if let Some(index) = self.held.iter().position(|held| *held == until) {
            self.held.swap_remove(index);
        }
        self.waker.wake();
    }

    /// Returns the end of the pause, if there is one.
    fn held_until(&mut self) -> Option<Instant> {
        let now = Instant::now();
        self.held.retain(|until| *until > now);
        self.held.iter().max().copied()
    }

    /// Starts to read the workspace's log.
    pub(crate) fn open(&mut self, everyone: &Log<Arc<Frame>>) {
        everyone.watch(&self.waker);
        self.everyone = Some(everyone.visible().next());
    }

    /// Starts to read a Thread, or gives its cursor one more purpose. Does nothing once the Session has closed, since
    /// an answer may come later.
    pub(crate) fn subscribe(&mut self, options: &SubscribeOptions) {
        if self.everyone.is_none() {
            return;
        }
        let log = options.handle.log();
        let visible = log.visible();
        log.watch(&self.waker);
        self.waker.wake();
        let subscription = self
            .threads
            .entry(options.handle.id().clone())
            .or_insert_with(|| Subscription::new(options.handle.clone(), options.start, visible));
        match options.start {
            Start::Replay(start) => subscription.replay(start, visible),
            Start::After(start, skip) => subscription.follow(start, skip, visible),
            Start::Now | Start::At(_) => {}
        }
        subscription.serve(options.lifetime);
        subscription.count(self.asked);
    }

    /// Ends an explicit Subscription. A cursor that follows a Turn of this connection stays. Returns whether the cursor
    /// has ended.
    pub(crate) fn unsubscribe(&mut self, id: &ThreadId, everyone: &Log<Arc<Frame>>) -> bool {
        let Some(subscription) = self.threads.get_mut(id) else {
            return false;
        };
        subscription.subscribed = false;
        let done = subscription.is_done();
        if done {
            self.remove(id, everyone);
        }
        done
    }

    /// Returns the last Seq that a followed Thread has shown.
    pub(crate) fn visible(&self, id: &ThreadId) -> Option<Seq> {
        self.threads
            .get(id)
            .map(|subscription| subscription.handle.log().visible())
    }

    /// Notes that all taken frames have been written.
    pub(crate) fn note_sent(&mut self) {
        for subscription in self.threads.values_mut() {
            subscription.sent = subscription.next;
        }
    }

    /// Whether the frames of a Thread up to a Seq have been written; true if it is not followed.
    pub(crate) fn has_sent(&self, id: &ThreadId, seq: Seq) -> bool {
        self.threads
            .get(id)
            .is_none_or(|subscription| subscription.sent > seq)
    }

    pub(crate) fn is_subscribed(&self, id: &ThreadId) -> bool {
        self.threads
            .get(id)
            .is_some_and(|subscription| subscription.subscribed)
    }

    pub(crate) fn close(&mut self, everyone: &Log<Arc<Frame>>) {
        let ids: Vec<_> = self.threads.keys().cloned().collect();
        for id in ids {
            self.remove(&id, everyone);
        }
        everyone.unwatch(&self.waker);
        self.everyone = None;
        self.covered.clear();
    }

    pub(crate) fn remove(&mut self, id: &ThreadId, everyone: &Log<Arc<Frame>>) {
        let Some(subscription) = self.threads.remove(id) else {
            return;
        };
        subscription.handle.log().unwatch(&self.waker);
        if subscription.approver.is_asked() {
            self.asked.remove_from(&subscription.handle);
        }
        self.covered.push(Covered {
            thread: id.clone(),
            from: subscription.from,
            next: subscription.next,
            until_everyone: everyone.visible(),
        });
    }

    /// Takes the next frames of every cursor, about `max_bytes` in total.
    pub(crate) fn take(&mut self, threads: &Threads, max_bytes: usize) -> Batch {
        let mut batch = Batch {
            held_until: self.held_until(),
            ..Batch::default()
        };
        let Some(everyone) = self.everyone.filter(|_| batch.held_until.is_none()) else {
            return batch;
        };
        // The cursors share the batch, so its size does not grow with their number.
        let share = max_bytes / self.threads.len().clamp(1, SHARES);
        for (id, subscription) in &mut self.threads {
            if subscription.approver == Approver::New {
                subscription.approver = Approver::Yes;
                batch.greet.push(subscription.handle.clone());
            }
            let ended = subscription.handle.ended();
            if ended == Some(Ended::Failed) {
                batch.broken = Some(Broken::ThreadFailed);
            }
            match subscription.handle.log().read(subscription.next, share) {
                // The rest of a deleted Thread cannot be read back; its deletion is broadcast.
                Read::Gone { .. } if subscription.is_done() || ended == Some(Ended::Deleted) => {
                    batch.over.push(id.clone());
                }
                Read::Gone { .. } => batch.behind.push(id.clone()),
                Read::Entries { entries, next } => {
                    let more = next <= subscription.handle.log().visible();
                    batch.moved |= !entries.is_empty();
                    subscription.advance(entries, next, &mut batch.frames);
                    subscription.sync(threads.clock().now(), &mut batch.frames);
                    subscription.count(self.asked);
                    let ended = subscription.is_done() || ended == Some(Ended::Deleted);
                    if subscription.over || (ended && !more) {
                        batch.over.push(id.clone());
                    }
                }
            }
        }
        // Before the broadcasts are read: the removed cursors cover the frames they took, and none after them.
        for id in &batch.over {
            let subscription = self.threads.get(id);
            if subscription.is_some_and(|subscription| {
                subscription.approver != Approver::No || subscription.handle.ended().is_some()
            }) {
                batch.settled.push(id.clone());
            }
            self.remove(id, threads.broadcasts().log());
        }
        match threads.broadcasts().log().read(everyone, max_bytes) {
            Read::Gone { .. } => batch.broken = Some(Broken::TooFarBehind),
            Read::Entries { entries, next } => {
                batch.moved |= !entries.is_empty();
                for frame in entries {
                    if self.covers(&frame) {
                        self.promise(&frame);
                    } else {
                        batch.news.push(frame);
                    }
                }
                self.everyone = Some(next);
                self.covered.retain(|covered| covered.until_everyone >= next);
            }
        }
        batch
    }

    fn covers(&self, frame: &Frame) -> bool {
        self.threads
            .get(&frame.thread)
            .is_some_and(|subscription| subscription.from <= frame.seq)
            || self.covered.iter().any(|covered| {
                covered.thread == frame.thread && (covered.from..covered.next).contains(&frame.seq)
            })
    }

    /// Has a cursor stay until it has taken the twin of this broadcast, which the Thread's log shows a moment later. Else it
    /// would be lost if the client unsubscribed in that moment.
    fn promise(&mut self, frame: &Frame) {
        if let Some(subscription) = self.threads.get_mut(&frame.thread)
            && subscription.next <= frame.seq
        {
            subscription.promised = subscription.promised.max(frame.seq);
        }
    }

    /// Whether the client follows a Thread.
    pub(crate) fn follows(&self, id: &ThreadId) -> bool {
        self.threads.contains_key(id)
    }

    /// Whether the client is asked the questions of a Thread and its subagents.
    pub(crate) fn answers_for(&self, id: &ThreadId) -> bool {
        self.threads
            .get(id)
            .is_some_and(|subscription| subscription.approver != Approver::No)
    }

    /// Returns the Thread if the client must be asked the question that this frame opens. Replayed frames are history;
    /// their open questions are asked separately.
    pub(crate) fn asking(&self, frame: &Frame) -> Option<Arc<ThreadHandle>> {
        self.threads
            .get(&frame.thread)
            .filter(|subscription| subscription.approver.is_asked() && frame.seq > subscription.history)
            .map(|subscription| subscription.handle.clone())
    }

    /// Asks the open questions of a Thread with the next batch.
    pub(crate) fn ask_again(&mut self, thread: &ThreadId) {
        if let Some(subscription) = self.threads.get_mut(thread) {
            subscription.ask_again();
        }
    }

    /// Asks a model's questions in a Thread with the next batch, after the call that asks them.
    pub(crate) fn inquire(&mut self, thread: &ThreadId) {
        if self.asked.inquiries {
            self.ask_again(thread);
        }
    }

    /// Returns the arguments for reading a Thread's backlog: its handle, the cursor, the text already sent, and whether
    /// the client has no other text.
    #[expect(clippy::type_complexity, reason = "taken apart at its only call")]
    pub(crate) fn behind(
        &self,
        id: &ThreadId,
    ) -> Option<(Arc<ThreadHandle>, Seq, Vec<(TurnId, ItemId, usize)>, bool)> {
        self.threads.get(id).map(|subscription| {
            (
                subscription.handle.clone(),
                subscription.next,
                subscription.shown.clone(),
                !subscription.blind,
            )
        })
    }

    /// Moves a cursor that has taken nothing yet to the next frame, because its backlog is too large. `live` is the
    /// running Turn. Returns whether that was possible.
    pub(crate) fn begin_later(
        &mut self,
        id: &ThreadId,
        live: Option<TurnId>,
        everyone: &Log<Arc<Frame>>,
    ) -> bool {
        let Some(subscription) = self.threads.get_mut(id) else {
            return true;
        };
        let Some(instead) = subscription.instead.take() else {
            return false;
        };
        subscription.next = instead;
        // An older Turn has ended and is not waited for. A Turn that ends meanwhile still gets its end sent.
        if subscription.handle.log().visible() < instead {
            subscription.turn.take_if(|turn| Some(*turn) != live);
        }
        subscription.ask_again();
        if subscription.is_done() {
            self.remove(id, everyone);
        }
        true
    }

    /// Takes a backlog and returns the frames of it that are still needed.
    pub(crate) fn caught_up(
        &mut self,
        id: &ThreadId,
        frames: Vec<Arc<Frame>>,
        next: Seq,
        now: UnixMillis,
    ) -> Vec<Arc<Frame>> {
        let mut taken = Vec::new();
        if let Some(subscription) = self.threads.get_mut(id) {
            subscription.advance(frames, next, &mut taken);
            subscription.sync(now, &mut taken);
            subscription.count(self.asked);
            subscription.ask_again();
        }
        taken
    }
}
