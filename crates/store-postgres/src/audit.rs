//! The audit of a workspace: rows that build on each other.

use bobbin_store::{AuditEntry, AuditHead, AuditRow};
use bobbin_store_sql::{signed, unsigned};
use sqlx::{PgConnection, PgPool};

use crate::failure::Failure;

/// Adds entries behind the newest row, which is read if it is not known.
pub(crate) async fn append(
    connection: &mut PgConnection,
    workspace: &str,
    head: &mut Option<AuditHead>,
    entries: &[&AuditEntry],
) -> Result<(), sqlx::Error> {
    if entries.is_empty() {
        return Ok(());
    }
    let newest = match head {
        Some(newest) => newest,
        None => head.insert(newest_of(connection, workspace).await?),
    };
    let rows = entries.iter().map(|entry| newest.next(entry));
    let rows: Vec<AuditRow> = rows
        .collect::<Result<_, _>>()
        .map_err(|error| sqlx::Error::Encode(error.into()))?;
    sqlx::query(
        "INSERT INTO audit (workspace, seq, entry, hash) SELECT $1, * \
         FROM unnest($2::bigint[], $3::text[], $4::text[])",
    )
    .bind(workspace)
    .bind(rows.iter().map(|row| signed(row.seq)).collect::<Vec<_>>())
    .bind(rows.iter().map(|row| row.entry.as_str()).collect::<Vec<_>>())
    .bind(rows.iter().map(|row| row.hash.as_str()).collect::<Vec<_>>())
    .execute(connection)
    .await
    .map(drop)
}

async fn newest_of(connection: &mut PgConnection, workspace: &str) -> Result<AuditHead, sqlx::Error> {
    let newest: Option<(i64, String)> =
        sqlx::query_as("SELECT seq, hash FROM audit WHERE workspace = $1 ORDER BY seq DESC LIMIT 1")
            .bind(workspace)
            .fetch_optional(connection)
            .await?;
    Ok(newest.map_or_else(AuditHead::default, |(seq, hash)| AuditHead {
        seq: unsigned(seq),
        hash,
    }))
}

/// Removes the rows up to a number.
pub(crate) async fn cut(
    connection: &mut PgConnection,
    workspace: &str,
    up_to: u64,
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM audit WHERE workspace = $1 AND seq <= $2")
        .bind(workspace)
        .bind(signed(up_to))
        .execute(connection)
        .await
        .map(drop)
}

/// Reads rows, oldest first.
pub(crate) async fn read(
    pool: &PgPool,
    workspace: &str,
    after: u64,
    limit: u32,
) -> Result<Vec<AuditRow>, Failure> {
    let rows: Vec<(i64, String, String)> = sqlx::query_as(
        "SELECT seq, entry, hash FROM audit WHERE workspace = $1 AND seq > $2 ORDER BY seq LIMIT $3",
    )
    .bind(workspace)
    .bind(signed(after))
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await?;
    let row = |(seq, entry, hash)| AuditRow {
        seq: unsigned(seq),
        entry,
        hash,
    };
    Ok(rows.into_iter().map(row).collect())
}
