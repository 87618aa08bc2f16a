//! Prompts without tools (sections 6 and 7).

use serde_json::json;

use crate::support::{Server, is_content, is_finished, kinds, prompt, texts, transcript, until};

#[tokio::test]
async fn a_text_turn_in_a_chat_that_the_server_names() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let message = "  think where it is\nsay It is poured.\nusage 40 2 ";
    let seen = prompt(&mut client, json!({ "message": message })).await;
    transcript!(server, seen);
}

#[tokio::test]
async fn a_chat_that_the_client_names_and_goes_on() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let first = json!({ "chatId": "c-81", "message": "say one", "request-id": 7, "contexts": null });
    let mut seen = prompt(&mut client, first).await;
    seen.extend(prompt(&mut client, json!({ "chatId": "c-81", "message": "say two" })).await);
    transcript!(server, seen);
}

#[tokio::test]
async fn a_number_comes_back_as_a_number() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let seen = prompt(&mut client, json!({ "chatId": 1, "message": "say one" })).await;
    assert!(
        seen.iter()
            .all(|message| message["params"]["chatId"] == 1 || message["result"]["chatId"] == 1),
        "{seen:#?}"
    );
    // Another editor's first tab is another chat.
    let mut other = server.editor().await;
    let seen = prompt(&mut other, json!({ "chatId": 1, "message": "say two" })).await;
    assert_eq!(texts(&seen, "assistant"), "two");
    assert_eq!(client.unread(), 0);
}

#[tokio::test]
async fn ids_that_cannot_be_chats_are_refused_without_an_error() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    for id in ["", "a b", "subagent-1"] {
        let result = client
            .call("chat/prompt", json!({ "chatId": id, "message": "say x" }))
            .await;
        assert_eq!(
            result,
            json!({ "chatId": id, "model": "error", "status": "error" })
        );
    }
    assert_eq!(client.unread(), 0);
}

#[tokio::test]
async fn two_chats_stream_at_once() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    client
        .request(
            "chat/prompt",
            json!({ "chatId": "a", "message": "wait\nsay of a" }),
        )
        .await;
    until(&mut client, |message| is_content(message, "metadata")).await;
    let b = prompt(&mut client, json!({ "chatId": "b", "message": "say of b" })).await;
    assert!(
        b.iter().all(|message| message["params"]["chatId"] != "a"),
        "{b:#?}"
    );
    server.engine.release();
    let a = until(&mut client, is_finished).await;
    assert_eq!(texts(&a, "assistant"), "of a");
    assert!(a.iter().all(|message| message["params"]["chatId"] == "a"));
}

#[tokio::test]
async fn an_unknown_model_is_told_in_the_chat() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let seen = prompt(
        &mut client,
        json!({ "chatId": "c", "message": "say x", "model": "tea/pot" }),
    )
    .await;
    transcript!(server, seen);
    let seen = prompt(
        &mut client,
        json!({ "chatId": "c", "message": "say x", "model": "kiln/small" }),
    )
    .await;
    let result = seen
        .iter()
        .find(|message| message.get("result").is_some())
        .unwrap();
    assert_eq!(result["result"]["model"], "kiln/small");
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "say y" })).await;
    let result = seen
        .iter()
        .find(|message| message.get("result").is_some())
        .unwrap();
    assert_eq!(result["result"]["model"], "kiln/small", "the chat keeps it");
}

#[tokio::test]
async fn a_command_runs_and_an_unknown_word_goes_to_the_model() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "/costs" })).await;
    transcript!(server, seen);
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "/tea now" })).await;
    assert_eq!(texts(&seen, "assistant"), "/tea now");
    let said = texts(
        &prompt(&mut client, json!({ "chatId": "c", "message": "/doctor" })).await,
        "system",
    );
    assert!(
        said.contains("Model: kiln/large") && said.contains("Tools: look, Exec"),
        "{said}"
    );
}

#[tokio::test]
async fn a_prompt_during_a_turn_is_queued_and_runs() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    client
        .request(
            "chat/prompt",
            json!({ "chatId": "c", "message": "wait\nsay one" }),
        )
        .await;
    until(&mut client, |message| message["result"]["chatId"] == "c").await;
    let result = client
        .call("chat/prompt", json!({ "chatId": "c", "message": "say two" }))
        .await;
    assert_eq!(result["status"], "prompting");
    server.engine.release();
    let mut seen = until(&mut client, is_finished).await;
    seen.extend(until(&mut client, is_finished).await);
    transcript!(server, seen);
}

#[tokio::test]
async fn a_turn_that_fails_says_why_and_ends() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let seen = prompt(
        &mut client,
        json!({ "chatId": "c", "message": "say so far\nfail the kettle is empty" }),
    )
    .await;
    transcript!(server, seen);
}

