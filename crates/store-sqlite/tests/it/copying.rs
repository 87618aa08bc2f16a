//! Copies: before a migration, and of a database that is in use.

use std::os::unix::fs::PermissionsExt as _;

use bobbin_model::ThreadId;
use bobbin_store::Store;
use bobbin_store_sqlite::{CopyError, Options, SqliteStore, copy};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use crate::support::{Writer, me, open};

async fn change(database: &std::path::Path, statement: &'static str) {
    let name = format!("sqlite://{}", database.display());
    let mut connection = SqliteConnection::connect(&name).await.unwrap();
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn has(database: &std::path::Path, thread: &str) -> bool {
    let store = SqliteStore::open(database, Options::default()).await.unwrap();
    let found = store.load(&ThreadId::new(thread)).await.unwrap().is_some();
    store.close().await;
    found
}

#[tokio::test]
async fn a_database_is_copied_before_it_is_migrated_and_only_then() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    Writer::start(&store, "t1", me()).await;
    store.close().await;
    let database = dir.path().join("test.db");
    let copies = || {
        let files = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|file| file.unwrap().file_name());
        let mut names: Vec<_> = files.filter_map(|name| name.into_string().ok()).collect();
        // The database's own files: a connection that was dropped removes two of them a moment later.
        names.retain(|name| !name.starts_with("test.db"));
        names
    };
    assert_eq!(copies(), Vec::<String>::new());
    // As the version before the newest migration left it, and as an earlier migration did.
    std::fs::write(dir.path().join("test-v7.db"), "an earlier copy").unwrap();
    std::fs::write(dir.path().join("test-vX.db"), "the user's").unwrap();
    change(&database, "DROP TABLE audit").await;
    change(&database, "DROP TABLE schedule").await;
    change(&database, "DROP TABLE folder").await;
    change(&database, "ALTER TABLE turn DROP COLUMN cached_input_tokens").await;
    change(&database, "ALTER TABLE turn DROP COLUMN reasoning_output_tokens").await;
    change(&database, "ALTER TABLE turn DROP COLUMN files_changed").await;
    change(&database, "ALTER TABLE turn DROP COLUMN files_undone").await;
    change(&database, "ALTER TABLE thread DROP COLUMN waiting_input").await;
    change(&database, "ALTER TABLE turn DROP COLUMN model").await;
    change(&database, "ALTER TABLE turn DROP COLUMN requests").await;
    change(&database, "ALTER TABLE turn DROP COLUMN tool_calls").await;
    change(&database, "ALTER TABLE turn DROP COLUMN tool_ms").await;
    change(&database, "ALTER TABLE turn DROP COLUMN tool_ms_max").await;
    change(&database, "ALTER TABLE turn DROP COLUMN errors").await;
    change(&database, "ALTER TABLE turn DROP COLUMN compactions").await;
    change(&database, "ALTER TABLE turn DROP COLUMN used").await;
    change(&database, "ALTER TABLE turn DROP COLUMN helper_input_tokens").await;
    change(&database, "ALTER TABLE turn DROP COLUMN helper_output_tokens").await;
    change(
        &database,
        "ALTER TABLE turn DROP COLUMN helper_cached_input_tokens",
    )
    .await;
    change(
        &database,
        "ALTER TABLE turn DROP COLUMN helper_reasoning_output_tokens",
    )
    .await;
    change(&database, "ALTER TABLE turn DROP COLUMN helper_cost_micros").await;
    change(&database, "DELETE FROM _sqlx_migrations WHERE version > 10").await;
    assert!(has(&database, "t1").await);
    let mut found = copies();
    found.sort();
    assert_eq!(found, ["test-v10.db", "test-vX.db"]);
    let copied = dir.path().join("test-v10.db");
    assert_eq!(
        std::fs::metadata(&copied).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(has(&copied, "t1").await);
}

#[tokio::test]
async fn a_copy_is_made_of_a_database_in_use_and_takes_nothings_place() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    Writer::start(&store, "t1", me()).await;
    let (database, to) = (dir.path().join("test.db"), dir.path().join("copy.db"));
    copy(&database, &to).await.unwrap();
    Writer::start(&store, "t2", me()).await;
    assert!(matches!(copy(&database, &to).await, Err(CopyError::Exists(_))));
    let nowhere = dir.path().join("none/copy.db");
    assert!(matches!(
        copy(&database, &nowhere).await,
        Err(CopyError::Target { .. })
    ));
    let nothing = dir.path().join("nothing.db");
    assert!(matches!(
        copy(&nothing, &dir.path().join("x.db")).await,
        Err(CopyError::Source(_))
    ));
    assert!(!nothing.exists() && !dir.path().join("x.db").exists());
    assert!(has(&to, "t1").await && !has(&to, "t2").await);
    store.close().await;
}

#[tokio::test]
async fn what_is_left_in_the_log_is_folded_in_when_the_database_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    Writer::start(&store, "t1", me()).await;
    let (database, log) = (dir.path().join("test.db"), dir.path().join("test.db-wal"));
    assert!(std::fs::metadata(&log).unwrap().len() > 0);
    // As after a crash: the files as they are.
    let place = tempfile::tempdir().unwrap();
    for file in [&database, &log] {
        std::fs::copy(file, place.path().join(file.file_name().unwrap())).unwrap();
    }
    let again = open(place.path()).await;
    assert_eq!(
        std::fs::metadata(place.path().join("test.db-wal")).unwrap().len(),
        0
    );
    again.close().await;
    store.close().await;
}
