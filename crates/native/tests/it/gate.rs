//! The limits of input: broken input, too much input, and members that a client may omit.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::halfway::HalfwayEngine;
use crate::support::Server;

/// Requests of one connection that may be unanswered at once (01 §11).
const IN_FLIGHT: usize = 32;

/// Sends lines unchanged, and returns all messages up to the answer to a request after them.
async fn answers_to(client: &mut Client, lines: &[&str]) -> Vec<Value> {
    for line in lines {
        client.send_text(*line).await;
    }
    let last = client.request("no/such", json!({})).await;
    let mut seen = Vec::new();
    loop {
        let message = client.next().await.expect("the connection stays");
        if message["id"] == last {
            return seen;
        }
        seen.push(message);
    }
}

#[tokio::test]
async fn broken_input_gets_a_defined_error_and_the_connection_goes_on() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let seen = answers_to(
        &mut client,
        &[
            "nonsense",
            "{\"jsonrpc\":\"2.0\",",
            "7",
            "[]",
            r#"[{"jsonrpc":"2.0","id":90,"method":"thread/list"}]"#,
            r#"{"jsonrpc":"2.0","id":91}"#,
            r#"{"jsonrpc":"2.0","id":92,"method":7}"#,
            r#"{"jsonrpc":"2.0","id":93,"method":"thread/read","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":94,"method":"thread/read","params":{"threadId":7}}"#,
        ],
    )
    .await;
    insta::assert_snapshot!(server.redact(&seen));
}

#[tokio::test]
async fn ids_come_back_as_they_came_and_what_needs_no_answer_gets_none() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let seen = answers_to(
        &mut client,
        &[
            // Blank lines, notifications and unexpected answers.
            "",
            r#"{"jsonrpc":"2.0","method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"no/such"}"#,
            r#"{"jsonrpc":"2.0","id":77,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"77","error":{"code":1,"message":"x"}}"#,
            // The version is required, the params are not.
            r#"{"id":"a-7","method":"thread/unsubscribe","params":{"threadId":"x"}}"#,
            r#"{"jsonrpc":"1.0","id":0,"method":"no/such/either"}"#,
            r#"{"jsonrpc":"2.0","id":9007199254740991,"method":"thread/read"}"#,
            r#"{"jsonrpc":"2.0","id":-1,"method":"thread/read","params":null}"#,
        ],
    )
    .await;
    insta::assert_snapshot!(server.redact(&seen));
}

#[tokio::test]
async fn the_thirty_third_request_in_flight_is_told_to_come_later() {
    let engine = HalfwayEngine::default();
    let server = Server::over(engine.clone()).await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.start_turn(&id, "go").await;
    client.wait_for("item/agentMessage/delta").await;
    // Waits for the end of the Turn; later requests about this Thread wait behind it.
    let delete = client.request("thread/delete", json!({ "threadId": id })).await;
    let rename = json!({ "threadId": id, "displayName": "x" });
    let mut waiting = Vec::new();
    for _ in 1..IN_FLIGHT {
        waiting.push(client.request("thread/rename", rename.clone()).await);
    }
    for method in ["thread/rename", "no/such"] {
        let error = client.error(method, rename.clone()).await;
        assert_eq!(error["code"], -32001, "{method}");
        assert_eq!(error["message"], "Server overloaded; retry later.");
        assert!(error["data"]["retryAfterMs"].is_u64());
    }
    // Another connection has its own limit, and notifications have none.
    let mut other = server.client().await;
    assert_eq!(other.error("no/such", json!({})).await["code"], -32601);
    client
        .notify("thread/unsubscribe", json!({ "threadId": id }))
        .await;
    engine.release();
    assert_eq!(client.answer(delete).await["result"], json!({}));
    for id in waiting {
        assert_eq!(client.answer(id).await["error"]["code"], -32010);
    }
    assert_eq!(client.error("no/such", json!({})).await["code"], -32601);
}
