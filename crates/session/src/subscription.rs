//! One subscription of a Session: a cursor on a Thread's log, its purposes, and its end.
//!
//! Plain data, owned by the Session's [`Subscriptions`](crate::subscriptions::Subscriptions). It has no frames; its
//! notes about a Turn are bounded by the Turn's open Items.

use std::sync::Arc;

use bobbin_core::{Ephemeral, Frame, FrameBody, Part, ThreadHandle, View};
use bobbin_model::{Event, ItemId, Seq, TurnId, UnixMillis};

use crate::subscriptions::{Answerable, Lifetime, Start};

/// One cursor and its independent purposes. It ends with the last of them.
pub(crate) struct Subscription {
    pub(crate) handle: Arc<ThreadHandle>,
    /// First Seq that this cursor covers.
    pub(crate) from: Seq,
    pub(crate) next: Seq,
    /// Everything before this Seq was written. Updated only while a request waits for it (see `flushes`).
    pub(crate) sent: Seq,
    /// The client subscribed.
    pub(crate) subscribed: bool,
    /// The Turn that this connection follows until its end.
    pub(crate) turn: Option<TurnId>,
    /// The connection that started this Turn.
    pub(crate) whose: Whose,
    /// The last Seq that the client was promised.
    pub(crate) promised: Seq,
    /// A frame came that none of its purposes needs.
    pub(crate) over: bool,
    /// Whether the client is asked the Thread's Approvals.
    pub(crate) approver: Approver,
    /// Bytes already sent of open Items, for resuming after a gap. At most a Turn's open Items.
    pub(crate) shown: Vec<(TurnId, ItemId, usize)>,
    /// Broadcasts up to this Seq have been sent already.
    pub(crate) sent_to_all: Seq,
    /// Frames up to this Seq are history: they cause no questions.
    pub(crate) history: Seq,
    /// The client has text of open Items that `shown` does not list.
    pub(crate) blind: bool,
    /// The number of messages of the frame at this Seq that the client already has.
    pub(crate) skip: Option<(Seq, u8)>,
    /// The client is notified once it has everything up to this Seq.
    pub(crate) sync: Option<Seq>,
    /// The Seq where the cursor resumes if its start is too far back. Cleared once it has taken a frame.
    pub(crate) instead: Option<Seq>,
}

/// The connection that started a cursor's Turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// This connection.
    Own,
    /// Another connection, or the cursor follows no Turn.
    Others,
}

/// Whether a client is asked a Thread's Approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approver {
    /// It is not asked.
    No,
    /// It is asked, and the open Approvals have yet to be put to it.
    New,
    /// It is asked.
    Yes,
    /// It was asked earlier.
    Over,
}

impl Approver {
    /// Whether it is asked now.
    pub(crate) fn is_asked(self) -> bool {
        matches!(self, Self::New | Self::Yes)
    }
}

impl Subscription {
    pub(crate) fn new(handle: Arc<ThreadHandle>, start: Start, visible: Seq) -> Self {
        let (from, next, sent_to_all) = match start {
            Start::Now => (visible.next(), visible.next(), Seq(0)),
            Start::At(seq) | Start::After(seq, _) => (seq, seq, Seq(0)),
            // Broadcasts up to now come through the workspace's log.
            Start::Replay(seq) => (visible.next(), seq, visible),
        };
        Self {
            handle,
            from,
            next,
            sent: Seq(0),
            subscribed: false,
            turn: None,
            whose: Whose::Others,
            promised: Seq(0),
            over: false,
            approver: Approver::No,
            shown: Vec::new(),
            sent_to_all,
            history: Seq(0),
            blind: false,
            skip: None,
            sync: None,
            instead: match start {
                Start::At(seq) | Start::Replay(seq) if seq <= visible => Some(visible.next()),
                _ => None,
            },
        }
    }

    /// Rewinds to `start` if the cursor is past it. Broadcasts and approval requests that were already sent are not sent
    /// again.
    pub(crate) fn replay(&mut self, start: Seq, visible: Seq) {
        self.history = visible;
        if start < self.next {
            self.sent_to_all = self.sent_to_all.max(self.next.prev());
            self.instead = Some(self.next);
            self.next = start;
        }
        self.shown.clear();
        self.ask_again();
    }

    /// Moves to the place where the client says it stopped.
    pub(crate) fn follow(&mut self, start: Seq, skip: u8, visible: Seq) {
        self.history = visible;
        self.from = self.from.min(start);
        self.next = start;
        self.instead = None;
        self.sent_to_all = Seq(0);
        self.skip = (skip > 0).then_some((start, skip));
        self.sync = Some(visible);
        self.blind = true;
        self.shown.clear();
        self.ask_again();
    }

