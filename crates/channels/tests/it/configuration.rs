//! `externalChannel/*` (AppServer protocol 05 §9).

use bobbin_channels::settings;
use bobbin_workspace::TrustRecord;
use serde_json::{Value, json};

use crate::support::{Server, by_itself};

fn config(server: &Server) -> Value {
    let text = std::fs::read_to_string(server.root.join(".craft/config.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_channel_is_added_read_and_removed_and_counts_at_once() {
    let server = Server::start(vec![]).await;
    let mut client = server.client().await;
    let pigeon = json!({ "name": "pigeon", "enabled": true, "transport": "websocket" });
    let upserted = client
        .call("externalChannel/upsert", json!({ "channel": pigeon }))
        .await;
    assert_eq!(upserted, json!({ "channel": pigeon }));
    let news = client.wait_for("workspace/configChanged").await;
    assert_eq!(news["params"]["regions"], json!(["externalChannel"]));
    assert_eq!(news["params"]["source"], "externalChannel/upsert");
    assert_eq!(
        config(&server),
        json!({ "ExternalChannels": { "pigeon": { "Enabled": true, "Transport": "websocket" } } })
    );
    let mut adapter = server.adapter("pigeon", json!({})).await;
    let got = client
        .call("externalChannel/get", json!({ "name": "PIGEON" }))
        .await;
    assert_eq!(got, json!({ "channel": pigeon }));
    let list = client.call("externalChannel/list", json!({})).await;
    assert_eq!(list, json!({ "channels": [pigeon] }));
    let removed = client
        .call("externalChannel/remove", json!({ "name": "Pigeon" }))
        .await;
    assert_eq!(removed, json!({ "removed": true }));
    client.wait_for("workspace/configChanged").await;
    let told = adapter.wait_for("system/event").await;
    assert_eq!(told["params"]["kind"], "channelRejected");
    assert_eq!(adapter.next().await, None);
    assert_eq!(config(&server), json!({}));
    let error = client
        .error("externalChannel/get", json!({ "name": "owl" }))
        .await;
    assert_eq!(error["code"], -32080);
    assert_eq!(error["message"], "External channel not found: owl");
    let error = client
        .error("externalChannel/remove", json!({ "name": "pigeon" }))
        .await;
    assert_eq!(error["code"], -32080);
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_and_nothing_is_written() {
    let server = Server::start(vec![]).await;
    let mut client = server.client().await;
    for (channel, code) in [
        (
            json!({ "name": "CLI", "enabled": true, "transport": "websocket" }),
            -32082,
        ),
        (
            json!({ "name": "cron", "enabled": true, "transport": "websocket" }),
            -32082,
        ),
        (
            json!({ "name": " ", "enabled": true, "transport": "websocket" }),
            -32081,
        ),
        (
            json!({ "name": "owl", "enabled": true, "transport": "subprocess" }),
            -32081,
        ),
        (
            json!({ "name": "owl", "enabled": true, "transport": "websocket", "command": "x" }),
            -32081,
        ),
        (
            json!({ "name": "owl", "enabled": true, "transport": "feather" }),
            -32602,
        ),
        (json!({ "name": "owl", "transport": "websocket" }), -32602),
    ] {
        let error = client
            .error("externalChannel/upsert", json!({ "channel": channel }))
            .await;
        assert_eq!(error["code"], code, "{channel}: {error}");
    }
    assert!(!server.root.join(".craft/config.json").exists());
}

#[tokio::test]
async fn a_clients_word_is_trust_in_what_the_folder_brought() {
    let foreign =
        |root: &std::path::Path| settings::of_folder(by_itself("crow"), root, &TrustRecord::default());
    let server = Server::with(|root| vec![foreign(root)]).await;
    let mut client = server.client().await;
    let status = client.call("channel/status", json!({})).await;
    let problem = status["channels"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("bobbin trust"), "{status}");
    let crow = json!({ "name": "crow", "enabled": true, "transport": "websocket" });
    client
        .call("externalChannel/upsert", json!({ "channel": crow }))
        .await;
    let _adapter = server.adapter("crow", json!({})).await;
    let status = client.call("channel/status", json!({})).await;
    assert_eq!(status["channels"][0]["running"], true, "{status}");
}

#[tokio::test]
async fn what_the_files_say_anew_counts_at_once() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let mut adapter = server.adapter("pigeon", json!({})).await;
    let owl = crate::support::trusted(by_itself("owl"), &server.root);
    server.channels.refresh(vec![owl]);
    assert_eq!(
        adapter.wait_for("system/event").await["params"]["channelName"],
        "pigeon"
    );
    server.adapter("owl", json!({})).await;
}
