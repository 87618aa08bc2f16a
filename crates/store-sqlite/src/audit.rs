//! The audit: rows that build on each other.

use bobbin_store::{AuditHead, AuditRow};
use bobbin_store_sql::{signed, unsigned};
use sqlx::{SqliteConnection, SqlitePool};

use crate::script::Script;

/// Adds a row.
pub(crate) fn insert(script: &mut Script, row: AuditRow) {
    script
        .then("INSERT INTO audit (seq, entry, hash) VALUES (?, ?, ?)")
        .bind(signed(row.seq))
        .bind(row.entry)
        .bind(row.hash);
}

/// Removes the rows up to a number.
pub(crate) fn cut(script: &mut Script, up_to: u64) {
    script
        .then("DELETE FROM audit WHERE seq <= ?")
        .bind(signed(up_to));
}

/// Returns the newest row.
pub(crate) async fn head(connection: &mut SqliteConnection) -> Result<AuditHead, sqlx::Error> {
    let newest: Option<(i64, String)> =
        sqlx::query_as("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
            .fetch_optional(connection)
            .await?;
    Ok(newest.map_or_else(AuditHead::default, |(seq, hash)| AuditHead {
        seq: unsigned(seq),
        hash,
    }))
}

/// Reads rows, oldest first.
pub(crate) async fn read(pool: &SqlitePool, after: u64, limit: u32) -> Result<Vec<AuditRow>, sqlx::Error> {
    let rows: Vec<(i64, String, String)> =
        sqlx::query_as("SELECT seq, entry, hash FROM audit WHERE seq > ? ORDER BY seq LIMIT ?")
            .bind(signed(after))
            .bind(limit)
            .fetch_all(pool)
            .await?;
    let row = |(seq, entry, hash)| AuditRow {
        seq: unsigned(seq),
        entry,
        hash,
    };
    Ok(rows.into_iter().map(row).collect())
}
