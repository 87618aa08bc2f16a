//! Usage of Turns: counted as their events are stored, and summed for a history of usage.

use bobbin_model::{Event, InputPart, Item, ItemBody, TurnId};
use bobbin_store::{UsageQuery, UsageRow, UsedRow};
use serde::Deserialize;
use sqlx::SqlitePool;

use crate::script::Script;

/// The tool that reads a skill.
const SKILL_VIEW: &str = "SkillView";

const REQUEST: &str = "UPDATE turn SET requests = requests + 1 WHERE thread_id = ? AND turn_no = ?";
const ERROR: &str = "UPDATE turn SET errors = errors + 1 WHERE thread_id = ? AND turn_no = ?";
const COMPACTION: &str = "UPDATE turn SET compactions = compactions + 1 WHERE thread_id = ? AND turn_no = ?";

/// Adds an event to the usage of its Turn.
pub(crate) fn count(script: &mut Script, thread: &str, event: &Event) {
    match event {
        Event::ItemAdded { turn, item } | Event::ItemCompleted { turn, item } => {
            count_item(script, thread, *turn, item);
        }
        // The call of a model, which is billed.
        Event::UsageAdded { turn, .. } => add(script, thread, *turn, REQUEST),
        _ => {}
    }
}

fn count_item(script: &mut Script, thread: &str, turn: TurnId, item: &Item) {
    match &item.body {
        ItemBody::UserMessage(said) => {
            for part in &said.native {
                if let InputPart::SkillRef { name, .. } = part {
                    count_use(script, thread, turn, &format!("skill:{name}"));
                }
            }
        }
        ItemBody::ToolCall {
            tool_name, arguments, ..
        } => {
            count_call(script, thread, turn, tool_name);
            let skill = arguments.as_ref().filter(|_| tool_name == SKILL_VIEW);
            if let Some(Skill { name }) = skill.and_then(|json| json.decode().ok()) {
                count_use(script, thread, turn, &format!("skill:{name}"));
            }
        }
        ItemBody::DynamicToolCall(call) => count_call(script, thread, turn, &call.tool_name),
        ItemBody::ToolExecution {
            duration_ms: Some(duration),
            ..
        } => {
            let duration = i64::try_from(*duration).unwrap_or(i64::MAX);
            script
                .then(
                    "UPDATE turn SET tool_ms = tool_ms + ?, tool_ms_max = max(tool_ms_max, ?) \
                     WHERE thread_id = ? AND turn_no = ?",
                )
                .bind(duration)
                .bind(duration)
                .bind(thread.to_owned())
                .bind(turn.0);
        }
        ItemBody::Error { .. } => add(script, thread, turn, ERROR),
        ItemBody::Compaction(_) => add(script, thread, turn, COMPACTION),
        _ => {}
    }
}

/// The arguments of the tool that reads a skill.
#[derive(Deserialize)]
struct Skill {
    name: String,
}

fn add(script: &mut Script, thread: &str, turn: TurnId, statement: &'static str) {
    script.then(statement).bind(thread.to_owned()).bind(turn.0);
}

fn count_call(script: &mut Script, thread: &str, turn: TurnId, tool: &str) {
    let path = path(&format!("tool:{tool}"));
    script
        .then(
            "UPDATE turn SET tool_calls = tool_calls + 1, \
             used = json_set(used, ?, coalesce(json_extract(used, ?), 0) + 1) WHERE thread_id = ? AND turn_no = ?",
        )
        .bind(path.clone())
        .bind(path)
        .bind(thread.to_owned())
        .bind(turn.0);
}

fn count_use(script: &mut Script, thread: &str, turn: TurnId, key: &str) {
    let path = path(key);
    script
        .then(
            "UPDATE turn SET used = json_set(used, ?, coalesce(json_extract(used, ?), 0) + 1) \
             WHERE thread_id = ? AND turn_no = ?",
        )
        .bind(path.clone())
        .bind(path)
        .bind(thread.to_owned())
        .bind(turn.0);
}

/// Returns the path of a member in a JSON object. A quote or a zero byte would end it.
fn path(key: &str) -> String {
    format!("$.\"{}\"", key.replace(['"', '\\', '\0'], ""))
}

#[derive(sqlx::FromRow)]
struct Row {
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

/// Sums what Turns used.
pub(crate) async fn read(
    pool: &SqlitePool,
    query: UsageQuery,
) -> Result<(Vec<UsageRow>, Vec<UsedRow>), sqlx::Error> {
    const DAY: i64 = 86_400_000;
    // Each condition is in both statements. A Turn before its Thread is a copy of a fork, and cost nothing.
    const WHERE: &str = "FROM turn JOIN thread USING (thread_id) WHERE deleted_at IS NULL AND workspace_path = ?1 \
        AND (?2 IS NULL OR thread_id = ?2) AND started_at >= ?3 AND started_at < ?4 AND started_at >= created_at";
    let mut connection = pool.acquire().await?;
    let thread = query.thread.map(|thread| thread.as_str().to_owned());
    let sums = format!(
        "SELECT (started_at + ?5) / {DAY} AS day, thread_id AS thread, \
         coalesce(turn.origin_channel, thread.origin_channel) AS surface, model, \
         json_extract(features, '$.reasoningEffort') AS effort, count(*) AS turns, sum(requests) AS requests, \
         sum(tool_calls) AS tool_calls, sum(tool_ms) AS tool_ms, max(tool_ms_max) AS tool_ms_max, \
         sum(errors) AS errors, sum(compactions) AS compactions, sum(input_tokens) AS input, \
         sum(cached_input_tokens) AS cached, sum(output_tokens) AS output, \
         sum(reasoning_output_tokens) AS reasoning, \
         max(coalesce(completed_at, started_at) - started_at) AS turn_ms_max {WHERE} \
         GROUP BY day, thread_id, surface, model, effort ORDER BY day"
    );
    let uses = format!(
        "SELECT (started_at + ?5) / {DAY} AS day, entry.key, sum(entry.value) {} GROUP BY day, entry.key ORDER BY day",
        WHERE.replace("WHERE", "JOIN json_each(turn.used) entry WHERE")
    );
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(sums))
        .bind(query.workspace.clone())
        .bind(thread.clone())
        .bind(query.from)
        .bind(query.before)
        .bind(query.offset)
        .fetch_all(&mut *connection)
        .await?;
    let used: Vec<(i64, String, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(uses))
        .bind(query.workspace)
        .bind(thread)
        .bind(query.from)
        .bind(query.before)
        .bind(query.offset)
        .fetch_all(&mut *connection)
        .await?;
    let used = used.into_iter().map(|(day, key, uses)| UsedRow {
        day,
        key,
        count: count_of(uses),
    });
    Ok((rows.into_iter().map(row).collect(), used.collect()))
}

fn row(row: Row) -> UsageRow {
    UsageRow {
        day: row.day,
        thread: row.thread,
        surface: row.surface,
        model: row.model,
        effort: row.effort,
        turns: count_of(row.turns),
        requests: count_of(row.requests),
        tool_calls: count_of(row.tool_calls),
        tool_ms: count_of(row.tool_ms),
        tool_ms_max: count_of(row.tool_ms_max),
        errors: count_of(row.errors),
        compactions: count_of(row.compactions),
        input: count_of(row.input),
        cached: count_of(row.cached),
        output: count_of(row.output),
        reasoning: count_of(row.reasoning),
        turn_ms_max: count_of(row.turn_ms_max),
    }
}

fn count_of(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
