//! Load without work: sockets that say nothing or hardly anything.

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

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
