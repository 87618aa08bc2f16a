//! A disk that takes nothing any more, and then does again: nothing is acknowledged that is not stored, everything can
//! be read, connections stay, and what was open goes on by itself.
//!
//! Two ways to fill it: a small file system of its own (real "no space left"; needs user namespaces) and a limit on the
//! size of files (works everywhere, and gives the other error, that of quotas and faults).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{PATIENCE, Process, Workspace, not_tested, rich};

/// Size of the small file system: room for the database and some of its log.
const SIZE: &str = "1m";

#[expect(
    clippy::disallowed_methods,
    reason = "the machine's own tools make the trouble"
)]
fn tool(name: &str, args: &[&str]) -> bool {
    let mut run = Command::new(name);
    run.args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    run.status().is_ok_and(|status| status.success())
}

/// A way to make the disk take nothing more.
enum Trouble {
    /// The state directory is a file system of its own, which is filled.
    Filled,
    /// No file may grow beyond what it is.
    Limited,
}

impl Trouble {
    fn reason(&self) -> &'static str {
        match self {
            Self::Filled => "diskFull",
            Self::Limited => "diskFailed",
        }
    }

    fn start(&self, workspace: &Workspace) -> Process {
        match self {
            Self::Filled => {
                let folder = workspace.state_folder();
                std::fs::create_dir_all(&folder).unwrap();
                let script = format!(
                    "mount -t tmpfs -o size={SIZE},mode=700 none '{}' && exec \"$@\"",
                    folder.display()
                );
                workspace.web_socket_through(&["unshare", "-Urm", "sh", "-c", &script, "sh"])
            }
            Self::Limited => workspace.web_socket(),
        }
    }

    /// The state's folder as the server sees it.
    fn state(&self, workspace: &Workspace, server: &Process) -> PathBuf {
        let root = match self {
            Self::Filled => PathBuf::from(format!("/proc/{}/root", server.pid())),
            Self::Limited => PathBuf::from("/"),
        };
        let path = workspace.state_folder();
        root.join(path.strip_prefix("/").unwrap())
    }

    fn begin(&self, state: &Path, server: &Process) {
        match self {
            Self::Filled => {
                let mut filler = std::fs::File::create(state.join("filler")).unwrap();
                for size in [4096, 512, 1] {
                    while std::io::Write::write_all(&mut filler, &vec![b'x'; size]).is_ok() {}
                }
            }
            Self::Limited => {
                let log = std::fs::metadata(state.join("bobbin.db-wal")).unwrap().len();
                assert!(server.limit_files(Some(log)));
            }
        }
    }

    fn end(&self, state: &Path, server: &Process) {
        match self {
            Self::Filled => std::fs::remove_file(state.join("filler")).unwrap(),
            Self::Limited => assert!(server.limit_files(None)),
        }
    }
}

/// What a client can read: the list and the Thread with everything in it.
async fn picture(client: &mut Client, thread: &str) -> (Value, Value) {
    let list = json!({ "identity": { "channelName": "test" } });
    let list = client.call("thread/list", list).await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = client.call("thread/read", read).await;
    (list["data"].clone(), read["thread"]["turns"].clone())
}

/// Every request that would change something is refused with the reason, and changes nothing.
async fn is_refused(client: &mut Client, thread: &str, reason: &str) {
    let input = json!([{ "type": "text", "text": "say no" }]);
    let requests = [
        (
            "thread/start",
            json!({ "identity": { "channelName": "test" }, "clientRequestId": "refused" }),
        ),
        (
            "thread/rename",
            json!({ "threadId": thread, "displayName": "refused" }),
        ),
        (
            "turn/enqueue",
            json!({ "threadId": thread, "input": input, "clientRequestId": "q" }),
        ),
        ("thread/archive", json!({ "threadId": thread })),
    ];
    let before = picture(client, thread).await;
    for (method, params) in requests {
        let error = client.error(method, params).await;
        assert_eq!(error["code"], -32603, "{method}: {error}");
        assert_eq!(error["data"]["reason"], reason, "{method}: {error}");
        assert_eq!(picture(client, thread).await, before, "{method}");
    }
}

