//! Bad input that must not break anything (sections 2.2, 2.5, 8.2 and 25).

use serde_json::{Value, json};

use crate::support::{Server, hello, prompt};

#[tokio::test]
async fn requests_that_cannot_be_served() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("completion/inline", json!({}), -32602),
        ("rewrite/prompt", json!({ "id": "r" }), -32602),
        ("chat/prompt", json!({}), -32602),
        ("chat/prompt", json!({ "message": 7 }), -32602),
        ("chat/prompt", json!({ "message": "x", "chatId": 1.5 }), -32602),
        (
            "chat/prompt",
            json!({ "message": "x", "contexts": "tea" }),
            -32602,
        ),
        ("chat/prompt", json!([1]), -32602),
        ("chat/open", json!({}), -32602),
        ("chat/update", json!({ "chatId": {} }), -32602),
        ("chat/queryContext", json!({ "query": [] }), -32602),
    ] {
        let error = client.error(method, params.clone()).await;
        assert_eq!(error["code"], code, "{method} {params}: {error}");
    }
    let error = client.error("no/such", json!({})).await;
    assert_eq!(error["data"], json!({ "method": "no/such" }));
    assert_eq!(client.unread(), 0);
}

#[tokio::test]
async fn notifications_that_do_not_fit_are_ignored() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    prompt(&mut client, json!({ "chatId": "c", "message": "call touch tea" })).await;
    for (method, params) in [
        (
            "chat/toolCallApprove",
            json!({ "chatId": "c", "toolCallId": "turn_001.call_0" }),
        ),
        (
            "chat/toolCallApprove",
            json!({ "chatId": "c", "toolCallId": "nothing" }),
        ),
        (
            "chat/toolCallApprove",
            json!({ "chatId": "nothing", "toolCallId": "x" }),
        ),
        ("chat/toolCallApprove", json!({ "chatId": "c" })),
        ("chat/toolCallReject", json!([])),
        (
            "chat/toolCallReject",
            json!({ "chatId": "a b", "toolCallId": "x" }),
        ),
        ("chat/promptStop", json!({ "chatId": "nothing" })),
        ("chat/promptStop", json!({ "chatId": "c" })),
        ("chat/promptStop", json!({})),
        ("chat/selectedBehaviorChanged", json!({})),
        ("mcp/stopServer", json!({ "name": "nothing" })),
        ("mcp/startServer", json!({})),
        ("initialized", json!({})),
        ("no/such", json!({})),
    ] {
        client.notify(method, params).await;
    }
    assert_eq!(client.call("jobs/list", json!({})).await["jobs"], json!([]));
    assert_eq!(client.unread(), 0);
    assert_eq!(server.engine.effects(), ["touch tea"]);
}

fn request(id: i64) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "jobs/list", "params": [] }).to_string()
}

#[tokio::test]
async fn a_request_without_the_version_is_refused_and_a_notification_without_it_ignored() {
    let server = Server::start().await;
    let (mut client, _) = server.connect();
    client.call("initialize", hello()).await;
    for version in [json!({}), json!({ "jsonrpc": "1.0" }), json!({ "jsonrpc": 2 })] {
        let mut request = json!({ "id": 7, "method": "jobs/list", "params": {} });
        request
            .as_object_mut()
            .unwrap()
            .extend(version.as_object().unwrap().clone());
        let body = request.to_string();
        client
            .send_text(format!("Content-Length: {}\r\n\r\n{body}", body.len()))
            .await;
        assert_eq!(client.answer(7).await["error"]["code"], -32600, "{version}");
    }
    let body = json!({ "method": "initialized" }).to_string();
    client
        .send_text(format!("Content-Length: {}\r\n\r\n{body}", body.len()))
        .await;
    assert_eq!(client.call("jobs/list", json!({})).await["jobs"], json!([]));
    assert_eq!(client.unread(), 0);
}

#[tokio::test]
async fn frames_of_every_kind() {
    let server = Server::start().await;
    let (mut client, _) = server.connect();
    client.call("initialize", hello()).await;
    let body = format!("{}\n", request(100));
    client
        .send_text(format!("content-length: {}\r\n\r\n{body}", body.len()))
        .await;
    assert_eq!(client.answer(100).await["result"]["jobs"], json!([]));
    let body = request(101);
    let kind = "Content-Type: application/vscode-jsonrpc; charset=utf-8";
    for head in [
        format!("{kind}\r\nContent-Length: {}", body.len()),
        format!("Content-Length: {}\r\n{kind}", body.len()),
    ] {
        client.send_text(format!("{head}\r\n\r\n{body}")).await;
        assert_eq!(client.answer(101).await["result"]["jobs"], json!([]));
    }
}

#[tokio::test]
async fn garbage_between_frames_and_a_foreign_charset_do_not_end_it() {
    let server = Server::start().await;
    let (mut client, _) = server.connect();
    client.call("initialize", hello()).await;
    let (garbage, body) = ("x".repeat(200), request(7));
    client
        .send_text(format!(
            "{garbage}\r\n\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
        .await;
    assert_eq!(client.answer(7).await["result"]["jobs"], json!([]));
    let foreign = request(8);
    client
        .send_text(format!(
            "Content-Length: {}\r\nContent-Type: text/json; charset=latin1\r\n\r\n{foreign}",
            foreign.len()
        ))
        .await;
    let error = client
        .find("an error", |message: &Value| message.get("error").is_some())
        .await;
    assert_eq!(error["error"]["code"], -32700);
    client.send_text("{not json").await;
    client
        .find("an error", |message: &Value| message["error"]["code"] == -32700)
        .await;
    assert_eq!(client.call("jobs/list", json!({})).await["jobs"], json!([]));
}
