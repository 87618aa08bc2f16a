//! What is asked for and answered at once.

use serde_json::json;

use crate::support::Server;

#[tokio::test]
async fn server_stats() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.start_thread().await;
    client.wait_for("thread/started").await;
    let mut answer = client.answer_to("server/stats", json!({})).await;
    // Whatever counts bytes and time is different each run.
    for name in ["bytesRead", "bytesWritten", "messagesWritten", "uptimeMs"] {
        answer["result"]["connection"][name] = json!("N");
    }
    answer["result"]["log"]["bytes"] = json!("N");
    insta::assert_snapshot!(server.redact(&[answer]));
}

#[tokio::test]
async fn model_list() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let answer = client.answer_to("model/list", json!({})).await;
    insta::assert_snapshot!(server.redact(&[answer]));
}
