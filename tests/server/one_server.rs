//! The one server of a workspace: whoever comes first starts it, everybody joins it, and nobody's end is another's.

use std::process::Stdio;
use std::time::Duration;

use bobbin_testkit::{Client, Link};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::{Instant, sleep};

use crate::eca::{content, finished, hello, start};
use crate::support::{PATIENCE, Workspace, rich};

/// What the server says of itself; `None` where none runs.
fn server(workspace: &Workspace) -> Option<Value> {
    let text = std::fs::read_to_string(workspace.state_folder().join("bobbin.json")).ok()?;
    let state: Value = serde_json::from_str(&text).ok()?;
    let process = format!("/proc/{}", state["pid"]);
    std::path::Path::new(&process).exists().then_some(state)
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(5)).await;
    }
}

fn signal(pid: &Value, signal: Signal) {
    let pid = i32::try_from(pid.as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid), signal).unwrap();
}

/// Starts a native client on the stdio of `app-server`.
async fn desktop(workspace: &Workspace) -> (Child, Client) {
    let mut child = workspace
        .bobbin(&["app-server"])
        .stdin(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let link = Link::lines(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (child, Client::ready(link, "desktop", rich()).await)
}

/// Starts a Thread and a Turn in it that waits for an answer; returns the Thread.
async fn ask(client: &mut Client, workspace: &Workspace, line: &str) -> Value {
    let identity = json!({ "channelName": "desktop", "workspacePath": workspace.path() });
    let started = client.call("thread/start", json!({ "identity": identity })).await;
    let thread = started["thread"]["id"].clone();
    let input = json!([{ "type": "text", "text": format!("run `{line}`") }]);
    let turn = json!({ "threadId": thread, "input": input });
    client.call("turn/start", turn).await;
    thread
}

#[tokio::test]
async fn an_exec_leaves_no_server_behind() {
    let workspace = Workspace::new();
    let output = workspace.run(&["exec", "say hello"]).await;
    assert!(output.status.success());
    assert_eq!(server(&workspace), None);
}

#[tokio::test]
async fn several_execs_share_one_server() {
    let workspace = Workspace::new();
    let run = |number: usize| workspace.bobbin(&["exec", &format!("say {number}")]).output();
    let outputs = futures_util::future::join_all((0..6).map(run)).await;
    for (number, output) in outputs.into_iter().enumerate() {
        let output = output.unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{number}\n"));
    }
    until("the server has ended", || server(&workspace).is_none()).await;
}

#[tokio::test]
async fn the_turn_of_a_killed_exec_ends_and_so_does_its_server() {
    let workspace = Workspace::new();
    let mut exec = workspace
        .bobbin(&["exec", "--approve", "run `touch here; sleep 60; touch late`"])
        .spawn()
        .unwrap();
    until("the command runs", || workspace.path().join("here").exists()).await;
    exec.kill().await.unwrap();
    until("the server has ended", || server(&workspace).is_none()).await;
    let listed = workspace.run(&["threads"]).await;
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(!listed.contains("(running)"), "{listed}");
}

#[tokio::test]
async fn a_detached_turn_goes_on_without_its_exec() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "Permissions": { "DefaultApprovalPolicy": "autoApprove" } }));
    let output = workspace
        .run(&["exec", "--detach", "run `sleep 1; touch done`"])
        .await;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!workspace.path().join("done").exists());
    until("the turn is done", || workspace.path().join("done").exists()).await;
    until("the server has ended", || server(&workspace).is_none()).await;
}

/// How a program goes that has joined.
#[derive(Debug, Clone, Copy)]
enum Leaving {
    Closed,
    Terminated,
    Killed,
    /// As VS Code does: it closes and signals in the same moment.
    ClosedAndTerminated,
}

async fn leave(mut child: Child, client: Client, leaving: Leaving) {
    let pid = json!(child.id().unwrap());
    match leaving {
        Leaving::Closed => drop(client),
        Leaving::Terminated => signal(&pid, Signal::SIGTERM),
        Leaving::Killed => signal(&pid, Signal::SIGKILL),
        Leaving::ClosedAndTerminated => {
            drop(client);
            signal(&pid, Signal::SIGTERM);
        }
    }
    child.wait().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn whoever_came_first_leaves_and_the_turns_of_all_go_on(
    #[values(
        Leaving::Closed,
        Leaving::Terminated,
        Leaving::Killed,
        Leaving::ClosedAndTerminated
    )]
    leaving: Leaving,
    #[values(true, false)] editor_first: bool,
) {
    let workspace = Workspace::new();
    let mut editor = None;
    if editor_first {
        let (child, mut client) = start(&workspace, &["eca"]);
        client.call("initialize", hello(&workspace)).await;
        editor = Some((child, client));
    }
    let (child, mut client) = desktop(&workspace).await;
    let serving = server(&workspace).expect("one server for both");
    if editor.is_none() {
        let (child, mut client) = start(&workspace, &["eca"]);
        client.call("initialize", hello(&workspace)).await;
        editor = Some((child, client));
    }
    let (editor_child, mut editor) = editor.unwrap();
    // Each has a question open.
    ask(&mut client, &workspace, "echo tea > one").await;
    let asked = client.wait_for("item/approval/request").await;
    let prompt = json!({ "chatId": "c", "message": "run `echo tea > two`" });
    editor.call("chat/prompt", prompt).await;
    let run = editor
        .find("a call", |message| content(message, "toolCallRun"))
        .await;
    // The first one goes; the other's Turn is answered and ends.
    if editor_first {
        leave(editor_child, editor, leaving).await;
        client.reply(&asked, json!({ "decision": "accept" })).await;
        client.wait_for("turn/completed").await;
        assert!(workspace.path().join("one").exists());
    } else {
        leave(child, client, leaving).await;
        let approve = json!({ "chatId": "c", "toolCallId": run["params"]["content"]["id"] });
        editor.notify("chat/toolCallApprove", approve).await;
        finished(&mut editor).await;
        assert!(workspace.path().join("two").exists());
    }
    assert_eq!(
        server(&workspace).map(|state| state["pid"].clone()),
        Some(serving["pid"].clone())
    );
}

