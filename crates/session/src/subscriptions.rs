//! The subscriptions of one Session: plain data and the rules for taking the next batch.
//!
//! A Session reads each Thread it subscribes to through one cursor and what concerns everyone through
//! another. A frame for everyone stands in both logs; it is taken from the Thread's where there is a cursor
//! that covers it, so each event reaches a connection at most once and in the Thread's order.

use std::collections::HashMap;
use std::sync::Arc;

use bobbin_core::{Ended, Frame, Log, Read, ThreadHandle, Threads, Waker};
use bobbin_model::{ItemId, Seq, ThreadId, TurnId, UnixMillis};
use tokio::time::Instant;

use crate::Dialect;
use crate::subscription::{Approver, Subscription};

/// Where a new cursor begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With what comes next.
    Now,
    /// With what was there before, from this Seq on. Broadcasts were sent when they happened and are left out.
    Replay(Seq),
    /// With this Seq.
    At(Seq),
    /// With this Seq, where the client has the frame's first messages already. It has been sent nothing behind
    /// that, and is sent `Synced` when it has caught up.
    After(Seq, u8),
}

/// When a cursor ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Never: the client subscribed.
    Unsubscribed,
    /// With the end of this Turn, which the client started, and of the queued Turns that follow on it directly.
    TurnEnds(TurnId),
    /// With the end of this Turn, which another client started: its Approvals are not asked here.
    OthersTurnEnds(TurnId),
    /// With this Seq.
    Seq(Seq),
}

/// What to subscribe to, from where and for how long.
#[derive(Debug)]
pub struct SubscribeOptions {
    /// The Thread.
    pub handle: Arc<ThreadHandle>,
    /// Where it begins.
    pub start: Start,
    /// When it ends.
    pub lifetime: Lifetime,
}

/// Frames that a cursor that is gone had covered, until the other log has passed them too.
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
    /// Until when nothing is taken, for each who asked for that.
    held: Vec<Instant>,
}

/// What a client answers in the Threads it follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answerable {
    /// Approvals.
    pub(crate) approves: bool,
    /// And questions of a model.
    pub(crate) inquiries: bool,
}

/// Parts a batch is cut into at most when many Threads have something to say.
const SHARES: usize = 16;

/// What the pump does next.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) frames: Vec<Arc<Frame>>,
    /// What concerns everyone, of Threads without a cursor here.
    pub(crate) news: Vec<Arc<Frame>>,
    /// Threads whose cursor points at what is no longer in memory.
    pub(crate) behind: Vec<ThreadId>,
    /// Threads whose open Approvals have to be asked.
    pub(crate) greet: Vec<Arc<ThreadHandle>>,
    /// Threads that are read no more.
    pub(crate) over: Vec<ThreadId>,
    /// Those of them whose questions are settled with that.
    pub(crate) settled: Vec<ThreadId>,
    /// Whether any cursor moved; there may be more to read then, whatever came of it.
    pub(crate) moved: bool,
    /// Nothing was taken, and nothing is until then.
    pub(crate) held_until: Option<Instant>,
    /// The client cannot be served any more.
    pub(crate) broken: Option<Broken>,
}

/// Why a Session cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It missed broadcasts.
    TooFarBehind,
    /// A Thread it watches could not be stored.
    ThreadFailed,
}

