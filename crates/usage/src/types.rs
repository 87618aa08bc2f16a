//! The shapes of `usage/*` and `profile/insights`.

use bobbin_native_wire::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The days of which usage is asked.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageRange {
    /// The first day, `YYYY-MM-DD`. Absent: the earliest.
    pub from: Option<String>,
    /// The last day. Absent: the latest.
    pub to: Option<String>,
    /// Minutes to add to UTC for the local time, cut to ±840. Default 0.
    pub tz_offset_minutes: Option<i64>,
}

/// Params of `usage/summary`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageSummaryParams {
    /// The days.
    #[serde(flatten)]
    pub range: UsageRange,
}

/// Result of `usage/summary`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageSummaryResult {
    /// Number of Threads.
    pub session_count: u64,
    /// Calls of models.
    pub total_requests: u64,
    /// Their answers.
    pub total_responses: u64,
    /// Calls of tools.
    pub total_tool_calls: u64,
    /// Errors.
    pub total_errors: u64,
    /// Compactions of conversations.
    pub total_context_compactions: u64,
    /// Tokens that models read.
    pub total_input_tokens: u64,
    /// Tokens that models wrote.
    pub total_output_tokens: u64,
    /// Tokens read from a cache.
    pub total_cached_input_tokens: u64,
    /// Always 0: no provider's writes to a cache are counted.
    pub total_cache_write_input_tokens: u64,
    /// Tokens read and not from a cache.
    pub total_fresh_input_tokens: u64,
    /// The same as `totalFreshInputTokens`.
    pub total_non_cached_input_tokens: u64,
    /// Tokens of reasoning, among those written.
    pub total_reasoning_output_tokens: u64,
    /// Tokens read and written.
    pub total_tokens: u64,
    /// Time of tools, in milliseconds.
    pub total_tool_duration_ms: u64,
    /// The same for one call.
    pub avg_tool_duration_ms: u64,
    /// The longest call of a tool.
    pub max_tool_duration_ms: u64,
    /// The share of read tokens that come from a cache, 0 to 1.
    pub cache_hit_rate: f64,
}

/// Metric of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UsageMetric {
    /// Tokens read and written.
    Tokens,
    /// Turns.
    Turns,
    /// Calls of models.
    Requests,
    /// Calls of tools.
    ToolCalls,
    /// Uses of skills.
    SkillUses,
    /// Errors.
    Errors,
}

/// Key by which a history is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UsageGrouping {
    /// Nothing.
    #[default]
    None,
    /// Tokens read, read from a cache, written, and written as reasoning.
    TokenType,
    /// The channel.
    Surface,
    /// The model.
    Model,
    /// How much the model reasons.
    Reasoning,
    /// The speed of the model; this server has one.
    Speed,
    /// Tools of the server, and tools of MCP servers.
    ToolSource,
    /// The tool.
    Tool,
    /// The skill.
    Skill,
}

/// Params of `usage/history`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageHistoryParams {
    /// The days.
    #[serde(flatten)]
    pub range: UsageRange,
    /// The metric.
    pub metric: UsageMetric,
    /// The key by which it is divided. By metric: `tokens` takes `tokenType`; `tokens`, `turns` and `requests` take
    /// `surface`, `model`, `reasoning` and `speed`; `toolCalls` takes `toolSource` and `tool`; `skillUses` takes `skill`;
    /// `errors` takes `surface`. Default `none`.
    pub group_by: Option<UsageGrouping>,
    /// Most keys of their own, 1 to 20; the rest counts as `other`. Default 10.
    pub top_limit: Option<u32>,
}

/// The unit of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UsageUnit {
    /// Tokens.
    Tokens,
    /// Anything else.
    Count,
}

/// A number with its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageValue {
    /// The key.
    pub key: String,
    /// The number.
    pub value: u64,
}

/// A sum with its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageSeries {
    /// The key.
    pub key: String,
    /// The sum of all days.
    pub total: u64,
}

/// One day of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageDay {
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// The sum.
    pub total: u64,
    /// The parts by key; those with 0 are left out.
    pub values: Vec<UsageValue>,
}

/// Result of `usage/history`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageHistoryResult {
    /// The unit.
    pub unit: UsageUnit,
    /// The key by which it is divided.
    pub group_by: UsageGrouping,
    /// The days on which something was used, in order.
    pub days: Vec<UsageDay>,
    /// The keys, the largest first, `other` last.
    pub series: Vec<UsageSeries>,
}

/// Params of `usage/threads`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageThreadsParams {
    /// The days.
    #[serde(flatten)]
    pub range: UsageRange,
    /// Most Threads, 1 to 50. Default 5.
    pub limit: Option<u32>,
}

/// Tokens of some Turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageCounts {
    /// Number of Turns.
    pub turns: u64,
    /// Tokens read and written.
    pub total_tokens: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cached_input_tokens: u64,
    /// The share of read tokens that come from a cache, 0 to 1.
    pub cache_hit_rate: f64,
}

/// Usage of one Thread.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageOfThread {
    /// The Thread.
    pub thread_id: String,
    /// Its title.
    pub title: Option<String>,
    /// The channel that started it.
    pub origin_channel: String,
    /// Its latest activity.
    pub last_active_at: Timestamp,
    /// Whether it is archived.
    pub archived: bool,
    /// Its Turns.
    #[serde(flatten)]
    pub counts: UsageCounts,
}

/// Result of `usage/threads`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageThreadsResult {
    /// The Threads, those with most tokens first.
    pub threads: Vec<UsageOfThread>,
}

/// Params of `usage/thread`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageThreadParams {
    /// The Thread.
    pub thread_id: String,
}

/// Usage of the Turns of a Thread with one model.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageOfModel {
    /// The model; absent for the usual one.
    pub model: Option<String>,
    /// How much it reasons; absent as usual.
    pub reasoning_effort: Option<String>,
    /// These Turns.
    #[serde(flatten)]
    pub counts: UsageCounts,
}

/// Result of `usage/thread`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageThreadResult {
    /// The Thread.
    pub thread_id: String,
    /// All its Turns.
    #[serde(flatten)]
    pub counts: UsageCounts,
    /// The same by model, most tokens first.
    pub groups: Vec<UsageOfModel>,
}

/// Params of `profile/insights`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileInsightsParams {
    /// The days.
    #[serde(flatten)]
    pub range: UsageRange,
    /// Most skills, 1 to 20. Default 5.
    pub top_skills: Option<u32>,
}

/// A key and its share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MostUsed {
    /// Its name.
    pub key: String,
    /// Turns with it.
    pub count: u64,
    /// All Turns.
    pub total: u64,
}

/// How often a skill was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillUses {
    /// The skill.
    pub name: String,
    /// The number of its uses.
    pub count: u64,
}

/// Result of `profile/insights`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileInsightsResult {
    /// The model of most Turns.
    pub top_model: Option<MostUsed>,
    /// How much models reasoned in most Turns.
    pub top_reasoning: Option<MostUsed>,
    /// Number of different skills.
    pub skills_explored: u64,
    /// Number of uses of skills.
    pub total_skills_used: u64,
    /// Number of Threads.
    pub total_threads: u64,
    /// The longest Turn, in milliseconds.
    pub longest_task_ms: u64,
    /// The skills that were used most.
    pub skills: Vec<SkillUses>,
}
