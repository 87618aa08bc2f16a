//! Changes of a chat by editors during and after a Turn: steering and rolling back (21.2, 21.3).

use serde_json::{Value, json};

use crate::support::{Server, is_content, is_finished, prompt, transcript, until};

const TOO_LATE: &str =
    "\nThe turn ended before it could take this in: too late\nSend it again if your editor does not.\n";

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
    // Comes after both, as messages are served in their order.
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
async fn a_word_that_comes_too_late_or_is_taken_back_is_dropped_and_the_first_is_told() {
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
        let told: &[&str] = if take_back { &[] } else { &[TOO_LATE] };
        assert_eq!(shown(&seen, "system"), told);
    }
    let threads = client.call("chat/list", json!({})).await;
    assert_eq!(threads["chats"][0]["status"], "idle");
    // Nothing runs: there is nothing to steer.
    let steer = json!({ "chatId": "c", "message": "hello" });
    client.notify("chat/promptSteer", steer).await;
    let told = client.next().await.unwrap();
    assert_eq!(shown(&[told], "system"), [TOO_LATE.replace("too late", "hello")]);
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
    let request = json!({ "chatId": "c", "contentId": ids[1], "include": ["messages", "tools"] });
    // The core of this test cannot undo anything.
    let id = client.request("chat/rollback", request).await;
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
            json!({ "chatId": "c", "contentId": ids[0], "include": ["tea"] }),
            "must have",
        ),
    ];
    for (request, told) in table {
        let error = client.error("chat/rollback", request).await.to_string();
        assert!(error.contains(told), "{error}");
    }
    let unknown = json!({ "chatId": "other", "contentId": "turn_001.item_001" });
    assert_eq!(client.call("chat/rollback", unknown).await, json!({}));
}

#[tokio::test]
async fn a_fork_begins_as_the_chat_did_and_goes_its_own_way() {
    let mut server = Server::start().await;
    let mut client = server.editor().await;
    for message in ["think hm\nsay one\nusage 3 4", "call touch tea", "say three"] {
        prompt(&mut client, json!({ "chatId": "c", "message": message })).await;
    }
    let request = json!({ "chatId": "c", "contentId": "turn_002.item_001" });
    let id = client.request("chat/fork", request).await;
    let mut seen = until(&mut client, |message| message["id"] == id).await;
    let opened = seen.iter().find(|message| message["method"] == "chat/opened");
    let fork = opened.unwrap()["params"]["chatId"].clone();
    assert_ne!(fork, "c");
    let told = |message: &Value| message["params"]["chatId"] == "c" && is_content(message, "text");
    let said = seen.iter().find(|message| told(message)).unwrap();
    let said = said["params"]["content"]["text"].as_str().unwrap();
    assert!(said.contains(fork.as_str().unwrap()), "{said}");
    seen.retain(|message| !told(message));
    seen.extend(prompt(&mut client, json!({ "chatId": fork, "message": "say other" })).await);
    transcript!(server, seen);
    assert_eq!(server.engine.effects(), ["touch tea"], "nothing is done again");
    let listed = client.call("chat/list", json!({})).await;
    let counts: Vec<_> = listed["chats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chat| &chat["messageCount"])
        .collect();
    assert_eq!(counts, [&json!(3), &json!(3)]);
    // The fork is stored as any chat.
    server.restart().await;
    let mut client = server.editor().await;
    let id = client.request("chat/open", json!({ "chatId": fork })).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    assert_eq!(
        shown(&seen, "user"),
        [
            "think hm\nsay one\nusage 3 4\n",
            "call touch tea\n",
            "say other\n"
        ]
    );
    assert_eq!(
        client.call("chat/delete", json!({ "chatId": "c" })).await,
        json!({})
    );
    let found = client.call("chat/open", json!({ "chatId": fork })).await;
    assert_eq!(found["found"], true);
}

#[tokio::test]
async fn what_cannot_be_forked_is_refused_with_a_reason() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    prompt(&mut client, json!({ "chatId": "c", "message": "say one" })).await;
    client
        .request("chat/prompt", json!({ "chatId": "c", "message": "hang" }))
        .await;
    client
        .find("the running prompt", |message| {
            message["params"]["status"] == "running"
        })
        .await;
    for (content, told) in [
        ("nonsense", "names no content"),
        ("turn_002.item_001", "still in progress"),
        ("turn_009.item_001", "does not exist"),
    ] {
        let request = json!({ "chatId": "c", "contentId": content });
        let error = client.error("chat/fork", request).await.to_string();
        assert!(error.contains(told), "{error}");
    }
    let unknown = json!({ "chatId": "other", "contentId": "turn_001.item_001" });
    assert_eq!(client.call("chat/fork", unknown).await, json!({}));
    // Finished Turns can be forked while another one runs.
    let first = json!({ "chatId": "c", "contentId": "turn_001.item_001" });
    assert_eq!(client.call("chat/fork", first).await, json!({}));
}

#[tokio::test]
async fn a_flag_stands_behind_its_message_until_it_is_taken_away() {
    let mut server = Server::start().await;
    let mut client = server.editor().await;
    for message in ["say one", "call touch tea"] {
        prompt(&mut client, json!({ "chatId": "c", "message": message })).await;
    }
    for (content, text) in [("turn_001.item_001", "begun"), ("turn_002.call_0", "poured")] {
        let request = json!({ "chatId": "c", "contentId": content, "text": text });
        let id = client.request("chat/addFlag", request).await;
        until(&mut client, |message| message["id"] == id).await;
    }
    // A client can fork from a flag and remove it by its own id.
    let flag = json!({ "chatId": "c", "contentId": "flag:turn_001.item_001" });
    let id = client.request("chat/fork", flag.clone()).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    assert_eq!(shown(&seen, "user"), ["say one\n"], "{seen:?}");
    server.restart().await;
    let mut client = server.editor().await;
    let id = client.request("chat/open", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    transcript!(server, seen);
    assert_eq!(client.call("chat/removeFlag", flag).await, json!({}));
    let id = client.request("chat/open", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    let flags: Vec<_> = seen
        .iter()
        .filter(|message| is_content(message, "flag"))
        .collect();
    assert_eq!(flags.len(), 1);
    assert_eq!(flags[0]["params"]["content"]["text"], "poured");
    for request in [
        json!({ "chatId": "c", "contentId": "turn_001.item_001", "text": " " }),
        json!({ "chatId": "c", "contentId": "nonsense", "text": "x" }),
        json!({ "chatId": "c", "contentId": "turn_001.item_001", "text": "x".repeat(5000) }),
    ] {
        client.error("chat/addFlag", request).await;
    }
}
