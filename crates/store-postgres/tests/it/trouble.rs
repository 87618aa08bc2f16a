//! A database that goes away and comes back, and connections that are lost.

use std::time::Duration;

use bobbin_model::{Event, Seq, ThreadId};
use bobbin_store::{ListFilter, Store, StoreError};
use bobbin_store_postgres::{Access, Options, PostgresStore};
use bobbin_testkit::Postgres;
use bobbin_testkit::store_story::{Writer, me};

use crate::proxy::{Cut, Proxy};
use crate::support::{holder, open, server};

fn renamed(name: &str) -> Vec<Event> {
    vec![Event::ThreadRenamed {
        display_name: name.to_owned(),
    }]
}

async fn titles(store: &PostgresStore) -> Vec<String> {
    let id = ThreadId::new("thread_1");
    let events = store.events(&id, Seq(1), Seq(99), 99).await.unwrap();
    let title = |event: &Event| match event {
        Event::ThreadRenamed { display_name } => display_name.clone(),
        other => other.kind().to_owned(),
    };
    events.iter().map(|stored| title(&stored.event)).collect()
}

#[tokio::test]
async fn while_the_database_is_away_everything_is_refused_and_then_all_goes_on() {
    if server().is_none() {
        return;
    }
    let server = Postgres::start().unwrap();
    let access = Access::parse(&server.database("away"), None).unwrap();
    let options = Options {
        patience: Duration::from_millis(300),
        ..Options::of("tea", holder("a"))
    };
    let store = PostgresStore::open(&access, options).await.unwrap();
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    writer.write(renamed("before")).await.unwrap();
    server.interrupt();
    let (first, behind) = (writer.next(renamed("away")), writer.next(renamed("behind")));
    let (first, behind) = (
        store.submit(first).await.unwrap().await,
        store.submit(behind).await.unwrap().await,
    );
    assert!(matches!(first, Err(StoreError::Unreachable(_))), "{first:?}");
    assert!(behind.is_err());
    assert!(store.stats().is_stuck);
    let listed = store.list(ListFilter::default()).await;
    assert!(matches!(listed, Err(StoreError::Unreachable(_))), "{listed:?}");
    let forgotten = store.forget_answers(None).await;
    assert!(
        matches!(forgotten, Err(StoreError::Unreachable(_))),
        "{forgotten:?}"
    );
    server.resume();
    // The writer finds out by itself, without a write.
    let back = async {
        while store.stats().is_stuck {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back).await.unwrap();
    assert!(writer.write(renamed("of the failed owner")).await.is_err());
    let loaded = store.load(&ThreadId::new("thread_1")).await.unwrap().unwrap();
    let mut next = Writer {
        store: &store,
        state: loaded.state,
        seq: 2,
        clock: 50,
        owner: 2,
    };
    next.write(renamed("after")).await.unwrap();
    assert_eq!(titles(&store).await, ["before", "after"]);
    store.close().await;
}

#[tokio::test]
async fn a_database_that_restarts_is_not_missed() {
    if server().is_none() {
        return;
    }
    let server = Postgres::start().unwrap();
    let address = server.database("restarts");
    let access = Access::parse(&address, None).unwrap();
    let options = Options {
        patience: Duration::from_secs(20),
        ..Options::of("tea", holder("a"))
    };
    let store = PostgresStore::open(&access, options).await.unwrap();
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    server.interrupt();
    let write = writer.next(renamed("during"));
    let receipt = store.submit(write).await.unwrap();
    let server = tokio::task::spawn_blocking(move || {
        server.resume();
        server
    });
    receipt.await.unwrap();
    assert_eq!(titles(&store).await, ["during"]);
    store.close().await;
    drop(server.await.unwrap());
}

#[tokio::test]
async fn a_commit_without_an_answer_is_carried_out_once() {
    let Some(server) = server() else { return };
    server.database("cut");
    let proxy = Proxy::to(&server.socket());
    let store = open(&proxy.address("cut"), "tea").await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    for (cut, title) in [
        (Cut::AfterCommit, "committed"),
        (Cut::BeforeCommit, "not committed"),
        (Cut::AfterCommit, "again"),
    ] {
        proxy.cut(cut);
        writer.write(renamed(title)).await.unwrap();
        assert!(proxy.has_cut(), "{title}");
    }
    assert_eq!(titles(&store).await, ["committed", "not committed", "again"]);
    assert_eq!(writer.loaded().await, writer.state);
    store.close().await;
}

#[tokio::test]
async fn a_connection_that_the_server_ends_is_replaced() {
    let Some(server) = server() else { return };
    let store = open(&server.database("ended"), "tea").await;
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    for title in ["one", "two"] {
        server.query(
            "postgres",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'ended'",
        );
        writer.write(renamed(title)).await.unwrap();
    }
    assert_eq!(titles(&store).await, ["one", "two"]);
    store.close().await;
}
