//! Prompts that wait before they become Turns, the effect of a stop on them and on later ones, and endless reading.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Server, is_content, is_finished, kinds, prompt, texts, transcript, until};

async fn stop(client: &Client, chat: &str) {
    client.notify("chat/promptStop", json!({ "chatId": chat })).await;
}

/// Waits until a prompt's contexts are being read.
async fn parsing(client: &mut Client) {
    until(client, |message| {
        message["params"]["content"]["text"] == "Parsing given context"
    })
    .await;
}

fn statuses(messages: &[Value]) -> Vec<&str> {
    let changed = messages
        .iter()
        .filter(|message| message["method"] == "chat/statusChanged");
    changed
        .filter_map(|message| message["params"]["status"].as_str())
        .collect()
}

#[tokio::test]
async fn a_pipe_as_context_is_not_read_and_holds_nobody_up() {
    let server = Server::start().await;
    nix::unistd::mkfifo(&server.root().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut client = server.editor().await;
    let contexts =
        json!([{ "type": "file", "path": "pipe" }, { "type": "text", "label": "a", "content": "tea" }]);
    let params = json!({ "chatId": "c", "message": "hi", "contexts": contexts });
    let seen = prompt(&mut client, params).await;
    assert!(kinds(&seen).contains(&"text"));
    assert_eq!(
        server.attached("c").await,
        [
            "pipe|The user attached this, but it was not read: it is not a file.",
            "a|tea"
        ]
    );
    let seen = prompt(&mut client, json!({ "chatId": "d", "message": "say two" })).await;
    assert_eq!(texts(&seen, "assistant"), "two");
    assert_eq!(client.call("shutdown", json!(null)).await, json!(null));
}

#[tokio::test]
async fn a_prompt_behind_one_that_is_stopped_or_fails_runs_next() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    for (first, is_stopped) in [("hang", true), ("wait\nfail the kettle is empty", false)] {
        let first = json!({ "chatId": "c", "message": first });
        client.request("chat/prompt", first).await;
        until(&mut client, |message| message["result"]["chatId"] == "c").await;
        let second = json!({ "chatId": "c", "message": "say two" });
        client.call("chat/prompt", second).await;
        if is_stopped {
            stop(&client, "c").await;
        } else {
            server.engine.release();
        }
        until(&mut client, is_finished).await;
        let seen = until(&mut client, is_finished).await;
        assert_eq!(texts(&seen, "user"), "say two\n");
        assert_eq!(texts(&seen, "assistant"), "two");
    }
}

#[tokio::test]
async fn a_stop_and_a_prompt_at_once_end_one_turn_and_begin_the_next() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let hang = json!({ "chatId": "c", "message": "hang" });
    client.request("chat/prompt", hang).await;
    until(&mut client, |message| message["result"]["chatId"] == "c").await;
    stop(&client, "c").await;
    let next = json!({ "chatId": "c", "message": "say two" });
    client.request("chat/prompt", next).await;
    let mut seen = until(&mut client, is_finished).await;
    assert_eq!(statuses(&seen), ["stopping", "idle"]);
    seen = until(&mut client, is_finished).await;
    assert_eq!(texts(&seen, "assistant"), "two");
}

#[tokio::test]
async fn a_prompt_that_is_stopped_right_behind_it_does_not_run_on() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let contexts = json!([{ "type": "text", "label": "a", "content": "tea" }]);
    // Its contexts may be read by then or not.
    for _ in 0..20 {
        let params = json!({ "chatId": "c", "message": "hang", "contexts": contexts });
        client.request("chat/prompt", params).await;
        stop(&client, "c").await;
        let seen = until(&mut client, is_finished).await;
        assert!(texts(&seen, "system").contains("Prompt stopped"), "{seen:#?}");
    }
    assert_eq!(client.unread(), 0);
}

#[tokio::test]
async fn prompts_of_one_chat_keep_their_order_while_one_reads_a_page() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let page = |url: &str| json!([{ "type": "web", "url": url }]);
    let slow = json!({ "chatId": "c", "message": "say one", "contexts": page("https://slow.example/") });
    client.request("chat/prompt", slow).await;
    parsing(&mut client).await;
    let fast =
        json!({ "chatId": "c", "message": "wait\nsay two", "contexts": page("https://tea.example/pot") });
    client.request("chat/prompt", fast).await;
    client
        .request("chat/prompt", json!({ "chatId": "c", "message": "say three" }))
        .await;
    // The second prompt has read its page long ago and waits. So does the third, which has no attachments.
    prompt(&mut client, json!({ "chatId": "d", "message": "say else" })).await;
    stop(&client, "c").await;
    let seen = until(&mut client, is_finished).await;
    assert_eq!(texts(&seen, "user"), "say one\n");
    assert!(texts(&seen, "system").contains("Prompt stopped"));
    until(&mut client, |message| is_content(message, "metadata")).await;
    server.engine.release();
    let mut rest = until(&mut client, is_finished).await;
    rest.extend(until(&mut client, is_finished).await);
    assert_eq!(texts(&rest, "assistant"), "two @https://tea.example/potthree");
}

