//! Keys that an editor's user stores, on the whole binary.

use std::os::unix::fs::PermissionsExt as _;

use bobbin_testkit::{Client, Link, ModelServer, Script};
use serde_json::{Value, json};

use crate::eca::{finished, hello, start};
use crate::support::Workspace;

/// The key of these tests.
const KEY: &str = "sk-of-the-kiln";

async fn greet(client: &mut Client, workspace: &Workspace, options: Value) {
    let mut hello = hello(workspace);
    hello["initializationOptions"] = options;
    client.call("initialize", hello).await;
    client.notify("initialized", json!({})).await;
}

fn listed<'a>(providers: &'a Value, id: &str) -> &'a Value {
    let mut all = providers["providers"].as_array().unwrap().iter();
    all.find(|provider| provider["id"] == id).unwrap_or(&Value::Null)
}

/// Whether a folder has a file with the key.
fn has_key(folder: &std::path::Path) -> bool {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.into_iter().any(|entry| match entry.file_type().unwrap() {
        kind if kind.is_dir() => has_key(&entry.path()),
        kind if kind.is_file() => {
            let bytes = std::fs::read(entry.path()).unwrap();
            bytes.windows(KEY.len()).any(|found| found == KEY.as_bytes())
        }
        _ => false,
    })
}

#[tokio::test]
async fn a_key_that_is_entered_in_an_editor_is_stored_in_the_users_file_alone() {
    let script = Script {
        models: vec!["scripted".into()],
        key: Some(KEY.into()),
        ..Script::default()
    };
    let server = ModelServer::start(script).await.unwrap();
    let (home, workspace) = (Workspace::new(), Workspace::new());
    home.configure(&json!({ "Providers": { "kiln": { "BaseUrl": server.base_url() } } }));
    let own = home.path().join(".craft/config.json");
    let written = || -> Value { serde_json::from_str(&std::fs::read_to_string(&own).unwrap()).unwrap() };
    let (_child, mut client) = start(&home, &["eca"]);
    // The provider of the options is in no file, and stays.
    let oven = json!({ "api": "openai-chat", "url": server.base_url(), "key": "k", "models": { "own": {} } });
    greet(&mut client, &workspace, json!({ "providers": { "oven": oven } })).await;
    let providers = client.call("providers/list", json!(null)).await;
    let missing = json!({ "status": "unauthenticated" });
    assert_eq!(
        (
            &listed(&providers, "anthropic")["auth"],
            &listed(&providers, "anthropic")["login"]["methods"][0]["key"]
        ),
        (&missing, &json!("api-key"))
    );
    assert_eq!(listed(&providers, "ollama"), &Value::Null);
    assert_eq!(listed(&providers, "oven")["auth"]["source"], "config");
    let input = json!({ "provider": "kiln", "data": { "api-key": KEY } });
    let action = client
        .call("providers/login", json!({ "provider": "kiln" }))
        .await;
    assert_eq!(action["action"], "input");
    assert_eq!(
        client.call("providers/loginInput", input).await,
        json!({ "action": "done" })
    );
    assert_eq!(written()["Providers"]["kiln"]["ApiKey"], KEY);
    assert_eq!(
        std::fs::metadata(&own).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let updated = client
        .find("the provider with its models", |message| {
            message["method"] == "providers/updated" && message["params"]["models"] != json!([])
        })
        .await;
    assert_eq!(
        (&updated["params"]["auth"], &updated["params"]["models"][0]["id"]),
        (
            &json!({ "status": "authenticated", "type": "api-key", "source": "login" }),
            &json!("kiln/scripted")
        )
    );
    let prompt = json!({ "chatId": "c", "message": "hello", "model": "kiln/scripted" });
    assert_eq!(client.call("chat/prompt", prompt).await["model"], "kiln/scripted");
    finished(&mut client).await;
    let providers = client.call("providers/list", json!({})).await;
    assert_eq!(listed(&providers, "oven")["models"][0]["id"], "oven/own");
    assert!(!has_key(home.state()) && !has_key(workspace.path()));

    assert_eq!(
        client
            .call("providers/logout", json!({ "provider": "kiln" }))
            .await,
        json!({})
    );
    assert_eq!(
        written()["Providers"]["kiln"],
        json!({ "BaseUrl": server.base_url() })
    );
    // A built-in provider is as it was before its login.
    let input = json!({ "provider": "anthropic", "data": { "api-key": KEY } });
    client.call("providers/loginInput", input).await;
    assert_eq!(written()["Providers"]["anthropic"], json!({ "ApiKey": KEY }));
    client
        .call("providers/logout", json!({ "provider": "anthropic" }))
        .await;
    assert_eq!(written()["Providers"].get("anthropic"), None);
}

#[tokio::test]
async fn a_web_socket_stores_no_key() {
    let home = Workspace::new();
    let server = home.web_socket();
    let address = server.address().await.replace("/ws", "/eca");
    let mut client = Client::new(Link::web_socket(&address).await);
    greet(&mut client, &home, json!({})).await;
    let input = json!({ "provider": "anthropic", "data": { "api-key": KEY } });
    for (method, params) in [
        ("providers/login", json!({ "provider": "anthropic" })),
        ("providers/loginInput", input),
    ] {
        let error = client.error(method, params).await;
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("on the server's machine"),
            "{error}"
        );
    }
    assert!(!has_key(home.path()));
}
