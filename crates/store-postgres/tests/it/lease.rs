//! The lease: one holder at a time, and nothing that an earlier one writes.

use std::time::Duration;

use bobbin_model::Event;
use bobbin_store::{Holding, ScheduleChange, ScheduleEntry, ScheduleStore, Store, StoreError};
use bobbin_store_postgres::{Access, Holder, Nodes, OpenError, Options, PostgresStore};
use bobbin_testkit::Postgres;
use bobbin_testkit::store_story::{Writer, me};
use futures_util::future::join_all;

use crate::support::{holder, server};

/// A database of its own, with `workspace` "tea".
struct Tea {
    server: &'static Postgres,
    name: &'static str,
    access: Access,
}

impl Tea {
    fn new(server: &'static Postgres, name: &'static str) -> Self {
        let access = Access::parse(&server.database(name), None).unwrap();
        Self { server, name, access }
    }

    async fn open(&self, machine: &str, lease: Duration) -> Result<PostgresStore, OpenError> {
        let options = Options {
            lease,
            ..Options::of("tea", holder(machine))
        };
        PostgresStore::open(&self.access, options).await
    }

    /// Executes a statement and returns its first row. The stores go on meanwhile.
    async fn query(&self, statement: &'static str) -> String {
        let (server, name) = (self.server, self.name);
        let row = tokio::task::spawn_blocking(move || server.query(name, statement));
        row.await.unwrap().trim().to_owned()
    }

    /// Ends the time of the lease, as if its holder had been frozen.
    async fn expire(&self) {
        self.query("UPDATE lease SET expires_at = now() - interval '1 second'")
            .await;
    }
}

fn renamed(name: &str) -> Vec<Event> {
    vec![Event::ThreadRenamed {
        display_name: name.to_owned(),
    }]
}

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn of_eight_servers_that_start_at_once_one_has_the_workspace() {
    let Some(server) = server() else { return };
    let tea = Tea::new(server, "eight");
    let names: Vec<String> = (0..8).map(|number| format!("machine-{number}")).collect();
    // The first start makes the tables.
    tea.open("first", LONG).await.unwrap().close().await;
    let opened = join_all(names.iter().map(|name| tea.open(name, LONG))).await;
    let (held, refused): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
    assert_eq!(held.len(), 1);
    for refused in refused {
        let Err(OpenError::Taken { machine, seconds }) = refused else {
            panic!("refused for another reason");
        };
        assert!(machine.starts_with("machine-"), "{machine}");
        assert!((50.0..=60.0).contains(&seconds), "{seconds}");
    }
    // One that ends in order makes room at once.
    for held in held {
        held.unwrap().close().await;
    }
    tea.open("next", LONG).await.unwrap().close().await;
}

#[tokio::test]
async fn a_machine_takes_its_own_lease_at_once_with_the_next_fence() {
    let Some(server) = server() else { return };
    let tea = Tea::new(server, "own");
    let killed = tea.open("a", LONG).await.unwrap();
    let mut before = Writer::start(&killed, "thread_1", me()).await;
    let next = tea.open("a", LONG).await.unwrap();
    let refused = before.write(renamed("late")).await;
    assert!(matches!(refused, Err(StoreError::NotHeld)), "{refused:?}");
    let mut after = Writer::start(&next, "thread_2", me()).await;
    after.write(renamed("after")).await.unwrap();
    let fences = tea
        .query("SELECT string_agg(DISTINCT thread_id || fence, ',' ORDER BY thread_id || fence) FROM event")
        .await;
    assert_eq!(fences, "thread_11,thread_22");
    next.close().await;
}

#[tokio::test]
async fn a_copy_of_a_state_directory_takes_no_lease_while_the_other_one_is_served() {
    let Some(server) = server() else { return };
    let tea = Tea::new(server, "copied");
    let own = holder("a");
    let copy = Holder {
        machine: "b".to_owned(),
        ..own.clone()
    };
    let nodes = Nodes::new(tea.access.clone());
    nodes.namesake(&own).await.expect_err("there are no tables yet");
    let served = tea.open("a", LONG).await.unwrap();
    assert_eq!(nodes.namesake(&own).await.unwrap(), None);
    assert_eq!(nodes.namesake(&copy).await.unwrap().as_deref(), Some("a"));
    let options = || Options::of("tea", copy.clone());
    let refused = PostgresStore::open(&tea.access, options()).await.err().unwrap();
    assert!(
        matches!(&refused, OpenError::Copied { machine } if machine == "a"),
        "{refused}"
    );
    let known = nodes.workspaces().await.unwrap();
    assert_eq!((known[0].id.as_str(), known[0].machine.as_str()), ("tea", "a"));
    served.close().await;
    let opened = PostgresStore::open(&tea.access, options()).await.unwrap();
    opened.close().await;
}

#[tokio::test]
async fn nothing_of_an_earlier_holder_is_stored_at_any_entrance() {
    let Some(server) = server() else { return };
    let tea = Tea::new(server, "late");
    let frozen = tea.open("a", LONG).await.unwrap();
    let mut writer = Writer::start(&frozen, "thread_1", me()).await;
    // As if its time were over; otherwise it could renew the lease first.
    tea.query("UPDATE lease SET holder = 'b', machine = 'b'").await;
    let next = tea.open("b", LONG).await.unwrap();
    let before = tea.query(
        "SELECT (SELECT count(*) FROM event), (SELECT count(*) FROM schedule), (SELECT count(*) FROM thread)",
    ).await;
    let change = ScheduleChange::Put(ScheduleEntry {
        kind: "job".to_owned(),
        id: "late".to_owned(),
        body: "{}".to_owned(),
    });
    assert!(matches!(
        frozen.change_schedule(vec![change]).await,
        Err(StoreError::NotHeld)
    ));
    assert!(matches!(
        frozen.forget_answers(None).await,
        Err(StoreError::NotHeld)
    ));
    assert!(matches!(
        writer.write(renamed("late")).await,
        Err(StoreError::NotHeld)
    ));
    let after = tea.query(
        "SELECT (SELECT count(*) FROM event), (SELECT count(*) FROM schedule), (SELECT count(*) FROM thread)",
    ).await;
    assert_eq!(before, after);
    // It learns at once, and not only at its next renewal.
    let mut lease = frozen.lease().unwrap();
    let lost = async { while lease.changed().await != Holding::Lost {} };
    tokio::time::timeout(Duration::from_secs(10), lost).await.unwrap();
    // Its end does not end the lease of the other.
    frozen.close().await;
    assert!(matches!(tea.open("c", LONG).await, Err(OpenError::Taken { .. })));
    next.close().await;
}

#[tokio::test]
async fn a_holder_whose_time_is_over_renews_if_nobody_else_has_come() {
    let Some(server) = server() else { return };
    let tea = Tea::new(server, "over");
    let store = tea.open("a", LONG).await.unwrap();
    let mut writer = Writer::start(&store, "thread_1", me()).await;
    tea.expire().await;
    // Whether this one is stored depends on who comes first.
    let first = writer.write(renamed("first")).await;
    assert!(matches!(first, Ok(()) | Err(StoreError::NotHeld)), "{first:?}");
    let left = "SELECT expires_at > now() + interval '30 seconds' FROM lease";
    let renewed = async {
        while tea.query(left).await != "t" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), renewed)
        .await
        .unwrap();
    Writer::start(&store, "thread_2", me()).await;
    assert!(matches!(store.lease().unwrap().now(), Holding::Until(_)));
    store.close().await;
}
