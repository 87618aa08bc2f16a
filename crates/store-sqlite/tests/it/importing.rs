//! Databases of others: taken as finished history, or refused.

use std::path::{Path, PathBuf};

use bobbin_model::{Event, ItemBody, ThreadConfig, ThreadId, TurnId, TurnStatus, UnixMillis};
use bobbin_store::Store;
use bobbin_store_sqlite::{ImportError, Imported, Options, SqliteStore, import};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use crate::support::{Writer, me, open, prompt};

/// Makes a database with one finished Turn in `done` and an open one in `open`.
async fn other(dir: &Path) -> PathBuf {
    let store = open(dir).await;
    for (id, ends) in [("done", true), ("open", false)] {
        let mut writer = Writer::start(&store, id, me()).await;
        let config = ThreadConfig {
            workspace_override: Some("/etc".into()),
            ..ThreadConfig::default()
        };
        writer
            .write(vec![Event::ThreadConfigured { config }])
            .await
            .unwrap();
        let events = writer
            .state
            .decide_start_turn(prompt("hello"), UnixMillis(5))
            .unwrap();
        writer.write(events).await.unwrap();
        let body = ItemBody::AgentMessage { text: "tea".into() };
        let (_, events) = writer.state.decide_open_item(body, UnixMillis(6)).unwrap();
        writer.write(events).await.unwrap();
        if ends {
            let events = writer
                .state
                .decide_end_turn(bobbin_model::Outcome::Completed, UnixMillis(7));
            writer.write(events).await.unwrap();
        }
    }
    store.close().await;
    dir.join("test.db")
}

async fn change(database: &Path, statements: &'static str) {
    let name = format!("sqlite://{}", database.display());
    let mut connection = SqliteConnection::connect(&name).await.unwrap();
    sqlx::raw_sql(statements).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn take(from: &Path, into: &Path) -> Result<Imported, ImportError> {
    import(from, &into.join("mine.db"), "/here", UnixMillis(1000)).await
}

#[tokio::test]
async fn open_turns_are_closed_and_settings_stay_behind() {
    let (theirs, mine) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let from = other(theirs.path()).await;
    let imported = take(&from, mine.path()).await.unwrap();
    assert_eq!(
        (imported.taken, imported.known, imported.damaged),
        (2, 0, 0),
        "{imported:?}"
    );
    let again = take(&from, mine.path()).await.unwrap();
    assert_eq!((again.taken, again.known), (0, 2));
    let store = SqliteStore::open(&mine.path().join("mine.db"), Options::default())
        .await
        .unwrap();
    assert_eq!(store.threads_with_open_turns().await.unwrap(), []);
    for (id, status) in [("done", TurnStatus::Completed), ("open", TurnStatus::Failed)] {
        let id = ThreadId::new(id);
        let loaded = store.load(&id).await.unwrap().unwrap();
        assert_eq!(loaded.state.header.workspace_path, "/here");
        assert_eq!(loaded.state.header.config, None);
        assert_eq!(loaded.state.last_turn, TurnId(1));
        let turn = store.turn(&id, TurnId(1)).await.unwrap().unwrap();
        assert_eq!(turn.status, status);
        let body = ItemBody::AgentMessage { text: "tea".into() };
        assert_eq!(turn.items.get(1).map(|item| &item.body), Some(&body));
    }
    store.close().await;
}

#[tokio::test]
async fn a_schema_that_is_not_ours_is_refused() {
    for statements in [
        "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM event; END",
        "CREATE VIEW v AS SELECT 1",
        "DROP TABLE item_text; CREATE VIEW item_text AS SELECT 1 AS part_id",
        "ALTER TABLE event ADD COLUMN more TEXT GENERATED ALWAYS AS (zeroblob(1000000000))",
        "CREATE INDEX more ON event (payload)",
        "DROP TABLE event",
        "DROP TABLE _sqlx_migrations",
    ] {
        let (theirs, mine) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let from = other(theirs.path()).await;
        change(&from, statements).await;
        let refused = take(&from, mine.path()).await.unwrap_err();
        assert!(
            matches!(refused, ImportError::Foreign(_)),
            "{statements}: {refused}"
        );
        assert!(!mine.path().join("mine.db").exists(), "{statements}");
    }
    let (theirs, mine) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let from = other(theirs.path()).await;
    change(
        &from,
        "UPDATE _sqlx_migrations SET version = 99 WHERE version = 10",
    )
    .await;
    let refused = take(&from, mine.path()).await.unwrap_err();
    assert!(
        matches!(refused, ImportError::Newer { found: 99, .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn threads_that_no_server_has_written_are_left_out_and_the_others_taken() {
    for statements in [
        // Values that are huge, of another type or from elsewhere.
        "UPDATE event SET payload = zeroblob(100000000) WHERE thread_id = 'open' AND seq = 3",
        "UPDATE event SET payload = hex(zeroblob(20000000)) WHERE thread_id = 'open' AND seq = 3",
        "UPDATE event SET version = 99 WHERE thread_id = 'open' AND seq = 3",
        "UPDATE event SET seq = 9223372036854775807 WHERE thread_id = 'open' AND seq = 4",
        "UPDATE event SET seq = -1 WHERE thread_id = 'open' AND seq = 1",
        "UPDATE event SET payload = '{\"threadDeleted\":null}' WHERE thread_id = 'open' AND seq = 1",
        "UPDATE event SET payload = replace(payload, '\"open\"', '\"done\"') WHERE thread_id = 'open' AND seq = 1",
        "UPDATE event SET payload = replace(payload, 'turn_001', 'turn_4294967295') WHERE thread_id = 'open'",
        "UPDATE event SET payload = replace(payload, 'item_002', 'item_077') WHERE thread_id = 'open'",
    ] {
        let (theirs, mine) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let from = other(theirs.path()).await;
        change(&from, statements).await;
        let imported = take(&from, mine.path()).await.unwrap();
        assert_eq!(
            (imported.taken, imported.damaged),
            (1, 1),
            "{statements}: {imported:?}"
        );
        let store = SqliteStore::open(&mine.path().join("mine.db"), Options::default())
            .await
            .unwrap();
        assert_eq!(
            store.load(&ThreadId::new("open")).await.unwrap(),
            None,
            "{statements}"
        );
        store.close().await;
    }
    let (theirs, mine) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let from = other(theirs.path()).await;
    change(
        &from,
        "UPDATE event SET thread_id = '../../x' WHERE thread_id = 'open'",
    )
    .await;
    assert!(take(&from, mine.path()).await.is_err());
}
