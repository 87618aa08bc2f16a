//! What an editor's options decide, on the whole binary.

use bobbin_testkit::{Client, ModelServer, Script};
use serde_json::{Value, json};

use crate::eca::{content, finished, hello, start};
use crate::support::Workspace;

async fn with_options(workspace: &Workspace, options: Value) -> (tokio::process::Child, Client) {
    let (child, mut client) = start(workspace, &["eca"]);
    let mut hello = hello(workspace);
    hello["initializationOptions"] = options;
    client.call("initialize", hello).await;
    client.notify("initialized", json!({})).await;
    (child, client)
}

fn by_default(what: &str) -> Value {
    json!({ "toolCall": { "approval": { "byDefault": what } } })
}

#[tokio::test]
async fn ask_asks_about_a_change_of_a_file_with_its_diff() {
    let workspace = Workspace::new();
    let (_child, mut client) = with_options(&workspace, by_default("ask")).await;
    let prompt = json!({ "chatId": "c", "message": "write pot.txt: hot" });
    client.call("chat/prompt", prompt).await;
    let run = client
        .find("a call", |message| content(message, "toolCallRun"))
        .await;
    let call = &run["params"]["content"];
    assert_eq!(call["manualApproval"], true);
    assert_eq!(call["details"]["type"], "fileChange");
    assert!(!workspace.path().join("pot.txt").exists());
    let approve = json!({ "chatId": "c", "toolCallId": call["id"] });
    client.notify("chat/toolCallApprove", approve).await;
    finished(&mut client).await;
    assert!(workspace.path().join("pot.txt").exists());
}

#[tokio::test]
async fn deny_refuses_what_is_not_allowed_and_the_turn_goes_on() {
    let workspace = Workspace::new();
    let (_child, mut client) = with_options(&workspace, by_default("deny")).await;
    for message in ["write pot.txt: hot", "run `touch pot.txt`"] {
        let prompt = json!({ "chatId": "c", "message": message });
        client.call("chat/prompt", prompt).await;
        let rejected = client
            .find("a rejection", |message| content(message, "toolCallRejected"))
            .await;
        assert_eq!(rejected["params"]["content"]["reason"], "user-config");
        client
            .find("the model's word", |message| {
                content(message, "text") && message["params"]["role"] == "assistant"
            })
            .await;
        finished(&mut client).await;
        assert!(!workspace.path().join("pot.txt").exists());
    }
}

#[tokio::test]
async fn a_rule_of_the_user_refuses_whatever_options_allow() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "Permissions": { "Rules": [{ "Action": "deny", "Path": "pot.txt" }] } }));
    let (_child, mut client) = with_options(&workspace, by_default("allow")).await;
    let prompt = json!({ "chatId": "c", "message": "write pot.txt: hot" });
    client.call("chat/prompt", prompt).await;
    let rejected = client
        .find("a rejection", |message| content(message, "toolCallRejected"))
        .await;
    assert_eq!(rejected["params"]["content"]["reason"], "user-config");
    finished(&mut client).await;
}

#[tokio::test]
async fn a_provider_of_the_options_answers_and_its_key_is_stored_nowhere() {
    let script = Script {
        models: vec!["m".into()],
        key: Some("sk-of-the-editor".into()),
        ..Script::default()
    };
    let server = ModelServer::start(script).await.unwrap();
    let workspace = Workspace::new();
    let kiln = json!({
        "api": "openai-chat", "url": server.base_url(), "key": "${env:BOBBIN_NO_SUCH_VARIABLE:sk-of-the-editor}",
        "models": { "own": {} },
    });
    let options = json!({ "pureConfig": true, "providers": { "kiln": kiln }, "defaultModel": "kiln/own" });
    let (_child, mut client) = with_options(&workspace, options).await;
    let first = client.wait_for("config/updated").await;
    assert_eq!(first["params"]["chat"]["selectModel"], "kiln/own");
    let later = client.wait_for("config/updated").await;
    assert_eq!(
        later["params"]["chat"]["models"],
        json!(["offline", "kiln/own", "kiln/m"])
    );
    let prompt = json!({ "chatId": "c", "message": "hello", "model": "m" });
    let answer = client.call("chat/prompt", prompt).await;
    assert_eq!(answer["model"], "kiln/m");
    finished(&mut client).await;
    let database = std::fs::read(workspace.database()).unwrap();
    let key = b"sk-of-the-editor";
    assert!(!database.windows(key.len()).any(|bytes| bytes == key));
}

#[tokio::test]
async fn a_key_in_a_form_that_is_not_supported_is_an_error_and_no_request_goes_out() {
    let server = ModelServer::start(Script::default()).await.unwrap();
    let workspace = Workspace::new();
    let kiln = json!({
        "api": "openai-chat", "url": server.base_url(), "key": "${cmd:echo secret}", "models": { "own": {} },
    });
    let options = json!({ "pureConfig": true, "providers": { "kiln": kiln }, "defaultModel": "kiln/own" });
    let (_child, mut client) = with_options(&workspace, options).await;
    let prompt = json!({ "chatId": "c", "message": "hello" });
    client.call("chat/prompt", prompt).await;
    client
        .find("an error", |message| {
            let text = message["params"]["content"]["text"].as_str();
            text.is_some_and(|text| text.contains("${cmd:…}") && text.contains("${env:NAME}"))
        })
        .await;
    finished(&mut client).await;
    assert_eq!(server.asked_count(), 0);
}
