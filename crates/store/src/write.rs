//! The writes that an owner submits.

use std::sync::Arc;

use bobbin_model::{
    ContextWindow, Edge, Event, ItemId, Scope, Seq, ThreadId, ThreadState, TurnId, UnixMillis,
};
use serde::Serialize;

use crate::AuditEntry;

/// An event with its number.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// Its number in the Thread.
    pub seq: Seq,
    /// When it was recorded.
    pub at: UnixMillis,
    /// The event.
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

/// One write, committed as a whole or not at all.
#[derive(Debug)]
pub struct Write {
    /// The Thread.
    pub thread: ThreadId,
    /// The owner that writes: each later owner of the Thread has a higher number. After one write of an owner has
    /// failed, all its later writes fail too.
    pub owner: u64,
    /// Its new events, in order.
    pub events: Vec<StoredEvent>,
    /// Its row after these events.
    pub state: Summary,
    /// No Seq above this is shown to a client before the next write.
    pub head_seq: Seq,
    /// Streamed text.
    pub text: Vec<TextPart>,
    /// An operation to remember as accepted for ever.
    pub remember: Option<Scope>,
    /// The named request that this write carries out.
    pub request: Option<NamedRequest>,
    /// The entries of the audit about these events.
    pub audit: Vec<AuditEntry>,
}

/// A request with an id from its client, so that repeating it is safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRequest {
    /// The client's id for it.
    pub id: String,
    /// Digest of the request's content.
    pub body: String,
    /// When it was carried out.
    pub at: UnixMillis,
}

/// The record of a request that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRequest {
    /// Digest of the request's content.
    pub body: String,
    /// The Thread it was about or created.
    pub thread: ThreadId,
    /// The first event that it caused.
    pub seq: Option<Seq>,
}

/// The columns of a Thread's row that events change.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column")]
pub struct Summary {
    /// Its title.
    pub display_name: Option<String>,
    /// Its status, as on the wire.
    pub status: &'static str,
    /// Time of the last activity, in milliseconds since 1970.
    pub last_active_at: i64,
    /// Number of the newest Turn.
    pub last_turn: u32,
    /// Number of Turns, without those that were rolled back.
    pub turn_count: u32,
    /// Whether a Turn runs or waits.
    pub running: bool,
    /// Whether an Approval is open.
    pub waiting_approval: bool,
    /// Whether a question of the model is open.
    pub waiting_input: bool,
    /// Whether a finished plan waits for the user's confirmation.
    pub plan_pending: bool,
    /// Tokens in the model's window.
    pub context_tokens: u64,
    /// The model's window.
    pub context_window: ContextWindow,
    /// JSON of the configuration; `None` if unchanged.
    pub config: Option<String>,
    /// JSON of the waiting inputs; `None` if unchanged.
    pub queue: Option<String>,
    /// JSON of the plan; `None` if unchanged.
    pub plan: Option<String>,
    /// JSON of the answers for the session; `None` if unchanged.
    pub grants: Option<String>,
    /// JSON of the labels; `None` if unchanged.
    pub metadata: Option<String>,
    /// JSON of the tools that clients declared; `None` if unchanged.
    pub tools: Option<String>,
    /// The edge to the parent Thread, for a subagent.
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
    /// The match names every event, so a new event does not compile without a decision here.
    fn changed_by(event: &Event) -> Option<Self> {
        match event {
            Event::ThreadConfigured { .. } => Some(Self::Config),
            Event::QueueChanged { .. } | Event::TurnStarted { .. } => Some(Self::Queue),
            Event::PlanUpdated { .. } => Some(Self::Plan),
            Event::ApprovalResolved { .. } => Some(Self::Grants),
            Event::ThreadLabelled { .. } => Some(Self::Metadata),
            Event::ToolsDeclared { .. } => Some(Self::Tools),
            // The first write of a Thread writes all columns; the other events change only columns that are always
            // written, or none.
            Event::ThreadStarted { .. }
            | Event::ThreadResumed { .. }
            | Event::ThreadRenamed { .. }
            | Event::ThreadStatusChanged { .. }
            | Event::EdgeChanged { .. }
            | Event::ThreadDeleted
            | Event::HistoryGiven { .. }
            | Event::TurnRecovered { .. }
            | Event::TurnLeftOpen { .. }
            | Event::TurnCancelling { .. }
            | Event::ItemStarted { .. }
            | Event::ItemCompleted { .. }
            | Event::ItemAdded { .. }
            | Event::CallPreviewed { .. }
            | Event::CallStarted { .. }
            | Event::ApprovalOpened { .. }
            | Event::UsageAdded { .. }
            | Event::SubAgentUsed { .. }
            | Event::HelperUsed { .. }
            | Event::ContextNoted { .. }
            | Event::DiffUpdated { .. }
            | Event::TurnReverted { .. }
            | Event::TurnsRolledBack { .. }
            | Event::TurnEnded { .. } => None,
        }
    }
}

impl Summary {
    /// Takes the row from the state after `events`. Columns that no event changes stay as they are on disk.
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
            waiting_input: runtime.waiting_on_input,
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

/// Returns a value of ours as JSON text; serializing one cannot fail.
pub fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}
