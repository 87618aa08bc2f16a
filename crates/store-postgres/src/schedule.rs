//! Entries of the schedule: read all, change some.

use bobbin_store::{ScheduleChange, ScheduleEntry};
use sqlx::{PgConnection, PgPool};

pub(crate) async fn all(pool: &PgPool, workspace: &str) -> Result<Vec<ScheduleEntry>, sqlx::Error> {
    let rows: Vec<(String, String, String)> =
        sqlx::query_as("SELECT kind, id, body FROM schedule WHERE workspace = $1 ORDER BY kind, id")
            .bind(workspace)
            .fetch_all(pool)
            .await?;
    let entry = |(kind, id, body)| ScheduleEntry { kind, id, body };
    Ok(rows.into_iter().map(entry).collect())
}

pub(crate) async fn change(
    connection: &mut PgConnection,
    workspace: &str,
    changes: &[ScheduleChange],
) -> Result<(), sqlx::Error> {
    for change in changes {
        let query = match change {
            ScheduleChange::Put(entry) => sqlx::query(
                "INSERT INTO schedule (workspace, kind, id, body) VALUES ($1, $2, $3, $4) \
                 ON CONFLICT (workspace, kind, id) DO UPDATE SET body = excluded.body",
            )
            .bind(workspace)
            .bind(&entry.kind)
            .bind(&entry.id)
            .bind(&entry.body),
            ScheduleChange::Remove { kind, id } => {
                sqlx::query("DELETE FROM schedule WHERE workspace = $1 AND kind = $2 AND id = $3")
                    .bind(workspace)
                    .bind(kind)
                    .bind(id)
            }
        };
        query.execute(&mut *connection).await?;
    }
    Ok(())
}
