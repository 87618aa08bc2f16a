//! `bobbin hub` as clients use it: found by its file, asked over HTTP, killed.

use std::path::Path;
use std::time::Duration;

use bobbin_testkit::{Client, Link};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Child;

use crate::support::{PATIENCE, Workspace, rich};

/// Starts a Hub and waits until its file names it.
async fn start(home: &Workspace) -> (Child, Value) {
    let hub = home.bobbin(&["hub"]).spawn().unwrap();
    let path = home.path().join(".craft/hub/hub.lock");
    let found = async {
        loop {
            let text = std::fs::read(&path).unwrap_or_default();
            if let Ok(lock) = serde_json::from_slice::<Value>(&text)
                && lock["pid"].as_u64() == hub.id().map(u64::from)
            {
                return lock;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let lock = tokio::time::timeout(PATIENCE, found).await.unwrap();
    (hub, lock)
}

/// Asks for the server of a folder.
async fn ensure(lock: &Value, root: &Path) -> Value {
    let authority = lock["apiBaseUrl"]
        .as_str()
        .unwrap()
        .strip_prefix("http://")
        .unwrap();
    let token = lock["token"].as_str().unwrap();
    let body = json!({ "workspacePath": root }).to_string();
    let length = body.len();
    let request = format!(
        "POST /v1/appservers/ensure HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(authority).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
    read.unwrap().unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn a_killed_hub_takes_its_server_along_and_the_next_one_starts_another() {
    let home = Workspace::new();
    let root = home.path().canonicalize().unwrap().join("tea");
    std::fs::create_dir_all(root.join(".craft")).unwrap();
    let (mut hub, lock) = start(&home).await;
    let server = ensure(&lock, &root).await;
    assert_eq!(
        (&server["state"], &server["startedByHub"]),
        (&json!("running"), &json!(true))
    );
    let url = server["endpoints"]["appServerWebSocket"].as_str().unwrap();
    let client = Client::ready(Link::web_socket(url).await, "kettle", rich()).await;
    let pid = Pid::from_raw(i32::try_from(server["pid"].as_i64().unwrap()).unwrap());
    hub.start_kill().unwrap();
    hub.wait().await.unwrap();
    let gone = async {
        while kill(pid, None::<Signal>).is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
    drop(client);
    let (mut hub, lock) = start(&home).await;
    let next = ensure(&lock, &root).await;
    assert_eq!(next["state"], "running", "{next}");
    assert_ne!(next["pid"], server["pid"]);
    // A client that connects again by itself finds it.
    assert_eq!(next["endpoints"], server["endpoints"]);
    let second = home.run(&["hub"]).await;
    assert!(second.status.success());
    let stopped = home.run(&["hub", "stop"]).await;
    assert!(stopped.status.success());
    let ended = tokio::time::timeout(PATIENCE, hub.wait()).await;
    assert!(ended.unwrap().unwrap().success());
    assert!(!home.path().join(".craft/hub/hub.lock").exists());
    assert!(!root.join(".craft/appserver.lock").exists());
}

#[tokio::test]
async fn the_hub_listens_where_its_user_says_and_on_no_other_machines_network() {
    let home = Workspace::new();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    home.configure(&json!({ "Hub": { "Host": "localhost", "Port": port } }));
    let taken = home.run(&["hub"]).await;
    let why = String::from_utf8(taken.stderr).unwrap();
    assert!(!taken.status.success() && why.contains("Hub.Port"), "{why}");
    drop(free);
    let (_hub, lock) = start(&home).await;
    assert_eq!(lock["apiBaseUrl"], format!("http://127.0.0.1:{port}"));
    assert!(home.run(&["hub", "stop"]).await.status.success());

    home.configure(&json!({ "Hub": { "Host": "0.0.0.0" } }));
    let refused = home.run(&["hub"]).await;
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && why.contains("Hub.Host"), "{why}");
    // Servers have nothing to do with it.
    let server = home.web_socket();
    server.client("kettle").await;
    assert!(server.terminate().await.success());
}
