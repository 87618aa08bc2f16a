//! The bounds of subagents: slow requests about them delay no other request of the connection, and their number is
//! limited.

use std::sync::Arc;

use bobbin_agent_api::sub_agent::Spawn;
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::Notify;

use crate::support::Server;

/// An engine that starts a subagent and ignores interrupts.
struct Deaf(Arc<Notify>);

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
                released.notified().await;
            }
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_thread_that_still_stops_holds_up_no_other() {
    for method in ["thread/delete", "thread/archive"] {
        holds_up_no_other(method).await;
    }
}

async fn holds_up_no_other(method: &str) {
    let released = Arc::new(Notify::new());
    let server = Server::over(Deaf(released.clone())).await;
    let mut client = server.client().await;
    let (stops, other) = (client.start_thread().await, client.start_thread().await);
    client.start_turn(&stops, "go").await;
    client
        .find("the subagent", |message| {
            message["method"] == "thread/started"
                && message["params"]["thread"]["source"]["kind"] == "subagent"
        })
        .await;
    let slow = client.request(method, json!({ "threadId": stops })).await;
    let quick = json!({ "threadId": other, "displayName": "tea" });
    let quick = client.request("thread/rename", quick).await;
    let mut answers = Vec::new();
    while answers.len() < 2 {
        let message = client.next().await.expect("the connection stays");
        if message.get("method").is_none() && [slow, quick].map(|id| json!(id)).contains(&message["id"]) {
            assert!(message.get("error").is_none(), "{message}");
            answers.push(message["id"].clone());
            // Not earlier: this request must wait for the other.
            released.notify_one();
        }
    }
    assert_eq!(answers, [quick, slow], "{method}");
}

#[tokio::test]
async fn a_person_cannot_open_more_than_there_may_be() {
    let server = Server::with(|settings| settings.sub_agents.open = 1).await;
    let mut client = server.client().await;
    let parent = client.start_thread().await;
    let mut edges = Vec::new();
    for _ in 0..2 {
        client.start_turn(&parent, "spawn scout say x\njoin").await;
        client
            .find("the end", |message| {
                message["method"] == "turn/completed" && message["params"]["threadId"] == parent.as_str()
            })
            .await;
        let of = json!({ "parentThreadId": parent });
        let listed = client.call("subagent/children/list", of).await;
        let child = listed["data"][0]["edge"]["childThreadId"].clone();
        let edge = json!({ "parentThreadId": parent, "childThreadId": child });
        client.call("subagent/close", edge.clone()).await;
        edges.push(edge);
    }
    client.call("subagent/resume", edges[0].clone()).await;
    let full = client.error("subagent/resume", edges[1].clone()).await;
    let why = full["data"]["detail"].as_str().unwrap();
    assert!(why.contains("close one first"), "{full}");
    // A subagent that is open already needs no further room.
    client.call("subagent/resume", edges[0].clone()).await;
    client.call("subagent/close", edges[0].clone()).await;
    client.call("subagent/resume", edges[1].clone()).await;
}

#[tokio::test]
async fn a_list_of_subagents_has_as_many_threads_as_fit() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let parent = client.start_thread().await;
    // Each subagent has the configuration of its parent.
    let large = json!({ "threadId": parent, "config": { "mode": "agent", "note": "x".repeat(400 << 10) } });
    client.call("thread/config/update", large).await;
    client
        .start_turn(
            &parent,
            "spawn a say x\nspawn b say x\nspawn c say x\nspawn d say x\njoin",
        )
        .await;
    client
        .find("the end", |message| {
            message["method"] == "turn/completed" && message["params"]["threadId"] == parent.as_str()
        })
        .await;
    let of = json!({ "parentThreadId": parent, "includeThreads": true });
    let listed = client.call("subagent/children/list", of).await;
    let data = listed["data"].as_array().unwrap();
    let whole: Vec<bool> = data.iter().map(|child| child["thread"].is_object()).collect();
    assert_eq!(whole, [true, true, true, false]);
    assert!(
        data.iter()
            .all(|child| child["edge"]["childThreadId"].is_string())
    );
}
