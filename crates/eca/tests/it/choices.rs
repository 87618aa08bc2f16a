//! Choices for a chat, by whom and for how long (sections 4.6, 6, 14, 20.4), and requests of a handshake that are not
//! met.

use bobbin_core::Command;
use bobbin_model::{ApprovalPolicy, ThreadConfig};
use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Server, hello, is_content, is_finished, kinds, prompt};

/// Connects an editor with options, up to the last of its notices.
async fn with_options(server: &Server, options: Value, notices: usize) -> (Client, Vec<Value>) {
    let (mut client, _) = server.connect();
    let mut hello = hello();
    hello["initializationOptions"] = options;
    hello["workspaceFolders"] =
        json!([{ "uri": "file:///srv/pot" }, { "name": "none" }, { "uri": "file:///srv/cup" }]);
    hello["clientInfo"] = json!({});
    client.call("initialize", hello).await;
    client.notify("initialized", json!({})).await;
    let mut said = Vec::new();
    for _ in 0..notices {
        said.push(client.wait_for("$/showMessage").await["params"]["message"].clone());
    }
    (client, said)
}

async fn selection(client: &mut Client, chat: &str) -> (Value, Value) {
    let opened = client.call("chat/open", json!({ "chatId": chat })).await;
    (
        opened["selection"]["agent"].clone(),
        opened["selection"]["model"].clone(),
    )
}

async fn say(client: &mut Client, params: Value) {
    client.call("chat/prompt", params).await;
    client.find("the end of a turn", is_finished).await;
}

#[tokio::test]
async fn what_a_prompt_chooses_stays_until_something_else_is_selected() {
    let server = Server::start().await;
    let options = json!({ "chatBehavior": "plan", "defaultModel": "kiln/large" });
    let (mut client, _) = with_options(&server, options, 2).await;
    let own = json!({ "chatId": "c", "message": "say one", "model": "kiln/small", "behavior": "agent" });
    say(&mut client, own).await;
    say(&mut client, json!({ "chatId": "c", "message": "say two" })).await;
    assert_eq!(
        selection(&mut client, "c").await,
        (json!("code"), json!("kiln/small"))
    );
    // A new chat has the choices of the options.
    say(&mut client, json!({ "chatId": "d", "message": "say one" })).await;
    assert_eq!(
        selection(&mut client, "d").await,
        (json!("plan"), json!("kiln/large"))
    );
    // A selection for all chats is newer than the choices of both.
    client
        .notify("chat/selectedBehaviorChanged", json!({ "behavior": "plan" }))
        .await;
    say(&mut client, json!({ "chatId": "c", "message": "say three" })).await;
    assert_eq!(
        selection(&mut client, "c").await,
        (json!("plan"), json!("kiln/small"))
    );
    // The chat's choice after that is newer still, even if the selection was for the chat alone.
    client
        .notify(
            "chat/selectedAgentChanged",
            json!({ "chatId": "c", "agent": "plan" }),
        )
        .await;
    say(
        &mut client,
        json!({ "chatId": "c", "message": "say four", "behavior": "agent" }),
    )
    .await;
    say(&mut client, json!({ "chatId": "c", "message": "say five" })).await;
    assert_eq!(selection(&mut client, "c").await.0, "code");
}

#[tokio::test]
async fn a_model_that_nobody_knows_cannot_be_selected() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    say(&mut client, json!({ "chatId": "c", "message": "say one" })).await;
    for params in [
        json!({ "chatId": "c", "model": "tea/pot" }),
        json!({ "model": "x".repeat(1 << 20) }),
    ] {
        client.notify("chat/selectedModelChanged", params).await;
    }
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "say two" })).await;
    let answer = seen.iter().find(|message| message.get("result").is_some());
    assert_eq!(answer.unwrap()["result"]["model"], "kiln/large");
    assert_eq!(selection(&mut client, "c").await.1, "kiln/large");
}

#[tokio::test]
async fn a_model_that_a_provider_lists_later_is_offered_and_chosen_by_its_bare_name() {
    let server = Server::start().await;
    server
        .models
        .lists_more
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let (mut client, _) = server.connect();
    let opened = client.call("initialize", hello()).await;
    assert_eq!(opened["models"], json!(["kiln/large", "kiln/small"]));
    client.notify("initialized", json!({})).await;
    let first = client.wait_for("config/updated").await;
    assert_eq!(first["params"]["chat"]["models"], opened["models"]);
    let later = client.wait_for("config/updated").await;
    let all = json!(["kiln/large", "kiln/small", "kiln/new"]);
    assert_eq!(later["params"], json!({ "chat": { "models": all } }));
    say(
        &mut client,
        json!({ "chatId": "c", "message": "say one", "model": "new" }),
    )
    .await;
    assert_eq!(selection(&mut client, "c").await.1, "kiln/new");
}

