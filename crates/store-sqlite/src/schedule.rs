//! Entries of the schedule: read all, change some.

use bobbin_store::{ScheduleChange, ScheduleEntry};
use sqlx::{Connection, SqliteConnection, SqlitePool};

pub(crate) async fn all(readers: &SqlitePool) -> Result<Vec<ScheduleEntry>, sqlx::Error> {
    let rows: Vec<(String, String, String)> =
        sqlx::query_as("SELECT kind, id, body FROM schedule ORDER BY kind, id")
            .fetch_all(readers)
            .await?;
    let entry = |(kind, id, body)| ScheduleEntry { kind, id, body };
    Ok(rows.into_iter().map(entry).collect())
}

pub(crate) async fn change(
    connection: &mut SqliteConnection,
    changes: &[ScheduleChange],
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for change in changes {
        let query = match change {
            ScheduleChange::Put(entry) => {
                sqlx::query("INSERT OR REPLACE INTO schedule (kind, id, body) VALUES (?, ?, ?)")
                    .bind(entry.kind.clone())
                    .bind(entry.id.clone())
                    .bind(entry.body.clone())
            }
            ScheduleChange::Remove { kind, id } => {
                sqlx::query("DELETE FROM schedule WHERE kind = ? AND id = ?")
                    .bind(kind.clone())
                    .bind(id.clone())
            }
        };
        query.execute(&mut *transaction).await?;
    }
    transaction.commit().await
}
