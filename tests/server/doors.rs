//! An editor and native clients on one running server: one Thread, every door.

use bobbin_testkit::Client;
use serde_json::{Value, json};
use tokio::process::Child;

use crate::eca::{content, finished, hello, start};
use crate::support::{Workspace, agent_text};

/// Returns the agent's text as an editor is told it, up to the end of a turn.
async fn told(editor: &mut Client) -> (String, Vec<Value>) {
    let mut seen = Vec::new();
    loop {
        let message = editor.next().await.expect("the connection stays");
        let last = message["params"]["content"]["state"] == "finished";
        seen.push(message);
        if last {
            break;
        }
    }
    let texts = seen
        .iter()
        .filter(|message| content(message, "text") && message["params"]["role"] == "assistant");
    let text = texts.map(|message| message["params"]["content"]["text"].as_str().unwrap());
    (text.collect(), seen)
}

#[tokio::test]
async fn a_chat_of_an_editor_is_a_thread_of_everybody_and_approved_through_another_door() {
    let (home, workspace) = (Workspace::new(), Workspace::asking());
    let server = workspace.web_socket();
    let mut native = server.client("browser").await;
    let (mut child, mut editor) = start(&home, &["eca", "--state", workspace.state().to_str().unwrap()]);
    assert_eq!(
        editor.call("initialize", hello(&workspace)).await["models"],
        json!(["offline"])
    );
    editor.notify("initialized", json!({})).await;
    editor.wait_for("tool/serverUpdated").await;
    let prompt = json!({ "chatId": "c-81", "message": "run `echo tea | tee pot`" });
    editor.call("chat/prompt", prompt).await;
    let run = editor
        .find("a call", |message| content(message, "toolCallRun"))
        .await;
    assert_eq!(run["params"]["content"]["manualApproval"], true);
    // The other door knows the Thread, sees what waits, and says yes.
    let identity = json!({ "channelName": "ws", "workspacePath": workspace.path() });
    let list = json!({ "identity": identity, "crossChannelOrigins": ["eca"] });
    let threads = native.call("thread/list", list).await;
    let thread = threads["data"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(threads["data"].as_array().unwrap().len(), 1, "{threads}");
    native
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let asked = native.wait_for("item/approval/request").await;
    assert!(!workspace.path().join("pot").exists());
    native.reply(&asked, json!({ "decision": "accept" })).await;
    let (text, seen) = told(&mut editor).await;
    for kind in ["toolCallRunning", "toolCalled"] {
        assert!(
            seen.iter().any(|message| content(message, kind)),
            "{kind}: {seen:#?}"
        );
    }
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("pot")).unwrap(),
        "tea\n"
    );
    // Both were shown the same.
    let read = native
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    assert!(!text.is_empty());
    assert_eq!(agent_text(&read["thread"]["turns"][0]), text);
    // The editor leaves; the server and its other clients stay.
    assert_eq!(editor.call("shutdown", json!(null)).await, json!(null));
    editor.notify("exit", json!(null)).await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let turn = json!({ "threadId": thread, "input": [{ "type": "text", "text": "list the files" }] });
    native.call("turn/start", turn).await;
    native.wait_for("turn/completed").await;
}

#[tokio::test]
async fn what_is_asked_through_another_door_is_approved_in_an_editor() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut native = server.client("browser").await;
    let identity = json!({ "channelName": "ws", "workspacePath": workspace.path() });
    let started = native.call("thread/start", json!({ "identity": identity })).await;
    let thread = started["thread"]["id"].as_str().unwrap().to_owned();
    let (_child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    editor.notify("initialized", json!({})).await;
    let opened = editor.call("chat/open", json!({ "chatId": thread })).await;
    assert_eq!(opened["found"], true);
    let input = json!([{ "type": "text", "text": "run `touch pot`" }]);
    native
        .call("turn/start", json!({ "threadId": thread, "input": input }))
        .await;
    let run = editor
        .find("a call", |message| content(message, "toolCallRun"))
        .await;
    let approve = json!({ "chatId": thread, "toolCallId": run["params"]["content"]["id"] });
    editor.notify("chat/toolCallApprove", approve).await;
    finished(&mut editor).await;
    native.wait_for("turn/completed").await;
    assert!(workspace.path().join("pot").exists());
}

