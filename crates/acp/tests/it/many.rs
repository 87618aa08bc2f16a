//! Several clients on one session.

use serde_json::json;

use crate::support::{Server, find_update, prompt, said, until};

#[tokio::test]
async fn a_turn_of_another_client_is_shown_with_its_prompt() {
    let server = Server::start().await;
    let (mut one, session) = server.session().await;
    let mut other = server.client_with(json!({})).await;
    server.open(&mut other, "session/load", &session).await;
    prompt(&mut one, &session, "say tea").await;
    let seen = until(&mut other, |message| {
        message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
    })
    .await;
    assert_eq!(said(&seen, "user_message_chunk"), "say tea");
    assert_eq!(said(&seen, "agent_message_chunk"), "tea");
}

#[tokio::test]
async fn a_client_that_leaves_ends_no_turn() {
    let server = Server::start().await;
    let (mut one, session) = server.session().await;
    let mut other = server.client_with(json!({})).await;
    server.open(&mut other, "session/load", &session).await;
    one.request(
        "session/prompt",
        crate::support::text(&session, "say so far\nwait\nsay done"),
    )
    .await;
    find_update(&mut one, "agent_message_chunk").await;
    drop(one);
    server.engine.release();
    let done = other
        .find("the end", |message| {
            message["params"]["update"]["content"]["text"] == "done"
        })
        .await;
    assert_eq!(done["params"]["sessionId"], session.as_str());
}

#[tokio::test]
async fn the_answer_follows_the_last_update_of_its_turn_under_load() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let mut ids = Vec::new();
    for number in 0..8 {
        let words = format!("stream 200\nsay end {number}");
        ids.push(
            client
                .request("session/prompt", crate::support::text(&session, &words))
                .await,
        );
    }
    for (number, id) in ids.into_iter().enumerate() {
        let seen = crate::support::until_answer(&mut client, id).await;
        let said = said(&seen, "agent_message_chunk");
        assert!(
            said.starts_with("0 1 2 "),
            "the turns of others are not in it: {said}"
        );
        assert!(said.ends_with(&format!("199 end {number}")), "{said}");
    }
}
