//! Sums the usage of Turns.

use bobbin_store::{UsageQuery, UsageRow, UsedRow};
use bobbin_store_sql::{SumRow, unsigned};
use sqlx::PgPool;

use crate::read::{Read, snapshot};

/// Sums what Turns used.
pub(crate) async fn read(
    pool: &PgPool,
    workspace: &str,
    query: UsageQuery,
) -> Read<(Vec<UsageRow>, Vec<UsedRow>)> {
    /// Continues a SELECT with the Turns of a query, from `$1` to `$6`. A Turn before its Thread is a copy of a fork, and
    /// cost nothing.
    macro_rules! of_turns {
        ($columns:literal, $join:literal, $rest:literal) => {
            concat!(
                "SELECT (started_at + $6) / 86400000 AS day, ",
                $columns,
                " FROM turn JOIN thread USING (workspace, thread_id) ",
                $join,
                " WHERE workspace = $1 AND deleted_at IS NULL AND workspace_path = $2 \
                 AND ($3::text IS NULL OR thread_id = $3) AND started_at >= $4 AND started_at < $5 \
                 AND started_at >= created_at ",
                $rest
            )
        };
    }
    let mut connection = snapshot(pool).await?;
    let thread = query.thread.map(|thread| thread.as_str().to_owned());
    let rows: Vec<SumRow> = sqlx::query_as(of_turns!(
        "thread_id AS thread, coalesce(turn.origin_channel, thread.origin_channel) AS surface, turn.model, effort, \
         count(*) AS turns, sum(requests)::bigint AS requests, sum(tool_calls)::bigint AS tool_calls, \
         sum(tool_ms)::bigint AS tool_ms, max(tool_ms_max) AS tool_ms_max, sum(errors)::bigint AS errors, \
         sum(compactions)::bigint AS compactions, \
         sum(input_tokens + helper_input_tokens)::bigint AS input, \
         sum(cached_input_tokens + helper_cached_input_tokens)::bigint AS cached, \
         sum(output_tokens + helper_output_tokens)::bigint AS output, \
         sum(reasoning_output_tokens + helper_reasoning_output_tokens)::bigint AS reasoning, \
         max(coalesce(completed_at, started_at) - started_at) AS turn_ms_max",
        "",
        "GROUP BY 1, 2, 3, 4, 5 ORDER BY 1"
    ))
    .bind(workspace)
    .bind(&query.workspace)
    .bind(&thread)
    .bind(query.from)
    .bind(query.before)
    .bind(query.offset)
    .fetch_all(&mut *connection)
    .await?;
    let used: Vec<(i64, String, i64)> = sqlx::query_as(of_turns!(
        "key, sum(count)::bigint",
        "JOIN turn_use USING (workspace, thread_id, turn_no)",
        "GROUP BY 1, 2 ORDER BY 1"
    ))
    .bind(workspace)
    .bind(&query.workspace)
    .bind(&thread)
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
