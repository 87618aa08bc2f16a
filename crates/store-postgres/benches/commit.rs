//! Writes until they are acknowledged, beside the same rows inserted by nothing but the database.
//!
//! A `turn start` writes events, a Turn and the Thread's row; the bare case inserts that many rows of the same size in one
//! transaction. `full` waits for the disk with each commit, `fast` does not, so that it shows our own work. 28 writes are
//! what one client may have in flight at once, 128 what as many streams have: all of it waits together.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up should stop loudly"
)]

use std::time::{Duration, Instant};

use bobbin_model::{Outcome, UnixMillis};
use bobbin_store::{Store, Write};
use bobbin_store_postgres::{Access, Holder, Options, PostgresStore};
use bobbin_testkit::Postgres;
use bobbin_testkit::store_story::{Writer, me, prompt};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::future::join_all;
use sqlx::{Connection, PgConnection};
use tokio::runtime::{Builder, Runtime};

/// Rows that the start of a Turn touches.
const ROWS: usize = 3;

async fn acknowledged(store: &PostgresStore, writes: Vec<Write>) {
    let submitted = writes
        .into_iter()
        .map(|write| async { store.submit(write).await.unwrap().await.unwrap() });
    join_all(submitted).await;
}

fn turn(writer: &mut Writer<'_>) -> Write {
    let start = prompt("Say something about the weather of tomorrow.");
    writer.next(writer.state.decide_start_turn(start, UnixMillis(2)).unwrap())
}

fn store_case(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    runtime: &Runtime,
    address: &str,
    threads: usize,
) {
    let access = Access::parse(address, None).unwrap();
    let holder = Holder {
        id: "bench".to_owned(),
        machine: "bench".to_owned(),
    };
    let options = Options::of(format!("{threads} threads"), holder);
    let store = runtime.block_on(PostgresStore::open(&access, options)).unwrap();
    let mut writers: Vec<Writer<'_>> = (0..threads)
        .map(|number| runtime.block_on(Writer::start(&store, &format!("thread_{number}"), me())))
        .collect();
    group.throughput(Throughput::Elements(threads as u64));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|rounds| {
            let mut took = Duration::ZERO;
            for _ in 0..rounds {
                let writes = writers.iter_mut().map(turn).collect();
                let start = Instant::now();
                runtime.block_on(acknowledged(&store, writes));
                took += start.elapsed();
                // Not counted: the next Turn needs this one's end.
                let end = |writer: &mut Writer<'_>| {
                    writer.next(writer.state.decide_end_turn(Outcome::Completed, UnixMillis(2)))
                };
                let ends = writers.iter_mut().map(end).collect();
                runtime.block_on(acknowledged(&store, ends));
            }
            took
        });
    });
    runtime.block_on(store.close());
}

fn bare_case(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    runtime: &Runtime,
    address: &str,
    threads: usize,
) {
    let mut connection = runtime.block_on(PgConnection::connect(address)).unwrap();
    let create =
        sqlx::raw_sql("CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, text text NOT NULL)");
    runtime.block_on(create.execute(&mut connection)).unwrap();
    let texts = vec!["x".repeat(200); ROWS * threads];
    group.throughput(Throughput::Elements(threads as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            runtime.block_on(async {
                let mut transaction = connection.begin().await.unwrap();
                sqlx::query("INSERT INTO bare (text) SELECT * FROM unnest($1::text[])")
                    .bind(&texts)
                    .execute(&mut *transaction)
                    .await
                    .unwrap();
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
    for (name, server) in [("full", Postgres::start_durable()), ("fast", Postgres::start())] {
        let Some(server) = server else {
            continue;
        };
        let address = server.database("bench");
        for threads in [1, 28, 128] {
            let about = format!("{name}, {threads} threads");
            bare_case(&mut group, &format!("{about}/bare"), &runtime, &address, threads);
            store_case(&mut group, &format!("{about}/store"), &runtime, &address, threads);
        }
    }
    group.finish();
}

criterion_group!(benches, commits);
criterion_main!(benches);
