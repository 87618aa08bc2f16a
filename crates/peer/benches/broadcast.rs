//! One shared frame of 200 bytes to many WebSockets, beside the same with tokio-tungstenite alone.
//!
//! The server has a thread of its own and a figure is the processor time of that thread, per delivery;
//! the readers live on another and only empty their sockets. `one` waits until a frame has reached every
//! socket before the next is given out; `burst` gives out 64 at a time.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up should stop loudly"
)]

use std::sync::Arc;
use std::time::Duration;

use bobbin_framing::WebSocketOptions;
use bobbin_peer::{Handlers, Peer, PeerOptions, Transport};
use bytes::Bytes;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::SinkExt;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, broadcast};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes, protocol::Role};

const READERS: usize = 100;

/// How a connection is served; returns its task.
type Serve = fn(TcpStream, broadcast::Receiver<Bytes>, Arc<Semaphore>);

fn bare(socket: TcpStream, mut frames: broadcast::Receiver<Bytes>, delivered: Arc<Semaphore>) {
    tokio::spawn(async move {
        let mut socket = WebSocketStream::from_raw_socket(socket, Role::Server, None).await;
        while let Ok(frame) = frames.recv().await {
            let text = Utf8Bytes::try_from(frame).unwrap();
            socket.send(Message::Text(text)).await.unwrap();
            delivered.add_permits(1);
        }
    });
}

fn peer(socket: TcpStream, mut frames: broadcast::Receiver<Bytes>, delivered: Arc<Semaphore>) {
    tokio::spawn(async move {
        let socket = WebSocketStream::from_raw_socket(socket, Role::Server, None).await;
        let transport = Transport::websocket(socket, WebSocketOptions::default());
        let peer = Peer::start(transport, PeerOptions::default(), |_| Handlers::new()).unwrap();
        while let Ok(frame) = frames.recv().await {
            // Whatever else is there goes with it, as one flush.
            let mut batch = vec![frame];
            while let Ok(frame) = frames.try_recv() {
                batch.push(frame);
            }
            let count = batch.len();
            peer.send_batch(batch).await.unwrap();
            delivered.add_permits(count);
        }
    });
}

/// Processor time of the calling thread.
fn thread_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// Connections whose far ends are read on another thread.
fn connect(server: &Runtime, frames: &broadcast::Sender<Bytes>, delivered: &Arc<Semaphore>, serve: Serve) {
    let listener = server.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    // Ends when the server's ends of the connections do.
    std::thread::spawn(move || {
        let readers = Builder::new_current_thread().enable_all().build().unwrap();
        readers.block_on(async {
            let mut tasks = Vec::new();
            for _ in 0..READERS {
                let mut socket = TcpStream::connect(address).await.unwrap();
                tasks.push(tokio::spawn(async move {
                    let mut buffer = vec![0; 1 << 16];
                    while socket.read(&mut buffer).await.is_ok_and(|length| length > 0) {}
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        });
    });
    server.block_on(async {
        for _ in 0..READERS {
            let (socket, _) = listener.accept().await.unwrap();
            socket.set_nodelay(true).unwrap();
            serve(socket, frames.subscribe(), Arc::clone(delivered));
        }
    });
}

fn case(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, burst: usize, serve: Serve) {
    let server = Builder::new_current_thread().enable_all().build().unwrap();
    let (frames, _) = broadcast::channel(2 * burst);
    let delivered = Arc::new(Semaphore::new(0));
    connect(&server, &frames, &delivered, serve);
    let frame = Bytes::from("x".repeat(200));
    let all = u32::try_from(READERS * burst).unwrap();
    group.throughput(Throughput::Elements(u64::from(all)));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|rounds| {
            server.block_on(async {
                let before = thread_time();
                for _ in 0..rounds {
                    for _ in 0..burst {
                        frames.send(frame.clone()).unwrap();
                    }
                    delivered.acquire_many(all).await.unwrap().forget();
                }
                thread_time() - before
            })
        });
    });
}

fn broadcasts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("broadcast_to_100");
    case(&mut group, "one/bare", 1, bare);
    case(&mut group, "one/peers", 1, peer);
    case(&mut group, "burst/bare", 64, bare);
    case(&mut group, "burst/peers", 64, peer);
    group.finish();
}

criterion_group!(benches, broadcasts);
criterion_main!(benches);
