//! `bobbin acp` as a client's child.

use std::path::Path;
use std::process::Stdio;

use bobbin_testkit::{Client, Link, tea_server};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::{Duration, sleep};

use crate::eca;
use crate::mcp;
use crate::support::Workspace;

/// Starts the agent in a directory of its own, as editors may.
fn start(home: &Workspace) -> (Child, Client) {
    let mut child = home
        .bobbin(&["acp"])
        .stdin(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let link = Link::lines(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (child, Client::new(link))
}

pub(crate) async fn greeted(home: &Workspace) -> (Child, Client) {
    greeted_with(home, json!({})).await
}

async fn greeted_with(home: &Workspace, capabilities: Value) -> (Child, Client) {
    let (child, mut client) = start(home);
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
    client.call("initialize", hello).await;
    (child, client)
}

async fn session(client: &mut Client, folder: &Path) -> String {
    let params = json!({ "cwd": folder, "mcpServers": [] });
    let started = client.call("session/new", params).await;
    started["sessionId"].as_str().unwrap().to_owned()
}

pub(crate) fn text(session: &str, words: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": words }] })
}

/// Returns the text of a message, if it is one of the agent.
fn said(message: &Value) -> &str {
    let update = &message["params"]["update"];
    if update["sessionUpdate"] == "agent_message_chunk" {
        update["content"]["text"].as_str().unwrap()
    } else {
        ""
    }
}

/// Sends a prompt. Returns everything up to its answer.
pub(crate) async fn prompt(client: &mut Client, session: &str, words: &str) -> Vec<Value> {
    let id = client.request("session/prompt", text(session, words)).await;
    let mut seen = Vec::new();
    loop {
        let message = client.next().await.unwrap();
        let last = message.get("method").is_none() && message["id"] == id;
        seen.push(message);
        if last {
            return seen;
        }
    }
}

#[tokio::test]
async fn a_client_prompts_allows_and_leaves() {
    let (home, workspace) = (Workspace::asking(), Workspace::new());
    let (mut child, mut client) = greeted(&home).await;
    let id = session(&mut client, workspace.path()).await;
    let request = client
        .request("session/prompt", text(&id, "run `echo tea > pot`"))
        .await;
    let asked = client.wait_for("session/request_permission").await;
    assert_eq!(asked["params"]["toolCall"]["title"], "echo tea > pot");
    assert!(!workspace.path().join("pot").exists());
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
    client.reply(&asked, outcome).await;
    let answer = client.answer(request).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("pot")).unwrap(),
        "tea\n"
    );
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn the_output_of_a_command_is_shown_while_it_runs() {
    let (home, workspace) = (Workspace::asking(), Workspace::new());
    let (_child, mut client) = greeted(&home).await;
    let id = session(&mut client, workspace.path()).await;
    let line = "echo one; until [ -e go ]; do sleep 0.05; done; echo two";
    let request = client
        .request("session/prompt", text(&id, &format!("run `{line}`")))
        .await;
    let asked = client.wait_for("session/request_permission").await;
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
    client.reply(&asked, outcome).await;
    let shown = |message: &Value, text: &str| {
        message["params"]["update"]["content"][0]["content"]["text"].as_str() == Some(text)
    };
    client
        .find("its first line", |message| shown(message, "one\n"))
        .await;
    std::fs::write(workspace.path().join("go"), "").unwrap();
    client
        .find("its result", |message| shown(message, "exit code 0\none\ntwo\n"))
        .await;
    assert_eq!(client.answer(request).await["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn an_unsaved_buffer_is_read_and_a_file_is_written_through_the_editor() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    std::fs::write(workspace.path().join("notes.md"), "on disk\n").unwrap();
    let capabilities = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let (_child, mut client) = greeted_with(&home, capabilities).await;
    let id = session(&mut client, workspace.path()).await;
    let request = client.request("session/prompt", text(&id, "read notes.md")).await;
    let asked = client.wait_for("fs/read_text_file").await;
    assert_eq!(asked["params"]["sessionId"], id.as_str());
    client
        .reply(&asked, json!({ "content": "in the editor\n" }))
        .await;
    let result = client
        .find("the result", |message| {
            message["params"]["update"]["status"] == "completed"
        })
        .await;
    assert_eq!(
        result["params"]["update"]["content"][0]["content"]["text"],
        "1\tin the editor\n"
    );
    client.answer(request).await;
    let request = client
        .request("session/prompt", text(&id, "write notes.md: new"))
        .await;
    let asked = client.wait_for("fs/write_text_file").await;
    assert_eq!(asked["params"]["content"], "new\n");
    client.reply(&asked, Value::Null).await;
    assert_eq!(client.answer(request).await["result"]["stopReason"], "end_turn");
    let left = std::fs::read_to_string(workspace.path().join("notes.md")).unwrap();
    assert_eq!(left, "on disk\n", "the editor writes, not the server");
    // Another client has no files, so the server reads its own.
    let seen = {
        let (_other, mut client) = greeted(&home).await;
        let id = session(&mut client, workspace.path()).await;
        prompt(&mut client, &id, "read notes.md").await
    };
    assert!(seen.iter().map(said).collect::<String>().contains("on disk"));
}

#[tokio::test]
async fn a_write_that_the_editor_refuses_or_that_is_cancelled_is_not_made() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let notes = workspace.path().join("notes.md");
    std::fs::write(&notes, "on disk\n").unwrap();
    let capabilities = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let (_child, mut client) = greeted_with(&home, capabilities).await;
    let id = session(&mut client, workspace.path()).await;
    let words = text(&id, "write notes.md: new");
    let request = client.request("session/prompt", words.clone()).await;
    let asked = client.wait_for("fs/write_text_file").await;
    let error = json!({ "code": -32603, "message": "Internal error", "data": { "details": "it is locked" } });
    let refusal = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
    client.send_text(refusal.to_string()).await;
    let ended = client
        .find("the failed call", |message| {
            message["params"]["update"]["status"] == "failed"
        })
        .await;
    let content = ended["params"]["update"]["content"].as_array().unwrap();
    assert_eq!(
        content.last().unwrap()["content"]["text"],
        "the editor refused to write notes.md, and nothing was written: Internal error: it is locked"
    );
    client.answer(request).await;
    let request = client.request("session/prompt", words).await;
    let asked = client.wait_for("fs/write_text_file").await;
    let began = std::time::Instant::now();
    client.notify("session/cancel", json!({ "sessionId": id })).await;
    let withdrawn = client.wait_for("$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    assert_eq!(client.answer(request).await["result"]["stopReason"], "cancelled");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "on disk\n");
}

#[tokio::test]
async fn a_session_is_resumed_in_a_new_process_and_seen_from_another_door() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let (mut child, mut client) = greeted(&home).await;
    let id = session(&mut client, workspace.path()).await;
    prompt(&mut client, &id, "say tea").await;
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
    let (_child, mut client) = greeted(&home).await;
    let resumed = json!({ "sessionId": id, "cwd": workspace.path() });
    assert!(client.call("session/resume", resumed).await.is_object());
    let (_editor, mut editor) = eca::start(&home, &["eca"]);
    editor.call("initialize", eca::hello(&workspace)).await;
    editor.notify("initialized", json!({})).await;
    let opened = editor.call("chat/open", json!({ "chatId": id })).await;
    assert_eq!(opened["found"], true);
    prompt(&mut client, &id, "say milk").await;
    editor
        .find("the turn of the other door", |message| {
            message["params"]["content"]["text"]
                .as_str()
                .is_some_and(|text| text.contains("milk"))
        })
        .await;
    let listed = client
        .call("session/list", json!({ "cwd": workspace.path() }))
        .await;
    assert_eq!(listed["sessions"][0]["sessionId"], id.as_str());
}

#[tokio::test]
async fn the_end_of_input_in_a_turn_leaves_the_turn_to_the_server() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    home.configure(&json!({ "Permissions": { "DefaultApprovalPolicy": "autoApprove" } }));
    let (mut child, mut client) = greeted(&home).await;
    let id = session(&mut client, workspace.path()).await;
    client
        .request(
            "session/prompt",
            text(&id, "run `touch started; sleep 1; touch done`"),
        )
        .await;
    until_there(&workspace.path().join("started")).await;
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
    assert!(!workspace.path().join("done").exists());
    until_there(&workspace.path().join("done")).await;
}

/// Kills the server of a workspace.
pub(crate) fn kill_server(home: &Workspace, workspace: &Workspace) {
    let state = crate::support::state_folder(home.state(), workspace.path());
    let state = std::fs::read_to_string(state.join("bobbin.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    let pid = i32::try_from(state["pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    // Until its end, its socket still takes connections.
    let started = std::time::Instant::now();
    let ended = |stat: String| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('Z'))
    };
    while !std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, ended) {
        assert!(started.elapsed().as_secs() < 10, "the server does not end");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[tokio::test]
async fn a_late_answer_to_a_killed_server_allows_nothing_at_the_next_one() {
    let (home, workspace) = (Workspace::asking(), Workspace::new());
    let (_child, mut client) = greeted(&home).await;
    let lost = session(&mut client, workspace.path()).await;
    let request = client
        .request("session/prompt", text(&lost, "run `touch one`"))
        .await;
    let asked = client.wait_for("session/request_permission").await;
    kill_server(&home, &workspace);
    let withdrawn = client.wait_for("$/cancel_request").await;
    assert_eq!(withdrawn["params"], json!({ "requestId": asked["id"] }));
    assert_eq!(client.answer(request).await["error"]["code"], -32603);
    let other = session(&mut client, workspace.path()).await;
    let request = client
        .request("session/prompt", text(&other, "run `touch other`"))
        .await;
    let next = client.wait_for("session/request_permission").await;
    let outcome = |option: &str| json!({ "outcome": { "outcome": "selected", "optionId": option } });
    client.reply(&asked, outcome("allow_once")).await;
    client.reply(&next, outcome("reject_once")).await;
    assert_eq!(client.answer(request).await["result"]["stopReason"], "end_turn");
    for file in ["one", "other"] {
        assert!(!workspace.path().join(file).exists(), "{file}");
    }
}

#[tokio::test]
async fn a_list_starts_no_server_in_a_folder_that_was_never_served() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let (_child, mut client) = greeted(&home).await;
    let elsewhere = json!({ "cwd": workspace.path() });
    for params in [json!({}), elsewhere, json!({ "cwd": "/" })] {
        let listed = client.call("session/list", params).await;
        assert_eq!(listed, json!({ "sessions": [] }));
    }
    let unknown = json!({ "sessionId": "thread_none" });
    assert_eq!(client.error("session/delete", unknown).await["code"], -32002);
    for folder in [&home, &workspace] {
        assert!(!crate::support::state_folder(home.state(), folder.path()).exists());
    }
    assert!(!workspace.path().join(".craft").exists());
    // The process's own folder is listed once it was served, by another process, too.
    let id = session(&mut client, home.path()).await;
    let (_child, mut client) = greeted(&home).await;
    let listed = client.call("session/list", json!({})).await;
    assert_eq!(listed["sessions"][0]["sessionId"], id.as_str());
}

#[tokio::test]
async fn a_killed_server_is_started_again_and_a_load_shows_how_its_turn_ended() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    home.configure(&json!({ "Permissions": { "DefaultApprovalPolicy": "autoApprove" } }));
    let (_child, mut client) = greeted(&home).await;
    let id = session(&mut client, workspace.path()).await;
    prompt(&mut client, &id, "say tea").await;
    let request = client
        .request("session/prompt", text(&id, "run `touch started; sleep 60`"))
        .await;
    until_there(&workspace.path().join("started")).await;
    kill_server(&home, &workspace);
    let error = client.answer(request).await["error"].clone();
    assert_eq!(error["code"], -32603);
    assert_eq!(
        error["message"],
        "The server of this folder has ended; what runs goes on when it is served again. Load the session to see how it \
         went on."
    );
    let params = json!({ "sessionId": id, "cwd": workspace.path(), "mcpServers": [] });
    let load = client.request("session/load", params).await;
    let mut statuses = Vec::new();
    loop {
        let message = client.next().await.unwrap();
        if message.get("method").is_none() && message["id"] == load {
            assert!(message["result"].is_object(), "{message}");
            break;
        }
        statuses.extend(message["params"]["update"]["status"].as_str().map(str::to_owned));
    }
    // The call is not run again: it ends as interrupted, now or as the Turn goes on.
    if statuses.last().map(String::as_str) != Some("failed") {
        client
            .find("the end of the call", |message| {
                message["params"]["update"]["status"] == "failed"
            })
            .await;
    }
    let seen = prompt(&mut client, &id, "say on").await;
    assert_eq!(seen.last().unwrap()["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn one_process_has_sessions_in_two_folders() {
    let (home, one, other) = (Workspace::new(), Workspace::new(), Workspace::new());
    let (_child, mut client) = greeted(&home).await;
    for (folder, words) in [(&one, "one"), (&other, "other")] {
        let id = session(&mut client, folder.path()).await;
        prompt(&mut client, &id, &format!("write name.txt: {words}")).await;
        let written = std::fs::read_to_string(folder.path().join("name.txt")).unwrap();
        assert_eq!(written, format!("{words}\n"));
        let listed = client.call("session/list", json!({ "cwd": folder.path() })).await;
        assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    }
    let error = client.error("session/new", json!({ "cwd": "name.txt" })).await;
    assert_eq!(error["code"], -32602);
}

/// Waits until a command of the agent has made a file.
async fn until_there(path: &Path) {
    let there = async {
        while !path.exists() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(crate::support::PATIENCE, there)
        .await
        .unwrap_or_else(|_| panic!("{} does not come", path.display()));
}

#[tokio::test]
async fn the_servers_of_a_session_are_its_own_end_with_it_and_one_that_fails_is_reported() {
    let (home, workspace) = (Workspace::asking(), Workspace::new());
    let (url, _listening) = tea_server::listen().await;
    let stdio = mcp::entry(&workspace);
    let env: Vec<Value> = stdio["env"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    let servers = json!([
        { "name": "pantry", "command": stdio["command"], "args": stdio["args"], "env": env },
        { "type": "http", "name": "far", "url": url, "headers": [] },
        { "name": "absent", "command": "/no/such/server", "args": [], "env": [] },
        { "type": "sse", "name": "old", "url": url, "headers": [] },
    ]);
    let (_child, mut client) = greeted(&home).await;
    let params = json!({ "cwd": workspace.path(), "mcpServers": servers });
    let started = client.call("session/new", params).await;
    let id = started["sessionId"].as_str().unwrap().to_owned();
    for name in ["absent", "old"] {
        let what = format!("the report about {name}");
        client.find(&what, |message| said(message).contains(name)).await;
    }
    for server in ["pantry", "far"] {
        let words = format!(r#"call mcp__{server}__steep with {{"minutes": 4}}"#);
        let seen = prompt(&mut client, &id, &words).await;
        let said: String = seen.iter().map(said).collect();
        assert!(said.contains("steeped for 4 minutes"), "{server}: {seen:?}");
    }
    // Another session has none of them, and nothing is written.
    let other = session(&mut client, workspace.path()).await;
    let seen = prompt(
        &mut client,
        &other,
        r#"call mcp__pantry__steep with {"minutes": 4}"#,
    )
    .await;
    let shown: String = seen.iter().map(said).collect();
    assert!(!shown.contains("steeped"), "{shown}");
    assert!(!workspace.path().join(".craft/config.json").exists());
    client.call("session/close", json!({ "sessionId": id })).await;
    let ended = async {
        while !mcp::noted(&workspace).contains(&"ended".to_owned()) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let ended = tokio::time::timeout(crate::support::PATIENCE, ended).await;
    ended.expect("the session's server ends with it");
}
