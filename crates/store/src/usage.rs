//! Usage of Turns, summed for a history.

use bobbin_model::ThreadId;

/// The Turns of one Thread, one day, one channel, one model and one effort together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageRow {
    /// Days since 1 January 1970 in the asked time zone.
    pub day: i64,
    /// The Thread.
    pub thread: String,
    /// The channel from which the Turns came.
    pub surface: String,
    /// The Thread's choice of a model; `None` for the usual one.
    pub model: Option<String>,
    /// How much the model reasoned; `None` as usual.
    pub effort: Option<String>,
    /// Number of Turns.
    pub turns: u64,
    /// Billed calls of models.
    pub requests: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Time of tools, in milliseconds.
    pub tool_ms: u64,
    /// The longest call of a tool, in milliseconds.
    pub tool_ms_max: u64,
    /// Errors.
    pub errors: u64,
    /// Compactions of conversations.
    pub compactions: u64,
    /// Tokens that models read.
    pub input: u64,
    /// Those of `input` that come from a cache.
    pub cached: u64,
    /// Tokens that models wrote.
    pub output: u64,
    /// Those of `output` that are reasoning.
    pub reasoning: u64,
    /// The longest Turn, in milliseconds.
    pub turn_ms_max: u64,
}

/// How often something was used on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedRow {
    /// Days since 1 January 1970 in the asked time zone.
    pub day: i64,
    /// `tool:NAME` or `skill:NAME`.
    pub key: String,
    /// The number of uses.
    pub count: u64,
}

/// The Turns of which usage is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    /// The workspace.
    pub workspace: String,
    /// One Thread, or all.
    pub thread: Option<ThreadId>,
    /// Turns that started at this time or later, in Unix milliseconds.
    pub from: i64,
    /// Turns that started before this time.
    pub before: i64,
    /// Milliseconds to add to a time for the local one.
    pub offset: i64,
}
