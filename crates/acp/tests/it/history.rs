//! Loading and resuming.

use serde_json::json;

use crate::support::{Server, calls, find_update, kinds, prompt, said, text, until_answer};

#[tokio::test]
async fn a_load_replays_everything_in_order_and_then_answers_with_an_object() {
    let mut server = Server::start().await;
    let (mut client, session) = server.session().await;
    for number in 0..12 {
        prompt(&mut client, &session, &format!("say turn {number}")).await;
    }
    prompt(&mut client, &session, "think hm").await;
    drop(client);
    server.restart().await;
    let mut client = server.client_with(json!({})).await;
    let (seen, answer) = server.open(&mut client, "session/load", &session).await;
    assert_eq!(answer["result"]["modes"]["currentModeId"], "agent");
    let turns: Vec<String> = (0..12).map(|number| format!("turn {number}")).collect();
    assert_eq!(said(&seen, "agent_message_chunk"), turns.concat());
    assert!(said(&seen, "user_message_chunk").starts_with("say turn 0say turn 1"));
    assert_eq!(said(&seen, "agent_thought_chunk"), "hm");
    let (_, answer) = prompt(&mut client, &session, "say on").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn a_call_that_never_ended_ends_in_the_replay() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "ask touch tea"))
        .await;
    client.wait_for("session/request_permission").await;
    client
        .notify("session/cancel", json!({ "sessionId": session }))
        .await;
    client.answer(id).await;
    let mut other = server.client_with(json!({})).await;
    let (seen, _) = server.open(&mut other, "session/load", &session).await;
    assert_eq!(kinds(&seen)[..2], ["user_message_chunk", "tool_call"]);
    assert_eq!(calls(&seen).last().unwrap()["status"], "failed");
}

#[tokio::test]
async fn a_resume_replays_nothing_and_the_running_turn_goes_on_after_the_answer() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let first = client
        .request(
            "session/prompt",
            text(&session, "say before\nwait\ncall touch tea\nsay after"),
        )
        .await;
    find_update(&mut client, "agent_message_chunk").await;
    let mut other = server.client_with(json!({})).await;
    let (seen, answer) = server.open(&mut other, "session/resume", &session).await;
    assert!(answer["result"].is_object());
    assert!(seen.is_empty(), "{seen:?}");
    server.engine.release();
    client.answer(first).await;
    let id = other.request("session/prompt", text(&session, "say mine")).await;
    let seen = until_answer(&mut other, id).await;
    assert_eq!(said(&seen, "agent_message_chunk"), "aftermine");
    assert_eq!(calls(&seen)[0]["sessionUpdate"], "tool_call");
}

#[tokio::test]
async fn what_is_not_there_cannot_be_opened() {
    let server = Server::start().await;
    let mut client = server.client_with(json!({})).await;
    for how in ["session/load", "session/resume"] {
        let (_, answer) = server.open(&mut client, how, "thread_none").await;
        assert_eq!(answer["error"]["code"], -32002);
    }
}
