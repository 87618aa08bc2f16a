//! Events: the facts that make up a Thread's history, as they are stored and shown.
//!
//! A stored payload is the JSON of one [`Event`] and carries [`PAYLOAD_VERSION`]; decoding older versions
//! is the store's business. Streamed text is not an event but a [`Delta`]: numbered and shown like one,
//! stored only as part of its Item.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Approval, ApprovalId, CallPreview, ContextNote, ContextWindow, DecidedBy, Decision, DynamicTool,
    EdgeStatus, GivenMessage, Item, ItemId, Outcome, Plan, QueuedInput, QueuedInputId, RevertedFile,
    ThreadConfig, ThreadHeader, ThreadId, ThreadStatus, TokenUsage, TurnDiff, TurnFeatures, TurnId,
    UnixMillis,
};

/// Version of the payload format that this code writes.
pub const PAYLOAD_VERSION: i64 = 1;

/// A recorded change of one Thread.
///
/// Its JSON is `{"kind": {…}}`, not `{"event": "kind", …}`: an inner tag would be buffered while decoding,
/// and opaque JSON inside (tool arguments) does not survive that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// The Thread exists from here on.
    ThreadStarted {
        /// All that is known of it.
        thread: Box<ThreadHeader>,
    },
    /// Somebody picked it up again.
    ThreadResumed {
        /// Name of the client.
        by: String,
    },
    /// It has another title.
    ThreadRenamed {
        /// The title.
        display_name: String,
    },
    /// One of its labels was set or taken away.
    ThreadLabelled {
        /// The label.
        name: String,
        /// What it says now; `None` when it is gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// It was paused, archived or taken up again.
    ThreadStatusChanged {
        /// Before.
        previous: ThreadStatus,
        /// Now.
        new: ThreadStatus,
    },
    /// Its configuration was replaced.
    ThreadConfigured {
        /// The configuration.
        config: ThreadConfig,
    },
    /// The Thread above has no more to do with this subagent, or has again.
    EdgeChanged {
        /// Which of both.
        status: EdgeStatus,
    },
    /// It is gone, with everything in it.
    ThreadDeleted,
    /// A client brought tools along that it runs itself; they take the place of those before.
    ToolsDeclared {
        /// All of them.
        tools: Arc<[DynamicTool]>,
    },
    /// Its queue changed.
    QueueChanged {
        /// The whole queue.
        queue: Vec<QueuedInput>,
    },
    /// Its plan was replaced.
    PlanUpdated {
        /// The plan.
        plan: Plan,
    },
    /// A Turn began.
    TurnStarted {
        /// Its number.
        turn: TurnId,
        /// The first Item: what the user said.
        user_item: Box<Item>,
        /// Channel that started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin_channel: Option<String>,
        /// What the starting client can do.
        features: TurnFeatures,
        /// The queue entry it came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_queue: Option<QueuedInputId>,
    },
    /// The client that started a Turn handed in the conversation before it.
    HistoryGiven {
        /// The Turn.
        turn: TurnId,
        /// How many messages.
        count: u32,
        /// The messages: the client's to keep, and here only as long as the Turn is open.
        #[serde(skip)]
        messages: Arc<[GivenMessage]>,
    },
    /// The server came back and the Turn goes on.
    TurnRecovered {
        /// The Turn.
        turn: TurnId,
        /// What was in flight, for the user.
        reason: String,
        /// Whether the process ended while the Turn ran, and not while it waited for an answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        crashed: bool,
    },
    /// Somebody stopped the Turn: it takes nothing new and ends as cancelled, whatever happens before that.
    TurnCancelling {
        /// The Turn.
        turn: TurnId,
        /// Why, for the user.
        reason: String,
    },
    /// An Item was opened; text or a later completion follows.
    ItemStarted {
        /// The Turn.
        turn: TurnId,
        /// The Item.
        item: Box<Item>,
    },
    /// An open Item is final.
    ItemCompleted {
        /// The Turn.
        turn: TurnId,
        /// The Item.
        item: Box<Item>,
    },
    /// An Item that was final at once.
    ItemAdded {
        /// The Turn.
        turn: TurnId,
        /// The Item.
        item: Box<Item>,
    },
    /// A call would change a file like this. Nothing of it has happened.
    CallPreviewed {
        /// The Turn.
        turn: TurnId,
        /// The call.
        call_id: String,
        /// What it would do.
        preview: CallPreview,
    },
    /// The effect of a tool call is about to begin: from here on it may have happened.
    CallStarted {
        /// The Turn.
        turn: TurnId,
        /// The call.
        call_id: String,
    },
    /// A person is asked.
    ApprovalOpened {
        /// The `approvalRequest` Item.
        item: Box<Item>,
        /// The question.
        approval: Box<Approval>,
    },
    /// The question is settled.
    ApprovalResolved {
        /// The Turn.
        turn: TurnId,
        /// The question.
        approval: ApprovalId,
        /// The answer.
        decision: Decision,
        /// Whose.
        by: DecidedBy,
        /// The `approvalResponse` Item.
        item: Box<Item>,
    },
    /// A model call was billed.
    UsageAdded {
        /// The Turn.
        turn: TurnId,
        /// This call's tokens.
        usage: TokenUsage,
        /// Tokens in the window now.
        context_tokens: u64,
        /// The window they are in; events of earlier versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context_window: Option<ContextWindow>,
        /// What the call cost, in millionths of the currency of the prices; 0 where no price is known.
        #[serde(default, skip_serializing_if = "is_zero")]
        cost_micros: u64,
        /// Tokens that the model has written in this Turn, these included; events of earlier versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_output_tokens: Option<u64>,
    },
    /// A Turn of a subagent that this Turn had started has ended: what it used counts here too.
    SubAgentUsed {
        /// The Turn.
        turn: TurnId,
        /// The subagent.
        child: ThreadId,
        /// Its tokens.
        usage: TokenUsage,
        /// What its model calls cost, in millionths of the currency of the prices.
        #[serde(default, skip_serializing_if = "is_zero")]
        cost_micros: u64,
    },
    /// Something happened to the model's window.
    ContextNoted {
        /// The Turn.
        turn: TurnId,
        /// What.
        note: ContextNote,
        /// Tokens in the window now.
        tokens: u64,
        /// The window.
        window: ContextWindow,
        /// In words, for the user.
        message: String,
    },
    /// The Turn's file changes so far.
    DiffUpdated {
        /// The Turn.
        turn: TurnId,
        /// All of them.
        diff: TurnDiff,
    },
    /// The file changes of a Turn that has ended were undone.
    TurnReverted {
        /// The Turn.
        turn: TurnId,
        /// The files that are as they were before it.
        files: Vec<RevertedFile>,
        /// Changes of that Turn that nobody kept and that are therefore still there, as sentences.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// The newest Turns were taken out of the conversation. Their events stay in the log.
    TurnsRolledBack {
        /// The oldest of them; every later one is out too.
        first: TurnId,
        /// How many.
        count: u32,
    },
    /// The Turn ended. Its last event.
    TurnEnded {
        /// The Turn.
        turn: TurnId,
        /// How.
        outcome: Outcome,
        /// When.
        completed_at: UnixMillis,
        /// All its tokens.
        usage: TokenUsage,
        /// Whether a finished plan now waits for a word.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        plan_pending: bool,
    },
}

impl Event {
    /// Returns the stored name of the kind, equal to the payload's only member.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ThreadStarted { .. } => "threadStarted",
            Self::ThreadResumed { .. } => "threadResumed",
            Self::ThreadRenamed { .. } => "threadRenamed",
            Self::ThreadLabelled { .. } => "threadLabelled",
            Self::ThreadStatusChanged { .. } => "threadStatusChanged",
            Self::ThreadConfigured { .. } => "threadConfigured",
            Self::EdgeChanged { .. } => "edgeChanged",
            Self::ThreadDeleted => "threadDeleted",
            Self::ToolsDeclared { .. } => "toolsDeclared",
            Self::QueueChanged { .. } => "queueChanged",
            Self::PlanUpdated { .. } => "planUpdated",
            Self::TurnStarted { .. } => "turnStarted",
            Self::HistoryGiven { .. } => "historyGiven",
            Self::TurnRecovered { .. } => "turnRecovered",
            Self::TurnCancelling { .. } => "turnCancelling",
            Self::ItemStarted { .. } => "itemStarted",
            Self::ItemCompleted { .. } => "itemCompleted",
            Self::ItemAdded { .. } => "itemAdded",
            Self::CallPreviewed { .. } => "callPreviewed",
            Self::CallStarted { .. } => "callStarted",
            Self::ApprovalOpened { .. } => "approvalOpened",
            Self::ApprovalResolved { .. } => "approvalResolved",
            Self::UsageAdded { .. } => "usageAdded",
            Self::SubAgentUsed { .. } => "subAgentUsed",
            Self::ContextNoted { .. } => "contextNoted",
            Self::DiffUpdated { .. } => "diffUpdated",
            Self::TurnReverted { .. } => "turnReverted",
            Self::TurnsRolledBack { .. } => "turnsRolledBack",
            Self::TurnEnded { .. } => "turnEnded",
        }
    }

    /// Returns the Turn the event belongs to.
    pub fn turn(&self) -> Option<TurnId> {
        match self {
            Self::TurnStarted { turn, .. }
            | Self::HistoryGiven { turn, .. }
            | Self::TurnRecovered { turn, .. }
            | Self::ItemStarted { turn, .. }
            | Self::ItemCompleted { turn, .. }
            | Self::ItemAdded { turn, .. }
            | Self::TurnCancelling { turn, .. }
            | Self::CallPreviewed { turn, .. }
            | Self::CallStarted { turn, .. }
            | Self::ApprovalResolved { turn, .. }
            | Self::UsageAdded { turn, .. }
            | Self::SubAgentUsed { turn, .. }
            | Self::ContextNoted { turn, .. }
            | Self::DiffUpdated { turn, .. }
            | Self::TurnReverted { turn, .. }
            | Self::TurnEnded { turn, .. } => Some(*turn),
            Self::ApprovalOpened { approval, .. } => Some(approval.turn),
            Self::ThreadStarted { .. }
            | Self::ThreadResumed { .. }
            | Self::ThreadRenamed { .. }
            | Self::ThreadLabelled { .. }
            | Self::ThreadStatusChanged { .. }
            | Self::ThreadConfigured { .. }
            | Self::EdgeChanged { .. }
            | Self::ThreadDeleted
            | Self::ToolsDeclared { .. }
            | Self::QueueChanged { .. }
            | Self::TurnsRolledBack { .. }
            | Self::PlanUpdated { .. } => None,
        }
    }

    /// Whether every client is told, subscribed or not (AppServer protocol 01 §8 rule 6). Files are everybody's.
    pub fn concerns_everyone(&self) -> bool {
        matches!(
            self,
            Self::ThreadStarted { .. }
                | Self::ThreadRenamed { .. }
                | Self::ThreadStatusChanged { .. }
                | Self::EdgeChanged { .. }
                | Self::ThreadDeleted
                | Self::PlanUpdated { .. }
                | Self::TurnReverted { .. }
        )
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Which stream of an Item a Delta belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeltaChannel {
    /// Text of an agent message.
    AgentMessage,
    /// Text of reasoning.
    Reasoning,
    /// Raw JSON text of a call's arguments.
    ToolArguments,
    /// Output of a command.
    CommandOutput,
}

/// A piece of streamed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The Turn.
    pub turn: TurnId,
    /// The open Item.
    pub item: ItemId,
    /// Which stream of it.
    pub channel: DeltaChannel,
    /// Bytes of this stream before this piece.
    pub offset: usize,
    /// The piece, never empty.
    pub text: Arc<str>,
    /// Tool name and call id, for argument streams.
    pub call: Option<Arc<(String, String)>>,
}

#[cfg(test)]
mod tests;
