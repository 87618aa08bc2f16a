//! A file that is not whole, and the rights of the file.

use std::os::unix::fs::PermissionsExt as _;

use bobbin_model::{Seq, ThreadId};
use bobbin_store::{Store, StoreError};

use crate::support::{Writer, me, open};

#[tokio::test]
async fn damage_is_an_error_that_names_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    writer
        .write(writer.state.decide_rename("x").unwrap())
        .await
        .unwrap();
    store.close().await;
    let url = format!("sqlite://{}", dir.path().join("test.db").display());
    let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
    sqlx::query("UPDATE event SET payload = '{\"threadRenamed\":7}' WHERE seq = 2")
        .execute(&pool)
        .await
        .unwrap();
    sqlx::query("UPDATE event SET version = 99 WHERE seq = 1")
        .execute(&pool)
        .await
        .unwrap();
    pool.close().await;
    let store = open(dir.path()).await;
    let id = ThreadId::new("thread_1");
    let old = store.events(&id, Seq(0), Seq(1), 9).await.unwrap_err();
    assert!(
        matches!(&old, StoreError::CorruptEvent { seq: Seq(1), reason, .. } if reason.contains("99")),
        "{old:?}"
    );
    let broken = store.events(&id, Seq(1), Seq(2), 9).await.unwrap_err();
    assert!(matches!(broken, StoreError::CorruptEvent { seq: Seq(2), .. }));
}

#[tokio::test]
async fn the_file_is_its_owners_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let file = std::fs::metadata(dir.path().join("test.db")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    store.close().await;
}
