//! One entry of a log, with the places for its encoded forms.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bobbin_model::{
    Approval, ApprovalId, Delta, Event, Item, Question, Runtime, Seq, SubAgentProgress, ThreadId,
    ThreadState, Turn, TurnId, UnixMillis,
};
use bytes::Bytes;

/// How many encodings of a frame are kept: four of the native dialect, the rest for other dialects.
pub const ENCODINGS: usize = 8;

/// One notification as it goes out, without framing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireMessage {
    /// Its method, for clients that opted out of it.
    pub method: &'static str,
    /// The JSON text.
    pub json: Bytes,
}

/// The notifications that one frame becomes in one encoding; may be none.
pub type Encoded = Arc<[WireMessage]>;

/// News of a feature, for every client. The feature defines the type; a dialect that shows it asks for it by type.
#[derive(Clone)]
pub struct Broadcast {
    news: Arc<dyn Any + Send + Sync>,
    weight: usize,
}

impl Broadcast {
    /// Makes a broadcast of news. `weight` is the size of its text in bytes.
    pub fn new<T: Any + Send + Sync>(news: T, weight: usize) -> Self {
        Self {
            news: Arc::new(news),
            weight,
        }
    }

    /// Returns the news if it is of this type.
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

/// What clients should know at once and nobody needs to know later: shown, never stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Ephemeral {
    /// What lists show of the Thread's activity.
    RuntimeChanged(Runtime),
    /// One reader has been given everything up to here that it had missed. Made for that reader, never logged.
    Synced,
    /// News of a feature, for every client. Belongs to no Thread.
    Broadcast(Broadcast),
    /// A model asks people something. Who is asked is decided by each Session; the frame belongs to no Thread.
    QuestionOpened(Arc<Question>),
    /// It is answered, or nobody waits for the answer any more.
    QuestionClosed(Arc<Question>),
    /// A subagent asks a person, or has its answer. For those who follow the Thread at the top of its tree, whom the
    /// subagent's own log does not reach; its number is that of the event in that log.
    Subagent {
        /// That Thread.
        root: ThreadId,
        /// What was asked or settled.
        question: SubagentQuestion,
    },
    /// How far the subagents of a Turn are: all of them.
    SubAgents {
        /// The Turn.
        turn: TurnId,
        /// One entry a subagent, in the order in which they began.
        entries: Arc<[SubAgentProgress]>,
    },
}

/// A question of a subagent.
#[derive(Debug, Clone, PartialEq)]
pub enum SubagentQuestion {
    /// It is asked.
    Asked(Arc<Approval>),
    /// It is settled.
    Settled {
        /// The Turn.
        turn: TurnId,
        /// The question.
        approval: ApprovalId,
        /// The `approvalResponse` Item.
        item: Arc<Item>,
    },
}

impl Ephemeral {
    /// Returns the bytes of text in it, for the log's bound.
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
            Self::RuntimeChanged(_) | Self::Synced => 0,
        }
    }
}

/// What a frame says.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBody {
    /// A recorded event.
    Recorded(Arc<Event>),
    /// Streamed text.
    Delta(Delta),
    /// Passing news.
    Ephemeral(Ephemeral),
}

/// State at the frame's Seq that an encoding needs and the event does not repeat.
#[derive(Debug, Clone, PartialEq)]
pub enum View {
    /// Nothing more is needed.
    None,
    /// The Turn with all its Items, for the Turn's end.
    Turn(Arc<Turn>),
    /// The Thread, for its beginning and resumption.
    Thread(Arc<ThreadState>),
}

/// Where a frame's messages stand among those of its Seq, for readers that must be able to stop between any two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of them, in order.
    Whole,
    /// As it stands in the log, but without its first messages: the reader has them.
    Rest(u8),
    /// Not in the log: made for one reader, to go behind what is there, as the one of this number.
    Behind(u8),
}

impl Part {
    /// Most messages of one Seq, those made for one reader included.
    pub const COUNT: u8 = 8;
    /// Behind everything else of its Seq.
    pub const LAST: Self = Self::Behind(Self::COUNT - 1);

    /// Returns the place of the `n`-th of several that go behind what is in the log; the last place is kept
    /// for what ends them.
    pub fn behind(n: usize) -> Self {
        let n = u8::try_from(n).unwrap_or(Self::COUNT);
        Self::Behind((Self::COUNT / 2).saturating_add(n).min(Self::COUNT - 2))
    }
}

/// One numbered entry of a Thread's log. Shared by everybody who reads it.
#[derive(Debug)]
pub struct Frame {
    /// The Thread; blank for notices that belong to none.
    pub thread: ThreadId,
    /// Its number in that Thread.
    pub seq: Seq,
    /// When it was appended.
    pub at: UnixMillis,
    /// What it says.
    pub body: FrameBody,
    /// What an encoding needs besides.
    pub view: View,
    /// Where its messages stand among those of its Seq.
    pub part: Part,
    /// Estimated size, the unit of the log's bound.
    bytes: usize,
    encoded: [OnceLock<Encoded>; ENCODINGS],
}

/// What a frame costs beside its text: allocations and bookkeeping, measured roughly.
const FRAME_OVERHEAD: usize = 256;

impl Frame {
    /// Makes a frame that is not (yet) in a log, for example one read back from the store. `weight` is
    /// the size of its text in bytes.
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

    /// Returns the same frame at another place among the messages of its Seq.
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

    /// Returns how many of its messages its reader has already.
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

    /// Returns the encoding kept at `slot`, making it with `encode` the first time.
    ///
    /// A slot outside `0..ENCODINGS` is encoded each time and kept nowhere.
    pub fn encoded(&self, slot: usize, encode: impl FnOnce(&Self) -> Encoded) -> Encoded {
        match self.encoded.get(slot) {
            Some(kept) => kept.get_or_init(|| encode(self)).clone(),
            None => encode(self),
        }
    }

    /// Returns the Delta, if it is one.
    pub fn delta(&self) -> Option<&Delta> {
        match &self.body {
            FrameBody::Delta(delta) => Some(delta),
            FrameBody::Recorded(_) | FrameBody::Ephemeral(_) => None,
        }
    }

    /// Whether every client is told, subscribed or not.
    pub fn concerns_everyone(&self) -> bool {
        match &self.body {
            FrameBody::Recorded(event) => event.concerns_everyone(),
            FrameBody::Ephemeral(
                Ephemeral::RuntimeChanged(_)
                | Ephemeral::Broadcast(_)
                | Ephemeral::QuestionOpened(_)
                | Ephemeral::QuestionClosed(_)
                | Ephemeral::Subagent { .. },
            ) => true,
            FrameBody::Delta(_) | FrameBody::Ephemeral(Ephemeral::Synced | Ephemeral::SubAgents { .. }) => {
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;
