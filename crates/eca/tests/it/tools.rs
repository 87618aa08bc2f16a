//! Prompts with tools (sections 8, 9 and 10).

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Server, is_content, is_finished, kinds, prompt, prompt_until_asked, transcript, until};

/// Returns the id of the last call in a conversation.
fn call_id(messages: &[Value]) -> Value {
    let run = messages
        .iter()
        .rev()
        .find(|message| is_content(message, "toolCallRun"));
    run.expect("a call")["params"]["content"]["id"].clone()
}

async fn approve(client: &Client, chat: &str, call: &Value) {
    let params = json!({ "chatId": chat, "toolCallId": call });
    client.notify("chat/toolCallApprove", params).await;
}

async fn reject(client: &Client, chat: &str, call: &Value) {
    let params = json!({ "chatId": chat, "toolCallId": call });
    client.notify("chat/toolCallReject", params).await;
}

#[tokio::test]
async fn a_call_that_needs_no_word() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let seen = prompt(
        &mut client,
        json!({ "chatId": "c", "message": "call touch tea\nsay done" }),
    )
    .await;
    transcript!(server, seen);
}

#[tokio::test]
async fn a_call_that_fails_says_so_and_the_turn_goes_on() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let params = json!({ "chatId": "c", "message": "break the cup\nsay well" });
    let seen = prompt(&mut client, params).await;
    transcript!(server, seen);
}

#[tokio::test]
async fn a_call_that_is_approved_runs_once() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let mut seen = prompt_until_asked(
        &mut client,
        json!({ "chatId": "c", "message": "ask touch tea\nsay done" }),
    )
    .await;
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    let call = call_id(&seen);
    approve(&client, "c", &call).await;
    approve(&client, "c", &call).await;
    seen.extend(until(&mut client, is_finished).await);
    approve(&client, "c", &call).await;
    transcript!(server, seen);
    assert_eq!(server.engine.effects(), ["touch tea"]);
}

#[tokio::test]
async fn a_call_that_is_rejected_does_not_run_and_the_turn_goes_on() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let mut seen = prompt_until_asked(
        &mut client,
        json!({ "chatId": "c", "message": "ask touch tea\nsay well" }),
    )
    .await;
    let call = call_id(&seen);
    reject(&client, "c", &call).await;
    seen.extend(until(&mut client, is_finished).await);
    approve(&client, "c", &call).await;
    transcript!(server, seen);
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn a_stop_while_a_call_waits_rejects_it() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    prompt_until_asked(&mut client, json!({ "chatId": "c", "message": "ask touch tea" })).await;
    client.notify("chat/promptStop", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, is_finished).await;
    transcript!(server, seen);
}

#[tokio::test]
async fn a_word_for_the_session_is_not_asked_for_again() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let seen = prompt_until_asked(&mut client, json!({ "chatId": "c", "message": "ask touch tea" })).await;
    let params = json!({ "chatId": "c", "toolCallId": call_id(&seen), "save": "session" });
    client.notify("chat/toolCallApprove", params).await;
    until(&mut client, is_finished).await;
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "ask touch tea" })).await;
    let run = seen
        .iter()
        .find(|message| is_content(message, "toolCallRun"))
        .unwrap();
    assert_eq!(run["params"]["content"]["manualApproval"], false);
    assert_eq!(server.engine.effects(), ["touch tea", "touch tea"]);
}

#[tokio::test]
async fn a_chat_that_is_trusted_is_not_asked() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let seen = prompt(
        &mut client,
        json!({ "chatId": "c", "message": "ask touch tea", "trust": true }),
    )
    .await;
    assert!(kinds(&seen).contains(&"toolCalled"), "{seen:#?}");
    client
        .request(
            "chat/prompt",
            json!({ "chatId": "c", "message": "ask touch milk", "trust": false }),
        )
        .await;
    until(&mut client, |message| {
        is_content(message, "toolCallRun") && message["params"]["content"]["manualApproval"] == true
    })
    .await;
}

#[tokio::test]
async fn another_editor_that_opens_the_chat_may_approve() {
    let server = Server::start().await;
    let mut first = server.editor().await;
    let mut second = server.editor().await;
    prompt_until_asked(
        &mut first,
        json!({ "chatId": "c", "message": "ask touch tea\nsay done" }),
    )
    .await;
    let id = second.request("chat/open", json!({ "chatId": "c" })).await;
    let seen = until(&mut second, |message| message["id"] == id).await;
    transcript!(server, seen);
    approve(&second, "c", &call_id(&seen)).await;
    let (first, second) = (
        until(&mut first, is_finished).await,
        until(&mut second, is_finished).await,
    );
    assert_eq!(kinds(&first), kinds(&second));
    assert!(kinds(&first).contains(&"toolCalled"));
}

