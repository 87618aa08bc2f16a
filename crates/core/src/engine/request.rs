//! Requests of engines on their way to the owner, with the channels of their answers.

use std::sync::Arc;

use bobbin_model::{
    CallPreview, Compaction, ContextNote, ContextWindow, Decision, Item, ItemBody, ItemId, Plan, PlanChange,
    Scope, SubAgentProgress, ThreadId, TokenUsage, TurnDiff, UserInputRequest,
};
use tokio::sync::oneshot;

/// A request of an engine.
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
        /// Change of the Thread's plan, recorded together with the Item.
        plan: Option<PlanChange>,
    },
    CallPreviewed {
        call_id: String,
        preview: CallPreview,
    },
    CallStarted {
        call_id: String,
        /// Answered once that is recorded; dropped if the Turn accepts nothing new.
        reply: oneshot::Sender<()>,
    },
    Ask {
        ask: Ask,
        asker: Asker,
    },
    /// Answered with the Item of the question, once it is recorded: the same Item for each question of a call that is open.
    Inquire {
        request: UserInputRequest,
        reply: oneshot::Sender<Vec<Item>>,
    },
    Plan {
        plan: Plan,
    },
    /// Answered with the present plan.
    ReadPlan {
        reply: oneshot::Sender<Option<Plan>>,
    },
    Diff {
        diff: TurnDiff,
    },
    Usage(Billed),
    /// An event of the context window.
    Note(WindowNote),
    /// A compaction, and the usage of its model request.
    Compacted {
        body: Compaction,
        billed: Option<Billed>,
        window: ContextWindow,
    },
    /// The reason of a wait.
    Waiting {
        call: Option<String>,
        text: Arc<str>,
    },
    /// The progress of the subagents.
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
    /// Answered with the users' inputs for the running Turn, once they are recorded.
    Guidance {
        reply: oneshot::Sender<Vec<Item>>,
    },
    /// Answered once everything requested before is recorded.
    Commit {
        reply: oneshot::Sender<()>,
    },
}

/// Usage of a request to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Billed {
    /// Its tokens.
    pub usage: TokenUsage,
    /// Tokens of the context window in use after it.
    pub context_tokens: u64,
    /// The context window; `None` if the model's is unknown.
    pub window: Option<ContextWindow>,
    /// Cost in millionths of the currency of the prices; 0 if no price is known.
    pub cost_micros: u64,
}

/// An event of the context window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowNote {
    /// The event.
    pub note: ContextNote,
    /// Tokens in the window now.
    pub tokens: u64,
    /// The window.
    pub window: ContextWindow,
    /// A sentence for the user.
    pub message: String,
}

/// Receives the answer to a question once it is on disk; dropped if there is no answer.
pub(crate) type Asker = oneshot::Sender<Decision>;

/// A question to a user.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The tool call that needs the answer.
    pub call_id: String,
    /// The scope of the Approval.
    pub scope: Scope,
    /// Sentence for the user.
    pub reason: String,
}