#[tokio::test]
async fn a_stop_while_it_streams_keeps_what_was_said() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    client
        .request(
            "chat/prompt",
            json!({ "chatId": "c", "message": "say so far\nhang" }),
        )
        .await;
    until(&mut client, |message| {
        message["params"]["content"]["text"] == "far"
    })
    .await;
    client.notify("chat/promptStop", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, is_finished).await;
    transcript!(server, seen);
    // Nothing runs: ignored.
    client.notify("chat/promptStop", json!({ "chatId": "c" })).await;
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "say again" })).await;
    assert_eq!(texts(&seen, "assistant"), "again");
    assert_eq!(
        kinds(&seen).iter().filter(|kind| **kind == "chat/opened").count(),
        0
    );
}

#[tokio::test]
async fn what_is_attached_is_read_and_not_echoed() {
    let server = Server::start().await;
    std::fs::write(server.root().join("spout.rs"), "one\ntwo\nthree\n").unwrap();
    let mut client = server.editor().await;
    let contexts = json!([
        { "type": "file", "path": server.root().join("spout.rs"), "linesRange": { "start": 2, "end": 2 } },
        { "type": "file", "path": "missing" },
        { "type": "teapot" },
    ]);
    let seen = prompt(
        &mut client,
        json!({ "chatId": "c", "message": "hi", "contexts": contexts }),
    )
    .await;
    assert_eq!(texts(&seen, "user"), "hi\n");
    // The scripted engine says the display text of its prompt.
    let said = texts(&seen, "assistant");
    assert!(
        said.starts_with("hi @") && said.ends_with("spout.rs:2-2 @missing"),
        "{said}"
    );
    let system = texts(&seen, "system");
    assert!(
        system.starts_with("\nNot attached: missing: it does not exist\n"),
        "{system}"
    );
    let opened = client.request("chat/open", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, |message| message["id"] == opened).await;
    assert_eq!(texts(&seen, "user"), "hi\n");
}

#[tokio::test]
async fn a_page_is_read_before_the_turn_and_nobody_else_waits_for_it() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let page = json!([{ "type": "web", "url": "https://slow.example/" }]);
    let slow = json!({ "chatId": "c", "message": "hi", "contexts": page });
    client.request("chat/prompt", slow).await;
    let mut seen = until(&mut client, |message| {
        message["params"]["content"]["text"] == "Parsing given context"
    })
    .await;
    // Meanwhile another chat is served, and the stop of this one.
    prompt(&mut client, json!({ "chatId": "d", "message": "say two" })).await;
    client.notify("chat/promptStop", json!({ "chatId": "c" })).await;
    seen.extend(until(&mut client, is_finished).await);
    transcript!(server, seen);
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "say three" })).await;
    assert_eq!(texts(&seen, "assistant"), "three");
}

#[tokio::test]
async fn pages_reach_the_turn_in_their_place_and_those_that_cannot_be_read_are_named() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let contexts = json!([
        { "type": "text", "label": "a", "content": "first" },
        { "type": "web", "url": "https://tea.example/leaves" },
        { "type": "web", "url": "https://coffee.example/" },
        { "type": "text", "label": "b", "content": "last" },
    ]);
    prompt(
        &mut client,
        json!({ "chatId": "c", "message": "hi", "contexts": contexts }),
    )
    .await;
    let listed = client.call("chat/list", json!({})).await;
    assert_eq!(listed["chats"][0]["messageCount"], 1);
    assert_eq!(
        server.attached("c").await,
        [
            "a|first",
            "https://tea.example/leaves|All about leaves.",
            "https://coffee.example/|The user attached this, but it was not read: there is no such page.",
            "b|last",
        ]
    );
}

#[tokio::test]
async fn earlier_chats_are_listed_and_opened_with_a_word() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    prompt(&mut client, json!({ "chatId": "old", "message": "say one" })).await;
    let mut client = server.editor().await;
    let seen = prompt(&mut client, json!({ "chatId": "new", "message": "/resume" })).await;
    let said = texts(&seen, "system");
    assert!(
        said.contains("- say one (old)\n") && !said.contains("(new)"),
        "{said}"
    );
    let seen = prompt(&mut client, json!({ "chatId": "new", "message": "/resume old" })).await;
    assert!(texts(&seen, "system").contains("Opened old."));
    assert!(
        seen.iter().any(|message| message["params"]["chatId"] == "old"
            && message["params"]["content"]["text"] == "say one\n")
    );
    let seen = prompt(&mut client, json!({ "chatId": "new", "message": "/resume none" })).await;
    assert!(texts(&seen, "system").contains("There is no chat none"));
}

#[tokio::test]
async fn a_result_larger_than_the_queue_is_told_and_so_is_what_follows() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "flood 9" })).await;
    assert!(seen.iter().any(|message| message.to_string().len() > 9 << 20));
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "say two" })).await;
    assert_eq!(texts(&seen, "assistant"), "two");
}

#[tokio::test]
async fn a_pause_before_a_retry_is_progress() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let line = "Provider overloaded. Retrying in 4s (attempt 1/5)";
    let message = format!("say one\nretry {line}\nsay two");
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": message })).await;
    let progress = seen.iter().filter(|message| is_content(message, "progress"));
    let progress: Vec<_> = progress
        .map(|message| message["params"]["content"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(progress, ["Waiting model", "Generating", line, "Generating", ""]);
}
