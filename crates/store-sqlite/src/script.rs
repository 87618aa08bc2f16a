//! Several statements with their parameters, executed in as few trips as possible.
//!
//! The connection is on a thread of its own, and a trip there costs more than most statements. So the statements of
//! one write form one text. The driver caches prepared statements by text; there are as many texts as kinds of
//! writes. SQLite copies the rest of a text for each statement that it prepares, so the copy of a whole Thread is
//! divided into texts of at most [`MAX_STATEMENTS`]: one text of thousands of statements took seconds.
//!
//! All parameters of a text form one list, in order: a statement may not number them.

use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, AssertSqlSafe, Encode, Sqlite, SqliteConnection, Type};

/// Most statements of a text that the driver caches: longer texts rarely recur. The driver caches a hundred texts.
const KEPT_UP_TO: usize = 16;

/// Most statements of a text (a guess: most writes have fewer, and 8 KB are copied quickly).
const MAX_STATEMENTS: usize = 64;

/// Statements in order.
#[derive(Default)]
pub(crate) struct Script {
    /// The trips whose texts are full.
    full: Vec<Trip>,
    last: Trip,
    /// The first parameter that could not be encoded.
    broken: Option<sqlx::Error>,
}

/// Statements that are executed in one trip.
#[derive(Default)]
struct Trip {
    text: String,
    statements: usize,
    arguments: SqliteArguments,
}

impl Script {
    /// Starts a transaction in the first trip.
    pub(crate) fn in_new_transaction(mut self) -> Self {
        let first = self.full.first_mut().unwrap_or(&mut self.last);
        first.text.insert_str(0, "BEGIN IMMEDIATE;");
        self
    }

    /// Adds a statement; its parameters are bound next, each a plain `?`.
    pub(crate) fn then(&mut self, statement: &'static str) -> &mut Self {
        if self.last.statements == MAX_STATEMENTS {
            self.full.push(std::mem::take(&mut self.last));
        }
        let Trip { text, statements, .. } = &mut self.last;
        if !text.is_empty() {
            text.push(';');
        }
        text.push_str(statement);
        *statements += 1;
        self
    }

    /// Binds the next parameter of the statement added last.
    pub(crate) fn bind<T: Encode<'static, Sqlite> + Type<Sqlite>>(&mut self, value: T) -> &mut Self {
        if let Err(error) = self.last.arguments.add(value) {
            self.broken.get_or_insert(sqlx::Error::Encode(error));
        }
        self
    }

    /// Executes all statements, up to the first that fails.
    pub(crate) async fn run(self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        for trip in self.full {
            trip.run(connection).await?;
        }
        self.last.run(connection).await
    }
}

impl Trip {
    async fn run(self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        debug_assert_eq!(
            self.text.matches('?').count(),
            self.arguments.len(),
            "each '?' has its parameter: {}",
            self.text
        );
        // The text consists of this crate's own constants; all outside values are bound.
        let text = AssertSqlSafe(self.text);
        let query = sqlx::query_with(text, self.arguments).persistent(self.statements <= KEPT_UP_TO);
        query.execute(connection).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection, Row};

    use super::*;

    async fn numbers(connection: &mut SqliteConnection) -> Vec<(i64, Option<String>)> {
        let rows = sqlx::query("SELECT a, b FROM t ORDER BY a")
            .fetch_all(connection)
            .await
            .unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    async fn table() -> SqliteConnection {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let create = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)";
        sqlx::query(create).execute(&mut connection).await.unwrap();
        connection
    }

    #[tokio::test]
    async fn each_statement_gets_its_own_parameters() {
        let mut connection = table().await;
        // Twice: the second time from the driver's cache.
        for (first, word) in [(1, "one; two"), (10, "three")] {
            let mut script = Script::default();
            script
                .then("INSERT INTO t (a, b) VALUES (?, ?)")
                .bind(first)
                .bind(word.to_owned());
            script
                .then("INSERT INTO t (a, b) VALUES (?, ?)")
                .bind(first + 1)
                .bind(None::<String>);
            script
                .then("UPDATE t SET b = b || ? WHERE a = ?")
                .bind("!")
                .bind(first);
            script.run(&mut connection).await.unwrap();
        }
        let expected = [
            (1, Some("one; two!".to_owned())),
            (2, None),
            (10, Some("three!".to_owned())),
            (11, None),
        ];
        assert_eq!(numbers(&mut connection).await, expected);
    }

    #[tokio::test]
    async fn nothing_runs_behind_a_statement_that_fails() {
        let mut connection = table().await;
        let mut script = Script::default();
        for number in [1, 1, 2] {
            script.then("INSERT INTO t (a) VALUES (?)").bind(number);
        }
        let error = script.run(&mut connection).await.unwrap_err();
        assert!(error.as_database_error().unwrap().is_unique_violation());
        assert_eq!(numbers(&mut connection).await, [(1, None)]);
    }

    #[tokio::test]
    async fn more_statements_than_the_driver_buffers_results_are_all_run() {
        let mut connection = table().await;
        let mut script = Script::default();
        for number in 0..500 {
            script.then("INSERT INTO t (a) VALUES (?)").bind(number);
        }
        script.run(&mut connection).await.unwrap();
        assert_eq!(numbers(&mut connection).await.len(), 500);
    }

    #[tokio::test]
    async fn a_long_script_is_divided_into_short_texts_of_one_transaction() {
        let mut connection = table().await;
        let mut script = Script::default();
        for number in 0..500 {
            script.then("INSERT INTO t (a) VALUES (?)").bind(number);
        }
        script.then("INSERT INTO t (a) VALUES (?)").bind(0);
        let script = script.in_new_transaction();
        let texts = script.full.iter().chain([&script.last]);
        let most = texts.map(|trip| trip.text.matches("INSERT").count()).max();
        assert_eq!(most, Some(MAX_STATEMENTS));
        // The last statement fails, so all of them are rolled back.
        script.run(&mut connection).await.unwrap_err();
        assert_eq!(numbers(&mut connection).await.len(), 500);
        sqlx::query("ROLLBACK").execute(&mut connection).await.unwrap();
        assert_eq!(numbers(&mut connection).await, []);
    }
}
