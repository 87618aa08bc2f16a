//! The cursors of one Session: plain data and the rules for taking the next batch.
//!
//! A Session reads each Thread it subscribes to through one cursor and what concerns everyone through
//! another. A frame for everyone stands in both logs; it is taken from the Thread's where there is a cursor
//! that covers it, so each event reaches a connection at most once and in the Thread's order.

use std::collections::HashMap;
use std::sync::Arc;

use bobbin_core::{Ended, Frame, FrameBody, Hub, Log, Read, ThreadHandle, Waker};
use bobbin_model::{Event, ItemId, Seq, ThreadId, TurnId};

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
}

/// When a cursor ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Never: somebody subscribed.
    Unsubscribed,
    /// With the end of this Turn, and of the queued Turns that follow on it directly.
    TurnEnds(TurnId),
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

/// One cursor.
struct Reader {
    handle: Arc<ThreadHandle>,
    /// First Seq that it covers.
    from: Seq,
    next: Seq,
    until: Until,
    /// The Turn it was attached for has ended.
    ended: bool,
    /// Bytes already sent of Items that are open, for reading on after a gap. At most a Turn's open Items.
    shown: Vec<(TurnId, ItemId, usize)>,
    /// Up to here, what concerns everyone has been told already.
    told: Seq,
    /// Whether the open Approvals still have to be asked.
    greet: bool,
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
    approves: bool,
    waker: Waker,
}

/// Parts a batch is cut into at most when many Threads have something to say.
const SHARES: usize = 16;

