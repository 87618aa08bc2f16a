//! One entry of a log, with its encoded forms.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bobbin_model::{
    Approval, ApprovalId, Delta, Event, Item, Question, Runtime, Seq, SubAgentProgress, ThreadId,
    ThreadState, Turn, TurnId, UnixMillis,
};
use bytes::Bytes;

/// Number of cached encodings of a frame: four of the native dialect, the rest for other dialects.
pub const ENCODINGS: usize = 8;

/// One notification as sent, without framing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireMessage {
    /// Its method, for clients that opted out of it.
    pub method: &'static str,
    /// The JSON text.
    pub json: Bytes,
}

/// The notifications of one frame in one encoding; may be none.
pub type Encoded = Arc<[WireMessage]>;

/// A feature's message for every client. The feature defines the type; a dialect that shows it requests it by type.
#[derive(Clone)]
pub struct Broadcast {
    news: Arc<dyn Any + Send + Sync>,
    weight: usize,
}

impl Broadcast {
    /// Makes a broadcast. `weight` is the size of its text in bytes.
    pub fn new<T: Any + Send + Sync>(news: T, weight: usize) -> Self {
        Self {
            news: Arc::new(news),
            weight,
        }
    }

    /// Returns the message if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.news.downcast_ref()
    }
}

impl fmt::Debug for Broadcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broadcast").finish_non_exhaustive()
    }
}

impl PartialEq for Broadcast {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.news, &other.news)
    }
}

/// Messages that clients need at once and never later: shown, but not stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Ephemeral {
    /// The Thread's activity changed, as lists show it.
    RuntimeChanged(Runtime),
    /// A reader has received everything it had missed, up to here. Made for that reader, never in a log.
    Synced,
    /// A feature's message for every client. Belongs to no Thread.
    Broadcast(Broadcast),
    /// A model asks the user a question. Each Session decides which clients get it; the frame belongs to no Thread.
    QuestionOpened(Arc<Question>),
    /// The question was answered, or the answer is no longer needed.
    QuestionClosed(Arc<Question>),
    /// A subagent has opened or settled an Approval. For clients that follow the root Thread of its tree, because
    /// they do not read the subagent's own log. The frame's Seq is that of the event in the subagent's log.
    Subagent {
        /// The root Thread.
        root: ThreadId,
        /// The opened or settled Approval.
        question: SubagentQuestion,
    },
    /// The progress of all subagents of a Turn.
    SubAgents {
        /// The Turn.
        turn: TurnId,
        /// One entry for each subagent, in order of their starts.
        entries: Arc<[SubAgentProgress]>,
    },
    /// What a Turn waits for at the moment, as a status line.
    Waiting {
        /// The Turn.
        turn: TurnId,
        /// The call that waits, if it is one.
        call: Option<String>,
        /// The line.
        text: Arc<str>,
    },
}

/// An Approval of a subagent.
#[derive(Debug, Clone, PartialEq)]
pub enum SubagentQuestion {
    /// It was opened.
    Asked(Arc<Approval>),
    /// It was settled.
    Settled {
        /// The Turn.
        turn: TurnId,
        /// The Approval.
        approval: ApprovalId,
        /// The `approvalResponse` Item.
        item: Arc<Item>,
    },
}

impl Ephemeral {
    /// Returns the bytes of its text, for the log's limit.
    pub fn weight(&self) -> usize {
        match self {
            Self::Broadcast(news) => news.weight,
            Self::QuestionOpened(question) | Self::QuestionClosed(question) => {
                let choices = question.inquiry.choices.iter();
                let choices = choices
                    .map(|choice| choice.label.len() + choice.description.as_ref().map_or(0, String::len));
                question.inquiry.text.len() + choices.sum::<usize>()
            }
            Self::Subagent { question, .. } => match question {
                SubagentQuestion::Asked(approval) => {
                    let scope = &approval.scope;
                    scope.operation.len() + scope.target.len() + approval.reason.len()
                }
                SubagentQuestion::Settled { .. } => 0,
            },
            Self::SubAgents { entries, .. } => entries.iter().map(|entry| entry.label.len() + 64).sum(),
            Self::Waiting { text, .. } => text.len(),
            Self::RuntimeChanged(_) | Self::Synced => 0,
        }
    }
}

/// The content of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBody {
    /// A recorded event.
    Recorded(Arc<Event>),
    /// Streamed text.
    Delta(Delta),
    /// A message that is not stored.
    Ephemeral(Ephemeral),
}

