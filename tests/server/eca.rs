//! `bobbin eca` as an editor's child.

use std::process::Stdio;

use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};
use tokio::process::Child;

use crate::support::{Workspace, rich};

/// Starts the editor door with a working directory that means nothing, as editors do.
pub(crate) fn start(home: &Workspace, args: &[&str]) -> (Child, Client) {
    let mut child = home
        .bobbin(args)
        .stdin(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let link = Link::headers(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (child, Client::new(link))
}

pub(crate) fn hello(workspace: &Workspace) -> Value {
    json!({
        "processId": std::process::id(),
        "clientInfo": { "name": "sketchpad" },
        "capabilities": { "codeAssistant": { "chat": true } },
        "workspaceFolders": [{ "uri": format!("file://{}", workspace.path().display()), "name": "tea" }],
    })
}

pub(crate) fn content(message: &Value, kind: &str) -> bool {
    message["params"]["content"]["type"] == kind
}

pub(crate) async fn finished(client: &mut Client) {
    client
        .find("the end of a turn", |message| {
            message["params"]["content"]["state"] == "finished"
        })
        .await;
}

#[tokio::test]
async fn an_editor_prompts_approves_and_leaves() {
    let (home, workspace) = (Workspace::asking(), Workspace::new());
    let (mut child, mut client) = start(&home, &["server", "--log-level", "warn"]);
    let hello_ = client.call("initialize", hello(&workspace)).await;
    assert_eq!(hello_["models"], json!(["offline"]));
    client.notify("initialized", json!([])).await;
    let tools = client.wait_for("tool/serverUpdated").await;
    assert_eq!(
        (&tools["params"]["name"], &tools["params"]["status"]),
        (&json!("ECA"), &json!("running"))
    );
    let prompt = json!({ "chatId": "c-81", "message": "run `echo tea > pot`" });
    client.call("chat/prompt", prompt).await;
    let run = client
        .find("a call", |message| content(message, "toolCallRun"))
        .await;
    assert_eq!(run["params"]["content"]["manualApproval"], true);
    assert!(!workspace.path().join("pot").exists());
    let approve = json!({ "chatId": "c-81", "toolCallId": run["params"]["content"]["id"] });
    client.notify("chat/toolCallApprove", approve).await;
    finished(&mut client).await;
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("pot")).unwrap(),
        "tea\n"
    );
    assert_eq!(client.call("shutdown", json!(null)).await, json!(null));
    client.notify("exit", json!(null)).await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    // A second life: the chat is there, and leaving at once is no clean end.
    let (mut child, mut client) = start(&home, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    let opened = client.call("chat/open", json!({ "chatId": "c-81" })).await;
    assert_eq!(opened["found"], true);
    client.notify("exit", json!({})).await;
    assert_eq!(child.wait().await.unwrap().code(), Some(1));
}

#[tokio::test]
async fn a_call_that_waits_survives_a_kill_and_is_approved_afterwards() {
    let workspace = Workspace::asking();
    let (mut child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    client
        .call(
            "chat/prompt",
            json!({ "chatId": "c", "message": "run `echo tea >> pot`" }),
        )
        .await;
    client
        .find("a call", |message| content(message, "toolCallRun"))
        .await;
    child.kill().await.unwrap();
    let (_child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    client.call("chat/open", json!({ "chatId": "c" })).await;
    let run = client
        .find("the call", |message| content(message, "toolCallRun"))
        .await;
    assert_eq!(run["params"]["content"]["manualApproval"], true);
    let approve = json!({ "chatId": "c", "toolCallId": run["params"]["content"]["id"] });
    client.notify("chat/toolCallApprove", approve).await;
    finished(&mut client).await;
    let pot = std::fs::read_to_string(workspace.path().join("pot")).unwrap();
    assert_eq!(pot, "tea\n");
}

#[tokio::test]
async fn a_plan_changes_nothing_and_says_so() {
    let workspace = Workspace::new();
    let (_child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    let prompt = json!({ "chatId": "c", "message": "write pot.txt: tea", "behavior": "plan" });
    client.call("chat/prompt", prompt).await;
    let rejected = client
        .find("a rejection", |message| content(message, "toolCallRejected"))
        .await;
    assert_eq!(rejected["params"]["content"]["reason"], "user-config");
    finished(&mut client).await;
    assert!(!workspace.path().join("pot.txt").exists());
}

#[tokio::test]
async fn the_end_of_input_ends_it_with_0() {
    let workspace = Workspace::new();
    let (mut child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    client.finish().await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn an_editor_joins_a_server_that_has_a_client_on_its_stdio() {
    let workspace = Workspace::new();
    let (_server, link) = workspace.stdio();
    let _native = Client::ready(link, "native", rich()).await;
    let (mut child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    client.finish().await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_broken_configuration_is_said_with_its_file() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path().join(".craft")).unwrap();
    std::fs::write(workspace.path().join(".craft/config.json"), "{").unwrap();
    let (mut child, mut client) = start(&workspace, &["eca"]);
    let error = client.error("initialize", hello(&workspace)).await;
    let said = error["message"].as_str().unwrap();
    assert!(said.contains(".craft/config.json"), "{said}");
    assert_eq!(child.wait().await.unwrap().code(), Some(1));
}

#[tokio::test]
async fn a_link_named_eca_says_its_version_as_emacs_wants_it() {
    let workspace = Workspace::new();
    let link = workspace.path().join("eca");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bobbin"), &link).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the test starts the binary it tests")]
    let output = tokio::process::Command::new(&link)
        .arg("--version")
        .output()
        .await
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("eca {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[tokio::test]
async fn two_editors_share_one_server_and_each_goes_on_without_the_other() {
    let workspace = Workspace::new();
    let (mut first, mut one) = start(&workspace, &["eca"]);
    one.call("initialize", hello(&workspace)).await;
    let (mut second, mut two) = start(&workspace, &["eca"]);
    two.call("initialize", hello(&workspace)).await;
    two.notify("initialized", json!({})).await;
    let prompt = json!({ "chatId": "c", "message": "run `echo tea >> pot`" });
    one.call("chat/prompt", prompt).await;
    one.find("a call", |message| content(message, "toolCallRun"))
        .await;
    // One chat in two windows: asked about in the first, approved in the second, run once.
    two.call("chat/open", json!({ "chatId": "c" })).await;
    let run = two
        .find("the call", |message| content(message, "toolCallRun"))
        .await;
    let approve = json!({ "chatId": "c", "toolCallId": run["params"]["content"]["id"] });
    two.notify("chat/toolCallApprove", approve).await;
    finished(&mut one).await;
    finished(&mut two).await;
    let pot = std::fs::read_to_string(workspace.path().join("pot")).unwrap();
    assert_eq!(pot, "tea\n");
    assert_eq!(one.call("shutdown", json!(null)).await, json!(null));
    one.notify("exit", json!(null)).await;
    drop(one);
    assert_eq!(first.wait().await.unwrap().code(), Some(0));
    // The second goes on.
    let prompt = json!({ "chatId": "d", "message": "list the files" });
    two.call("chat/prompt", prompt).await;
    finished(&mut two).await;
    two.finish().await;
    assert_eq!(second.wait().await.unwrap().code(), Some(0));
    // The server waits for a while: a window that is opened again finds it.
    let (mut third, mut three) = start(&workspace, &["eca"]);
    three.call("initialize", hello(&workspace)).await;
    let listed = three.call("chat/list", json!({})).await;
    assert_eq!(listed["chats"][0]["id"], "d");
    three.finish().await;
    assert_eq!(third.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn an_editors_diagnostics_reach_the_agent_alone_and_joined() {
    let workspace = Workspace::new();
    let (_first, mut one) = start(&workspace, &["eca"]);
    let mut able = hello(&workspace);
    able["capabilities"]["codeAssistant"]["editor"] = json!({ "diagnostics": true });
    one.call("initialize", able.clone()).await;
    let (_child, mut joined) = start(&workspace, &["eca"]);
    joined.call("initialize", able).await;
    for (chat, client) in [("a", &mut one), ("b", &mut joined)] {
        client.notify("initialized", json!({})).await;
        let prompt = json!({ "chatId": chat, "message": "use the tool editor_diagnostics" });
        client.call("chat/prompt", prompt).await;
        let asked = client.wait_for("editor/getDiagnostics").await;
        let place = json!({ "line": 1, "character": 0 });
        let one = json!({ "uri": format!("file://{}/pot.rs", workspace.path().display()), "severity": "warning",
            "source": "brewer", "range": { "start": place, "end": place }, "message": "cold" });
        client.reply(&asked, json!({ "diagnostics": [one] })).await;
        let called = client
            .find("a result", |message| content(message, "toolCalled"))
            .await;
        let said = called["params"]["content"]["outputs"][0]["text"]
            .as_str()
            .unwrap();
        assert!(said.ends_with("pot.rs:1:0 warning [brewer] cold\n"), "{said}");
        finished(client).await;
    }
}

#[tokio::test]
async fn a_file_is_shown_as_it_would_become_before_it_is_written() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("pot"), "cold\n").unwrap();
    let (_child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    let request = "replace `cold` with `hot` in pot";
    client
        .call("chat/prompt", json!({ "chatId": "c", "message": request }))
        .await;
    for kind in ["toolCallRun", "toolCallRunning", "toolCalled"] {
        let shown = client.find(kind, |message| content(message, kind)).await;
        let path = workspace.path().canonicalize().unwrap().join("pot");
        assert_eq!(
            shown["params"]["content"]["details"],
            json!({ "type": "fileChange", "path": path, "diff": "@@ -1 +1 @@\n-cold\n+hot", "linesAdded": 1,
                "linesRemoved": 1 })
        );
    }
    finished(&mut client).await;
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("pot")).unwrap(),
        "hot\n"
    );
}

#[tokio::test]
async fn a_rollback_with_tools_puts_files_back_and_says_so() {
    let workspace = Workspace::new();
    let pot = workspace.path().join("pot");
    std::fs::write(&pot, "cold\n").unwrap();
    let (_child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    for message in [
        "read pot",
        "replace `cold` with `warm` in pot",
        "replace `warm` with `hot` in pot",
    ] {
        let prompt = json!({ "chatId": "c", "message": message });
        client.call("chat/prompt", prompt).await;
        finished(&mut client).await;
    }
    assert_eq!(std::fs::read_to_string(&pot).unwrap(), "hot\n");
    let back = json!({ "chatId": "c", "contentId": "turn_002.item_001", "include": ["messages", "tools"] });
    client.call("chat/rollback", back).await;
    assert_eq!(std::fs::read_to_string(&pot).unwrap(), "cold\n");
    let said = client
        .find("what was undone", |message| {
            let text = message["params"]["content"]["text"].as_str();
            text.is_some_and(|text| text.contains("Undone in the files: pot."))
        })
        .await;
    assert_eq!(said["params"]["role"], "system");
    let listed = client.call("chat/list", json!({})).await;
    assert_eq!(listed["chats"][0]["messageCount"], 1);
}

#[tokio::test]
async fn a_rollback_of_tools_alone_puts_files_back_and_leaves_the_messages() {
    let workspace = Workspace::new();
    let pot = workspace.path().join("pot.txt");
    let (_child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    let prompt = json!({ "chatId": "c", "message": "write pot.txt: hot" });
    client.call("chat/prompt", prompt).await;
    finished(&mut client).await;
    assert!(pot.exists());
    let back = json!({ "chatId": "c", "contentId": "turn_001.item_001", "include": ["tools"] });
    client.call("chat/rollback", back).await;
    assert!(!pot.exists());
    let listed = client.call("chat/list", json!({})).await;
    assert_eq!(listed["chats"][0]["messageCount"], 1);
}