#[tokio::test]
async fn with_an_editor_open_every_other_program_finds_the_same_server() {
    let workspace = Workspace::new();
    let (_child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    let pid = server(&workspace).unwrap()["pid"].clone();
    for args in [&["exec", "say hello"][..], &["threads"], &["ps"], &["models"]] {
        let output = workspace.run(args).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
    }
    let (_desktop, _client) = desktop(&workspace).await;
    assert_eq!(server(&workspace).unwrap()["pid"], pid);
    let listed = workspace.run(&["ps", "--json"]).await;
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(
        (&listed["pid"], &listed["clients"]),
        (&pid, &json!(2)),
        "{listed}"
    );
}

#[tokio::test]
async fn serve_has_a_running_server_listen_and_ends_that_alone() {
    let workspace = Workspace::new();
    let (_child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    let prompt = json!({ "chatId": "c", "message": "run `touch begun; sleep 1; echo tea > pot`" });
    editor.call("chat/prompt", prompt).await;
    let run = editor
        .find("a call", |message| content(message, "toolCallRun"))
        .await;
    let pid = server(&workspace).unwrap()["pid"].clone();
    let early = workspace.run(&["open", "--print"]).await;
    let said = String::from_utf8_lossy(&early.stderr);
    assert!(said.contains("has no page: run `bobbin`"), "{said}");
    let mut serve = workspace
        .bobbin(&["serve", "--listen", "ws://127.0.0.1:0"])
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    until("the server listens", || {
        server(&workspace).is_some_and(|state| state["address"].is_string())
    })
    .await;
    let approve = json!({ "chatId": "c", "toolCallId": run["params"]["content"]["id"] });
    editor.notify("chat/toolCallApprove", approve).await;
    until("the command runs", || workspace.path().join("begun").exists()).await;
    let opened = workspace.run(&["open", "--print"]).await;
    assert!(
        opened.status.success(),
        "{}",
        String::from_utf8_lossy(&opened.stderr)
    );
    signal(&json!(serve.id().unwrap()), Signal::SIGINT);
    assert!(serve.wait().await.unwrap().success());
    until("the listener is closed", || {
        server(&workspace).is_some_and(|state| state["address"].is_null())
    })
    .await;
    finished(&mut editor).await;
    assert!(workspace.path().join("pot").exists());
    assert_eq!(server(&workspace).unwrap()["pid"], pid);
}

#[tokio::test]
async fn stop_ends_a_server_and_its_open_question_goes_on_with_the_next() {
    let workspace = Workspace::new();
    let (mut child, mut client) = desktop(&workspace).await;
    let thread = ask(&mut client, &workspace, "echo tea > pot").await;
    client.wait_for("item/approval/request").await;
    let stopped = workspace.run(&["stop"]).await;
    assert!(
        stopped.status.success(),
        "{}",
        String::from_utf8_lossy(&stopped.stderr)
    );
    assert_eq!(server(&workspace), None);
    assert_eq!(child.wait().await.unwrap().code(), Some(1));
    let (_child, mut client) = desktop(&workspace).await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    assert!(workspace.path().join("pot").exists());
}

#[tokio::test]
async fn a_server_of_an_older_version_is_replaced_and_its_question_goes_on() {
    let workspace = Workspace::new();
    let (mut child, mut client) = desktop(&workspace).await;
    let thread = ask(&mut client, &workspace, "echo tea > pot").await;
    client.wait_for("item/approval/request").await;
    let mut old = server(&workspace).unwrap();
    old["version"] = json!("0.0.1");
    let path = workspace.state_folder().join("bobbin.json");
    std::fs::write(path, old.to_string()).unwrap();
    let (_next, mut client) = desktop(&workspace).await;
    assert_ne!(server(&workspace).unwrap()["pid"], old["pid"]);
    assert_eq!(child.wait().await.unwrap().code(), Some(1));
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    client.wait_for("item/approval/request").await;
}

#[tokio::test]
async fn a_server_whose_state_was_removed_ends() {
    let workspace = Workspace::new();
    let (_child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    let process = format!("/proc/{}", server(&workspace).unwrap()["pid"]);
    // At once: the server still writes there.
    std::fs::rename(workspace.state_folder(), workspace.state().join("aside")).unwrap();
    until("the server has ended", || {
        !std::path::Path::new(&process).exists()
    })
    .await;
}

#[tokio::test]
async fn a_server_alone_has_a_running_one_listen_and_speaks_through_it() {
    let workspace = Workspace::new();
    let (_child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    let pid = server(&workspace).unwrap()["pid"].clone();
    // As a Hub starts one.
    let (mut child, link) = workspace.stdio();
    let client = Client::ready(link, "hub", rich()).await;
    let state = server(&workspace).unwrap();
    assert_eq!(state["pid"], pid);
    assert!(state["address"].is_string(), "{state}");
    drop(client);
    child.exit().await;
    until("the listener is closed", || {
        server(&workspace).is_some_and(|state| state["address"].is_null())
    })
    .await;
    assert_eq!(server(&workspace).unwrap()["pid"], pid);
}