/// State at the frame's Seq that an encoding needs in addition to the event.
#[derive(Debug, Clone, PartialEq)]
pub enum View {
    /// Nothing more is needed.
    None,
    /// The Turn with all its Items, for the Turn's end.
    Turn(Arc<Turn>),
    /// The Thread, for its beginning and resumption.
    Thread(Arc<ThreadState>),
}

/// The position of a frame's messages among those of its Seq, for readers that must be able to stop between any two
/// messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of them, in order.
    Whole,
    /// The frame in the log without its first messages, which the reader has.
    Rest(u8),
    /// Made for one reader and not in the log: follows the log's messages, with this index.
    Behind(u8),
}

impl Part {
    /// Most messages of one Seq, including those made for one reader.
    pub const COUNT: u8 = 8;
    /// The position after all other messages of its Seq.
    pub const LAST: Self = Self::Behind(Self::COUNT - 1);

    /// Returns the position of the `n`-th message after those in the log; the last position is reserved for the
    /// closing message.
    pub fn behind(n: usize) -> Self {
        let n = u8::try_from(n).unwrap_or(Self::COUNT);
        Self::Behind((Self::COUNT / 2).saturating_add(n).min(Self::COUNT - 2))
    }
}

/// One numbered entry of a Thread's log. All its readers share it.
#[derive(Debug)]
pub struct Frame {
    /// The Thread; blank for messages that belong to none.
    pub thread: ThreadId,
    /// Its number in that Thread.
    pub seq: Seq,
    /// When it was appended.
    pub at: UnixMillis,
    /// Its content.
    pub body: FrameBody,
    /// Additional state for an encoding.
    pub view: View,
    /// The position of its messages among those of its Seq.
    pub part: Part,
    /// Estimated size, the unit of the log's limit.
    bytes: usize,
    encoded: [OnceLock<Encoded>; ENCODINGS],
}

/// Estimated cost of a frame besides its text: allocations and bookkeeping, measured roughly.
const FRAME_OVERHEAD: usize = 256;

impl Frame {
    /// Makes a frame that is not (yet) in a log, for example from an event read from the store. `weight` is the
    /// size of its text in bytes.
    pub fn new(
        thread: ThreadId,
        seq: Seq,
        at: UnixMillis,
        body: FrameBody,
        view: View,
        weight: usize,
    ) -> Self {
        Self {
            thread,
            seq,
            at,
            body,
            view,
            part: Part::Whole,
            bytes: FRAME_OVERHEAD + weight,
            encoded: [const { OnceLock::new() }; ENCODINGS],
        }
    }

    /// Returns the same frame at another position among the messages of its Seq.
    #[must_use]
    pub fn at_part(&self, part: Part) -> Self {
        Self {
            thread: self.thread.clone(),
            body: self.body.clone(),
            view: self.view.clone(),
            part,
            encoded: [const { OnceLock::new() }; ENCODINGS],
            ..*self
        }
    }

    /// Returns how many of its messages the reader already has.
    pub fn skipped(&self) -> usize {
        match self.part {
            Part::Whole | Part::Behind(_) => 0,
            Part::Rest(first) => usize::from(first),
        }
    }

    /// Returns the estimated size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the encoding cached at `slot`, calling `encode` the first time.
    ///
    /// A slot outside `0..ENCODINGS` is encoded each time and never cached.
    pub fn encoded(&self, slot: usize, encode: impl FnOnce(&Self) -> Encoded) -> Encoded {
        match self.encoded.get(slot) {
            Some(kept) => kept.get_or_init(|| encode(self)).clone(),
            None => encode(self),
        }
    }

    /// Returns the Delta, if the frame is one.
    pub fn delta(&self) -> Option<&Delta> {
        match &self.body {
            FrameBody::Delta(delta) => Some(delta),
            FrameBody::Recorded(_) | FrameBody::Ephemeral(_) => None,
        }
    }

    /// Whether the frame is broadcast to every client, subscribed or not.
    pub fn is_broadcast(&self) -> bool {
        match &self.body {
            FrameBody::Recorded(event) => event.is_broadcast(),
            FrameBody::Ephemeral(
                Ephemeral::RuntimeChanged(_)
                | Ephemeral::Broadcast(_)
                | Ephemeral::QuestionOpened(_)
                | Ephemeral::QuestionClosed(_)
                | Ephemeral::Subagent { .. },
            ) => true,
            FrameBody::Delta(_)
            | FrameBody::Ephemeral(
                Ephemeral::Synced | Ephemeral::SubAgents { .. } | Ephemeral::Waiting { .. },
            ) => false,
        }
    }
}

#[cfg(test)]
mod tests;