#[tokio::test]
async fn options_choose_what_the_client_is_told_to_select() {
    let server = Server::start().await;
    let (mut client, _) = server.connect();
    let mut hello = hello();
    hello["initializationOptions"] = json!({ "chatAgent": "plan", "defaultModel": "small" });
    let opened = client.call("initialize", hello).await;
    assert_eq!(opened["chatDefaultModel"], "kiln/small");
    client.notify("initialized", json!({})).await;
    let chat = client.wait_for("config/updated").await["params"]["chat"].take();
    for member in ["selectModel", "defaultModel"] {
        assert_eq!(chat[member], "kiln/small", "{member}");
    }
    assert_eq!(chat["selectAgent"], "plan");
}

#[tokio::test]
async fn trust_that_is_taken_back_leaves_what_another_door_has_chosen() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let seen = prompt(&mut client, json!({ "message": "say one" })).await;
    let chat = seen
        .iter()
        .find_map(|message| message["result"]["chatId"].as_str())
        .unwrap();
    let handle = server
        .threads
        .thread(&bobbin_model::ThreadId::new(chat))
        .await
        .unwrap();
    let policy = async || {
        let snapshot = server.threads.snapshot(&handle).await.unwrap();
        snapshot
            .state
            .header
            .config
            .clone()
            .unwrap_or_default()
            .approval_policy
    };
    let config = ThreadConfig {
        approval_policy: Some(ApprovalPolicy::Interrupt),
        ..ThreadConfig::default()
    };
    let reply = Box::new(|_| {});
    handle.send(Command::Configure { config, reply }).await;
    for (trust, expected) in [
        (false, Some(ApprovalPolicy::Interrupt)),
        (true, Some(ApprovalPolicy::AutoApprove)),
        (false, None),
    ] {
        client
            .call("chat/update", json!({ "chatId": chat, "trust": trust }))
            .await;
        assert_eq!(policy().await, expected);
    }
}

#[tokio::test]
async fn options_that_deny_let_nothing_run_that_would_be_asked_about() {
    let server = Server::start().await;
    let options = json!({ "toolCall": { "approval": { "byDefault": "deny" } } });
    let (mut client, said) = with_options(&server, options, 2).await;
    // The first notice is the server's own.
    assert!(
        said[1]
            .as_str()
            .unwrap()
            .contains("only the first folder, /srv/pot"),
        "{said:?}"
    );
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "ask touch tea" })).await;
    assert!(!kinds(&seen).contains(&"toolCallRunning"), "{seen:#?}");
    let stopped = seen
        .iter()
        .any(|message| message["params"]["content"]["text"] == "\nPrompt stopped\n");
    assert!(!stopped, "{seen:#?}");
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    let options = json!({ "toolCall": { "approval": { "byDefault": "allow" } } });
    let (mut client, _) = with_options(&server, options, 2).await;
    let seen = prompt(&mut client, json!({ "chatId": "d", "message": "ask touch tea" })).await;
    assert!(seen.iter().any(|message| is_content(message, "toolCalled")));
    assert_eq!(server.engine.effects(), ["touch tea"]);
}

#[tokio::test]
async fn a_variant_is_how_much_the_model_reasons() {
    let server = Server::start().await;
    let (mut client, _) = with_options(&server, json!({}), 2).await;
    let small = json!({ "model": "kiln/small", "variant": "high" });
    client.notify("chat/selectedModelChanged", small).await;
    let told = client
        .find("the model's variants", |message| {
            message["params"]["chat"]["variants"] == json!(["low", "high"])
        })
        .await;
    assert_eq!(told["params"]["chat"]["selectVariant"], "high");
    say(&mut client, json!({ "chatId": "c", "message": "say one" })).await;
    let effort = async |client: &mut Client| {
        let opened = client.call("chat/open", json!({ "chatId": "c" })).await;
        (
            opened["selection"]["variant"].clone(),
            opened["selection"]["variants"].clone(),
        )
    };
    assert_eq!(effort(&mut client).await, (json!("high"), json!(["low", "high"])));
    let low = json!({ "chatId": "c", "message": "say two", "variant": "low" });
    say(&mut client, low).await;
    assert_eq!(effort(&mut client).await.0, json!("low"));
    // The other model has no variants. The chat's own one counts again once it goes back.
    for (model, expected) in [("kiln/large", json!(null)), ("kiln/small", json!("low"))] {
        let selected = json!({ "chatId": "c", "message": "say three", "model": model });
        say(&mut client, selected).await;
        assert_eq!(effort(&mut client).await.0, expected, "{model}");
    }
}
