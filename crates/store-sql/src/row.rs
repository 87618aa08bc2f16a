//! Rows and their decoding. Damaged data gives an error that names its place, never an empty value.

use std::collections::BTreeSet;
use std::sync::Arc;

use bobbin_model::{
    ContextUsage, ContextWindow, Edge, EdgeStatus, Event, Runtime, Seq, ThreadHeader, ThreadId, ThreadState,
    ThreadStatus, TokenUsage, Turn, TurnId, TurnStatus, UnixMillis,
};
use serde::de::DeserializeOwned;

use bobbin_store::{LoadedThread, StoreError, StoredEvent, ThreadSummary};

/// A Thread's row.
#[derive(Debug, sqlx::FromRow)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column")]
pub struct ThreadRow {
    thread_id: String,
    workspace_path: String,
    user_id: Option<String>,
    origin_channel: String,
    channel_context: Option<String>,
    source: String,
    history_mode: String,
    created_at: i64,
    metadata: String,
    display_name: Option<String>,
    status: String,
    last_active_at: i64,
    last_turn: i64,
    turn_count: i64,
    running: bool,
    waiting_approval: bool,
    waiting_input: bool,
    plan_pending: bool,
    context_tokens: i64,
    context_window: Option<i64>,
    compact_at: Option<i64>,
    config: Option<String>,
    queue: String,
    plan: Option<String>,
    grants: String,
    /// Lists do not read this column.
    #[sqlx(default)]
    tools: Option<String>,
    head_seq: i64,
    edge_closed: bool,
    edge_updated_at: Option<i64>,
}

impl ThreadRow {
    /// Returns the Thread as a list shows it.
    ///
    /// # Errors
    /// [`StoreError::CorruptThread`].
    pub fn into_summary(self) -> Result<ThreadSummary, StoreError> {
        let runtime = Runtime {
            running: self.running,
            waiting_on_approval: self.waiting_approval,
            waiting_on_input: self.waiting_input,
            waiting_on_plan_confirmation: self.plan_pending,
        };
        let (turn_count, edge) = (small(self.turn_count), self.edge());
        Ok(ThreadSummary {
            edge,
            header: self.header(false)?,
            turn_count,
            runtime,
        })
    }

    /// Returns the state without an open Turn.
    ///
    /// # Errors
    /// [`StoreError::CorruptThread`].
    pub fn into_loaded(self) -> Result<LoadedThread, StoreError> {
        let head_seq = Seq(u64::try_from(self.head_seq).unwrap_or(0));
        let queue = self.json("queue", &self.queue)?;
        let plan = self
            .plan
            .as_deref()
            .map(|plan| self.json("plan", plan))
            .transpose()?;
        let grants: BTreeSet<String> = self.json("grants", &self.grants)?;
        let tools = match self.tools.as_deref() {
            Some(tools) => self.json("tools", tools)?,
            None => Arc::default(),
        };
        let (last_turn, turn_count) = (TurnId(small(self.last_turn)), small(self.turn_count));
        let tokens = u64::try_from(self.context_tokens).unwrap_or(0);
        let known = |figure: Option<i64>| figure.and_then(|figure| u64::try_from(figure).ok());
        let window = match (known(self.context_window), known(self.compact_at)) {
            (Some(tokens), Some(compact_at)) => ContextWindow { tokens, compact_at },
            _ => ContextWindow::default(),
        };
        let (plan_pending, edge) = (self.plan_pending, self.edge());
        let state = ThreadState {
            header: self.header(true)?,
            last_turn,
            turn_count,
            queue,
            plan,
            context: ContextUsage { tokens, window },
            plan_pending,
            grants,
            tools,
            edge,
            live: None,
        };
        Ok(LoadedThread { state, head_seq })
    }

    fn edge(&self) -> Option<Edge> {
        let updated_at = UnixMillis(self.edge_updated_at?);
        let status = if self.edge_closed {
            EdgeStatus::Closed
        } else {
            EdgeStatus::Open
        };
        Some(Edge::at(status, updated_at))
    }

    fn header(self, with_config: bool) -> Result<ThreadHeader, StoreError> {
        let config = self.config.as_deref().filter(|_| with_config);
        let status = match self.status.as_str() {
            "active" => ThreadStatus::Active,
            "paused" => ThreadStatus::Paused,
            "archived" => ThreadStatus::Archived,
            other => return Err(self.corrupt(format!("status {other:?}"))),
        };
        Ok(ThreadHeader {
            source: self.json("source", &self.source)?,
            history_mode: self.json("history_mode", &self.history_mode)?,
            config: config.map(|config| self.json("config", config)).transpose()?,
            metadata: self.json("metadata", &self.metadata)?,
            id: ThreadId::new(self.thread_id),
            workspace_path: self.workspace_path,
            user_id: self.user_id,
            origin_channel: self.origin_channel,
            channel_context: self.channel_context,
            display_name: self.display_name,
            status,
            created_at: UnixMillis(self.created_at),
            last_active_at: UnixMillis(self.last_active_at),
        })
    }

