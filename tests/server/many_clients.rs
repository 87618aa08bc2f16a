//! Several clients on one Thread.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Workspace, agent_text, rich};

/// The turn's notifications, without those of other requests. Pieces of one text that follow each other
/// are put together: a client that is a little behind gets them joined.
fn of_turn(messages: &[Value]) -> Vec<Value> {
    let mut seen: Vec<Value> = Vec::new();
    for message in messages
        .iter()
        .filter(|m| m.get("method").is_some() && m.get("id").is_none())
    {
        let piece = message["params"]["delta"].as_str();
        if let (Some(piece), Some(last)) = (piece, seen.last_mut())
            && last["method"] == message["method"]
            && last["params"]["itemId"] == message["params"]["itemId"]
        {
            let text = format!("{}{piece}", last["params"]["delta"].as_str().unwrap());
            last["params"]["delta"] = text.into();
            continue;
        }
        seen.push(message.clone());
    }
    seen
}

#[tokio::test]
async fn two_web_sockets_and_stdio_see_the_same_events_in_the_same_order_once_each() {
    let workspace = Workspace::new();
    let (server, link) = workspace.with_stdio(&["app-server", "--listen", "ws+stdio://127.0.0.1:0"]);
    let mut first = Client::ready(link, "stdio", rich()).await;
    let thread = first.start_thread().await;
    let mut others = vec![server.client("one").await, server.client("two").await];
    first
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    for other in &mut others {
        other
            .call("thread/subscribe", json!({ "threadId": thread }))
            .await;
    }
    first.start_turn(&thread, "repeat 300 word").await;
    let is_idle = |message: &Value| {
        message["method"] == "thread/runtimeChanged" && message["params"]["runtime"]["running"] == false
    };
    let mut seen = Vec::new();
    for client in std::iter::once(&mut first).chain(&mut others) {
        let mut messages = Vec::new();
        loop {
            let message = client.next().await.expect("the connection stays");
            let last = is_idle(&message);
            messages.push(message);
            if last {
                break;
            }
        }
        // What came before the Turn is not the same for everybody.
        let start = messages
            .iter()
            .position(|message| message["method"] == "turn/started")
            .unwrap();
        seen.push(messages.split_off(start));
    }
    let expected = of_turn(&seen[0]);
    let text = expected
        .iter()
        .find_map(|message| message["params"]["delta"].as_str())
        .unwrap();
    assert!(text.len() > 300 * 4, "{text}");
    for other in &seen[1..] {
        assert_eq!(of_turn(other), expected);
    }
}

#[tokio::test]
async fn a_client_that_joins_in_the_middle_ends_with_the_same_text() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut first = server.client("first").await;
    let mut late = server.client("late").await;
    let thread = first.start_thread().await;
    first.start_turn(&thread, "repeat 20000 word").await;
    first.wait_for("item/agentMessage/delta").await;
    late.call("thread/subscribe", json!({ "threadId": thread })).await;
    let read = late
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 1);
    let done = first.wait_for("turn/completed").await;
    let text = agent_text(&done["params"]["turn"]);
    assert!(text.len() >= 4 * 20_000);
    let seen = late.until("turn/completed").await;
    assert_eq!(agent_text(&seen.last().unwrap()["params"]["turn"]), text);
    let shown: String = seen
        .iter()
        .filter(|message| message["method"] == "item/agentMessage/delta")
        .map(|message| message["params"]["delta"].as_str().unwrap())
        .collect();
    assert!(
        text.ends_with(&shown),
        "what is streamed after joining is the rest of the text"
    );
}
