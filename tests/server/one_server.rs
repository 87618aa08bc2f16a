//! The one server of a workspace: whoever comes first starts it, everybody joins it, and nobody's end is another's.

use std::process::Stdio;
use std::time::Duration;

use bobbin_testkit::{Client, Link, ModelServer, Part, Reply, Script, ScriptedCall};
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

fn said(output: &std::process::Output) -> (Option<i32>, String) {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}

#[tokio::test]
async fn what_one_exec_allows_counts_for_no_other_client() {
    let workspace = Workspace::asking();
    let (_desktop, mut client) = desktop(&workspace).await;
    let pid = server(&workspace).unwrap()["pid"].clone();
    let (code, stderr) = said(
        &workspace
            .run(&["exec", "--allow", "touch *", "run `touch one`"])
            .await,
    );
    assert_eq!(code, Some(0), "{stderr}");
    assert!(workspace.path().join("one").exists());
    assert_eq!(server(&workspace).unwrap()["pid"], pid);
    ask(&mut client, &workspace, "touch two").await;
    client.wait_for("item/approval/request").await;
    // Neither do those of an earlier Turn of the same Thread.
    let (code, stderr) = said(&workspace.run(&["exec", "--last", "run `touch three`"]).await);
    assert_ne!(code, Some(0), "{stderr}");
    let full = ["exec", "--approve", "--sandbox", "full"];
    let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let write = format!("run `touch {}/cup`", outside.path().display());
    let (_, stderr) = said(&workspace.run(&["exec", "--approve", &write]).await);
    assert!(!outside.path().join("cup").exists(), "{stderr}");
    let (code, stderr) = said(&workspace.run(&[&full[..], &[&write]].concat()).await);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(outside.path().join("cup").exists(), "{stderr}");
}

#[tokio::test]
async fn a_client_on_a_web_socket_loosens_nothing() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("desktop").await;
    let thread = client.start_thread().await;
    let input = json!([{ "type": "text", "text": "run `touch one`" }]);
    for (member, value) in [("allow", json!(["touch *"])), ("sandbox", json!("full"))] {
        let mut turn = json!({ "threadId": thread, "input": input });
        turn[member] = value;
        let error = client.error("turn/start", turn).await;
        let error = error.to_string();
        assert!(error.contains("bobbin exec"), "{error}");
    }
}

#[tokio::test]
async fn a_turn_has_its_own_rules_after_a_crash() {
    let call = |id: &str, command: &str| {
        Part::Call(ScriptedCall {
            id: id.into(),
            tool: "Exec".into(),
            arguments: json!({ "command": command }),
        })
    };
    let script = Script {
        replies: vec![
            Reply::of([call("c1", "touch one; sleep 60")]),
            Reply::of([call("c2", "touch two")]),
            Reply::of([Part::Text("Done.".into())]),
        ],
        models: vec!["m".into()],
        ..Script::default()
    };
    let model = ModelServer::start(script).await.unwrap();
    let workspace = Workspace::asking();
    workspace.configure(&json!({
        "Permissions": { "DefaultApprovalPolicy": "default" },
        "Model": "kiln/m",
        "Providers": { "kiln": { "Wire": "chat", "BaseUrl": model.base_url() } },
    }));
    let (_desktop, _client) = desktop(&workspace).await;
    let args = [
        "exec", "--detach", "--allow", "touch *", "--allow", "sleep *", "go",
    ];
    let (code, stderr) = said(&workspace.run(&args).await);
    assert_eq!(code, Some(0), "{stderr}");
    until("the command runs", || workspace.path().join("one").exists()).await;
    signal(&server(&workspace).unwrap()["pid"], Signal::SIGKILL);
    until("the server has ended", || server(&workspace).is_none()).await;
    let (_desktop, _client) = desktop(&workspace).await;
    until("the second command has run", || {
        workspace.path().join("two").exists()
    })
    .await;
}

/// Whether a file in a folder, at any depth, has a text.
fn is_anywhere(folder: &std::path::Path, text: &str) -> bool {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return is_anywhere(&path, text);
        }
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

#[tokio::test]
async fn a_key_that_the_server_lacks_counts_for_the_turns_of_its_client() {
    const KEY: &str = "sk-of-the-terminal";
    let script = Script {
        models: vec!["m".into()],
        key: Some(KEY.into()),
        ..Script::default()
    };
    let model = ModelServer::start(script).await.unwrap();
    let workspace = Workspace::new();
    workspace.configure(&json!({
        "Model": "kiln/m",
        "Providers": { "kiln": { "Wire": "chat", "BaseUrl": model.base_url(), "ApiKeyEnv": "KILN_KEY" } },
    }));
    let (_child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    let (_desktop, mut client) = desktop(&workspace).await;
    let with_key = workspace
        .bobbin(&["exec", "--log", "trace", "say hi"])
        .env("KILN_KEY", KEY)
        .output()
        .await
        .unwrap();
    let (code, stderr) = said(&with_key);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!stderr.contains(KEY));
    // It is nobody else's, and a missing one is named.
    let thread = client.start_thread().await;
    client.start_turn(&thread, "say hi").await;
    let failed = client.wait_for("turn/failed").await;
    let error = failed["params"]["error"].as_str().unwrap();
    assert!(error.contains("KILN_KEY"), "{error}");
    let (code, stderr) = said(&workspace.run(&["exec", "say hi"]).await);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("KILN_KEY"), "{stderr}");
    assert!(!is_anywhere(workspace.state(), KEY));
}

#[tokio::test]
async fn a_subagent_has_what_its_turn_has() {
    const KEY: &str = "sk-of-the-terminal";
    let call = |id: &str, tool: &str, arguments: Value| {
        Part::Call(ScriptedCall {
            id: id.into(),
            tool: tool.into(),
            arguments,
        })
    };
    let prompt = json!({ "agentNickname": "scout", "agentPrompt": "Touch it." });
    let script = Script {
        replies: vec![
            Reply::of([call("s", "SpawnAgent", prompt), call("w", "WaitAgent", json!({}))]),
            Reply::of([call("t", "Exec", json!({ "command": "touch one" }))]),
            Reply::of([Part::Text("Touched.".into())]),
        ],
        models: vec!["m".into()],
        key: Some(KEY.into()),
        ..Script::default()
    };
    let model = ModelServer::start(script).await.unwrap();
    let workspace = Workspace::asking();
    workspace.configure(&json!({
        "Permissions": { "DefaultApprovalPolicy": "default" },
        "Titles": { "Enabled": false },
        "Model": "kiln/m",
        "Providers": { "kiln": { "Wire": "chat", "BaseUrl": model.base_url(), "ApiKeyEnv": "KILN_KEY" } },
    }));
    let (_desktop, _client) = desktop(&workspace).await;
    let output = workspace
        .bobbin(&["exec", "--allow", "touch *", "Have it touched."])
        .env("KILN_KEY", KEY)
        .output()
        .await
        .unwrap();
    let (code, stderr) = said(&output);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(workspace.path().join("one").exists(), "{stderr}");
}