impl Subscriptions {
    pub(crate) fn new(dialect: &dyn Dialect, waker: Waker) -> Self {
        let approves = dialect.approves();
        let asked = Answerable {
            approves,
            inquiries: approves && dialect.is_asked(),
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

    /// Takes nothing more until [`Subscriptions::release`] with the same moment, or until that has come.
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

    /// Returns until when nothing is taken.
    fn held_until(&mut self) -> Option<Instant> {
        let now = Instant::now();
        self.held.retain(|until| *until > now);
        self.held.iter().max().copied()
    }

    /// Begins to read what concerns everyone.
    pub(crate) fn open(&mut self, everyone: &Log<Arc<Frame>>) {
        everyone.watch(&self.waker);
        self.everyone = Some(everyone.visible().next());
    }

    /// Begins to read a Thread, or gives its cursor one more purpose. Nothing happens once the Session has
    /// closed: an answer may come later than that.
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

    /// Ends an explicit Subscription; a cursor that serves a Turn of this connection stays for it. Returns
    /// whether the Thread is read no more.
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

    /// Returns up to where a Thread that is read here has been shown.
    pub(crate) fn visible(&self, id: &ThreadId) -> Option<Seq> {
        self.threads
            .get(id)
            .map(|subscription| subscription.handle.log().visible())
    }

    /// Takes note that everything that was taken has been written.
    pub(crate) fn note_sent(&mut self) {
        for subscription in self.threads.values_mut() {
            subscription.sent = subscription.next;
        }
    }

    /// Whether a Thread that is read here has been written up to a Seq.
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
            subscription.handle.remove_approver();
            if self.asked.inquiries {
                subscription.handle.remove_asked();
            }
        }
        self.covered.push(Covered {
            thread: id.clone(),
            from: subscription.from,
            next: subscription.next,
            until_everyone: everyone.visible(),
        });
    }

    /// Takes the next frames of every cursor, about `max_bytes` together.
    pub(crate) fn take(&mut self, threads: &Threads, max_bytes: usize) -> Batch {
        let mut batch = Batch {
            held_until: self.held_until(),
            ..Batch::default()
        };
        let Some(everyone) = self.everyone.filter(|_| batch.held_until.is_none()) else {
            return batch;
        };
        // Many cursors share the batch, so that its size does not follow their number.
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
                // What is left of a deleted Thread cannot be read back; its deletion is broadcast.
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
        // First, so that they cover what they took and nothing behind it.
        for id in &batch.over {
            let subscription = self.threads.get(id);
            if subscription.is_some_and(|subscription| {
                subscription.approver != Approver::No || subscription.handle.ended().is_some()
            }) {
                batch.settled.push(id.clone());
            }
            self.remove(id, threads.broadcasts());
        }
        match threads.broadcasts().read(everyone, max_bytes) {
            Read::Gone { .. } => batch.broken = Some(Broken::TooFarBehind),
            Read::Entries { entries, next } => {
                batch.moved |= !entries.is_empty();
                batch
                    .news
                    .extend(entries.into_iter().filter(|frame| !self.covers(frame)));
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

    /// Whether the client follows a Thread.
    pub(crate) fn follows(&self, id: &ThreadId) -> bool {
        self.threads.contains_key(id)
    }

    /// Whether the client is asked what is asked in a Thread, and below it.
    pub(crate) fn answers_for(&self, id: &ThreadId) -> bool {
        self.threads
            .get(id)
            .is_some_and(|subscription| subscription.approver != Approver::No)
    }

    /// Returns the Thread if the question that this frame opens is asked here: what is replayed is history,
    /// and what of it is open still is asked for by itself.
    pub(crate) fn asking(&self, frame: &Frame) -> Option<Arc<ThreadHandle>> {
        self.threads
            .get(&frame.thread)
            .filter(|subscription| subscription.approver.is_asked() && frame.seq > subscription.history)
            .map(|subscription| subscription.handle.clone())
    }

    /// Has what is open in a Thread asked with the next batch.
    pub(crate) fn ask_again(&mut self, thread: &ThreadId) {
        if let Some(subscription) = self.threads.get_mut(thread) {
            subscription.ask_again();
        }
    }

    /// Has what a model wants to know in a Thread asked with the next batch, behind the call that asks it.
    pub(crate) fn inquire(&mut self, thread: &ThreadId) {
        if self.asked.inquiries {
            self.ask_again(thread);
        }
    }

    /// Returns what is needed to read a Thread's backlog: its handle, the cursor, the text
    /// already sent, and whether that is all that the client has.
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

    /// Lets a cursor that has taken nothing yet begin with what comes next instead, as what it was to begin with is too
    /// much. `live` is the Turn that runs. Returns whether that could be done.
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
        // A Turn that ended before is not waited for; the end of one that ends meanwhile is still sent.
        if subscription.handle.log().visible() < instead {
            subscription.turn.take_if(|turn| Some(*turn) != live);
        }
        subscription.ask_again();
        if subscription.is_done() {
            self.remove(id, everyone);
        }
        true
    }

    /// Takes a backlog as read and returns the frames of it that are still wanted.
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