#[tokio::test]
async fn an_editor_that_leaves_in_its_own_way_gets_its_exit_code() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    server.address().await;
    // `exit` without `shutdown`.
    let (mut child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    editor.notify("exit", json!(null)).await;
    assert_eq!(child.wait().await.unwrap().code(), Some(1));
    // The end of input: what was asked is answered first.
    let (mut child, mut editor) = start(&workspace, &["eca"]);
    editor.request("initialize", hello(&workspace)).await;
    let id = editor.request("jobs/list", json!({})).await;
    let rest = editor.finish().await;
    assert!(rest.iter().any(|message| message["id"] == id), "{rest:?}");
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn an_editor_that_is_gone_or_a_signal_ends_its_process_and_nothing_else() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    server.address().await;
    // Above the largest number that Linux gives.
    let (mut child, mut editor) = start(&workspace, &["eca"]);
    let mut orphan = hello(&workspace);
    orphan["processId"] = json!(0x7fff_fff0);
    editor.request("initialize", orphan).await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let (mut child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    let pid = i32::try_from(child.id().unwrap()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    server.client("browser").await.start_thread().await;
}

#[tokio::test]
async fn a_server_that_ends_ends_the_editors_process_with_a_code() {
    let workspace = Workspace::asking();
    let server = workspace.web_socket();
    server.address().await;
    let (mut child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    let prompt = json!({ "chatId": "c-81", "message": "run `echo tea | tee pot`" });
    editor.call("chat/prompt", prompt).await;
    editor
        .find("a call", |message| content(message, "toolCallRun"))
        .await;
    assert!(server.terminate().await.success());
    assert_eq!(child.wait().await.unwrap().code(), Some(1));
    // The question is asked again by the next server.
    let server = workspace.web_socket();
    let mut client = server.client("browser").await;
    let identity = json!({ "channelName": "ws", "workspacePath": workspace.path() });
    let list = json!({ "identity": identity, "crossChannelOrigins": ["eca"] });
    let listed = client.call("thread/list", list).await;
    assert_eq!(
        listed["data"][0]["runtime"]["waitingOnApproval"], true,
        "{listed}"
    );
}

#[tokio::test]
async fn a_server_that_was_killed_is_not_looked_for_any_more() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    server.address().await;
    // What it said of itself stays behind.
    server.kill().await;
    let (mut child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    assert_eq!(editor.call("shutdown", json!(null)).await, json!(null));
    editor.notify("exit", json!(null)).await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_workspace_that_is_just_given_back_is_waited_for() {
    let workspace = Workspace::new();
    // It has the folder for itself.
    let mut first = workspace
        .bobbin(&[
            "exec",
            "--approve",
            "--sandbox",
            "workspaceWrite",
            "run `touch here; sleep 1`",
        ])
        .spawn()
        .unwrap();
    while !workspace.path().join("here").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let (_child, mut editor) = start(&workspace, &["eca"]);
    let id = editor.request("initialize", hello(&workspace)).await;
    assert!(first.wait().await.unwrap().success());
    let answer = editor.find("the answer", |message| message["id"] == id).await;
    assert!(answer.get("result").is_some(), "{answer}");
}

#[tokio::test]
async fn messages_before_the_handshake_and_broken_ones_after_it_are_answered() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    server.address().await;
    let (_child, mut editor) = start(&workspace, &["eca"]);
    assert_eq!(editor.error("chat/list", json!({})).await["code"], -32002);
    editor.call("initialize", hello(&workspace)).await;
    editor
        .send_text("Content-Length: 2\r\nContent-Type: application/json; charset=latin1\r\n\r\n{}")
        .await;
    let refused = editor
        .find("an error", |message| message["error"]["code"] == -32700)
        .await;
    assert_eq!(refused["id"], json!(null));
    assert_eq!(editor.error("tea/pot", json!({})).await["code"], -32601);
    assert_eq!(
        editor.call("jobs/list", json!({})).await,
        json!({ "jobs": [] }),
        "still served"
    );
}

#[tokio::test]
async fn an_editor_here_needs_no_token_and_another_workspace_is_refused() {
    let (workspace, other) = (Workspace::new(), Workspace::new());
    let server = workspace.web_socket_with(&["--token", "s3cret"]);
    let address = server.address().await;
    // A program of the user needs none: it comes through the socket.
    let (_child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    // Straight at the door, for a workspace that is not served there.
    let door = format!("{}?token=s3cret", address.replace("/ws", "/eca"));
    let mut stranger = Client::new(bobbin_testkit::Link::web_socket(&door).await);
    let error = stranger.error("initialize", hello(&other)).await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("this server serves"),
        "{error}"
    );
}

#[tokio::test]
async fn a_long_message_passes_and_one_that_is_too_long_is_refused() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    server.address().await;
    let (_child, mut editor) = start(&workspace, &["eca"]);
    editor.call("initialize", hello(&workspace)).await;
    // Above what a native client may send.
    let long = json!({ "query": "tea".repeat(2 << 20), "contexts": [] });
    assert_eq!(editor.call("chat/queryFiles", long).await["files"], json!([]));
    let too_long = json!({ "query": "x".repeat(17 << 20) });
    let id = editor.request("chat/queryFiles", too_long).await;
    let refused = editor
        .find("an answer", |message| {
            message["id"] == id || message.get("error").is_some()
        })
        .await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(null), &json!(-32600))
    );
    assert_eq!(editor.call("jobs/list", json!({})).await["jobs"], json!([]));
}

