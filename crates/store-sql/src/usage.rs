//! The usage that events add to their Turns, and the rows of sums.

use bobbin_model::{Event, InputPart, Item, ItemBody, TurnId};
use bobbin_store::UsageRow;
use serde::Deserialize;

/// The tool that reads a skill.
const SKILL_VIEW: &str = "SkillView";
/// Longest name of something used, in bytes: it is a part of a key.
const LONGEST_NAME: usize = 512;

/// Something that a Turn used once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Used {
    /// A call of a model, which is billed.
    Request,
    /// A call of a tool.
    ToolCall,
    /// The time of a tool, in milliseconds.
    ToolTime(u64),
    /// `tool:NAME` or `skill:NAME`, without quotes, backslashes and zero bytes.
    Named(String),
    /// An error.
    Error,
    /// A compaction of the conversation.
    Compaction,
}

impl Used {
    /// Returns what an event adds to its Turn.
    pub fn by(event: &Event) -> Vec<(TurnId, Self)> {
        match event {
            Event::ItemAdded { turn, item } | Event::ItemCompleted { turn, item } => Self::by_item(item)
                .into_iter()
                .map(|used| (*turn, used))
                .collect(),
            Event::UsageAdded { turn, .. } => vec![(*turn, Self::Request)],
            _ => Vec::new(),
        }
    }

    fn by_item(item: &Item) -> Vec<Self> {
        match &item.body {
            ItemBody::UserMessage(said) => {
                let skill = |part: &InputPart| match part {
                    InputPart::SkillRef { name, .. } => Some(Self::named("skill", name)),
                    _ => None,
                };
                said.native.iter().filter_map(skill).collect()
            }
            ItemBody::ToolCall {
                tool_name, arguments, ..
            } => {
                let mut used = vec![Self::ToolCall, Self::named("tool", tool_name)];
                let skill = arguments.as_ref().filter(|_| tool_name == SKILL_VIEW);
                if let Some(Skill { name }) = skill.and_then(|json| json.decode().ok()) {
                    used.push(Self::named("skill", &name));
                }
                used
            }
            ItemBody::DynamicToolCall(call) => vec![Self::ToolCall, Self::named("tool", &call.tool_name)],
            ItemBody::ToolExecution {
                duration_ms: Some(duration),
                ..
            } => vec![Self::ToolTime(*duration)],
            ItemBody::Error { .. } => vec![Self::Error],
            ItemBody::Compaction(_) => vec![Self::Compaction],
            _ => Vec::new(),
        }
    }

    fn named(kind: &str, name: &str) -> Self {
        let name = &name[..name.floor_char_boundary(LONGEST_NAME)];
        Self::Named(format!("{kind}:{}", name.replace(['"', '\\', '\0'], "")))
    }
}

/// The arguments of the tool that reads a skill.
#[derive(Deserialize)]
struct Skill {
    name: String,
}

/// A row of sums, with the names of [`UsageRow`].
#[derive(Debug, sqlx::FromRow)]
pub struct SumRow {
    day: i64,
    thread: String,
    surface: String,
    model: Option<String>,
    effort: Option<String>,
    turns: i64,
    requests: i64,
    tool_calls: i64,
    tool_ms: i64,
    tool_ms_max: i64,
    errors: i64,
    compactions: i64,
    input: i64,
    cached: i64,
    output: i64,
    reasoning: i64,
    turn_ms_max: i64,
}

impl From<SumRow> for UsageRow {
    fn from(row: SumRow) -> Self {
        Self {
            day: row.day,
            thread: row.thread,
            surface: row.surface,
            model: row.model,
            effort: row.effort,
            turns: unsigned(row.turns),
            requests: unsigned(row.requests),
            tool_calls: unsigned(row.tool_calls),
            tool_ms: unsigned(row.tool_ms),
            tool_ms_max: unsigned(row.tool_ms_max),
            errors: unsigned(row.errors),
            compactions: unsigned(row.compactions),
            input: unsigned(row.input),
            cached: unsigned(row.cached),
            output: unsigned(row.output),
            reasoning: unsigned(row.reasoning),
            turn_ms_max: unsigned(row.turn_ms_max),
        }
    }
}

/// Databases have signed integers of 64 bits only; our numbers never come near their maximum.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns a stored number.
pub fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