    fn json<T: DeserializeOwned>(&self, column: &str, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.corrupt(format!("{column}: {error}")))
    }

    fn corrupt(&self, reason: String) -> StoreError {
        StoreError::CorruptThread {
            thread: ThreadId::new(self.thread_id.as_str()),
            reason,
        }
    }
}

/// An event's row.
#[derive(Debug, sqlx::FromRow)]
pub struct EventRow {
    /// Its number.
    pub seq: i64,
    /// The version of the payload's format.
    pub version: i64,
    /// When it was recorded.
    pub at: i64,
    /// The event, JSON.
    pub payload: String,
    /// The event of the Turn's first Item, where this one is the start of a Turn.
    #[sqlx(default)]
    pub first_item: Option<String>,
}

impl EventRow {
    /// Decodes the payload by its version.
    ///
    /// # Errors
    /// [`StoreError::CorruptEvent`].
    pub fn decode(self, thread: &ThreadId) -> Result<StoredEvent, StoreError> {
        let seq = Seq(u64::try_from(self.seq).unwrap_or(0));
        let corrupt = |reason: String| StoreError::CorruptEvent {
            thread: thread.clone(),
            seq,
            reason,
        };
        let decode =
            |payload: &str| serde_json::from_str(payload).map_err(|error| corrupt(error.to_string()));
        let mut event: Event = match self.version {
            1..=bobbin_model::event::PAYLOAD_VERSION => decode(&self.payload)?,
            other => {
                return Err(corrupt(format!(
                    "payload version {other} is not known to this server"
                )));
            }
        };
        // Earlier servers stored the Item here as well.
        if let Event::TurnStarted { user_item, .. } = &mut event
            && user_item.is_none()
            && let Some(first) = &self.first_item
            && let Event::ItemAdded { item, .. } = decode(first)?
        {
            *user_item = Some(item);
        }
        Ok(StoredEvent {
            seq,
            at: UnixMillis(self.at),
            event: Arc::new(event),
        })
    }
}

/// An Item's row with its event, if there is one.
#[derive(Debug, sqlx::FromRow)]
pub struct ItemRow {
    turn_no: i64,
    item_no: i64,
    seq: Option<i64>,
    version: Option<i64>,
    at: Option<i64>,
    payload: Option<String>,
}

impl ItemRow {
    /// Returns the event.
    ///
    /// # Errors
    /// [`StoreError::CorruptThread`].
    pub fn into_event(self, thread: &ThreadId) -> Result<EventRow, StoreError> {
        match (self.seq, self.version, self.at, self.payload) {
            (Some(seq), Some(version), Some(at), Some(payload)) => Ok(EventRow {
                seq,
                version,
                at,
                payload,
                first_item: None,
            }),
            _ => Err(StoreError::CorruptThread {
                thread: thread.clone(),
                reason: format!("item {} of turn {} has no event", self.item_no, self.turn_no),
            }),
        }
    }
}

/// A Turn's row.
#[derive(Debug, sqlx::FromRow)]
pub struct TurnRow {
    /// Its number.
    pub turn_no: i64,
    status: String,
    started_at: i64,
    completed_at: Option<i64>,
    input_tokens: i64,
    output_tokens: i64,
    error: Option<String>,
    origin_channel: Option<String>,
    /// Abilities of the client that started it, JSON.
    pub features: String,
    /// The newest event with its changes in files.
    pub diff_seq: Option<i64>,
    /// Why it is being stopped.
    pub cancelling: Option<String>,
    cost_micros: i64,
    cached_input_tokens: i64,
    reasoning_output_tokens: i64,
    /// Whether its conversation is being compacted.
    pub compacting: bool,
    /// How often the process ended while it ran; -1 after an end in order.
    pub crashes: i32,
    /// The conversation that a client gave with it, JSON.
    pub history: Option<String>,
    files_changed: i64,
    files_undone: bool,
}

impl TurnRow {
    /// Returns its number.
    pub fn id(&self) -> TurnId {
        TurnId(small(self.turn_no))
    }

    /// Returns the Turn without Items.
    ///
    /// # Errors
    /// [`StoreError::CorruptThread`].
    pub fn into_turn(self, thread: &ThreadId) -> Result<Turn, StoreError> {
        let status = TurnStatus::from_word(&self.status).ok_or_else(|| StoreError::CorruptThread {
            thread: thread.clone(),
            reason: format!("turn {} has status {:?}", self.turn_no, self.status),
        })?;
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        Ok(Turn {
            id: self.id(),
            status,
            items: Vec::new(),
            started_at: UnixMillis(self.started_at),
            completed_at: self.completed_at.map(UnixMillis),
            usage: TokenUsage {
                input_tokens: count(self.input_tokens),
                output_tokens: count(self.output_tokens),
                cached_input_tokens: count(self.cached_input_tokens),
                reasoning_output_tokens: count(self.reasoning_output_tokens),
            },
            cost_micros: count(self.cost_micros),
            files_changed: small(self.files_changed),
            files_undone: self.files_undone,
            error: self.error,
            origin_channel: self.origin_channel,
        })
    }
}

/// Databases have signed integers of 64 bits; these numbers were written from 32.
fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
