//! What engines want to happen, on its way to the owner: values and where their answers go.

use std::sync::Arc;

use bobbin_model::{
    CallPreview, Compaction, ContextNote, ContextWindow, Decision, Item, ItemBody, ItemId, Plan, PlanChange,
    Scope, SubAgentProgress, ThreadId, TokenUsage, TurnDiff,
};
use tokio::sync::oneshot;

/// Something an engine wants to happen, on its way to the owner.
pub(crate) enum TurnRequest {
    Open {
        body: ItemBody,
        reply: oneshot::Sender<ItemId>,
    },
    Text {
        item: ItemId,
        text: String,
    },
    Arguments {
        item: ItemId,
        call: Arc<(String, String)>,
        text: String,
    },
    Complete {
        item: ItemId,
        body: Option<ItemBody>,
    },
    Add {
        body: ItemBody,
        /// What becomes of the Thread's plan, recorded with it.
        plan: Option<PlanChange>,
    },
    CallPreviewed {
        call_id: String,
        preview: CallPreview,
    },
    CallStarted {
        call_id: String,
        /// Answered when that is recorded; dropped when the Turn takes nothing new.
        reply: oneshot::Sender<()>,
    },
    Ask {
        ask: Ask,
        asker: Asker,
    },
    Plan {
        plan: Plan,
    },
    /// Answered with the plan as it is.
    ReadPlan {
        reply: oneshot::Sender<Option<Plan>>,
    },
    Diff {
        diff: TurnDiff,
    },
    Usage(Billed),
    /// Something happened to the window.
    Note(WindowNote),
    /// A compaction, and the model call that it took.
    Compacted {
        body: Compaction,
        billed: Option<Billed>,
        window: ContextWindow,
    },
    /// What the Turn waits for.
    Waiting {
        call: Option<String>,
        text: Arc<str>,
    },
    /// How far the subagents are.
    Below {
        entries: Arc<[SubAgentProgress]>,
    },
    /// A Turn of a subagent has ended.
    BelowUsed {
        child: ThreadId,
        usage: TokenUsage,
        cost_micros: u64,
    },
    /// Answered with the Turn's Items, once everything requested before is recorded.
    Items {
        reply: oneshot::Sender<Vec<Item>>,
    },
    /// Answered with the guidance that has come, once that is recorded.
    Guidance {
        reply: oneshot::Sender<Vec<Item>>,
    },
    /// Answered when everything requested before is recorded.
    Commit {
        reply: oneshot::Sender<()>,
    },
}

/// A model call that is over, in figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Billed {
    /// Its tokens.
    pub usage: TokenUsage,
    /// Occupancy of the window after it.
    pub context_tokens: u64,
    /// The window, where the model has one that matters.
    pub window: Option<ContextWindow>,
    /// What it cost, in millionths of the currency of the prices; 0 where no price is known.
    pub cost_micros: u64,
}

/// Something that happened to the model's window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowNote {
    /// What.
    pub note: ContextNote,
    /// Tokens in the window now.
    pub tokens: u64,
    /// The window.
    pub window: ContextWindow,
    /// In words, for the user.
    pub message: String,
}

/// Where the answer to a question goes once it is on disk; dropped when there will be none.
pub(crate) type Asker = oneshot::Sender<Decision>;

/// A question to a user.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The tool call that needs the answer.
    pub call_id: String,
    /// What is asked for.
    pub scope: Scope,
    /// Sentence for the user.
    pub reason: String,
}
