//! Acceptance of adapters (AppServer protocol 06 §B3).

use std::time::Duration;

use bobbin_agent_api::channel::ChannelConfig;
use bobbin_channels::settings;
use bobbin_testkit::Client;
use bobbin_workspace::TrustRecord;
use serde_json::{Value, json};

use crate::support::{Server, by_itself, chat, pass, script, trusted};

/// Time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Sends `initialize` as the adapter of a channel, and returns all messages that come.
async fn greeted(server: &Server, capability: Value) -> Vec<Value> {
    let mut client = Client::new(server.link());
    let capabilities = json!({
        "channelAdapter": capability, "optOutNotificationMethods": ["system/event"],
    });
    let info = json!({ "name": "pigeon-post", "version": "1" });
    let answer = client
        .call(
            "initialize",
            json!({ "clientInfo": info, "capabilities": capabilities }),
        )
        .await;
    assert_eq!(answer["capabilities"]["channelStatus"], true);
    client.until("system/event").await
}

#[tokio::test]
async fn an_adapter_that_is_not_let_in_is_told_after_initialize_and_closed() {
    let server = Server::with(|root| {
        let off = ChannelConfig {
            enabled: false,
            ..by_itself("owl")
        };
        let foreign = settings::of_folder(by_itself("crow"), root, &TrustRecord::default());
        let ours = script("jay", "exit 0");
        vec![trusted(off, root), foreign, trusted(ours, root)]
    })
    .await;
    for (name, why) in [
        (
            "pigeon",
            "Channel adapter rejected: 'pigeon' is not registered in server configuration",
        ),
        ("OWL", "Channel 'owl' is not enabled."),
        ("crow", "which you have not trusted"),
        ("jay", "configured as subprocess"),
    ] {
        let seen = greeted(&server, json!({ "channelName": name })).await;
        let params = &seen.last().unwrap()["params"];
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert_eq!(params["kind"], "channelRejected");
        assert_eq!(params["channelName"], name);
        assert!(params["message"].as_str().unwrap().contains(why), "{params}");
    }
    let seen = greeted(&server, json!({})).await;
    assert_eq!(seen[0]["params"]["kind"], "channelRejected");
}

#[tokio::test]
async fn a_rejected_adapter_is_disconnected() {
    let server = Server::start(vec![]).await;
    let mut client = Client::ready(
        server.link(),
        "test",
        json!({ "channelAdapter": { "channelName": "pigeon" } }),
    )
    .await;
    client.wait_for("system/event").await;
    assert_eq!(client.next().await, None, "the connection is closed");
}

#[tokio::test]
async fn channels_are_listed_with_those_that_are_there() {
    let server = Server::start(vec![by_itself("pigeon"), by_itself("Owl")]).await;
    let mut client = server.client().await;
    let _adapter = server.adapter("PIGEON", json!({})).await;
    let status = client.call("channel/status", json!({})).await;
    assert_eq!(
        status,
        json!({ "channels": [
            { "name": "Owl", "category": "external", "enabled": true, "running": false,
              "runtimeState": "stopped" },
            { "name": "pigeon", "category": "external", "enabled": true, "running": true,
              "runtimeState": "running" },
        ] })
    );
    let list = client.call("channel/list", json!({})).await;
    let channels = list["channels"].as_array().unwrap();
    let external: Vec<&Value> = channels
        .iter()
        .filter(|one| one["category"] == "external")
        .collect();
    assert_eq!(external[0]["name"], "Owl");
    assert_eq!(external[1]["name"], "pigeon");
}

#[tokio::test]
async fn a_newer_adapter_takes_the_place_of_the_older_one() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let mut client = server.client().await;
    let mut older = server.adapter("pigeon", json!({})).await;
    let _newer = server.adapter("pigeon", json!({})).await;
    let told = older.wait_for("system/event").await;
    assert_eq!(told["params"]["kind"], "channelRejected");
    assert_eq!(older.next().await, None);
    let status = client.call("channel/status", json!({})).await;
    assert_eq!(
        status["channels"][0]["running"], true,
        "the end of the older one changes nothing"
    );
}

#[tokio::test]
async fn two_adapters_whose_users_have_one_name_find_their_own_threads() {
    let server = Server::start(vec![by_itself("pigeon"), by_itself("owl")]).await;
    let mut pigeon = server.adapter("pigeon", json!({})).await;
    let mut owl = server.adapter("owl", json!({})).await;
    let of_pigeon = chat(&mut pigeon, "pigeon", "7").await;
    let of_owl = chat(&mut owl, "owl", "7").await;
    for (adapter, name, thread) in [(&mut pigeon, "pigeon", of_pigeon), (&mut owl, "owl", of_owl)] {
        let identity = json!({ "channelName": name, "userId": "u-3", "channelContext": "7" });
        let list = adapter.call("thread/list", json!({ "identity": identity })).await;
        let threads = list["data"].as_array().unwrap();
        assert_eq!(threads.len(), 1, "{list}");
        assert_eq!(threads[0]["id"], *thread);
        assert_eq!(threads[0]["originChannel"], name);
        assert_eq!(threads[0]["channelContext"], "7");
    }
}

#[tokio::test]
async fn an_adapter_that_does_not_answer_its_heartbeat_is_closed() {
    let server = Server::start(vec![by_itself("pigeon")]).await;
    let mut adapter = server.adapter("pigeon", json!({})).await;
    pass(HEARTBEAT).await;
    let beat = adapter.wait_for("ext/channel/heartbeat").await;
    assert_eq!(beat["params"], json!({}));
    // An error is also an answer.
    let error = json!({ "code": -32601, "message": "no" });
    adapter
        .send_text(json!({ "jsonrpc": "2.0", "id": beat["id"], "error": error }).to_string())
        .await;
    // The server reads the answer before this request.
    adapter.call("channel/status", json!({})).await;
    pass(HEARTBEAT).await;
    adapter.wait_for("ext/channel/heartbeat").await;
    pass(Duration::from_secs(5)).await;
    assert_eq!(adapter.next().await, None);
}