#[tokio::test]
async fn what_an_editor_does_not_read_costs_the_others_nothing() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut native = server.client("browser").await;
    let mut child = workspace
        .bobbin(&["eca"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // It asks a thousand times and never reads.
    let mut input = child.stdin.take().unwrap();
    let asking = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {} }).to_string();
        let ask =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "chat/queryCommands", "params": { "query": "" } });
        for message in std::iter::once(hello).chain(std::iter::repeat_n(ask.to_string(), 100_000)) {
            let frame = format!("Content-Length: {}\r\n\r\n{message}", message.len());
            if input.write_all(frame.as_bytes()).await.is_err() {
                break;
            }
        }
    });
    let thread = native.start_thread().await;
    for _ in 0..3 {
        native.start_turn(&thread, "list the files").await;
        native.wait_for("turn/completed").await;
    }
    child.kill().await.unwrap();
    asking.await.unwrap();
    assert!(native.call("server/stats", json!({})).await.is_object());
}

/// Starts `bobbin acp` and loads a session.
async fn acp(workspace: &Workspace, thread: &str) -> (Child, Client) {
    let (child, mut client) = crate::acp::greeted(workspace).await;
    let load = json!({ "sessionId": thread, "cwd": workspace.path(), "mcpServers": [] });
    assert!(client.call("session/load", load).await.is_object());
    (child, client)
}

#[tokio::test]
async fn five_clients_of_one_thread_see_the_same_and_one_answers_for_all() {
    let workspace = Workspace::asking();
    let server = workspace.web_socket();
    let mut page = server.client("browser").await;
    let mut native = server.client("desktop").await;
    let thread = page.start_thread().await;
    native
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let (_eca, mut eca) = start(&workspace, &["eca"]);
    eca.call("initialize", hello(&workspace)).await;
    eca.notify("initialized", json!({})).await;
    eca.call("chat/open", json!({ "chatId": thread })).await;
    let (_one, mut one) = acp(&workspace, &thread).await;
    let (_other, mut other) = acp(&workspace, &thread).await;

    let input = json!([{ "type": "text", "text": "run `touch pot` then say The pot is there." }]);
    page.call("turn/start", json!({ "threadId": thread, "input": input }))
        .await;
    let asked = page.wait_for("item/approval/request").await;
    native.wait_for("item/approval/request").await;
    let run = eca
        .find("a call", |message| content(message, "toolCallRun"))
        .await;
    assert_eq!(run["params"]["content"]["manualApproval"], true);
    // These editors are asked while a prompt of theirs waits.
    let prompt = |text: &str| json!({ "sessionId": thread, "prompt": [{ "type": "text", "text": text }] });
    let first = one.request("session/prompt", prompt("say One.")).await;
    let second = other.request("session/prompt", prompt("say Other.")).await;
    let permission = one.wait_for("session/request_permission").await;
    other.wait_for("session/request_permission").await;
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
    one.reply(&permission, outcome).await;

    // The question is gone everywhere, and a late answer means nothing.
    page.wait_for("item/approval/resolved").await;
    native.wait_for("item/approval/resolved").await;
    other.wait_for("$/cancel_request").await;
    eca.find("the call runs", |message| content(message, "toolCallRunning"))
        .await;
    page.reply(&asked, json!({ "decision": "decline" })).await;

    // All of them see all three Turns.
    let sees = |message: &Value, text: &str| message.to_string().contains(text);
    for text in ["The pot is there.", "One.", "Other."] {
        page.find(text, |message| {
            message["method"] == "turn/completed" && sees(message, text)
        })
        .await;
        native
            .find(text, |message| {
                message["method"] == "turn/completed" && sees(message, text)
            })
            .await;
    }
    assert_eq!(one.answer(first).await["result"]["stopReason"], "end_turn");
    assert_eq!(other.answer(second).await["result"]["stopReason"], "end_turn");
    for (client, text) in [(&mut one, "Other."), (&mut other, "One."), (&mut eca, "Other.")] {
        client.find(text, |message| sees(message, text)).await;
    }
    assert!(workspace.path().join("pot").exists());
}
