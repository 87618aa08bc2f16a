//! Listing, closing and deleting sessions.

use serde_json::json;

use crate::support::{Server, find_update, prompt, text};

#[tokio::test]
async fn a_list_has_pages_and_a_filter() {
    let server = Server::start().await;
    let (mut client, _) = server.session().await;
    for _ in 0..59 {
        client.call("session/new", json!({ "cwd": server.cwd() })).await;
    }
    let mut ids = Vec::new();
    let mut params = json!({ "cwd": server.cwd() });
    let mut pages = 0;
    loop {
        let page = client.call("session/list", params.clone()).await;
        let sessions = page["sessions"].as_array().unwrap();
        ids.extend(
            sessions
                .iter()
                .map(|session| session["sessionId"].as_str().unwrap().to_owned()),
        );
        assert!(sessions.iter().all(|session| session["cwd"] == server.cwd()));
        pages += 1;
        match page["nextCursor"].as_str() {
            Some(next) => params["cursor"] = json!(next),
            None => break,
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), pages), (60, 2));
    let none = client.call("session/list", json!({ "cwd": "/" })).await;
    assert_eq!(none["sessions"], json!([]));
    for cursor in ["", "x", "12", "x.thread"] {
        let error = client.error("session/list", json!({ "cursor": cursor })).await;
        assert_eq!(error["code"], -32602, "{cursor}");
    }
}

#[tokio::test]
async fn a_closed_session_is_gone_from_the_connection_alone_and_its_turn_ends_with_it() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let id = client
        .request("session/prompt", text(&session, "say so far\nhang"))
        .await;
    find_update(&mut client, "agent_message_chunk").await;
    assert_eq!(
        client
            .call("session/close", json!({ "sessionId": session }))
            .await,
        json!({})
    );
    assert_eq!(client.answer(id).await["result"]["stopReason"], "cancelled");
    let error = client.error("session/prompt", text(&session, "say x")).await;
    assert_eq!(error["code"], -32002);
    let error = client
        .error("session/close", json!({ "sessionId": session }))
        .await;
    assert_eq!(error["code"], -32002);
    let (_, answer) = server.open(&mut client, "session/resume", &session).await;
    assert!(answer["result"].is_object());
    // The Turn has ended, so the next one starts at once.
    let (_, answer) = prompt(&mut client, &session, "say on").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn a_turn_that_another_client_follows_outlives_a_close() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    client
        .request("session/prompt", text(&session, "wait\nsay done"))
        .await;
    let mut other = server.client_with(json!({})).await;
    server.open(&mut other, "session/resume", &session).await;
    client
        .call("session/close", json!({ "sessionId": session }))
        .await;
    server.engine.release();
    assert_eq!(
        find_update(&mut other, "agent_message_chunk").await["content"]["text"],
        "done"
    );
}

#[tokio::test]
async fn deleting_twice_is_no_error() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    prompt(&mut client, &session, "say tea").await;
    for _ in 0..2 {
        let deleted = client
            .call("session/delete", json!({ "sessionId": session }))
            .await;
        assert_eq!(deleted, json!({}));
    }
    let listed = client.call("session/list", json!({})).await;
    assert_eq!(listed["sessions"], json!([]));
    let error = client.error("session/prompt", text(&session, "say x")).await;
    assert_eq!(error["code"], -32002);
}

#[tokio::test]
async fn opening_a_session_that_is_not_there_says_so() {
    let server = Server::start().await;
    let mut client = server.client_with(json!({})).await;
    for method in ["session/load", "session/resume"] {
        let (_, answer) = server.open(&mut client, method, "thread_none").await;
        let error = &answer["error"];
        assert_eq!(error["code"], -32002, "{method}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with("There is no session thread_none in "),
            "{message}"
        );
    }
}
