//! Writes that wait, that fail, and files that are not whole.

use std::sync::Arc;

use bobbin_model::{Event, Seq, ThreadId, UnixMillis};
use bobbin_store::{Store, StoreError, StoredEvent, Summary, Write};

use crate::support::{Writer, me, open};

#[tokio::test]
async fn a_number_given_twice_is_a_conflict_and_harms_no_other_thread() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut good = Writer::start(&store, "thread_good", me()).await;
    let mut bad = Writer::start(&store, "thread_bad", me()).await;
    bad.seq = 0;
    let (fails, works) = (
        bad.state.decide_rename("x").unwrap(),
        good.state.decide_rename("y").unwrap(),
    );
    let (failed, worked) = tokio::join!(bad.write(fails), good.write(works));
    assert!(
        matches!(failed, Err(StoreError::Conflict { seq: Seq(1), .. })),
        "{failed:?}"
    );
    worked.unwrap();
    assert_eq!(good.loaded().await.header.display_name.as_deref(), Some("y"));
    assert_eq!(bad.loaded().await.header.display_name, None);
}

#[tokio::test]
async fn writes_that_wait_together_are_committed_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut receipts = Vec::new();
    let writer = Writer::start(&store, "thread_1", me()).await;
    for n in 0..500u64 {
        let event = Event::ThreadRenamed {
            display_name: n.to_string(),
        };
        let stored = vec![StoredEvent {
            seq: Seq(n + 2),
            at: UnixMillis(1),
            event: Arc::new(event),
        }];
        let write = Write {
            owner: 1,
            thread: ThreadId::new("thread_1"),
            state: Summary::of(&writer.state, &stored),
            events: stored,
            head_seq: Seq(n + 2),
            text: vec![],
            remember: None,
            request: None,
        };
        receipts.push(store.submit(write).await.unwrap());
    }
    for receipt in receipts {
        receipt.await.unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.writes, stats.events), (501, 501));
    assert!(stats.commits < 100, "{stats:?}");
}

#[tokio::test]
async fn what_an_owner_wrote_behind_a_failed_write_fails_too() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let writer = Writer::start(&store, "thread_1", me()).await;
    let write = |owner, seq, name: &str| {
        let event = Event::ThreadRenamed {
            display_name: name.to_owned(),
        };
        let stored = vec![StoredEvent {
            seq: Seq(seq),
            at: UnixMillis(1),
            event: Arc::new(event),
        }];
        Write {
            owner,
            thread: ThreadId::new("thread_1"),
            state: Summary::of(&writer.state, &stored),
            events: stored,
            head_seq: Seq(seq),
            text: vec![],
            remember: None,
            request: None,
        }
    };
    let taken = store.submit(write(1, 1, "a number that is taken")).await.unwrap();
    assert!(matches!(
        taken.await,
        Err(StoreError::Conflict { seq: Seq(1), .. })
    ));
    // In a batch of its own, and good by itself; but it builds on what is not there.
    let behind = store.submit(write(1, 2, "behind")).await.unwrap();
    assert!(behind.await.is_err());
    // Whoever loads the Thread again goes on.
    store.submit(write(2, 2, "again")).await.unwrap().await.unwrap();
    let events = store
        .events(&ThreadId::new("thread_1"), Seq(0), Seq(9), 9)
        .await
        .unwrap();
    assert_eq!(events.len(), 2);
}

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
async fn the_file_is_its_owners_alone_and_a_closed_store_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mode = std::fs::metadata(dir.path().join("test.db"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    store.close().await;
    let late = writer.write(vec![Event::ThreadResumed { by: "me".into() }]).await;
    assert!(matches!(late, Err(StoreError::Closed)));
}