#[tokio::test]
async fn a_chat_that_is_deleted_while_a_prompt_reads_a_page_stays_deleted() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let page = json!([{ "type": "web", "url": "https://slow.example/" }]);
    let slow = json!({ "chatId": "c", "message": "say one", "contexts": page });
    let asked = client.request("chat/prompt", slow).await;
    parsing(&mut client).await;
    client.request("chat/delete", json!({ "chatId": "c" })).await;
    until(&mut client, |message| message["id"] == asked).await;
    assert_eq!(client.call("chat/list", json!({})).await["chats"], json!([]));
}

#[tokio::test]
async fn a_stop_is_seen_alike_by_every_editor_of_the_chat() {
    let server = Server::start().await;
    let (mut first, mut second) = (server.editor().await, server.editor().await);
    first
        .request("chat/prompt", json!({ "chatId": "c", "message": "linger boil" }))
        .await;
    until(&mut first, |message| is_content(message, "toolCallRunning")).await;
    let opened = second.request("chat/open", json!({ "chatId": "c" })).await;
    until(&mut second, |message| message["id"] == opened).await;
    stop(&first, "c").await;
    let mut seen = until(&mut first, is_finished).await;
    seen.retain(|message| message["params"]["content"]["text"] != "Calling tool");
    transcript!(server, seen);
    let other = until(&mut second, is_finished).await;
    assert_eq!(statuses(&other), ["stopping", "idle"]);
    assert!(kinds(&other).contains(&"toolCallRejected") && !kinds(&other).contains(&"toolCalled"));
}

#[tokio::test]
async fn two_calls_of_one_answer_are_settled_in_reverse_order() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let both = json!({ "chatId": "c", "message": "both touch tea, touch milk\nsay done" });
    client.request("chat/prompt", both).await;
    let run = |message: &Value| is_content(message, "toolCallRun");
    let mut seen = until(&mut client, run).await;
    seen.extend(until(&mut client, run).await);
    let calls: Vec<_> = seen.iter().filter(|message| run(message)).collect();
    let word = |at: usize| json!({ "chatId": "c", "toolCallId": calls[at]["params"]["content"]["id"] });
    client.notify("chat/toolCallReject", word(1)).await;
    client.notify("chat/toolCallApprove", word(0)).await;
    let rest = until(&mut client, is_finished).await;
    assert_eq!(server.engine.effects(), ["touch tea"]);
    seen.extend(rest);
    transcript!(server, seen);
}

#[tokio::test]
async fn a_deleted_chat_is_told_to_every_editor_that_knows_it() {
    let server = Server::start().await;
    let (mut first, mut second) = (server.editor().await, server.editor().await);
    prompt(&mut first, json!({ "chatId": "c", "message": "say one" })).await;
    second.call("chat/open", json!({ "chatId": "c" })).await;
    first.call("chat/delete", json!({ "chatId": "c" })).await;
    for client in [&mut first, &mut second] {
        let seen = until(client, |message| message["method"] == "chat/deleted").await;
        assert_eq!(seen.last().unwrap()["params"], json!({ "chatId": "c" }));
    }
}

#[tokio::test]
async fn whoever_approves_follows_the_chat() {
    let server = Server::start().await;
    let (mut first, mut second) = (server.editor().await, server.editor().await);
    let ask = json!({ "chatId": "c", "message": "ask touch tea\nsay done" });
    first.request("chat/prompt", ask).await;
    let seen = until(&mut first, |message| is_content(message, "toolCallRun")).await;
    let call = &seen.last().unwrap()["params"]["content"]["id"];
    let word = json!({ "chatId": "c", "toolCallId": call });
    second.notify("chat/toolCallApprove", word).await;
    let seen = until(&mut second, is_finished).await;
    assert_eq!(texts(&seen, "assistant"), "done");
}

#[tokio::test]
async fn what_cannot_be_asked_is_said_in_the_chat_and_is_no_error() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let mut seen = prompt(&mut client, json!({ "chatId": "c", "message": " " })).await;
    client.notify("chat/promptStop", json!({ "chatId": "c" })).await;
    // A prompt without a chat id has no chat.
    let refused = client.call("chat/prompt", json!({ "message": "\n" })).await;
    assert_eq!(refused["status"], "error");
    assert_eq!(client.call("chat/list", json!({})).await["chats"], json!([]));
    seen.extend(prompt(&mut client, json!({ "chatId": "c", "message": "say one" })).await);
    seen.extend(prompt(&mut client, json!({ "chatId": "c", "message": "" })).await);
    transcript!(server, seen);
}
