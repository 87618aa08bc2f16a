//! Writes until they are acknowledged, beside the same rows inserted by nothing but the database.
//!
//! A `turn start` writes an event, a Turn and the Thread's row; the bare case inserts that many rows of the same
//! size in one transaction. `full` waits for the disk with each commit, `normal` does not, so that it shows our
//! own work. `28 threads` is what one client may have in flight at once: all of it waits together.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up should stop loudly"
)]

use std::path::Path;
use std::sync::Arc;

use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{
    Event, HistoryMode, Identity, InputPart, Outcome, Seq, ThreadId, ThreadState, TurnFeatures, TurnId,
    UnixMillis,
};
use bobbin_store::{AuditEntry, Deed, Store, StoredEvent, Summary, Write};
use bobbin_store_sqlite::{Durability, Options, SqliteStore};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::future::join_all;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::runtime::{Builder, Runtime};

/// Rows that the start of a Turn touches.
const ROWS: usize = 3;

/// One Thread as its owner would write it.
struct Owner {
    state: ThreadState,
    seq: u64,
}

impl Owner {
    fn new(number: usize) -> (Self, Write) {
        let request = NewThread {
            id: ThreadId::new(format!("thread_{number}")),
            identity: Identity {
                channel_name: "bench".into(),
                ..Identity::default()
            },
            config: None,
            history_mode: HistoryMode::Server,
            display_name: None,
        };
        let event = request.decide("/srv/tea", UnixMillis(1)).unwrap();
        let Event::ThreadStarted { thread } = &event else {
            unreachable!()
        };
        let state = ThreadState::new((**thread).clone());
        let mut owner = Self { state, seq: 0 };
        let write = owner.write(vec![event]);
        (owner, write)
    }

    fn write(&mut self, events: Vec<Event>) -> Write {
        let mut stored = Vec::new();
        for event in events {
            self.state.apply(&event, UnixMillis(2));
            self.seq += 1;
            stored.push(StoredEvent {
                seq: Seq(self.seq),
                at: UnixMillis(2),
                event: Arc::new(event),
            });
        }
        Write {
            thread: self.state.header.id.clone(),
            owner: 1,
            state: Summary::of(&self.state, &stored),
            head_seq: Seq(self.seq),
            events: stored,
            text: Vec::new(),
            remember: None,
            request: None,
            audit: Vec::new(),
        }
    }

    /// The end of the Turn that is open.
    fn end(&mut self) -> Write {
        let ended = self.state.decide_end_turn(Outcome::Completed, UnixMillis(2));
        self.write(ended)
    }

    /// The beginning of the next one.
    fn turn(&mut self) -> Write {
        let request = StartTurn {
            client_message_id: None,
            trigger: None,
            input: vec![InputPart::Text {
                text: "Say something about the weather of tomorrow.".into(),
            }],
            sender: None,
            channel: Some("bench".into()),
            features: TurnFeatures::default(),
        };
        let started = self.state.decide_start_turn(request, UnixMillis(2)).unwrap();
        let entry = AuditEntry {
            at: UnixMillis(2),
            actor: None,
            client: None,
            thread: Some(self.state.header.id.clone()),
            turn: Some(TurnId(1)),
            deed: Deed::TurnStarted {
                channel: Some("bench".into()),
                command: None,
            },
        };
        Write {
            audit: vec![entry],
            ..self.write(started)
        }
    }
}

async fn acknowledged(store: &SqliteStore, writes: Vec<Write>) {
    let submitted = writes
        .into_iter()
        .map(|write| async { store.submit(write).await.unwrap().await.unwrap() });
    join_all(submitted).await;
}

fn store_case(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    runtime: &Runtime,
    durability: Durability,
    threads: usize,
) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        durability,
        ..Options::default()
    };
    let store = runtime
        .block_on(SqliteStore::open(&directory.path().join("store.db"), options))
        .unwrap();
    let mut owners = Vec::new();
    for number in 0..threads {
        let (owner, write) = Owner::new(number);
        runtime.block_on(acknowledged(&store, vec![write]));
        owners.push(owner);
    }
    group.throughput(Throughput::Elements(threads as u64));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|rounds| {
            let mut took = std::time::Duration::ZERO;
            for _ in 0..rounds {
                let writes = owners.iter_mut().map(Owner::turn).collect();
                let began = std::time::Instant::now();
                runtime.block_on(acknowledged(&store, writes));
                took += began.elapsed();
                // Not counted: the next Turn needs this one's end.
                let ends = owners.iter_mut().map(Owner::end).collect();
                runtime.block_on(acknowledged(&store, ends));
            }
            took
        });
    });
    runtime.block_on(store.close());
}

async fn bare(path: &Path, synchronous: SqliteSynchronous) -> SqliteConnection {
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .disable_statement_logging()
        .connect()
        .await
        .unwrap();
    sqlx::query("CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}

fn bare_case(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    runtime: &Runtime,
    synchronous: SqliteSynchronous,
    threads: usize,
) {
    let directory = tempfile::tempdir().unwrap();
    let mut connection = runtime.block_on(bare(&directory.path().join("bare.db"), synchronous));
    let insert = format!(
        "INSERT INTO row (text) VALUES {}",
        vec!["(?)"; ROWS * threads].join(", ")
    );
    let text = "x".repeat(200);
    group.throughput(Throughput::Elements(threads as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            runtime.block_on(async {
                let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
                let mut query = sqlx::query(sqlx::AssertSqlSafe(insert.clone()));
                for _ in 0..ROWS * threads {
                    query = query.bind(&text);
                }
                query.execute(&mut *transaction).await.unwrap();
                transaction.commit().await.unwrap();
            });
        });
    });
    runtime.block_on(connection.close()).unwrap();
}

fn commits(criterion: &mut Criterion) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let mut group = criterion.benchmark_group("commit");
    for (name, durability, synchronous) in [
        ("full", Durability::Full, SqliteSynchronous::Full),
        ("normal", Durability::Normal, SqliteSynchronous::Normal),
    ] {
        for (threads, about) in [(1, "1 thread"), (28, "28 threads")] {
            bare_case(
                &mut group,
                &format!("{name}, {about}/bare"),
                &runtime,
                synchronous,
                threads,
            );
            store_case(
                &mut group,
                &format!("{name}, {about}/store"),
                &runtime,
                durability,
                threads,
            );
        }
    }
    group.finish();
}

criterion_group!(benches, commits);
criterion_main!(benches);
