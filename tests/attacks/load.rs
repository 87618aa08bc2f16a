//! Load without work: sockets that say nothing or hardly anything, and clients that do not read.

use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::lab::{Bubblewrap, Lab, PATIENCE, Server};

fn authority(server: &Server) -> &str {
    let rest = server.address.strip_prefix("ws://").unwrap();
    rest.split('/').next().unwrap()
}

/// Lets the test itself have this many descriptors.
fn have_files(most: u64) {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, hard).unwrap();
}

#[tokio::test]
async fn a_thousand_silent_sockets_lock_nobody_out() {
    let lab = Lab::new(Bubblewrap::Off);
    let (bobbin, listen) = (env!("CARGO_BIN_EXE_bobbin"), "ws://127.0.0.1:0");
    let usual = ["--nofile=1024:4096", bobbin, "serve", "--listen", listen];
    let server = lab.serve_by(lab.program(Path::new("prlimit"), &usual)).await;
    have_files(4096);
    let mut silent = Vec::new();
    for _ in 0..1100 {
        silent.push(TcpStream::connect(authority(&server)).await.unwrap());
    }
    let start = Instant::now();
    let mut client = tokio::time::timeout(PATIENCE, server.client()).await.unwrap();
    client.start_thread().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // Those that were not pushed out are closed after their ten seconds.
    for socket in &mut silent {
        let mut byte = [0];
        let end = tokio::time::timeout(Duration::from_secs(15), socket.read(&mut byte));
        assert!(!matches!(end.await.expect("it is closed"), Ok(1..)));
    }
    server.kill().await;
}

#[tokio::test]
async fn a_request_that_drips_in_and_http_2_are_ended() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let mut second = TcpStream::connect(authority(&server)).await.unwrap();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    second.write_all(preface).await.unwrap();
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(15), second.read_to_end(&mut answer));
    // A reset is an end as well.
    drop(ended.await.expect("it is closed"));
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"),
        "{answer:?}"
    );
    let mut slow = TcpStream::connect(authority(&server)).await.unwrap();
    let start = Instant::now();
    for byte in b"GET /ws HTTP/1.1\r\nX-Slow: yes".iter().cycle() {
        if slow.write_all(&[*byte]).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(start.elapsed() < Duration::from_secs(20), "it goes on for ever");
    }
    server.kill().await;
}

#[tokio::test]
async fn the_server_raises_its_file_limit_and_commands_do_not_see_that() {
    let lab = Lab::new(Bubblewrap::Off);
    let (bobbin, listen) = (env!("CARGO_BIN_EXE_bobbin"), "ws://127.0.0.1:0");
    let usual = ["--nofile=512:4096", bobbin, "serve", "--listen", listen];
    let server = lab.serve_by(lab.program(Path::new("prlimit"), &usual)).await;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", pid(&server))).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files"));
    let files: Vec<&str> = files.unwrap().split_whitespace().skip(3).take(2).collect();
    assert_eq!(files, ["4096", "4096"]);
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client
        .start_turn(&thread, "run `ulimit -S -n; ulimit -H -n`")
        .await;
    let question = client.wait_for("item/approval/request").await;
    client.reply(&question, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = client.call("thread/read", read).await.to_string();
    assert!(read.contains(r"512\n4096"), "{read}");
    server.kill().await;
}

#[tokio::test]
async fn answers_that_nobody_reads_take_bounded_memory() {
    const CONNECTIONS: usize = 8;
    const REQUESTS: usize = 16;
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, &"tea ".repeat(980_000)).await;
    client.wait_for("turn/completed").await;
    let mut deaf = Vec::new();
    for _ in 0..CONNECTIONS {
        deaf.push(deaf_reader(&server, &thread, REQUESTS).await);
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let most = memory(&server, "VmHWM:");
    assert!(most < 600, "{most} MiB");
    // Others are served meanwhile, and a client that reads at last gets every answer.
    client.start_thread().await;
    let mut first = deaf.swap_remove(0);
    let mut answers = 0;
    while answers <= REQUESTS {
        let message = tokio::time::timeout(PATIENCE, first.next()).await.unwrap();
        answers += usize::from(matches!(message.unwrap().unwrap(), Message::Text(_)));
    }
    drop((deaf, first));
    let start = Instant::now();
    while memory(&server, "VmRSS:") > 200 {
        let (now, most) = (memory(&server, "VmRSS:"), memory(&server, "VmHWM:"));
        assert!(start.elapsed() < PATIENCE, "{now} MiB of {most} stay");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    server.kill().await;
}

/// Connects, asks for a Thread so many times, and reads nothing.
async fn deaf_reader(
    server: &Server,
    thread: &str,
    requests: usize,
) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    let (mut socket, _) = tokio_tungstenite::connect_async(server.with_token())
        .await
        .unwrap();
    let hello = json!({ "clientInfo": { "name": "deaf", "version": "1" } });
    let mut messages = vec![
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "initialized" }),
    ];
    for id in 1..=requests {
        let params = json!({ "threadId": thread, "includeTurns": true });
        messages.push(json!({ "jsonrpc": "2.0", "id": id, "method": "thread/read", "params": params }));
    }
    for message in messages {
        socket.send(Message::text(message.to_string())).await.unwrap();
    }
    socket
}

fn pid(server: &Server) -> u32 {
    server.child.id().unwrap()
}

/// Returns a line of the process's status in MiB.
fn memory(server: &Server, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid(server))).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() >> 10
}
