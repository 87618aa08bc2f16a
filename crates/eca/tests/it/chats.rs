//! Chats as a whole (sections 11, 14 and 20.4).

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::sub_agent::Spawn;
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_core::{Closed, ListFilter};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{Server, is_content, kinds, prompt, transcript, until};

#[tokio::test]
async fn deleting() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    prompt(&mut client, json!({ "chatId": "c", "message": "say one" })).await;
    let mut seen = Vec::new();
    let id = client.request("chat/delete", json!({ "chatId": "c" })).await;
    // Must come before the answer, since some clients wait for that.
    seen.extend(until(&mut client, |message| message["id"] == id).await);
    let deleted = |message: &serde_json::Value| message["method"] == "chat/deleted";
    assert_eq!(
        seen.iter().filter(|message| deleted(message)).count(),
        1,
        "{seen:#?}"
    );
    seen.push(client.answer_to("chat/delete", json!({ "chatId": "c" })).await);
    seen.push(client.answer_to("chat/delete", json!({})).await);
    seen.push(client.answer_to("chat/open", json!({ "chatId": "c" })).await);
    seen.extend(prompt(&mut client, json!({ "chatId": "c", "message": "say two" })).await);
    transcript!(server, seen);
}

#[tokio::test]
async fn deleting_while_a_turn_runs_ends_it_first() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    client
        .request("chat/prompt", json!({ "chatId": "c", "message": "hang" }))
        .await;
    until(&mut client, |message| message["result"]["chatId"] == "c").await;
    client.request("chat/delete", json!({ "chatId": "c" })).await;
    let seen = client.until("chat/deleted").await;
    assert!(
        seen.iter().any(|message| message["result"] == json!({})),
        "{seen:#?}"
    );
}

#[tokio::test]
async fn listing_opening_and_renaming() {
    let mut server = Server::start().await;
    let mut client = server.editor().await;
    prompt(
        &mut client,
        json!({ "chatId": "c", "message": "think hm\nsay one\nusage 3 4" }),
    )
    .await;
    prompt(&mut client, json!({ "chatId": "c", "message": "call touch tea" })).await;
    prompt(&mut client, json!({ "chatId": "c", "message": "fail no tea" })).await;
    server.restart().await;
    let mut client = server.editor().await;
    let mut seen = vec![client.answer_to("chat/list", json!(null)).await];
    let id = client.request("chat/open", json!({ "chatId": "c" })).await;
    seen.extend(until(&mut client, |message| message["id"] == id).await);
    client
        .request("chat/update", json!({ "chatId": "c", "title": "Tea" }))
        .await;
    seen.extend(until(&mut client, |message| is_content(message, "metadata")).await);
    seen.push(
        client
            .answer_to("chat/open", json!({ "chatId": "nothing" }))
            .await,
    );
    transcript!(server, seen);
    let id = client
        .request("chat/open", json!({ "chatId": "c", "limit": 1 }))
        .await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    assert!(!kinds(&seen).contains(&"toolCalled"), "{seen:#?}");
}

#[tokio::test]
async fn opening_a_chat_that_is_followed_tells_nothing_twice() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    client
        .request(
            "chat/prompt",
            json!({ "chatId": "c", "message": "say one\nwait\nsay two" }),
        )
        .await;
    until(&mut client, |message| {
        message["params"]["content"]["text"] == "one"
    })
    .await;
    let id = client.request("chat/open", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    assert_eq!(
        kinds(&seen),
        [
            "chat/cleared",
            "chat/opened",
            "text",
            "text",
            "metadata",
            "chat/statusChanged",
            "config/updated"
        ]
    );
    server.engine.release();
    let seen = until(&mut client, crate::support::is_finished).await;
    assert_eq!(kinds(&seen), ["text", "chat/statusChanged", "progress"]);
}

#[tokio::test]
async fn a_thread_of_another_door_is_a_chat_by_its_own_id() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let first = prompt(&mut client, json!({ "message": "say one" })).await;
    let id = first
        .iter()
        .find_map(|message| message["result"]["chatId"].as_str())
        .unwrap();
    let mut other = server.editor().await;
    let seen = prompt(&mut other, json!({ "chatId": id, "message": "say two" })).await;
    assert!(!kinds(&seen).contains(&"chat/opened"));
    // Both clients follow it now.
    let seen = until(&mut client, crate::support::is_finished).await;
    assert!(
        seen.iter()
            .any(|message| message["params"]["content"]["text"] == "two")
    );
}

#[tokio::test]
async fn selecting_a_behavior_or_a_model() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    client
        .notify("chat/selectedBehaviorChanged", json!({ "behavior": "plan" }))
        .await;
    let mut seen = client.until("tool/serverUpdated").await;
    prompt(&mut client, json!({ "chatId": "c", "message": "say one" })).await;
    let open = client.call("chat/open", json!({ "chatId": "c" })).await;
    assert_eq!(open["selection"]["agent"], "plan");
    while client.unread() > 0 {
        client.next().await;
    }
    client
        .notify(
            "chat/selectedAgentChanged",
            json!({ "chatId": "c", "agent": "code" }),
        )
        .await;
    seen.extend(client.until("tool/serverUpdated").await);
    client
        .notify(
            "chat/selectedModelChanged",
            json!({ "chatId": "c", "model": "kiln/small" }),
        )
        .await;
    seen.extend(client.until("config/updated").await);
    transcript!(server, seen);
    let open = client.call("chat/open", json!({ "chatId": "c" })).await;
    assert_eq!(
        (&open["selection"]["agent"], &open["selection"]["model"]),
        (&json!("code"), &json!("kiln/small"))
    );
}

