//! What editors change about a chat as it runs, and after: steering and rolling back (21.2, 21.3).

use serde_json::{Value, json};

use crate::support::{Server, is_content, is_finished, prompt};

fn shown(messages: &[Value], role: &str) -> Vec<String> {
    let texts = messages
        .iter()
        .filter(|message| is_content(message, "text") && message["params"]["role"] == role);
    texts
        .map(|message| message["params"]["content"]["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn words_to_a_running_prompt_are_joined_and_echoed_when_they_are_taken() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    client
        .call("chat/prompt", json!({ "chatId": "c", "message": "wait\nlisten" }))
        .await;
    for message in ["be brief", "and kind"] {
        client
            .notify("chat/promptSteer", json!({ "chatId": "c", "message": message }))
            .await;
    }
    // Behind both, as messages are served in their order.
    client.call("chat/list", json!({})).await;
    server.engine.release();
    let mut seen = Vec::new();
    while !seen.last().is_some_and(is_finished) {
        seen.push(client.next().await.unwrap());
    }
    let users = shown(&seen, "user");
    assert_eq!(users.last().unwrap(), "be brief\nand kind\n", "{users:?}");
    assert_eq!(shown(&seen, "assistant").concat(), "be brief\nand kind");
}

#[tokio::test]
async fn a_word_that_comes_too_late_or_is_taken_back_is_dropped() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    for (script, take_back) in [("wait", false), ("wait\nlisten", true)] {
        client
            .call("chat/prompt", json!({ "chatId": "c", "message": script }))
            .await;
        let steer = json!({ "chatId": "c", "message": "too late" });
        client.notify("chat/promptSteer", steer).await;
        if take_back {
            client
                .notify("chat/promptSteerRemove", json!({ "chatId": "c" }))
                .await;
        }
        client.call("chat/list", json!({})).await;
        server.engine.release();
        let mut seen = Vec::new();
        while !seen.last().is_some_and(is_finished) {
            seen.push(client.next().await.unwrap());
        }
        assert!(!shown(&seen, "user").iter().any(|text| text.contains("late")));
    }
    let threads = client.call("chat/list", json!({})).await;
    assert_eq!(threads["chats"][0]["status"], "idle");
    // Nothing runs: there is nothing to steer.
    let steer = json!({ "chatId": "c", "message": "hello" });
    client.notify("chat/promptSteer", steer).await;
    client.call("chat/list", json!({})).await;
    assert_eq!(client.unread(), 0);
}

#[tokio::test]
async fn a_rollback_takes_a_message_and_all_after_it_out_and_shows_the_rest() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let mut ids = Vec::new();
    for text in ["say one", "say two", "say three"] {
        let seen = prompt(&mut client, json!({ "chatId": "c", "message": text })).await;
        let echo = seen
            .iter()
            .find(|message| message["params"]["role"] == "user")
            .unwrap();
        ids.push(echo["params"]["content"]["contentId"].clone());
    }
    let wish = json!({ "chatId": "c", "contentId": ids[1], "include": ["messages", "tools"] });
    let id = client.request("chat/rollback", wish).await;
    let mut seen = Vec::new();
    while !seen.last().is_some_and(|message: &Value| message["id"] == id) {
        seen.push(client.next().await.unwrap());
    }
    assert!(seen.iter().any(|message| message["method"] == "chat/cleared"));
    assert_eq!(shown(&seen, "user"), ["say one\n"]);
    assert_eq!(shown(&seen, "assistant"), ["one"]);
    assert!(shown(&seen, "system").last().unwrap().contains("not undone"));
    let seen = prompt(&mut client, json!({ "chatId": "c", "message": "say four" })).await;
    assert_eq!(shown(&seen, "assistant").concat(), "four");

    let table = [
        (
            json!({ "chatId": "c", "contentId": "nonsense" }),
            "names no message",
        ),
        (
            json!({ "chatId": "c", "contentId": "turn_001.item_002" }),
            "names no message",
        ),
        (json!({ "chatId": "c", "contentId": ids[2] }), "no such turn"),
        (
            json!({ "chatId": "c", "contentId": "turn_099.item_001" }),
            "no such turn",
        ),
        (
            json!({ "chatId": "c", "contentId": ids[0], "include": ["tools"] }),
            "must have",
        ),
    ];
    for (wish, told) in table {
        let error = client.error("chat/rollback", wish).await.to_string();
        assert!(error.contains(told), "{error}");
    }
    let unknown = json!({ "chatId": "other", "contentId": "turn_001.item_001" });
    assert_eq!(client.call("chat/rollback", unknown).await, json!({}));
}
