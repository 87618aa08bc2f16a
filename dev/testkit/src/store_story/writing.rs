//! Writes that wait, that fail and that repeat each other.
#![expect(clippy::unwrap_used, reason = "a story that cannot go on fails its test")]

use bobbin_model::{Event, Seq, ThreadId, ThreadSource, UnixMillis};
use bobbin_store::{KnownRequest, NamedRequest, StoreError, Write};

use super::{Open, Writer, me};

fn renamed(name: impl Into<String>) -> Vec<Event> {
    vec![Event::ThreadRenamed {
        display_name: name.into(),
    }]
}

/// A number given twice is a conflict and harms no other thread.
pub async fn a_number_given_twice_is_a_conflict_and_harms_no_other_thread(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut good = Writer::start(&*store, "thread_good", me()).await;
    let mut bad = Writer::start(&*store, "thread_bad", me()).await;
    bad.seq = 0;
    let (failed, worked) = tokio::join!(bad.write(renamed("x")), good.write(renamed("y")));
    assert!(
        matches!(failed, Err(StoreError::Conflict { seq: Seq(1), .. })),
        "{failed:?}"
    );
    worked.unwrap();
    assert_eq!(good.loaded().await.header.display_name.as_deref(), Some("y"));
    assert_eq!(bad.loaded().await.header.display_name, None);
}

/// Writes that wait together are committed together.
pub async fn writes_that_wait_together_are_committed_together(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writers = Vec::new();
    for n in 0..10 {
        writers.push(Writer::start(&*store, &format!("thread_{n}"), me()).await);
    }
    let before = store.stats();
    let mut receipts = Vec::new();
    for n in 0..50 {
        for writer in &mut writers {
            let write = writer.next(renamed(n.to_string()));
            receipts.push(store.submit(write).await.unwrap());
        }
    }
    for receipt in receipts {
        receipt.await.unwrap();
    }
    let stats = store.stats();
    assert_eq!(
        (stats.writes - before.writes, stats.events - before.events),
        (500, 500)
    );
    assert!(stats.commits - before.commits < 100, "{stats:?}");
    assert_eq!(stats.queued_writes, 0);
    for writer in &writers {
        assert_eq!(writer.loaded().await, writer.state);
    }
}

/// Writes of one owner are stored in their order.
pub async fn writes_of_one_owner_are_stored_in_their_order(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    let mut receipts = Vec::new();
    for n in 0..700 {
        let write = writer.next(renamed(n.to_string()));
        receipts.push(store.submit(write).await.unwrap());
    }
    // The last one is acknowledged only after all before it.
    receipts.pop().unwrap().await.unwrap();
    for receipt in &mut receipts {
        let done = futures_util::poll!(tokio::task::unconstrained(receipt));
        assert!(matches!(done, std::task::Poll::Ready(Ok(()))), "{done:?}");
    }
    assert_eq!(writer.loaded().await, writer.state);
    let id = ThreadId::new("thread_1");
    let events = store.events(&id, Seq(1), Seq(u64::MAX), 1000).await.unwrap();
    let in_order: Vec<Event> = (0..700).flat_map(|n| renamed(n.to_string())).collect();
    let stored: Vec<Event> = events.iter().map(|stored| (*stored.event).clone()).collect();
    assert_eq!(stored, in_order);
}

/// What an owner wrote behind a failed write fails too.
pub async fn what_an_owner_wrote_behind_a_failed_write_fails_too(open: Open) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    let mut other = Writer::start(&*store, "thread_2", me()).await;
    writer.seq = 0;
    let taken = writer.next(renamed("a number that is taken"));
    let behind = writer.next(renamed("behind"));
    let (taken, behind, others) = (
        store.submit(taken).await.unwrap(),
        store.submit(behind).await.unwrap(),
        store.submit(other.next(renamed("other"))).await.unwrap(),
    );
    assert!(matches!(
        taken.await,
        Err(StoreError::Conflict { seq: Seq(1), .. })
    ));
    assert!(behind.await.is_err());
    others.await.unwrap();
    // In a batch of its own, and good by itself; but it builds on what is not there.
    assert!(writer.write(renamed("later")).await.is_err());
    // The next owner of the Thread goes on.
    writer.owner = 2;
    writer.seq = 1;
    writer.write(renamed("again")).await.unwrap();
    let events = store
        .events(&ThreadId::new("thread_1"), Seq(0), Seq(9), 9)
        .await
        .unwrap();
    assert_eq!(events.len(), 2);
    // A replaced owner that still writes takes a number that is taken.
    writer.owner = 1;
    writer.seq = 1;
    let replaced = writer.write(renamed("old")).await;
    assert!(
        matches!(replaced, Err(StoreError::Conflict { seq: Seq(2), .. })),
        "{replaced:?}"
    );
}

/// A named request is known with what it caused.
pub async fn a_named_request_is_known_with_what_it_caused(open: Open) {
    const WEEK: i64 = 7 * 24 * 3600 * 1000;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path().to_owned()).await;
    let mut writer = Writer::start(&*store, "thread_1", me()).await;
    let id = ThreadId::new("thread_1");
    let named = |write, id: &str, at| Write {
        request: Some(NamedRequest {
            id: id.to_owned(),
            body: format!("digest of {id}"),
            at: UnixMillis(at),
        }),
        ..write
    };
    let known = |id: &str, seq| {
        Some(KnownRequest {
            body: format!("digest of {id}"),
            thread: ThreadId::new("thread_1"),
            seq,
        })
    };
    let write = |write| async { store.submit(write).await.unwrap().await };
    write(named(writer.next(renamed("a")), "one", 10)).await.unwrap();
    write(named(writer.next(vec![]), "two", 11)).await.unwrap();
    assert_eq!(
        store.request(Some(&id), "one").await.unwrap(),
        known("one", Some(Seq(2)))
    );
    assert_eq!(store.request(Some(&id), "two").await.unwrap(), known("two", None));
    assert_eq!(store.request(None, "one").await.unwrap(), None);
    let other = ThreadId::new("thread_2");
    assert_eq!(store.request(Some(&other), "one").await.unwrap(), None);
    // The same name again stores nothing.
    let again = write(named(writer.next(renamed("b")), "one", 12)).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
    assert_eq!(writer.loaded().await.header.display_name.as_deref(), Some("a"));
    // Names are forgotten after a week.
    writer.owner = 2;
    writer.seq -= 1;
    write(named(writer.next(renamed("c")), "three", WEEK + 11))
        .await
        .unwrap();
    assert_eq!(store.request(Some(&id), "one").await.unwrap(), None);
    assert_eq!(store.request(Some(&id), "two").await.unwrap(), known("two", None));
    // One that created its Thread is about no Thread.
    let mut start = Writer::unstored(&*store, "thread_3", me(), ThreadSource::User);
    let started = start.next(start.started());
    write(named(started, "new", WEEK + 12)).await.unwrap();
    let created = store.request(None, "new").await.unwrap().unwrap();
    assert_eq!((created.thread.as_str(), created.seq), ("thread_3", Some(Seq(1))));
    let about = ThreadId::new("thread_3");
    assert_eq!(store.request(Some(&about), "new").await.unwrap(), None);
}
