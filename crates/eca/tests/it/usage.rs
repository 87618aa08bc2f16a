//! Usage of a chat: tokens in the window, costs, limits (7.3), for every client at any time.

use serde_json::{Value, json};

use crate::support::{Server, is_content, is_finished, prompt, texts, until};

fn usages(messages: &[Value]) -> Vec<&Value> {
    let all = messages.iter().filter(|message| is_content(message, "usage"));
    all.map(|message| &message["params"]["content"]).collect()
}

#[tokio::test]
async fn usage_has_the_tokens_of_the_window_the_costs_of_the_chat_and_limits_for_everybody() {
    let mut server = Server::start().await;
    let mut client = server.editor().await;
    let limit = json!({ "context": 64_000, "output": 8000 });
    let first = json!({ "chatId": "c", "message": "usage 40 2 4500\nusage 60 3 500" });
    let seen = prompt(&mut client, first).await;
    assert_eq!(
        usages(&seen),
        [
            &json!({ "type": "usage", "sessionTokens": 40, "lastMessageCost": "0.0045", "sessionCost": "0.0045",
                "limit": limit }),
            &json!({ "type": "usage", "sessionTokens": 60, "lastMessageCost": "0.005", "sessionCost": "0.005",
                "limit": limit }),
        ]
    );
    // Another editor, which has not opened the chat, and a model of which nothing is known.
    let mut other = server.editor().await;
    let second = json!({ "chatId": "c", "message": "usage 10 0", "model": "kiln/small" });
    let seen = prompt(&mut other, second).await;
    assert_eq!(
        usages(&seen),
        [&json!({ "type": "usage", "sessionTokens": 10, "sessionCost": "0.005" })]
    );
    // A restart, with and without opening it.
    drop((client, other));
    server.restart().await;
    let mut client = server.editor().await;
    let third = json!({ "chatId": "c", "message": "usage 5 0 1000000" });
    let seen = prompt(&mut client, third).await;
    assert_eq!(
        usages(&seen),
        [&json!({ "type": "usage", "sessionTokens": 5, "lastMessageCost": "1.00", "sessionCost": "1.005" })]
    );
    let mut other = server.editor().await;
    let opened = other
        .request("chat/open", json!({ "chatId": "c", "limit": 1 }))
        .await;
    let seen = until(&mut other, |message| message["id"] == opened).await;
    assert_eq!(usages(&seen)[0]["sessionTokens"], 5);
    let seen = prompt(&mut other, json!({ "chatId": "c", "message": "/costs" })).await;
    let said = texts(&seen, "system");
    assert!(said.contains("120 tokens, which cost 1.005"), "{said}");
}

#[tokio::test]
async fn a_turn_that_is_stopped_has_usage_before_its_end() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    client
        .request(
            "chat/prompt",
            json!({ "chatId": "c", "message": "say tea\nhang" }),
        )
        .await;
    until(&mut client, |message| {
        is_content(message, "text") && message["params"]["role"] == "assistant"
    })
    .await;
    client.notify("chat/promptStop", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, is_finished).await;
    assert_eq!(usages(&seen).len(), 1);
    assert_eq!(usages(&seen)[0]["sessionTokens"], 0);
}