#[tokio::test]
async fn a_call_that_waits_survives_a_restart() {
    let mut server = Server::start().await;
    let mut client = server.editor().await;
    prompt_until_asked(
        &mut client,
        json!({ "chatId": "c", "message": "say tea\nask touch tea" }),
    )
    .await;
    // The client goes; the question stays. (An ordinary stop of the core would end the turn.)
    drop(client);
    let mut client = server.editor().await;
    let id = client.request("chat/open", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    approve(&client, "c", &call_id(&seen)).await;
    until(&mut client, is_finished).await;
    assert_eq!(server.engine.effects(), ["touch tea"]);
    server.restart().await;
    let mut client = server.editor().await;
    let id = client.request("chat/open", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    assert!(kinds(&seen).contains(&"toolCalled"), "{seen:#?}");
}

#[tokio::test]
async fn a_change_of_a_file_is_shown_before_it_is_made() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let request = json!({ "chatId": "c", "message": "preview fill the pot" });
    let mut seen = prompt_until_asked(&mut client, request).await;
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    // Another editor that comes now sees it too.
    let mut other = server.editor().await;
    other.call("chat/open", json!({ "chatId": "c" })).await;
    let run = other
        .find("the call", |message| is_content(message, "toolCallRun"))
        .await;
    assert_eq!(run["params"]["content"]["details"]["linesAdded"], 1);
    approve(&client, "c", &call_id(&seen)).await;
    seen.extend(until(&mut client, is_finished).await);
    transcript!(server, seen);
    for kind in ["toolCallRun", "toolCallRunning", "toolCalled"] {
        let one = seen.iter().find(|message| is_content(message, kind)).unwrap();
        assert_eq!(
            one["params"]["content"]["details"]["type"], "fileChange",
            "{kind}"
        );
    }
}

#[tokio::test]
async fn what_a_subagent_asks_is_a_call_of_the_chat_above() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let message = "spawn scout ask touch tea; say touched\njoin";
    let seen = prompt_until_asked(&mut client, json!({ "chatId": "c", "message": message })).await;
    let run = &seen.last().unwrap()["params"];
    let asked = seen
        .iter()
        .rev()
        .find(|message| is_content(message, "toolCallRun"))
        .map_or(run, |message| &message["params"]);
    assert_eq!(
        (&asked["chatId"], &asked["content"]["name"]),
        (&json!("c"), &json!("subagent"))
    );
    assert_eq!(asked["content"]["arguments"]["command"], "touch tea");
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    approve(&client, "c", &call_id(&seen)).await;
    let seen = until(&mut client, is_finished).await;
    assert!(kinds(&seen).contains(&"toolCalled"), "{seen:#?}");
    assert_eq!(server.engine.effects(), ["touch tea"]);
}

#[tokio::test]
async fn a_chat_that_is_opened_later_shows_what_its_subagents_ask() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let message = "spawn scout ask touch tea; say touched\njoin";
    let seen = prompt_until_asked(&mut client, json!({ "chatId": "c", "message": message })).await;
    let asked = call_id(&seen);
    let is_asked = |message: &Value| {
        is_content(message, "toolCallRun") && message["params"]["content"]["name"] == "subagent"
    };
    let mut other = server.editor().await;
    for editor in [&mut other, &mut client] {
        // A client that empties its view of the chat gets it again.
        let open = json!({ "chatId": "c" });
        let id = editor.request("chat/open", open).await;
        let mut shown = until(editor, |message| message["id"] == id).await;
        if !shown.iter().any(is_asked) {
            shown.push(editor.find("the call", is_asked).await);
        }
        assert_eq!(call_id(&shown), asked);
    }
    approve(&other, "c", &asked).await;
    for editor in [&mut other, &mut client] {
        let seen = until(editor, is_finished).await;
        let of_call = |kind| {
            let is_of =
                |message: &&Value| is_content(message, kind) && message["params"]["content"]["id"] == asked;
            seen.iter().filter(is_of).count()
        };
        assert_eq!(
            (of_call("toolCallRun"), of_call("toolCalled")),
            (0, 1),
            "{seen:#?}"
        );
    }
    assert_eq!(server.engine.effects(), ["touch tea"]);
}

#[tokio::test]
async fn a_history_has_the_diffs_of_its_calls() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let mut live = Vec::new();
    for (chat, decide) in [("a", "chat/toolCallApprove"), ("r", "chat/toolCallReject")] {
        let params = json!({ "chatId": chat, "message": "preview touch tea\nsay done" });
        live.extend(prompt_until_asked(&mut client, params).await);
        let params = json!({ "chatId": chat, "toolCallId": call_id(&live) });
        client.notify(decide, params).await;
        live.extend(until(&mut client, is_finished).await);
    }
    let mut later = Vec::new();
    for chat in ["a", "r"] {
        let opened = client.request("chat/open", json!({ "chatId": chat })).await;
        later.extend(until(&mut client, |message| message["id"] == opened).await);
    }
    let details = |messages: &[Value]| -> Vec<(Value, Value)> {
        let calls = messages.iter().map(|message| &message["params"]["content"]);
        let calls = calls.filter(|content| {
            content["type"]
                .as_str()
                .is_some_and(|kind| kind.starts_with("toolCall"))
        });
        calls
            .map(|content| (content["type"].clone(), content["details"].clone()))
            .collect()
    };
    assert_eq!(details(&later), details(&live));
    assert_eq!(details(&later)[1].1["type"], "fileChange");
}
