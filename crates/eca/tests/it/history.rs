//! Parts of a chat's history (20.4, 21.3).

use serde_json::{Value, json};

use crate::support::{Server, is_content, prompt, until};

/// Returns the user's messages among contents.
fn echoes<'a>(contents: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let users = contents.into_iter().filter(|content| content["role"] == "user");
    users
        .map(|content| content["content"]["text"].as_str().unwrap().trim().to_owned())
        .collect()
}

async fn four(server: &Server) -> bobbin_testkit::Client {
    let mut client = server.editor().await;
    for number in 1..=4 {
        let message = format!("say {number}");
        prompt(&mut client, json!({ "chatId": "c", "message": message })).await;
    }
    client
}

#[tokio::test]
async fn a_history_is_read_page_by_page_in_both_directions() {
    let server = Server::start().await;
    let mut client = four(&server).await;
    let newest = client
        .call("chat/history", json!({ "chatId": "c", "limit": 2 }))
        .await;
    assert_eq!(echoes(newest["contents"].as_array().unwrap()), ["say 3", "say 4"]);
    assert_eq!(newest["contents"][0]["chatId"], "c");
    let meta = &newest["meta"];
    assert_eq!((&meta["total"], &meta["returned"]), (&json!(4), &json!(2)));
    assert_eq!(meta["afterCursor"], Value::Null);
    let older = json!({ "chatId": "c", "limit": 3, "before": meta["beforeCursor"] });
    let older = client.call("chat/history", older).await;
    assert_eq!(echoes(older["contents"].as_array().unwrap()), ["say 1", "say 2"]);
    assert_eq!(older["meta"]["beforeCursor"], Value::Null);
    let newer = json!({ "chatId": "c", "limit": 1, "after": older["meta"]["afterCursor"] });
    let newer = client.call("chat/history", newer).await;
    assert_eq!(echoes(newer["contents"].as_array().unwrap()), ["say 3"]);
    for (params, code) in [
        (json!({ "chatId": "none" }), "chat_not_found"),
        (json!({ "chatId": "c", "before": "tea" }), "cursor_expired"),
    ] {
        assert_eq!(client.call("chat/history", params).await["error"]["code"], code);
    }
}

#[tokio::test]
async fn a_chat_opens_at_a_cursor_and_says_where_the_rest_begins() {
    let server = Server::start().await;
    let mut client = four(&server).await;
    let mut open = async |params: Value| {
        let opened = client.request("chat/open", params).await;
        let mut seen = until(&mut client, |message| message["id"] == opened).await;
        let answer = seen.pop().unwrap();
        let texts = seen.iter().filter(|message| is_content(message, "text"));
        (
            echoes(texts.map(|message| &message["params"])),
            answer["result"]["meta"].clone(),
        )
    };
    let (echoes, meta) = open(json!({ "chatId": "c", "limit": 2 })).await;
    assert_eq!(echoes, ["say 3", "say 4"]);
    let (echoes, meta) = open(json!({ "chatId": "c", "limit": 1, "before": meta["beforeCursor"] })).await;
    assert_eq!(echoes, ["say 2"]);
    let (echoes, meta) = open(json!({ "chatId": "c", "after": meta["beforeCursor"] })).await;
    assert_eq!(echoes, ["say 3", "say 4"]);
    assert_eq!(meta["afterCursor"], Value::Null);
    // The client still follows the chat.
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "say 5" })).await;
    assert!(
        seen.iter()
            .any(|message| is_content(message, "text") && message["params"]["role"] == "assistant")
    );
}
