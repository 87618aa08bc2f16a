//! Reads the database in which opencode stores its conversations.
//!
//! It is opened read-only and nothing of it is trusted: sizes are checked before values are read. Only the columns that are
//! named here are needed, so other versions of opencode are read as well.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

/// Most sessions of a folder.
const MAX_SESSIONS: i64 = 1_000;
/// Most messages of a session, and most parts of a message.
const MAX_ROWS: i64 = 5_000;
/// Largest value, in bytes.
const MAX_VALUE: i64 = 4 << 20;
/// Most bytes of a session.
const MAX_BYTES: usize = 64 << 20;

/// Why the database cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the database of opencode cannot be read: {0}; a newer version of Bobbin may know its form")]
pub struct OpencodeError(String);

impl From<sqlx::Error> for OpencodeError {
    fn from(error: sqlx::Error) -> Self {
        Self(match error {
            sqlx::Error::Database(error) => error.message().to_owned(),
            error => error.to_string(),
        })
    }
}

/// A session without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpencodeSession {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
}

/// A message with its parts, each as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpencodeMessage {
    /// When it was made, in milliseconds since 1970.
    pub at: i64,
    /// The message.
    pub data: String,
    /// Its parts, in order.
    pub parts: Vec<String>,
}

/// The open database.
#[derive(Debug)]
pub struct Opencode(SqliteConnection);

impl Opencode {
    /// Opens a database. SQLite may create files beside it.
    ///
    /// # Errors
    /// It is no SQLite database.
    pub async fn open(file: &Path) -> Result<Self, OpencodeError> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .read_only(true)
            .pragma("trusted_schema", "OFF")
            .pragma("cell_size_check", "ON")
            .disable_statement_logging();
        Ok(Self(options.connect().await?))
    }

    /// Returns the newest sessions of a folder, without those of subagents.
    ///
    /// # Errors
    /// The database has another form, or cannot be read.
    pub async fn sessions(&mut self, folder: &str) -> Result<Vec<OpencodeSession>, OpencodeError> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT CAST(id AS TEXT), substr(CAST(title AS TEXT), 1, 4096) FROM session \
             WHERE directory = ? AND parent_id IS NULL ORDER BY time_updated DESC, id LIMIT ?",
        )
        .bind(folder.to_owned())
        .bind(MAX_SESSIONS)
        .fetch_all(&mut self.0)
        .await?;
        let session = |(id, title)| OpencodeSession { id, title };
        Ok(rows.into_iter().map(session).collect())
    }

    /// Returns the messages of a session in order. Values that are too large are left out, and so is the rest of a session
    /// beyond its bounds.
    ///
    /// # Errors
    /// As [`Opencode::sessions`].
    pub async fn messages(&mut self, session: &str) -> Result<Vec<OpencodeMessage>, OpencodeError> {
        let rows: Vec<(String, i64, String)> = sqlx::query_as(
            "SELECT CAST(id AS TEXT), CAST(time_created AS INTEGER), CAST(data AS TEXT) FROM message \
             WHERE session_id = ? AND octet_length(data) <= ? ORDER BY time_created, id LIMIT ?",
        )
        .bind(session.to_owned())
        .bind(MAX_VALUE)
        .bind(MAX_ROWS)
        .fetch_all(&mut self.0)
        .await?;
        let (mut messages, mut bytes) = (Vec::new(), 0);
        for (id, at, data) in rows {
            let parts: Vec<(String,)> = sqlx::query_as(
                "SELECT CAST(data AS TEXT) FROM part WHERE message_id = ? AND octet_length(data) <= ? ORDER BY id LIMIT ?",
            )
            .bind(id)
            .bind(MAX_VALUE)
            .bind(MAX_ROWS)
            .fetch_all(&mut self.0)
            .await?;
            let parts: Vec<String> = parts.into_iter().map(|(part,)| part).collect();
            bytes += data.len() + parts.iter().map(String::len).sum::<usize>();
            if bytes > MAX_BYTES {
                break;
            }
            messages.push(OpencodeMessage { at, data, parts });
        }
        Ok(messages)
    }

    /// Closes it.
    pub async fn close(self) {
        if let Err(error) = self.0.close().await {
            tracing::debug!(%error, "the database of opencode was not closed well");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sessions_of_a_folder_are_read_with_their_messages() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("opencode.db");
        let options = SqliteConnectOptions::new()
            .filename(&file)
            .create_if_missing(true);
        let mut made = options.connect().await.unwrap();
        let large = "x".repeat(5 << 20);
        for text in [
            "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, time_updated INTEGER)",
            "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)",
            "CREATE TABLE part (id TEXT, message_id TEXT, data TEXT)",
            "INSERT INTO session VALUES ('s1', NULL, '/w', 'Tea', 1), ('s2', 's1', '/w', 'Sub', 2), ('s3', NULL, '/x', 'X', 3), ('s4', NULL, '/w', 'New', 4)",
            "INSERT INTO message VALUES ('m2', 's1', 20, '{}'), ('m1', 's1', 10, '{\"role\":\"user\"}')",
            "INSERT INTO part VALUES ('p2', 'm1', 'b'), ('p1', 'm1', 'a')",
            &format!("INSERT INTO part VALUES ('p3', 'm1', '{large}')"),
        ] {
            sqlx::query(sqlx::AssertSqlSafe(text.to_owned()))
                .execute(&mut made)
                .await
                .unwrap();
        }
        made.close().await.unwrap();
        let mut opened = Opencode::open(&file).await.unwrap();
        let sessions = opened.sessions("/w").await.unwrap();
        let titles: Vec<_> = sessions
            .iter()
            .map(|session| (&*session.id, &*session.title))
            .collect();
        assert_eq!(titles, [("s4", "New"), ("s1", "Tea")]);
        let message = |at, data: &str, parts: &[&str]| OpencodeMessage {
            at,
            data: data.to_owned(),
            parts: parts.iter().map(|part| (*part).to_owned()).collect(),
        };
        assert_eq!(
            opened.messages("s1").await.unwrap(),
            [
                message(10, "{\"role\":\"user\"}", &["a", "b"]),
                message(20, "{}", &[])
            ]
        );
        opened.close().await;
        std::fs::write(&file, "no database, but long enough to be read as one").unwrap();
        let error = match Opencode::open(&file).await {
            Ok(mut opened) => opened.sessions("/w").await.unwrap_err(),
            Err(error) => error,
        };
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }
}
