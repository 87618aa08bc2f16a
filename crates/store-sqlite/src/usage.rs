//! Usage of Turns: counted as their events are stored, and summed for a history of usage.

use bobbin_model::Event;
use bobbin_store::{UsageQuery, UsageRow, UsedRow};
use bobbin_store_sql::{SumRow, Used, signed, unsigned};
use sqlx::SqlitePool;

use crate::script::Script;

/// Adds an event to the usage of its Turn.
pub(crate) fn count(script: &mut Script, thread: &str, event: &Event) {
    for (turn, used) in Used::by(event) {
        let statement = match used {
            Used::Request => "UPDATE turn SET requests = requests + 1 WHERE thread_id = ? AND turn_no = ?",
            Used::Error => "UPDATE turn SET errors = errors + 1 WHERE thread_id = ? AND turn_no = ?",
            Used::Compaction => {
                "UPDATE turn SET compactions = compactions + 1 WHERE thread_id = ? AND turn_no = ?"
            }
            Used::ToolCall => {
                "UPDATE turn SET tool_calls = tool_calls + 1 WHERE thread_id = ? AND turn_no = ?"
            }
            Used::ToolTime(duration) => {
                script
                    .then(
                        "UPDATE turn SET tool_ms = tool_ms + ?, tool_ms_max = max(tool_ms_max, ?) \
                         WHERE thread_id = ? AND turn_no = ?",
                    )
                    .bind(signed(duration))
                    .bind(signed(duration))
                    .bind(thread.to_owned())
                    .bind(turn.0);
                continue;
            }
            Used::Named(key) => {
                let path = path(&key);
                script
                    .then(
                        "UPDATE turn SET used = json_set(used, ?, coalesce(json_extract(used, ?), 0) + 1) \
                         WHERE thread_id = ? AND turn_no = ?",
                    )
                    .bind(path.clone())
                    .bind(path)
                    .bind(thread.to_owned())
                    .bind(turn.0);
                continue;
            }
        };
        script.then(statement).bind(thread.to_owned()).bind(turn.0);
    }
}

/// Returns the path of a member in a JSON object.
fn path(key: &str) -> String {
    format!("$.\"{key}\"")
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
         sum(errors) AS errors, sum(compactions) AS compactions, \
         sum(input_tokens + helper_input_tokens) AS input, \
         sum(cached_input_tokens + helper_cached_input_tokens) AS cached, \
         sum(output_tokens + helper_output_tokens) AS output, \
         sum(reasoning_output_tokens + helper_reasoning_output_tokens) AS reasoning, \
         max(coalesce(completed_at, started_at) - started_at) AS turn_ms_max {WHERE} \
         GROUP BY day, thread_id, surface, model, effort ORDER BY day"
    );
    let uses = format!(
        "SELECT (started_at + ?5) / {DAY} AS day, entry.key, sum(entry.value) {} GROUP BY day, entry.key ORDER BY day",
        WHERE.replace("WHERE", "JOIN json_each(turn.used) entry WHERE")
    );
    let rows: Vec<SumRow> = sqlx::query_as(sqlx::AssertSqlSafe(sums))
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
        count: unsigned(uses),
    });
    Ok((rows.into_iter().map(UsageRow::from).collect(), used.collect()))
}
