//! The cursors of one Session: plain data and the rules for taking the next batch.
//!
//! A Session reads each Thread it subscribes to through one cursor and what concerns everyone through
//! another. A frame for everyone stands in both logs; it is taken from the Thread's where there is a cursor
//! that covers it, so each event reaches a connection at most once and in the Thread's order.

use std::collections::HashMap;
use std::sync::Arc;

use bobbin_core::{Ended, Frame, Hub, Log, Read, ThreadHandle, Waker};
use bobbin_model::{ItemId, Seq, ThreadId, TurnId, UnixMillis};

use crate::Dialect;
use crate::reader::{Approver, Reader};

/// Where a new cursor begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// With what comes next.
    Now,
    /// With what was there before, from this Seq on. What concerns everyone was told when it happened and is
    /// left out.
    Replay(Seq),
    /// With this Seq.
    At(Seq),
    /// With this Seq, where the client has the frame's first messages already. It has been told nothing behind
    /// that, and is told when it has caught up.
    After(Seq, u8),
}

/// When a cursor ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Never: somebody subscribed.
    Unsubscribed,
    /// With the end of this Turn, which the client started, and of the queued Turns that follow on it directly.
    TurnEnds(TurnId),
    /// With the end of this Turn, which somebody else started: its Approvals are not asked here.
    OthersTurnEnds(TurnId),
    /// With this Seq.
    Seq(Seq),
}

/// A cursor to be.
#[derive(Debug)]
pub struct Attach {
    /// The Thread.
    pub handle: Arc<ThreadHandle>,
    /// Where it begins.
    pub begin: Begin,
    /// When it ends.
    pub until: Until,
}

/// Frames that a cursor that is gone had covered, until the other log has passed them too.
struct Covered {
    thread: ThreadId,
    from: Seq,
    next: Seq,
    until_everyone: Seq,
}

/// All cursors of one Session.
pub(crate) struct Readers {
    everyone: Option<Seq>,
    threads: HashMap<ThreadId, Reader>,
    covered: Vec<Covered>,
    asked: Asked,
    waker: Waker,
}

/// What a client is asked in the Threads it follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Approvals.
    pub(crate) approves: bool,
    /// And what a model wants to know.
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
    /// The client cannot be served any more.
    pub(crate) broken: Option<Broken>,
}

/// Why a Session cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It missed what everyone was told.
    TooFarBehind,
    /// A Thread it watches could not be stored.
    ThreadFailed,
}

impl Readers {
    pub(crate) fn new(dialect: &dyn Dialect, waker: Waker) -> Self {
        let approves = dialect.approves();
        let asked = Asked {
            approves,
            inquiries: approves && dialect.is_asked(),
        };
        Self {
            everyone: None,
            threads: HashMap::new(),
            covered: Vec::new(),
            asked,
            waker,
        }
    }

    /// Begins to read what concerns everyone.
    pub(crate) fn open(&mut self, everyone: &Log<Arc<Frame>>) {
        everyone.watch(&self.waker);
        self.everyone = Some(everyone.visible().next());
    }

    /// Begins to read a Thread, or gives its cursor one more purpose. Nothing happens once the Session has
    /// closed: an answer may come later than that.
    pub(crate) fn attach(&mut self, attach: &Attach) {
        if self.everyone.is_none() {
            return;
        }
        let log = attach.handle.log();
        let visible = log.visible();
        log.watch(&self.waker);
        self.waker.wake();
        let reader = self
            .threads
            .entry(attach.handle.id().clone())
            .or_insert_with(|| Reader::new(attach.handle.clone(), attach.begin, visible));
        match attach.begin {
            Begin::Replay(start) => reader.replay(start, visible),
            Begin::After(start, skip) => reader.follow(start, skip, visible),
            Begin::Now | Begin::At(_) => {}
        }
        reader.serve(attach.until);
        reader.count(self.asked);
    }

    /// Ends an explicit Subscription; a cursor that serves a Turn of this connection stays for it. Returns
    /// whether the Thread is read no more.
    pub(crate) fn detach(&mut self, id: &ThreadId, everyone: &Log<Arc<Frame>>) -> bool {
        let Some(reader) = self.threads.get_mut(id) else {
            return false;
        };
        reader.subscribed = false;
        let done = reader.is_done();
        if done {
            self.remove(id, everyone);
        }
        done
    }

    /// Returns up to where a Thread that is read here has been shown.
    pub(crate) fn visible(&self, id: &ThreadId) -> Option<Seq> {
        self.threads.get(id).map(|reader| reader.handle.log().visible())
    }