/// Waits until the server says that it is ready, or that it is not.
async fn says_ready(address: &str, ready: bool) {
    let host = address.strip_prefix("ws://").unwrap().split('/').next().unwrap();
    let expected = if ready { "HTTP/1.1 200" } else { "HTTP/1.1 503" };
    let asking = async {
        loop {
            let mut stream = TcpStream::connect(host).await.unwrap();
            stream
                .write_all(b"GET /readyz HTTP/1.1\r\nConnection: close\r\n\r\n")
                .await
                .unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            if answer.starts_with(expected) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect(expected);
}

/// A server at which nobody writes finds out by itself that the disk takes something again.
#[tokio::test]
async fn a_server_that_can_store_nothing_is_not_ready_until_it_can() {
    let workspace = Workspace::new();
    let trouble = Trouble::Limited;
    let server = trouble.start(&workspace);
    let state = trouble.state(&workspace, &server);
    let address = server.address_in(&state).await;
    let mut client = Client::ready(Link::web_socket(&address).await, "disk", rich()).await;
    let thread = client.start_thread().await;
    says_ready(&address, true).await;
    trouble.begin(&state, &server);
    is_refused(&mut client, &thread, trouble.reason()).await;
    says_ready(&address, false).await;
    trouble.end(&state, &server);
    says_ready(&address, true).await;
    assert!(server.terminate().await.success());
}

async fn story(trouble: Trouble) {
    let workspace = Workspace::new();
    let server = trouble.start(&workspace);
    let state = trouble.state(&workspace, &server);
    let address = server.address_in(&state).await;
    let connect = async || Client::ready(Link::web_socket(&address).await, "disk", rich()).await;
    let mut client = connect().await;
    let thread = client.start_thread().await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    client.start_turn(&thread, "say before").await;
    client.wait_for("turn/completed").await;

    // A command runs while the disk fills up.
    let turn = client
        .start_turn(
            &thread,
            "run `echo x >> ran; while ! test -e go; do sleep 0.02; done`",
        )
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    has_run(&workspace).await;
    trouble.begin(&state, &server);
    std::fs::write(workspace.path().join("go"), "").unwrap();
    is_refused(&mut client, &thread, trouble.reason()).await;
    let mut other = connect().await;
    is_refused(&mut other, &thread, trouble.reason()).await;
    let (_, turns) = picture(&mut other, &thread).await;
    assert_eq!(turns[1]["id"], turn);
    assert!(
        turns[1]["completedAt"].is_null(),
        "its end is not recorded, so nobody is told of it"
    );

    // Room again: by itself, on the same connections.
    trouble.end(&state, &server);
    let ended = client.wait_for("turn/completed").await;
    assert_eq!(ended["params"]["turn"]["id"], turn);
    let ran = std::fs::read_to_string(workspace.path().join("ran")).unwrap();
    assert_eq!(ran, "x\n", "the command is not run again by itself");
    other
        .call(
            "thread/rename",
            json!({ "threadId": thread, "displayName": "after" }),
        )
        .await;
    let start = json!({ "identity": { "channelName": "test" }, "clientRequestId": "refused" });
    let second = other.call("thread/start", start.clone()).await;
    assert_eq!(
        other.call("thread/start", start).await["thread"]["id"],
        second["thread"]["id"]
    );
    client.start_turn(&thread, "say after").await;
    client.wait_for("turn/completed").await;
    let (_, turns) = picture(&mut other, &thread).await;
    assert_eq!(turns.as_array().unwrap().len(), 3);
    assert!(
        turns
            .as_array()
            .unwrap()
            .iter()
            .all(|turn| turn["status"] == "completed"),
        "{turns:#}"
    );
    assert!(server.terminate().await.success());
}

/// Interrupts a Turn whose command runs while nothing can be stored.
async fn interrupted(trouble: Trouble) {
    let workspace = Workspace::new();
    let server = trouble.start(&workspace);
    let state = trouble.state(&workspace, &server);
    let address = server.address_in(&state).await;
    let mut client = Client::ready(Link::web_socket(&address).await, "disk", rich()).await;
    let thread = client.start_thread().await;
    let turn = client
        .start_turn(
            &thread,
            "run `echo x >> ran; while sleep 0.05; do touch alive; done`",
        )
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    has_run(&workspace).await;
    trouble.begin(&state, &server);
    let interrupt = json!({ "threadId": thread, "turnId": turn });
    let error = client.error("turn/interrupt", interrupt).await;
    assert_eq!(error["data"]["reason"], trouble.reason(), "{error}");
    assert!(error.to_string().contains("was stopped"), "{error}");
    // The command has ended, and not only the Turn.
    let alive = workspace.path().join("alive");
    let gone = async {
        loop {
            drop(std::fs::remove_file(&alive));
            tokio::time::sleep(Duration::from_millis(500)).await;
            if !alive.exists() {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("the command ends");
    let (_, turns) = picture(&mut client, &thread).await;
    assert!(turns[0]["completedAt"].is_null(), "{turns:#}");
    trouble.end(&state, &server);
    client.wait_for("turn/cancelled").await;
    let (_, turns) = picture(&mut client, &thread).await;
    assert_eq!(turns[0]["status"], "cancelled", "{turns:#}");
    let ran = std::fs::read_to_string(workspace.path().join("ran")).unwrap();
    assert_eq!(ran, "x\n");
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_turn_can_be_interrupted_while_the_disk_is_full() {
    if !tool("unshare", &["-Urm", "mount", "-t", "tmpfs", "none", "/mnt"]) {
        not_tested("no file system can be mounted in a namespace of the user's");
        return;
    }
    interrupted(Trouble::Filled).await;
}

#[tokio::test]
async fn a_turn_can_be_interrupted_while_no_file_may_grow() {
    interrupted(Trouble::Limited).await;
}

#[tokio::test]
async fn a_full_disk_is_told_and_passes() {
    if !tool("unshare", &["-Urm", "mount", "-t", "tmpfs", "none", "/mnt"]) {
        not_tested("no file system can be mounted in a namespace of the user's");
        return;
    }
    story(Trouble::Filled).await;
}

#[tokio::test]
async fn a_file_that_may_not_grow_is_told_and_passes() {
    story(Trouble::Limited).await;
}

/// Waits until a command has written its line, and not only made the file.
async fn has_run(workspace: &Workspace) {
    while !std::fs::read(workspace.path().join("ran")).is_ok_and(|text| text == b"x\n") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_server_ends_in_time_while_the_disk_is_full() {
    let workspace = Workspace::new();
    let trouble = Trouble::Limited;
    let server = trouble.start(&workspace);
    let mut client = server.client("disk").await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "run `echo x >> ran; sleep 600`").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    has_run(&workspace).await;
    trouble.begin(&trouble.state(&workspace, &server), &server);
    let begun = std::time::Instant::now();
    server.terminate().await;
    assert!(begun.elapsed() < PATIENCE / 2);
    // The next one knows of the Turn, and ends it.
    let server = workspace.web_socket();
    let mut client = server.client("after").await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let ended = async {
        loop {
            let read = client.call("thread/read", read.clone()).await;
            if read["thread"]["runtime"]["running"] == false {
                return read;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let read = tokio::time::timeout(PATIENCE, ended).await.unwrap();
    assert_eq!(read["thread"]["turns"][0]["status"], "completed");
    let ran = std::fs::read_to_string(workspace.path().join("ran")).unwrap();
    assert_eq!(ran, "x\n");
}

#[tokio::test]
async fn a_server_that_finds_no_room_as_it_starts_says_so_and_starts_when_there_is() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("disk").await;
    let thread = client.start_thread().await;
    assert!(server.terminate().await.success());

    let mut server = workspace.web_socket_through(&["prlimit", "--fsize=0:unlimited"]);
    let told = server.complaint().await;
    assert_eq!(server.exit().await.code(), Some(1), "{told}");
    assert!(told.contains("disk") && !told.contains("panicked"), "{told}");

    let server = workspace.web_socket();
    let mut client = server.client("after").await;
    client.call("thread/read", json!({ "threadId": thread })).await;
    assert!(server.terminate().await.success());
}
