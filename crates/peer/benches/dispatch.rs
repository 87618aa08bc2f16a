//! A thousand messages taken in one after the other, beside a loop that only takes the frames.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up should stop loudly"
)]

use std::sync::Arc;

use bobbin_peer::{Handlers, Mode, NoParams, Peer, PeerOptions, Transport};
use bytes::Bytes;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

const MESSAGES: u32 = 1000;
const TOLD: &str = r#"{"jsonrpc":"2.0","method":"told","params":{"text":"hello there"}}"#;

/// Notifications, all alike.
fn told() -> Vec<Bytes> {
    vec![Bytes::from_static(TOLD.as_bytes()); MESSAGES as usize]
}

/// Requests, each with an id of its own, as two of the same id may not run together.
fn asked() -> Vec<Bytes> {
    (0..MESSAGES)
        .map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"asked"}}"#).into())
        .collect()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Feeds the messages to a peer and waits until every one was handled.
fn peer(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    messages: &[Bytes],
    configure: fn(Arc<Semaphore>) -> Handlers,
) {
    let runtime = runtime();
    let handled = Arc::new(Semaphore::new(0));
    let (far, _peer) = runtime.block_on(async {
        let (near, far) = Transport::memory_pair();
        let handlers = configure(Arc::clone(&handled));
        (
            far,
            Peer::start(near, PeerOptions::default(), |_| handlers).unwrap(),
        )
    });
    let Transport { mut reader, writer } = far;
    // Answers are read and let go.
    runtime.spawn(async move { while std::future::poll_fn(|cx| reader.poll_frame(cx)).await.is_some() {} });
    let writer = tokio::sync::Mutex::new(writer);
    group.bench_function(name, |bencher| {
        bencher.to_async(&runtime).iter(|| async {
            let mut writer = writer.lock().await;
            for message in messages {
                writer.feed(message.clone()).unwrap();
                std::future::poll_fn(|cx| writer.poll_flush(cx)).await.unwrap();
            }
            handled.acquire_many(MESSAGES).await.unwrap().forget();
        });
    });
}

fn bare(group: &mut BenchmarkGroup<'_, WallTime>, name: &str) {
    let runtime = runtime();
    let handled = Arc::new(Semaphore::new(0));
    let (mut near, far) = Transport::memory_pair();
    let count = Arc::clone(&handled);
    runtime.spawn(async move {
        while let Some(Ok(_)) = near.next().await {
            count.add_permits(1);
        }
    });
    let far = tokio::sync::Mutex::new(far);
    group.bench_function(name, |bencher| {
        bencher.to_async(&runtime).iter(|| async {
            let mut far = far.lock().await;
            for _ in 0..MESSAGES {
                far.send(Bytes::from_static(TOLD.as_bytes())).await.unwrap();
            }
            handled.acquire_many(MESSAGES).await.unwrap().forget();
        });
    });
}

fn dispatch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dispatch");
    group.throughput(Throughput::Elements(u64::from(MESSAGES)));
    bare(&mut group, "bare");
    peer(
        &mut group,
        "notifications, raw and deferred",
        &told(),
        |handled| {
            Handlers::new().fallback_notification_deferred(Mode::Concurrent, move |_| {
                handled.add_permits(1);
                async {}
            })
        },
    );
    peer(
        &mut group,
        "notifications, decoded, in a lane",
        &told(),
        |handled| {
            Handlers::new().on_notification("told", move |_, _: serde_json::Value| {
                handled.add_permits(1);
                async { Ok(()) }
            })
        },
    );
    peer(&mut group, "requests, deferred", &asked(), |handled| {
        Handlers::new().on_call_deferred("asked", Mode::Concurrent, move |_, responder| {
            responder.ok(());
            handled.add_permits(1);
            async {}
        })
    });
    peer(&mut group, "requests, a task each", &asked(), |handled| {
        Handlers::new().on_call("asked", move |_, _: NoParams| {
            handled.add_permits(1);
            async { Ok(()) }
        })
    });
    group.finish();
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
