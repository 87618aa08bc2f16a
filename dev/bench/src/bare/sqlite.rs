//! One SQLite database with one table: what a commit and a page cost here.
//!
//! The same library, the same journal and the same `synchronous=FULL` as the server's store; one row where the store
//! writes several, no projection, no batching task.

use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::time::Instant;

use crate::plan::{Plan, Workspace};

/// Text of a row: about what an event of a Thread has.
const TEXT: &str = include_str!("row.json");

/// A database for one scenario.
pub(crate) struct Database {
    connection: SqliteConnection,
    rows: i64,
    /// A directory of its own: in the server's workspace it would be one more file that changes.
    _place: Workspace,
}

impl Database {
    /// Makes one beside the workspaces.
    pub(crate) async fn create(plan: &Plan) -> anyhow::Result<Self> {
        let place = plan.workspace()?;
        let options = SqliteConnectOptions::new()
            .filename(place.path().join("bare.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .disable_statement_logging();
        let mut connection = options.connect().await?;
        sqlx::query("CREATE TABLE row (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, text TEXT NOT NULL)")
            .execute(&mut connection)
            .await?;
        sqlx::query("CREATE INDEX row_by_time ON row (at DESC)")
            .execute(&mut connection)
            .await?;
        Ok(Self {
            connection,
            rows: 0,
            _place: place,
        })
    }

    /// Writes so many rows in one transaction; returns how long its commit took to be acknowledged.
    pub(crate) async fn commit(&mut self, rows: usize) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        for _ in 0..rows {
            self.rows += 1;
            sqlx::query("INSERT INTO row (id, at, text) VALUES (?, ?, ?)")
                .bind(self.rows)
                .bind(self.rows)
                .bind(TEXT)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(began.elapsed())
    }

    /// Reads the newest hundred rows; returns how long that took.
    pub(crate) async fn page(&mut self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let rows: Vec<(i64, String)> = sqlx::query_as("SELECT at, text FROM row ORDER BY at DESC LIMIT 100")
            .fetch_all(&mut self.connection)
            .await?;
        drop(rows);
        Ok(began.elapsed())
    }
}
