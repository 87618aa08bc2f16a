//! A subagent of a scripted model, over the real binary, killed in the middle.

use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall};
use serde_json::{Value, json};

use crate::support::{Workspace, agent_text};

fn call(id: &str, tool: &str, arguments: Value) -> Part {
    Part::Call(ScriptedCall {
        id: id.into(),
        tool: tool.into(),
        arguments,
    })
}

#[tokio::test]
async fn a_subagent_asks_at_the_root_and_survives_a_killed_server_once() {
    let model = ModelServer::start(Script::of([
        // Above.
        Reply::of([
            call(
                "s",
                "SpawnAgent",
                json!({ "agentNickname": "scout", "agentPrompt": "Touch it." }),
            ),
            call("w", "WaitAgent", json!({})),
        ]),
        // Below: asks, and the server is killed.
        Reply::of([call("t", "Exec", json!({ "command": "echo x >> touched" }))]),
        // Above, with the cut wait.
        Reply::of([call("w2", "WaitAgent", json!({}))]),
        // Below, when it is allowed.
        Reply::of([Part::Text("I touched it.".into())]),
        Reply::of([Part::Text("It is touched.".into())]),
    ]))
    .await
    .unwrap();
    let workspace = Workspace::new();
    let craft = workspace.path().join(".craft");
    std::fs::create_dir_all(&craft).unwrap();
    let key = craft.join("script.key");
    std::fs::write(&key, "sk-none\n").unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let provider =
        json!({ "Wire": "chat", "BaseUrl": model.base_url(), "ApiKeyFile": "~/.craft/script.key" });
    let config = json!({ "Providers": { "script": provider }, "Model": "script/scripted", "Titles": { "Enabled": false } });
    std::fs::write(craft.join("config.json"), config.to_string()).unwrap();

    let mut server = workspace.web_socket();
    let mut client = server.client("me").await;
    let root = client.start_thread().await;
    client.start_turn(&root, "Have it touched.").await;
    let changed = client.wait_for("subagent/graphChanged").await;
    assert_eq!(changed["params"]["parentThreadId"], root.as_str());
    let child = changed["params"]["childThreadId"].as_str().unwrap().to_owned();
    let asked = client.wait_for("item/approval/request").await;
    assert_eq!(asked["params"]["threadId"], child.as_str());
    // What the parent waits with is on record by now, or will be: both are all right.
    server.kill_now().await;

    let server = workspace.web_socket();
    let mut client = server.client("me again").await;
    client.call("thread/subscribe", json!({ "threadId": root })).await;
    let again = client.wait_for("item/approval/request").await;
    assert_eq!(again["params"]["threadId"], child.as_str());
    assert_eq!(again["params"]["requestId"], asked["params"]["requestId"]);
    assert!(!workspace.path().join("touched").exists());
    client.reply(&again, json!({ "decision": "accept" })).await;
    let ended = client
        .find("the root's turn ends", |message| {
            message["method"] == "turn/completed" && message["params"]["threadId"] == root.as_str()
        })
        .await;
    assert_eq!(agent_text(&ended["params"]["turn"]), "It is touched.");
    let ran = std::fs::read_to_string(workspace.path().join("touched")).unwrap();
    assert_eq!(ran, "x\n", "the command ran once");
    let all = json!({ "parentThreadId": root, "includeClosed": true, "includeThreads": true });
    let children = client.call("subagent/children/list", all).await;
    let children = children["data"].as_array().unwrap();
    assert_eq!(children.len(), 1, "{children:?}");
    assert_eq!(children[0]["edge"]["agentNickname"], "scout");
    assert_eq!(children[0]["thread"]["runtime"]["running"], false);
}