/// What the pump does next.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) frames: Vec<Arc<Frame>>,
    /// Threads whose cursor points at what is no longer in memory.
    pub(crate) behind: Vec<ThreadId>,
    /// Threads whose open Approvals have to be asked.
    pub(crate) greet: Vec<Arc<ThreadHandle>>,
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
    pub(crate) fn new(approves: bool, waker: Waker) -> Self {
        Self {
            everyone: None,
            threads: HashMap::new(),
            covered: Vec::new(),
            approves,
            waker,
        }
    }

    /// Begins to read what concerns everyone.
    pub(crate) fn open(&mut self, everyone: &Log<Arc<Frame>>) {
        everyone.watch(&self.waker);
        self.everyone = Some(everyone.visible().next());
    }

    pub(crate) fn attach(&mut self, attach: Attach) {
        let log = attach.handle.log();
        let visible = log.visible();
        let start = match attach.begin {
            Begin::Now => visible.next(),
            Begin::Replay(seq) | Begin::At(seq) => seq,
        };
        log.watch(&self.waker);
        self.waker.wake();
        let id = attach.handle.id().clone();
        if let Some(known) = self.threads.get_mut(&id) {
            let asked = known.asks();
            known.widen(attach.until);
            if !asked && known.asks() && self.approves {
                known.handle.add_approver();
                known.greet = true;
            }
            if matches!(attach.begin, Begin::Replay(_)) {
                known.told = visible;
                known.next = start;
                known.from = known.from.min(start);
                known.shown.clear();
            }
            return;
        }
        let mut reader = Reader {
            handle: attach.handle,
            from: start,
            next: start,
            until: attach.until,
            ended: false,
            shown: Vec::new(),
            told: if matches!(attach.begin, Begin::Replay(_)) {
                visible
            } else {
                Seq(0)
            },
            greet: false,
        };
        if self.approves && reader.asks() {
            reader.handle.add_approver();
            reader.greet = true;
        }
        self.threads.insert(id, reader);
    }

    /// Ends an explicit Subscription; a cursor that serves a Turn of this connection stays for it.
    pub(crate) fn detach(&mut self, id: &ThreadId, everyone: &Log<Arc<Frame>>) {
        if self
            .threads
            .get(id)
            .is_some_and(|reader| reader.until == Until::Unsubscribed)
        {
            self.remove(id, everyone);
        }
    }

    pub(crate) fn is_subscribed(&self, id: &ThreadId) -> bool {
        self.threads
            .get(id)
            .is_some_and(|reader| reader.until == Until::Unsubscribed)
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

    fn remove(&mut self, id: &ThreadId, everyone: &Log<Arc<Frame>>) {
        let Some(reader) = self.threads.remove(id) else {
            return;
        };
        reader.handle.log().unwatch(&self.waker);
        if self.approves && reader.asks() {
            reader.handle.remove_approver();
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
        let mut over = Vec::new();
        // Many cursors share the batch, so that its size does not follow their number.
        let share = max_bytes / self.threads.len().clamp(1, SHARES);
        for (id, reader) in &mut self.threads {
            if std::mem::take(&mut reader.greet) {
                batch.greet.push(reader.handle.clone());
            }
            match reader.handle.log().read(reader.next, share) {
                Read::Gone { .. } => batch.behind.push(id.clone()),
                Read::Entries { entries, next } => {
                    let more = next <= reader.handle.log().visible();
                    reader.advance(entries, next, &mut batch.frames);
                    if !more && reader.is_over() {
                        over.push(id.clone());
                    }
                }
            }
            match reader.handle.ended() {
                Some(Ended::Deleted) => over.push(id.clone()),
                Some(Ended::Failed) => batch.broken = Some(Broken::ThreadFailed),
                Some(Ended::Stopped) | None => {}
            }
        }
        match hub.everyone().read(everyone, max_bytes) {
            Read::Gone { .. } => batch.broken = Some(Broken::TooFarBehind),
            Read::Entries { entries, next } => {
                batch
                    .frames
                    .extend(entries.into_iter().filter(|frame| !self.covers(frame)));
                self.everyone = Some(next);
                self.covered.retain(|covered| covered.until_everyone >= next);
            }
        }
        for id in over {
            self.remove(&id, hub.everyone());
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

    /// Returns the Thread if its Approvals are asked here.
    pub(crate) fn asking(&self, id: &ThreadId) -> Option<Arc<ThreadHandle>> {
        self.threads
            .get(id)
            .filter(|reader| reader.asks())
            .map(|reader| reader.handle.clone())
    }

    /// Returns what is needed to read a Thread's backlog: its handle, the cursor, the text already sent.
    #[expect(clippy::type_complexity, reason = "taken apart at its only call")]
    pub(crate) fn behind(
        &self,
        id: &ThreadId,
    ) -> Option<(Arc<ThreadHandle>, Seq, Vec<(TurnId, ItemId, usize)>)> {
        self.threads
            .get(id)
            .map(|reader| (reader.handle.clone(), reader.next, reader.shown.clone()))
    }

    /// Takes a backlog as read and returns the frames of it that are still wanted.
    pub(crate) fn caught_up(&mut self, id: &ThreadId, frames: Vec<Arc<Frame>>, next: Seq) -> Vec<Arc<Frame>> {
        let mut taken = Vec::new();
        if let Some(reader) = self.threads.get_mut(id) {
            reader.advance(frames, next, &mut taken);
        }
        taken
    }
}

impl Reader {
    /// Whether its client is asked this Thread's Approvals: it subscribed or started the Turn (04 §6).
    fn asks(&self) -> bool {
        !matches!(self.until, Until::Seq(_))
    }

    /// Makes a cursor serve a further purpose without giving up the one it has.
    fn widen(&mut self, until: Until) {
        let wider = match (self.until, until) {
            (Until::Unsubscribed, _) | (Until::TurnEnds(_), Until::Seq(_)) => return,
            (Until::Seq(known), Until::Seq(new)) => Until::Seq(known.max(new)),
            (_, wider) => wider,
        };
        self.until = wider;
        self.ended = false;
    }

    /// Moves the cursor over frames, keeping those it wants.
    fn advance(&mut self, frames: Vec<Arc<Frame>>, next: Seq, out: &mut Vec<Arc<Frame>>) {
        for frame in frames {
            if self.ended && !self.goes_on(&frame) {
                self.next = frame.seq;
                return;
            }
            self.note(&frame);
            if matches!(self.until, Until::Seq(last) if frame.seq > last) {
                self.ended = true;
                self.next = frame.seq;
                return;
            }
            if frame.seq > self.told || !frame.concerns_everyone() {
                out.push(frame);
            }
        }
        self.next = next;
        if matches!(self.until, Until::Seq(last) if next > last) {
            self.ended = true;
        }
    }

    /// Whether a frame that follows the end of this cursor's Turn still belongs to it.
    fn goes_on(&mut self, frame: &Frame) -> bool {
        if matches!(self.until, Until::Seq(_)) {
            return false;
        }
        match &frame.body {
            FrameBody::Notice(_) => true,
            FrameBody::Delta(_) => false,
            FrameBody::Recorded(event) => match &**event {
                Event::TurnStarted {
                    turn,
                    from_queue: Some(_),
                    ..
                } => {
                    self.until = Until::TurnEnds(*turn);
                    self.ended = false;
                    true
                }
                _ => false,
            },
        }
    }

    fn note(&mut self, frame: &Frame) {
        match &frame.body {
            FrameBody::Delta(delta) => {
                let end = delta.offset + delta.text.len();
                match self
                    .shown
                    .iter_mut()
                    .find(|known| (known.0, known.1) == (delta.turn, delta.item))
                {
                    Some(known) => known.2 = end,
                    None => self.shown.push((delta.turn, delta.item, end)),
                }
            }
            FrameBody::Recorded(event) => match &**event {
                Event::ItemCompleted { turn, item } => {
                    self.shown.retain(|known| (known.0, known.1) != (*turn, item.id));
                }
                Event::TurnEnded { turn, .. } if self.until == Until::TurnEnds(*turn) => self.ended = true,
                _ => {}
            },
            FrameBody::Notice(_) => {}
        }
    }

    fn is_over(&self) -> bool {
        self.ended && self.until != Until::Unsubscribed
    }
}
