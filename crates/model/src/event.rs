//! Events: the facts that make up a Thread's history, as they are stored and shown.
//!
//! A stored payload is the JSON of one [`Event`] and carries [`PAYLOAD_VERSION`]; the store decodes older versions.
//! Streamed text is not an event but a [`Delta`]: numbered and shown like one, stored only as part of its Item.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Approval, ApprovalId, CallPreview, ContextNote, ContextWindow, DecidedBy, Decision, DynamicTool,
    EdgeStatus, GivenMessage, Item, ItemId, Outcome, Plan, QueuedInput, QueuedInputId, RevertedFile,
    ThreadConfig, ThreadHeader, ThreadId, ThreadStatus, TokenUsage, TurnDiff, TurnFeatures, TurnId,
    UnixMillis,
};

/// Version of the payload format that this code writes. Version 1 stored a user's message in the start of its Turn too.
pub const PAYLOAD_VERSION: i64 = 2;

/// A recorded change of one Thread.
///
/// Its JSON is `{"kind": {…}}`, not `{"event": "kind", …}`: an inner tag would be buffered while decoding,
/// and opaque JSON inside (tool arguments) does not survive that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// The Thread was created.
    ThreadStarted {
        /// The Thread without its Turns.
        thread: Box<ThreadHeader>,
    },
    /// A client resumed the Thread.
    ThreadResumed {
        /// Name of the client.
        by: String,
    },
    /// The Thread got another title.
    ThreadRenamed {
        /// The title.
        display_name: String,
    },
    /// A label of the Thread was set or removed.
    ThreadLabelled {
        /// The label.
        name: String,
        /// Its value; `None` when it was removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// The Thread was paused, archived or resumed.
    ThreadStatusChanged {
        /// Before.
        previous: ThreadStatus,
        /// Now.
        new: ThreadStatus,
    },
    /// The Thread's configuration was replaced.
    ThreadConfigured {
        /// The configuration.
        config: ThreadConfig,
    },
    /// The parent Thread closed or reopened its edge to this subagent.
    EdgeChanged {
        /// The edge's new status.
        status: EdgeStatus,
    },
    /// The Thread was deleted with all its content.
    ThreadDeleted,
    /// A client declared tools that it runs itself. They replace those declared before.
    ToolsDeclared {
        /// All of them.
        tools: Arc<[DynamicTool]>,
    },
    /// The Thread's queue changed.
    QueueChanged {
        /// The whole queue.
        queue: Vec<QueuedInput>,
    },
    /// The Thread's plan was replaced.
    PlanUpdated {
        /// The plan.
        plan: Plan,
    },
    /// A Turn started.
    TurnStarted {
        /// Its number.
        turn: TurnId,
        /// The first Item: the user's message. Its own event stores it, so this one does not; a store adds it while it
        /// reads.
        #[serde(default, skip_serializing)]
        user_item: Option<Box<Item>>,
        /// Channel that started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin_channel: Option<String>,
        /// What the starting client can do.
        features: TurnFeatures,
        /// The queue entry it came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_queue: Option<QueuedInputId>,
    },
    /// The client that started a Turn also sent the conversation before it.
    HistoryGiven {
        /// The Turn.
        turn: TurnId,
        /// How many messages.
        count: u32,
        /// The messages. The client stores them; the server has them only while the Turn is open.
        #[serde(skip)]
        messages: Arc<[GivenMessage]>,
    },
    /// The server restarted and the Turn goes on.
    TurnRecovered {
        /// The Turn.
        turn: TurnId,
        /// What the restart interrupted, for the user.
        reason: String,
        /// Whether the process ended while the Turn ran, rather than while it waited for an answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        crashed: bool,
    },
    /// The server stopped in order while the Turn was open: the start that follows is not one after a crash.
    TurnLeftOpen {
        /// The Turn.
        turn: TurnId,
    },
    /// A client stopped the Turn: it accepts nothing new and ends as cancelled, whatever happens before that.
    TurnCancelling {
        /// The Turn.
        turn: TurnId,
        /// Why, for the user.
        reason: String,
    },
    /// An Item was opened. Deltas or its completion follow.
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
    /// An Item was added that was final at once.
    ItemAdded {
        /// The Turn.
        turn: TurnId,
        /// The Item.
        item: Box<Item>,
    },
    /// The change that a call would make to a file. The call has not run yet.
    CallPreviewed {
        /// The Turn.
        turn: TurnId,
        /// The call.
        call_id: String,
        /// The change.
        preview: CallPreview,
    },
    /// The effect of a tool call is about to start; after a crash, it may have happened.
    CallStarted {
        /// The Turn.
        turn: TurnId,
        /// The call.
        call_id: String,
    },
    /// An Approval was opened: the user is asked.
    ApprovalOpened {
        /// The `approvalRequest` Item.
        item: Box<Item>,
        /// The Approval.
        approval: Box<Approval>,
    },
    /// An Approval was settled.
    ApprovalResolved {
        /// The Turn.
        turn: TurnId,
        /// The Approval.
        approval: ApprovalId,
        /// The answer.
        decision: Decision,
        /// Who gave the answer.
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
        /// Cost of the call, in millionths of the currency of the prices; 0 where no price is known.
        #[serde(default, skip_serializing_if = "is_zero")]
        cost_micros: u64,
        /// Tokens that the model has written in this Turn, including this call; events of earlier versions have
        /// none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_output_tokens: Option<u64>,
    },
    /// A Turn of a subagent that this Turn started has ended. Its usage counts in this Turn too.
    SubAgentUsed {
        /// The Turn.
        turn: TurnId,
        /// The subagent.
        child: ThreadId,
        /// Its tokens.
        usage: TokenUsage,
        /// Cost of its model calls, in millionths of the currency of the prices.
        #[serde(default, skip_serializing_if = "is_zero")]
        cost_micros: u64,
    },
    /// A model call beside the conversation was billed, as for a title. Its usage counts for the Thread and is not the Turn's.
    HelperUsed {
        /// The Turn.
        turn: TurnId,
        /// Its tokens.
        usage: TokenUsage,
        /// Its cost, in millionths of the currency of the prices.
        #[serde(default, skip_serializing_if = "is_zero")]
        cost_micros: u64,
    },
    /// The model's window reached a threshold, or was compacted.
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
    /// The file changes of an ended Turn were undone, or made again.
    TurnReverted {
        /// The Turn.
        turn: TurnId,
        /// Whether they were made again after an undo.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redone: bool,
        /// The files that were restored to their state before the Turn; to that after it, if the changes were made again.
        files: Vec<RevertedFile>,
        /// Changes of that Turn that were not recorded and therefore could not be undone, as sentences.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// The newest Turns were removed from the conversation. Their events stay in the log.
    TurnsRolledBack {
        /// The oldest removed Turn; every later Turn is removed too.
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
        /// Whether a finished plan now waits for the user's confirmation.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        plan_pending: bool,
    },
}

impl Event {
    /// Returns the stored name of the kind. The payload's only member has the same name.
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
            Self::TurnLeftOpen { .. } => "turnLeftOpen",
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
            Self::HelperUsed { .. } => "helperUsed",
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
            | Self::TurnLeftOpen { turn }
            | Self::ItemStarted { turn, .. }
            | Self::ItemCompleted { turn, .. }
            | Self::ItemAdded { turn, .. }
            | Self::TurnCancelling { turn, .. }
            | Self::CallPreviewed { turn, .. }
            | Self::CallStarted { turn, .. }
            | Self::ApprovalResolved { turn, .. }
            | Self::UsageAdded { turn, .. }
            | Self::SubAgentUsed { turn, .. }
            | Self::HelperUsed { turn, .. }
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

    /// Whether the event is broadcast to every client, subscribed or not (AppServer protocol 01 §8 rule 6). File
    /// changes are, because all Threads share the files.
    pub fn is_broadcast(&self) -> bool {
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

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
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