#[tokio::test]
async fn clearing_empties_a_chat_and_keeps_it() {
    let mut server = Server::start().await;
    let mut client = server.editor().await;
    let first = json!({ "chatId": "c", "message": "say one", "behavior": "plan" });
    prompt(&mut client, first).await;
    let id = client
        .request("chat/clear", json!({ "chatId": "c", "messages": true }))
        .await;
    let mut seen = until(&mut client, |message| message["id"] == id).await;
    seen.extend(prompt(&mut client, json!({ "chatId": "c", "message": "say two" })).await);
    seen.push(
        client
            .answer_to("chat/clear", json!({ "chatId": "nothing" }))
            .await,
    );
    transcript!(server, seen);
    server.restart().await;
    let mut client = server.editor().await;
    let list = client.call("chat/list", json!({})).await;
    assert_eq!(list["chats"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["chats"][0]["title"], "say one");
    let id = client.request("chat/open", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    assert!(
        seen.iter()
            .all(|message| message["params"]["content"]["text"] != "one")
    );
    assert_eq!(seen.last().unwrap()["result"]["selection"]["agent"], "plan");
}

#[tokio::test]
async fn clearing_a_chat_that_the_server_named_while_a_turn_runs() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    client.request("chat/prompt", json!({ "message": "hang" })).await;
    let seen = until(&mut client, |message| is_content(message, "metadata")).await;
    let result = seen.iter().find(|message| message.get("result").is_some());
    let chat = result.unwrap()["result"]["chatId"].clone();
    client.call("chat/clear", json!({ "chatId": chat })).await;
    let mut other = server.editor().await;
    let seen = prompt(&mut other, json!({ "chatId": chat, "message": "say two" })).await;
    assert!(!kinds(&seen).contains(&"chat/opened"), "{seen:#?}");
    let seen = until(&mut client, |message| {
        message["params"]["content"]["text"] == "two"
    })
    .await;
    let ends = seen.iter().filter(|message| crate::support::is_finished(message));
    assert_eq!(ends.count(), 1, "{seen:#?}");
}

#[tokio::test]
async fn a_long_chat_is_opened_with_its_newest_turns_in_order() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    for n in 1..=25 {
        prompt(
            &mut client,
            json!({ "chatId": "c", "message": format!("say {n}") }),
        )
        .await;
    }
    for (limit, first) in [(json!(null), 1), (json!(12), 14), (json!(0), 26)] {
        let params = json!({ "chatId": "c", "limit": limit });
        let id = client.request("chat/open", params).await;
        let seen = until(&mut client, |message| message["id"] == id).await;
        let said: Vec<_> = seen
            .iter()
            .filter(|message| message["params"]["role"] == "assistant")
            .map(|message| message["params"]["content"]["text"].as_str().unwrap().to_owned())
            .collect();
        let expected: Vec<String> = (first..=25).map(|n: u32| n.to_string()).collect();
        assert_eq!(said, expected, "{limit}");
    }
}

/// An engine that starts a subagent and ignores interrupts.
struct Deaf(Arc<Semaphore>);

impl Engine for Deaf {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let released = self.0.clone();
        async move {
            if turn.sub_agents().may_spawn() {
                let request = Spawn {
                    prompt: "look".to_owned(),
                    nickname: None,
                    role: None,
                    profile: None,
                    call: "call_1".to_owned(),
                };
                assert!(turn.sub_agents().spawn(request).await.is_ok());
                drop(released.acquire().await);
            }
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_chat_that_still_stops_holds_up_no_other() {
    for method in ["chat/delete", "chat/clear"] {
        let released = Arc::new(Semaphore::new(0));
        let server = Server::over(Deaf(released.clone())).await;
        let mut client = server.editor().await;
        for chat in ["stops", "other"] {
            let prompt = json!({ "chatId": chat, "message": "go" });
            client.call("chat/prompt", prompt).await;
        }
        let filter = ListFilter {
            workspace_path: server.root().to_string_lossy().into_owned(),
            channel_context: Some("eca:stops".to_owned()),
            ..ListFilter::default()
        };
        let stops = server.threads.list(filter).await.unwrap().remove(0).header.id;
        while server
            .threads
            .children(&stops, Closed::Included)
            .await
            .unwrap()
            .is_empty()
        {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let slow = client.request(method, json!({ "chatId": "stops" })).await;
        let update = json!({ "chatId": "other", "title": "Tea" });
        let quick = client.request("chat/update", update).await;
        let mut answers = Vec::new();
        while answers.len() < 2 {
            let message = client.next().await.expect("the connection stays");
            if message.get("method").is_none() && [slow, quick].map(|id| json!(id)).contains(&message["id"]) {
                answers.push(message["id"].clone());
                released.add_permits(1);
            }
        }
        assert_eq!(answers, [quick, slow], "{method}");
    }
}
