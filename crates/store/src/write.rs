//! What an owner hands to the writer.

use std::sync::Arc;

use bobbin_model::{
    ContextWindow, Edge, Event, ItemId, Scope, Seq, ThreadId, ThreadState, TurnId, UnixMillis,
};
use serde::Serialize;

/// An event with its number.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// Its number in the Thread.
    pub seq: Seq,
    /// When it happened.
    pub at: UnixMillis,
    /// What happened.
    pub event: Arc<Event>,
}

/// A piece of streamed text of an open Item, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPart {
    /// The Turn.
    pub turn: TurnId,
    /// The open Item.
    pub item: ItemId,
    /// The piece.
    pub text: Arc<str>,
}

/// One write: all of it is committed or none.
#[derive(Debug)]
pub struct Write {
    /// The Thread.
    pub thread: ThreadId,
    /// Who writes: a number that is higher for each later owner of the Thread. After a write of an owner has
    /// failed, everything else of that owner fails too.
    pub owner: u64,
    /// Its new events, in order.
    pub events: Vec<StoredEvent>,
    /// Its row after them.
    pub state: Summary,
    /// No Seq above this will be shown before the next write.
    pub head_seq: Seq,
    /// Streamed text.
    pub text: Vec<TextPart>,
    /// An operation accepted for ever.
    pub remember: Option<Scope>,
    /// The named request that this carries out.
    pub request: Option<NamedRequest>,
}

/// A request that its client named, so that repeating it is safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRequest {
    /// The name.
    pub id: String,
    /// Digest of what was asked.
    pub body: String,
    /// When it was carried out.
    pub at: UnixMillis,
}

/// What is known of a request that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRequest {
    /// Digest of what was asked.
    pub body: String,
    /// The Thread it was about, or that it made.
    pub thread: ThreadId,
    /// The first event it caused.
    pub seq: Option<Seq>,
}

/// A Thread's row as far as events change it.
#[derive(Debug)]
pub struct Summary {
    /// Its title.
    pub display_name: Option<String>,
    /// Its status, as the wire says it.
    pub status: &'static str,
    /// When something last happened, milliseconds since 1970.
    pub last_active_at: i64,
    /// Number of the newest Turn.
    pub last_turn: u32,
    /// How many Turns it has, without those that were rolled back.
    pub turn_count: u32,
    /// Whether a Turn runs or waits.
    pub running: bool,
    /// Whether an Approval is open.
    pub waiting_approval: bool,
    /// Whether a finished plan waits for an answer.
    pub plan_pending: bool,
    /// Tokens in the model's window.
    pub context_tokens: u64,
    /// The model's window.
    pub context_window: ContextWindow,
    /// JSON of the configuration; `None`: as it was.
    pub config: Option<String>,
    /// JSON of the waiting inputs; `None`: as it was.
    pub queue: Option<String>,
    /// JSON of the plan; `None`: as it was.
    pub plan: Option<String>,
    /// JSON of the answers for the session; `None`: as they were.
    pub grants: Option<String>,
    /// JSON of the labels; `None`: as they were.
    pub metadata: Option<String>,
    /// JSON of the tools that clients declared; `None`: as they were.
    pub tools: Option<String>,
    /// The edge to its parent, of a subagent.
    pub edge: Option<Edge>,
}

/// A column whose JSON is written only when an event changes it: such values are long and rarely change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Config,
    Queue,
    Plan,
    Grants,
    Metadata,
    Tools,
}

impl Column {
    /// Returns the column that an event changes.
    ///
    /// The match names every event, so that a new one does not compile before somebody has said what it changes.
    fn changed_by(event: &Event) -> Option<Self> {
        match event {
            Event::ThreadConfigured { .. } => Some(Self::Config),
            Event::QueueChanged { .. } | Event::TurnStarted { .. } => Some(Self::Queue),
            Event::PlanUpdated { .. } => Some(Self::Plan),
            Event::ApprovalResolved { .. } => Some(Self::Grants),
            Event::ThreadLabelled { .. } => Some(Self::Metadata),
            Event::ToolsDeclared { .. } => Some(Self::Tools),
            // The first write of a Thread has all columns of its own; the others change what is written each time, or none.
            Event::ThreadStarted { .. }
            | Event::ThreadResumed { .. }
            | Event::ThreadRenamed { .. }
            | Event::ThreadStatusChanged { .. }
            | Event::EdgeChanged { .. }
            | Event::ThreadDeleted
            | Event::HistoryGiven { .. }
            | Event::TurnRecovered { .. }
            | Event::TurnCancelling { .. }
            | Event::ItemStarted { .. }
            | Event::ItemCompleted { .. }
            | Event::ItemAdded { .. }
            | Event::CallPreviewed { .. }
            | Event::CallStarted { .. }
            | Event::ApprovalOpened { .. }
            | Event::UsageAdded { .. }
            | Event::SubAgentUsed { .. }
            | Event::ContextNoted { .. }
            | Event::DiffUpdated { .. }
            | Event::TurnReverted { .. }
            | Event::TurnsRolledBack { .. }
            | Event::TurnEnded { .. } => None,
        }
    }
}

impl Summary {
    /// Takes the row from the state after `events`. What none of them touches is left as it is on disk.
    pub fn of(state: &ThreadState, events: &[StoredEvent]) -> Self {
        let changed: Vec<Column> = events
            .iter()
            .filter_map(|stored| Column::changed_by(&stored.event))
            .collect();
        let is_changed = |column| changed.contains(&column);
        let runtime = state.runtime();
        let config = state.header.config.as_ref();
        Self {
            display_name: state.header.display_name.clone(),
            status: state.header.status.as_str(),
            last_active_at: state.header.last_active_at.0,
            last_turn: state.last_turn.0,
            turn_count: state.turn_count,
            running: runtime.running,
            waiting_approval: runtime.waiting_on_approval,
            plan_pending: state.plan_pending,
            context_tokens: state.context.tokens,
            context_window: state.context.window,
            config: config.filter(|_| is_changed(Column::Config)).and_then(json),
            queue: is_changed(Column::Queue).then(|| json(&state.queue)).flatten(),
            plan: state
                .plan
                .as_ref()
                .filter(|_| is_changed(Column::Plan))
                .and_then(json),
            grants: is_changed(Column::Grants).then(|| json(&state.grants)).flatten(),
            metadata: is_changed(Column::Metadata)
                .then(|| json(&state.header.metadata))
                .flatten(),
            tools: is_changed(Column::Tools).then(|| json(&state.tools)).flatten(),
            edge: state.edge,
        }
    }
}

/// Serializes a value of ours, whose serialization has no way to fail.
fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}