    /// Adds the notification that the client has caught up, once.
    pub(crate) fn sync(&mut self, at: UnixMillis, out: &mut Vec<Arc<Frame>>) {
        if let Some(seq) = self.sync.take_if(|seq| self.next > *seq) {
            let (id, body) = (self.handle.id().clone(), FrameBody::Ephemeral(Ephemeral::Synced));
            let frame = Frame::new(id, seq, at, body, View::None, 0);
            out.push(Arc::new(frame.at_part(Part::LAST)));
        }
    }

    /// Adds a purpose.
    pub(crate) fn serve(&mut self, lifetime: Lifetime) {
        match lifetime {
            Lifetime::Unsubscribed => self.subscribed = true,
            // The Subscription delivers the Turn's frames, and they end with it (02 §5.6).
            Lifetime::TurnEnds(_) | Lifetime::OthersTurnEnds(_) if self.subscribed => {}
            Lifetime::TurnEnds(turn) => {
                self.turn = self.turn.max(Some(turn));
                self.whose = Whose::Own;
            }
            Lifetime::OthersTurnEnds(turn) => {
                if self.turn < Some(turn) {
                    self.whose = Whose::Others;
                }
                self.turn = self.turn.max(Some(turn));
            }
            Lifetime::Seq(seq) => self.promised = self.promised.max(seq),
        }
        self.over = false;
    }

    /// Counts the client as an approver of this Thread while it subscribes or follows a Turn that it started (04 §6).
    pub(crate) fn count(&mut self, asked: Answerable) {
        let is_asked = asked.approves || asked.inquiries;
        let counts = is_asked && (self.subscribed || self.whose == Whose::Own && self.turn.is_some());
        match (counts, self.approver) {
            (true, Approver::No | Approver::Over) => {
                asked.add_to(&self.handle);
                self.approver = Approver::New;
            }
            (false, Approver::New | Approver::Yes) => {
                asked.remove_from(&self.handle);
                self.approver = Approver::Over;
            }
            (true, Approver::New | Approver::Yes) | (false, Approver::No | Approver::Over) => {}
        }
    }

    /// Asks the open Approvals again with the next batch: the cursor passed frames without asking their questions.
    pub(crate) fn ask_again(&mut self) {
        if self.approver == Approver::Yes {
            self.approver = Approver::New;
        }
    }

    /// Whether no purpose is left.
    pub(crate) fn is_done(&self) -> bool {
        !self.subscribed && self.turn.is_none() && self.next > self.promised
    }

    /// Moves the cursor over frames and adds those that it needs to `out`.
    pub(crate) fn advance(&mut self, frames: Vec<Arc<Frame>>, next: Seq, out: &mut Vec<Arc<Frame>>) {
        if !frames.is_empty() {
            self.instead = None;
        }
        for frame in frames {
            self.next = self.next.max(frame.seq);
            self.forget_old_turn(&frame);
            if self.is_done() && !self.goes_on(&frame) {
                self.over = true;
                return;
            }
            self.note(&frame);
            let frame = match self.skip.take_if(|skip| frame.seq >= skip.0) {
                Some((seq, skip)) if frame.seq == seq => Arc::new(frame.at_part(Part::Rest(skip))),
                _ => frame,
            };
            if frame.seq > self.sent_to_all || !frame.is_broadcast() {
                out.push(frame);
            }
        }
        self.next = next;
    }

    /// Stops waiting for the end of a Turn once a later one starts. A repeated request may name a Turn that ended
    /// before this cursor existed.
    pub(crate) fn forget_old_turn(&mut self, frame: &Frame) {
        if let FrameBody::Recorded(event) = &frame.body
            && let Event::TurnStarted { turn, .. } = &**event
        {
            self.turn.take_if(|awaited| *awaited < *turn);
        }
    }

    /// Whether a frame after the end of this cursor's Turn still belongs to it: news of the whole Thread, or the queued
    /// Turn that follows directly.
    pub(crate) fn goes_on(&mut self, frame: &Frame) -> bool {
        match &frame.body {
            FrameBody::Ephemeral(_) => true,
            FrameBody::Delta(_) => false,
            FrameBody::Recorded(event) => match &**event {
                Event::TurnStarted {
                    turn,
                    from_queue: Some(_),
                    ..
                } => {
                    self.turn = Some(*turn);
                    true
                }
                _ => false,
            },
        }
    }

    pub(crate) fn note(&mut self, frame: &Frame) {
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
                Event::ItemStarted { turn, item } => self.shown.push((*turn, item.id, 0)),
                Event::ItemCompleted { turn, item } => {
                    self.shown.retain(|known| (known.0, known.1) != (*turn, item.id));
                }
                Event::TurnEnded { turn, .. } => {
                    if self.turn == Some(*turn) {
                        self.turn = None;
                    }
                    self.shown.clear();
                    self.blind = false;
                }
                _ => {}
            },
            FrameBody::Ephemeral(_) => {}
        }
    }
}
