//! Cancelling: never an error.

use serde_json::json;

use crate::support::{Server, calls, find_update, prompt, said, text, until, until_answer};

#[tokio::test]
async fn a_cancel_in_a_stream_keeps_what_was_said() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "say so far\nhang"))
        .await;
    find_update(&mut client, "agent_message_chunk").await;
    client
        .notify("session/cancel", json!({ "sessionId": session }))
        .await;
    let answer = client.answer(id).await;
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    let mut other = server.client_with(json!({})).await;
    let (seen, _) = server.open(&mut other, "session/load", &session).await;
    assert_eq!(said(&seen, "agent_message_chunk"), "so far");
}

#[tokio::test]
async fn a_cancel_does_not_wait_for_a_permission_and_a_late_answer_means_nothing() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "ask touch tea"))
        .await;
    let seen = until(&mut client, |message| {
        message["method"] == "session/request_permission"
    })
    .await;
    let asked = seen.last().unwrap();
    client
        .notify("session/cancel", json!({ "sessionId": session }))
        .await;
    let seen = until_answer(&mut client, id).await;
    assert_eq!(seen.last().unwrap()["result"]["stopReason"], "cancelled");
    assert_eq!(calls(&seen).last().unwrap()["status"], "failed");
    client
        .reply(asked, json!({ "outcome": { "outcome": "cancelled" } }))
        .await;
    let (_, answer) = prompt(&mut client, &session, "say on").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cancel_stops_the_prompts_that_wait_too() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let first = client.request("session/prompt", text(&session, "hang")).await;
    let second = client
        .request("session/prompt", text(&session, "call touch tea"))
        .await;
    // Both are recorded once the list, which comes later, is answered.
    client.call("session/list", json!({})).await;
    client
        .notify("session/cancel", json!({ "sessionId": session }))
        .await;
    for id in [first, second] {
        assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    }
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cancel_of_the_request_is_a_cancel_of_the_session() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "say so far\nhang"))
        .await;
    find_update(&mut client, "agent_message_chunk").await;
    client
        .notify("$/cancel_request", json!({ "requestId": id }))
        .await;
    assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_cancel_without_a_turn_means_nothing() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    client
        .notify("session/cancel", json!({ "sessionId": session }))
        .await;
    client.notify("session/cancel", json!({ "nonsense": true })).await;
    let (_, answer) = prompt(&mut client, &session, "say on").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
}