    /// Takes note that everything that was taken has been written.
    pub(crate) fn note_sent(&mut self) {
        for reader in self.threads.values_mut() {
            reader.sent = reader.next;
        }
    }

    /// Whether a Thread that is read here has been written up to a Seq.
    pub(crate) fn has_sent(&self, id: &ThreadId, seq: Seq) -> bool {
        self.threads.get(id).is_none_or(|reader| reader.sent > seq)
    }

    pub(crate) fn is_subscribed(&self, id: &ThreadId) -> bool {
        self.threads.get(id).is_some_and(|reader| reader.subscribed)
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
        let Some(reader) = self.threads.remove(id) else {
            return;
        };
        reader.handle.log().unwatch(&self.waker);
        if reader.approver.is_asked() {
            reader.handle.remove_approver();
            if self.asked.inquiries {
                reader.handle.remove_asked();
            }
        }
        self.covered.push(Covered {
            thread: id.clone(),
            from: reader.from,
            next: reader.next,
            until_everyone: everyone.visible(),
        });
    }

    /// Takes the next frames of every cursor, about `max_bytes` together.
    pub(crate) fn take(&mut self, hub: &Hub, max_bytes: usize) -> Batch {
        let mut batch = Batch::default();
        let Some(everyone) = self.everyone else {
            return batch;
        };
        // Many cursors share the batch, so that its size does not follow their number.
        let share = max_bytes / self.threads.len().clamp(1, SHARES);
        for (id, reader) in &mut self.threads {
            if reader.approver == Approver::New {
                reader.approver = Approver::Yes;
                batch.greet.push(reader.handle.clone());
            }
            let ended = reader.handle.ended();
            if ended == Some(Ended::Failed) {
                batch.broken = Some(Broken::ThreadFailed);
            }
            match reader.handle.log().read(reader.next, share) {
                // What is left of a deleted Thread cannot be read back; that it is gone is told to everyone.
                Read::Gone { .. } if reader.is_done() || ended == Some(Ended::Deleted) => {
                    batch.over.push(id.clone());
                }
                Read::Gone { .. } => batch.behind.push(id.clone()),
                Read::Entries { entries, next } => {
                    let more = next <= reader.handle.log().visible();
                    batch.moved |= !entries.is_empty();
                    reader.advance(entries, next, &mut batch.frames);
                    reader.sync(hub.clock().now(), &mut batch.frames);
                    reader.count(self.asked);
                    let ended = reader.is_done() || ended == Some(Ended::Deleted);
                    if reader.over || (ended && !more) {
                        batch.over.push(id.clone());
                    }
                }
            }
        }
        // First, so that they cover what they took and nothing behind it.
        for id in &batch.over {
            let reader = self.threads.get(id);
            if reader.is_some_and(|reader| reader.approver != Approver::No || reader.handle.ended().is_some())
            {
                batch.settled.push(id.clone());
            }
            self.remove(id, hub.everyone());
        }
        match hub.everyone().read(everyone, max_bytes) {
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
            .is_some_and(|reader| reader.from <= frame.seq)
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
            .is_some_and(|reader| reader.approver != Approver::No)
    }

    /// Returns the Thread if the question that this frame opens is asked here: what is replayed is history,
    /// and what of it is open still is asked for by itself.
    pub(crate) fn asking(&self, frame: &Frame) -> Option<Arc<ThreadHandle>> {
        self.threads
            .get(&frame.thread)
            .filter(|reader| reader.approver.is_asked() && frame.seq > reader.history)
            .map(|reader| reader.handle.clone())
    }

    /// Has what is open in a Thread asked with the next batch.
    pub(crate) fn ask_again(&mut self, thread: &ThreadId) {
        if let Some(reader) = self.threads.get_mut(thread) {
            reader.ask_again();
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
        self.threads.get(id).map(|reader| {
            (
                reader.handle.clone(),
                reader.next,
                reader.shown.clone(),
                !reader.blind,
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
        let Some(reader) = self.threads.get_mut(id) else {
            return true;
        };
        let Some(instead) = reader.instead.take() else {
            return false;
        };
        reader.next = instead;
        // A Turn that ended before is not waited for; one that ends meanwhile is still told.
        if reader.handle.log().visible() < instead {
            reader.turn.take_if(|turn| Some(*turn) != live);
        }
        reader.ask_again();
        if reader.is_done() {
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
        if let Some(reader) = self.threads.get_mut(id) {
            reader.advance(frames, next, &mut taken);
            reader.sync(now, &mut taken);
            reader.count(self.asked);
            reader.ask_again();
        }
        taken
    }
}
