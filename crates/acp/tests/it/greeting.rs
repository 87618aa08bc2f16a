//! `initialize`, logins, and messages that are no request.

use serde_json::json;

use crate::support::{Server, prompt};

#[tokio::test]
async fn every_version_is_answered_with_one_and_no_login_is_offered() {
    let server = Server::start().await;
    let mut client = server.connect();
    for params in [
        json!({ "protocolVersion": 7 }),
        json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "readTextFile": true } } }),
    ] {
        let answer = client.call("initialize", params).await;
        assert_eq!(answer["protocolVersion"], 1);
        assert_eq!(answer["authMethods"], json!([]));
        assert_eq!(answer["agentInfo"]["name"], "bobbin");
        assert_eq!(answer["agentCapabilities"]["loadSession"], true);
        assert_eq!(answer["agentCapabilities"]["promptCapabilities"]["audio"], false);
        let session = &answer["agentCapabilities"]["sessionCapabilities"];
        assert_eq!(
            session,
            &json!({ "list": {}, "delete": {}, "resume": {}, "close": {} })
        );
    }
    let error = client.error("authenticate", json!({ "methodId": "x" })).await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn nothing_is_served_before_the_greeting() {
    let server = Server::start().await;
    let mut client = server.connect();
    let error = client.error("session/new", json!({ "cwd": server.cwd() })).await;
    assert_eq!(error["code"], -32600);
    let error = client
        .error("initialize", json!({ "protocolVersion": "one" }))
        .await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn what_is_unknown_is_an_error_or_ignored_and_a_string_is_an_id() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    for method in ["_x/y", "nope", "logout", "session/fork"] {
        assert_eq!(client.error(method, json!({})).await["code"], -32601, "{method}");
    }
    client.notify("_bobbin/unknown", json!({})).await;
    client
        .notify("session/cancel", json!({ "sessionId": "none" }))
        .await;
    client
        .send_text(r#"[{"jsonrpc":"2.0","id":1,"method":"session/list"}]"#)
        .await;
    let refused = client.find("a refusal", |message| message["id"].is_null()).await;
    assert_eq!(refused["error"]["code"], -32600);
    client
        .send_text(r#"{"jsonrpc":"2.0","id":"list-1","method":"session/list","params":{}}"#)
        .await;
    let listed = client.find("a list", |message| message["id"] == "list-1").await;
    assert!(listed["result"]["sessions"].is_array(), "{listed}");
    assert_eq!(
        prompt(&mut client, &session, "say on").await.1["result"]["stopReason"],
        "end_turn"
    );
}

#[tokio::test]
async fn a_directory_that_is_not_served_is_refused() {
    let server = Server::start().await;
    let mut client = server.client_with(json!({})).await;
    for cwd in ["work", "/", "/does/not/exist"] {
        let error = client
            .error("session/new", json!({ "cwd": cwd, "mcpServers": [] }))
            .await;
        assert_eq!(error["code"], -32602, "{cwd}");
    }
    let error = client.error("session/new", json!({ "mcpServers": [] })).await;
    assert_eq!(error["code"], -32602);
    let answer = client
        .call("session/new", json!({ "cwd": server.cwd(), "mcpServers": null }))
        .await;
    assert!(answer["sessionId"].is_string());
}
