//! One request and its answer, in memory and over a socket pair, beside loops that move the same bytes and
//! do nothing else.
//!
//! Both ends run on one thread, so that a figure is all the work of both and no luck with the scheduler. Who
//! calls is a task as well, as callers are: the runtime asks the system for news once more when it is the
//! future that `block_on` was given.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up should stop loudly"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bobbin_framing::Limits;
use bobbin_peer::{Handlers, Mode, Peer, PeerOptions, Transport};
use bytes::Bytes;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"hello there"}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"text":"hello there"}}"#;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs what is measured, which says itself how long it took.
fn in_a_task(runtime: &Runtime, work: impl Future<Output = Duration> + Send + 'static) -> Duration {
    runtime.block_on(async { tokio::spawn(work).await.unwrap() })
}

/// Handlers as most are written: a task each.
fn spawned() -> Handlers {
    Handlers::new().on_call("echo", |_, params: serde_json::Value| async move { Ok(params) })
}

/// Handlers that answer where they are read.
fn deferred() -> Handlers {
    Handlers::new().on_call_deferred("echo", Mode::Concurrent, |cx, responder| async move {
        responder.ok(&cx.params);
    })
}

fn lines(socket: UnixStream) -> Transport {
    let (read, write) = socket.into_split();
    Transport::lines(read, write, Limits::default())
}

/// A peer at each end.
fn peers(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    pair: fn() -> (Transport, Transport),
    serve: fn() -> Handlers,
) {
    let runtime = runtime();
    let (client, _server) = runtime.block_on(async {
        let (near, far) = pair();
        let start = |transport, handlers: Handlers| {
            Peer::start(transport, PeerOptions::default(), |_| handlers).unwrap()
        };
        (start(near, Handlers::new()), start(far, serve()))
    });
    let params = json!({ "text": "hello there" });
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let (client, params) = (client.handle(), params.clone());
            in_a_task(&runtime, async move {
                let start = Instant::now();
                for _ in 0..times {
                    client.call_raw("echo", &params, None).await.unwrap();
                }
                start.elapsed()
            })
        });
    });
}

/// A peer at one end, a loop that writes a line and reads a line at the other.
fn peer_serves_bare_client(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, serve: fn() -> Handlers) {
    let runtime = runtime();
    let (client, _server) = runtime.block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        (
            near,
            Peer::start(lines(far), PeerOptions::default(), |_| serve()).unwrap(),
        )
    });
    bare_client(group, name, &runtime, client);
}

fn bare_client(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, runtime: &Runtime, client: UnixStream) {
    let (read, write) = client.into_split();
    let ends = Arc::new(Mutex::new((BufReader::new(read), write, String::new())));
    let request = format!("{REQUEST}\n");
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let (ends, request) = (Arc::clone(&ends), request.clone());
            in_a_task(runtime, async move {
                let mut ends = ends.lock().await;
                let (read, write, line) = &mut *ends;
                let start = Instant::now();
                for _ in 0..times {
                    write.write_all(request.as_bytes()).await.unwrap();
                    line.clear();
                    read.read_line(line).await.unwrap();
                }
                start.elapsed()
            })
        });
    });
}

/// A loop at each end.
fn bare_sockets(group: &mut BenchmarkGroup<'_, WallTime>, name: &str) {
    let runtime = runtime();
    let client = runtime.block_on(async {
        let (near, far) = UnixStream::pair().unwrap();
        tokio::spawn(async move {
            let (read, mut write) = far.into_split();
            let (mut read, mut line) = (BufReader::new(read), String::new());
            let answer = format!("{ANSWER}\n");
            while read.read_line(&mut line).await.is_ok_and(|length| length > 0) {
                line.clear();
                if write.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        });
        near
    });
    bare_client(group, name, &runtime, client);
}

/// A loop at each end of a memory pair.
fn bare_memory(group: &mut BenchmarkGroup<'_, WallTime>, name: &str) {
    let runtime = runtime();
    let (near, mut far) = Transport::memory_pair();
    runtime.spawn(async move {
        while let Some(Ok(_)) = far.next().await {
            if far.send(Bytes::from_static(ANSWER.as_bytes())).await.is_err() {
                break;
            }
        }
    });
    let near = Arc::new(Mutex::new(near));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let near = Arc::clone(&near);
            in_a_task(&runtime, async move {
                let mut near = near.lock().await;
                let start = Instant::now();
                for _ in 0..times {
                    near.send(Bytes::from_static(REQUEST.as_bytes())).await.unwrap();
                    near.next().await.unwrap().unwrap();
                }
                start.elapsed()
            })
        });
    });
}

fn round_trip(criterion: &mut Criterion) {
    let sockets = || {
        let (near, far) = UnixStream::pair().unwrap();
        (lines(near), lines(far))
    };
    let mut group = criterion.benchmark_group("round_trip");
    bare_memory(&mut group, "memory/bare");
    peers(
        &mut group,
        "memory/peers, deferred",
        Transport::memory_pair,
        deferred,
    );
    peers(
        &mut group,
        "memory/peers, spawned",
        Transport::memory_pair,
        spawned,
    );
    bare_sockets(&mut group, "socketpair/bare");
    peer_serves_bare_client(&mut group, "socketpair/peer serves, deferred", deferred);
    peer_serves_bare_client(&mut group, "socketpair/peer serves, spawned", spawned);
    peers(&mut group, "socketpair/peers, deferred", sockets, deferred);
    peers(&mut group, "socketpair/peers, spawned", sockets, spawned);
    group.finish();
}

criterion_group!(benches, round_trip);
criterion_main!(benches);
