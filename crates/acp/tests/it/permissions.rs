//! Permissions as durable Approvals.

use serde_json::json;

use crate::support::{Server, allow, calls, prompt, said, text, until, until_answer};

fn is_asked(message: &serde_json::Value) -> bool {
    message["method"] == "session/request_permission"
}

#[tokio::test]
async fn a_change_is_shown_before_it_is_asked_about_and_runs_once_allowed() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "preview touch tea\nsay done"))
        .await;
    let seen = until(&mut client, is_asked).await;
    let asked = seen.last().unwrap();
    let diff = json!([{ "type": "diff", "path": "/srv/teapot/pot", "oldText": null, "newText": "hot\n" }]);
    let shown = calls(&seen);
    assert_eq!(shown.last().unwrap()["content"], diff, "{seen:?}");
    assert_eq!(asked["params"]["toolCall"]["content"], diff);
    assert_eq!(asked["params"]["toolCall"]["toolCallId"], shown[0]["toolCallId"]);
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    let options: Vec<_> = asked["params"]["options"].as_array().unwrap().iter().collect();
    let kinds: Vec<_> = options
        .iter()
        .map(|option| option["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["allow_once", "allow_always", "allow_always", "reject_once"]
    );
    allow(&client, asked, "allow_once").await;
    let seen = until_answer(&mut client, id).await;
    assert_eq!(server.engine.effects(), ["touch tea"]);
    assert_eq!(said(&seen, "agent_message_chunk"), "done");
}

#[tokio::test]
async fn an_answer_for_the_session_asks_no_more() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "ask touch tea\nask touch tea"))
        .await;
    let seen = until(&mut client, is_asked).await;
    allow(&client, seen.last().unwrap(), "allow_session").await;
    let seen = until_answer(&mut client, id).await;
    assert!(!seen.iter().any(is_asked), "{seen:?}");
    assert_eq!(server.engine.effects(), ["touch tea", "touch tea"]);
}

#[tokio::test]
async fn a_rejected_call_fails_and_the_turn_goes_on() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "ask touch tea\nsay well"))
        .await;
    let seen = until(&mut client, is_asked).await;
    allow(&client, seen.last().unwrap(), "reject_once").await;
    let seen = until_answer(&mut client, id).await;
    assert_eq!(calls(&seen).last().unwrap()["status"], "failed");
    assert_eq!(said(&seen, "agent_message_chunk"), "well");
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn an_error_in_place_of_an_answer_ends_the_turn_as_cancelled() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "ask touch tea"))
        .await;
    let seen = until(&mut client, is_asked).await;
    let refusal = json!({ "jsonrpc": "2.0", "id": seen.last().unwrap()["id"], "error": { "code": -32601, "message": "no" } });
    client.send_text(refusal.to_string()).await;
    let seen = until_answer(&mut client, id).await;
    assert_eq!(seen.last().unwrap()["result"]["stopReason"], "cancelled");
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn of_two_clients_the_first_answer_counts_and_the_other_is_withdrawn() {
    let server = Server::start().await;
    let (mut one, session) = server.session().await;
    let mut other = server.client_with(json!({})).await;
    server.open(&mut other, "session/resume", &session).await;
    let first = one
        .request("session/prompt", text(&session, "ask touch tea"))
        .await;
    let asked = one.wait_for("session/request_permission").await;
    // The other client is asked once a prompt of its own is open.
    let second = other
        .request("session/prompt", text(&session, "say queued"))
        .await;
    let theirs = other.wait_for("session/request_permission").await;
    allow(&one, &asked, "allow_once").await;
    let withdrawn = other.wait_for("$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], theirs["id"]);
    allow(&other, &theirs, "reject_once").await;
    let seen = until_answer(&mut one, first).await;
    assert_eq!(seen.last().unwrap()["result"]["stopReason"], "end_turn");
    let seen = until_answer(&mut other, second).await;
    assert_eq!(said(&seen, "agent_message_chunk"), "queued");
    assert_eq!(server.engine.effects(), ["touch tea"]);
}

#[tokio::test]
async fn a_question_outlives_the_client_and_the_server_and_is_asked_with_the_next_prompt() {
    let mut server = Server::start().await;
    let (mut client, session) = server.session().await;
    client
        .request("session/prompt", text(&session, "ask touch tea\nsay done"))
        .await;
    client.wait_for("session/request_permission").await;
    drop(client);
    server.restart().await;
    let mut client = server.client_with(json!({})).await;
    let (seen, _) = server.open(&mut client, "session/load", &session).await;
    assert_eq!(calls(&seen).last().unwrap()["status"], "pending");
    let id = client.request("session/prompt", text(&session, "say next")).await;
    let asked = client.wait_for("session/request_permission").await;
    assert_eq!(asked["params"]["toolCall"]["title"], "touch tea");
    allow(&client, &asked, "allow_once").await;
    let seen = until_answer(&mut client, id).await;
    assert_eq!(said(&seen, "agent_message_chunk"), "donenext");
    assert_eq!(server.engine.effects(), ["touch tea"]);
}

#[tokio::test]
async fn a_subagents_question_is_asked_of_the_session_at_its_root() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "spawn cup ask touch cup\njoin"))
        .await;
    let seen = until(&mut client, is_asked).await;
    let asked = seen.last().unwrap();
    assert_eq!(asked["params"]["sessionId"], session.as_str());
    let title = asked["params"]["toolCall"]["title"].as_str().unwrap();
    assert_eq!(title, "Subagent: touch cup");
    allow(&client, asked, "allow_once").await;
    let seen = until_answer(&mut client, id).await;
    assert_eq!(calls(&seen).last().unwrap()["status"], "completed", "{seen:?}");
    assert_eq!(server.engine.effects(), ["touch cup"]);
    let (_, answer) = prompt(&mut client, &session, "say on").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
}
