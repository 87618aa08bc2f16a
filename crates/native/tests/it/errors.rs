//! Refused requests, and causes that errors do not reveal.

use bobbin_testkit::Client;
use serde_json::json;

use crate::support::Server;

#[tokio::test]
async fn every_refusal_has_the_code_and_words_of_the_table() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    let gone = "thread_20270104_nobody";
    let text = json!([{ "type": "text", "text": "hang" }]);
    client
        .call("turn/start", json!({ "threadId": id, "input": text }))
        .await;
    let table = [
        ("thread/start", json!({}), -32602),
        (
            "thread/start",
            json!({ "identity": { "channelName": " " } }),
            -32602,
        ),
        ("thread/start", json!({ "identity": 7 }), -32602),
        (
            "thread/list",
            json!({ "identity": { "channelName": " " } }),
            -32602,
        ),
        ("thread/read", json!({ "threadId": gone }), -32010),
        ("thread/read", json!({ "threadId": " " }), -32602),
        ("thread/subscribe", json!({ "threadId": gone }), -32010),
        (
            "thread/rename",
            json!({ "threadId": gone, "displayName": "x" }),
            -32010,
        ),
        ("thread/delete", json!({ "threadId": gone }), -32010),
        ("turn/start", json!({ "threadId": gone, "input": text }), -32010),
        ("turn/start", json!({ "threadId": id, "input": text }), -32012),
        ("turn/start", json!({ "threadId": id, "input": [] }), -32602),
        (
            "turn/start",
            json!({ "threadId": id, "input": text, "messages": [] }),
            -32602,
        ),
        (
            "turn/start",
            json!({ "threadId": id, "input": [{ "type": "commandRef", "name": "new" }] }),
            -32602,
        ),
        (
            "turn/interrupt",
            json!({ "threadId": id, "turnId": "turn_009" }),
            -32013,
        ),
        (
            "turn/queue/remove",
            json!({ "threadId": id, "queuedInputId": "queued_x" }),
            -32010,
        ),
        ("cron/list", json!({}), -32601),
        ("Thread/Start", json!({}), -32601),
    ];
    for (method, params, code) in table {
        let error = client.error(method, params.clone()).await;
        assert_eq!(error["code"], code, "{method} {params}: {error}");
        let told = error["data"]["detail"]
            .as_str()
            .or(error["message"].as_str())
            .unwrap();
        assert!(!told.is_empty());
    }
    client.call("thread/pause", json!({ "threadId": id })).await;
    let error = client
        .error("turn/enqueue", json!({ "threadId": id, "input": text }))
        .await;
    assert_eq!(error["code"], -32011);
}

#[tokio::test]
async fn names_have_no_case_and_numbers_may_be_text() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let identity = json!({ "CHANNELNAME": "test" });
    let started = client
        .call(
            "thread/start",
            json!({ "Identity": identity, "DisplayName": "Tea" }),
        )
        .await;
    assert_eq!(started["thread"]["displayName"], "Tea");
}

#[tokio::test]
async fn nothing_is_told_before_the_handshake_is_over() {
    let server = Server::start().await;
    let mut silent = Client::new(server.link());
    let info = json!({ "clientInfo": { "name": "silent", "version": "1" } });
    silent.call("initialize", info).await;
    let mut busy = server.client().await;
    busy.start_thread().await;
    busy.wait_for("thread/started").await;
    let probe = silent.error("thread/list", json!({})).await;
    assert_eq!(probe["code"], -32600);
    assert_eq!(silent.unread(), 0);
}

#[tokio::test]
async fn opted_out_notifications_do_not_come_and_the_others_do() {
    let server = Server::start().await;
    let opt_out =
        json!({ "optOutNotificationMethods": ["item/agentMessage/delta", "thread/renamed", "no/such"] });
    let mut client = server.client_with(opt_out).await;
    let id = client.start_thread().await;
    client.start_turn(&id, "say Hello there").await;
    let seen = client.until("turn/completed").await;
    let methods: Vec<_> = seen
        .iter()
        .filter_map(|message| message["method"].as_str())
        .collect();
    assert!(!methods.contains(&"item/agentMessage/delta") && !methods.contains(&"thread/renamed"));
    assert!(methods.contains(&"item/completed") && methods.contains(&"thread/runtimeChanged"));
}

#[tokio::test]
async fn a_client_without_streaming_gets_no_deltas_and_one_without_lifecycle_no_tool_executions() {
    let server = Server::start().await;
    let mut client = server.client_with(json!({ "streamingSupport": false })).await;
    let id = client.start_thread().await;
    client.start_turn(&id, "say Hello there\nthink Hm").await;
    let seen = client.until("turn/completed").await;
    assert!(
        seen.iter()
            .all(|message| !message["method"].as_str().unwrap_or_default().ends_with("/delta"))
    );
}

#[tokio::test]
async fn a_turn_started_unsubscribed_is_followed_to_its_end_and_no_further() {
    let server = Server::start().await;
    let mut starter = server.client().await;
    let mut other = server.client().await;
    let id = starter.start_thread().await;
    starter.start_turn(&id, "say mine").await;
    starter.wait_for("turn/completed").await;
    starter
        .find("idle", |m| m["params"]["runtime"]["running"] == false)
        .await;
    other.start_turn(&id, "say yours").await;
    other.wait_for("turn/completed").await;
    starter
        .find("idle again", |m| m["params"]["runtime"]["running"] == false)
        .await;
    while starter.unread() > 0 {
        let message = starter.next().await.unwrap();
        assert_ne!(message["params"]["turnId"], "turn_002", "{message}");
    }
}

#[tokio::test]
async fn a_late_subscriber_is_asked_what_is_open() {
    let server = Server::start().await;
    let mut starter = server.client().await;
    let id = starter.start_thread().await;
    starter.start_turn(&id, "ask make tea").await;
    let first = starter.wait_for("item/approval/request").await;
    let mut late = server.client().await;
    late.call("thread/subscribe", json!({ "threadId": id })).await;
    let asked = late.wait_for("item/approval/request").await;
    assert_eq!(asked["params"], first["params"]);
    late.reply(&asked, json!({ "decision": "nonsense" })).await;
    let told = starter.wait_for("item/approval/resolved").await;
    assert_eq!(told["params"]["item"]["payload"]["decision"], "decline");
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn an_error_as_an_answer_is_a_no() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.start_turn(&id, "ask make tea").await;
    let asked = client.wait_for("item/approval/request").await;
    let error = json!({ "code": -32601, "message": "Method not found" });
    client
        .send_text(json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }).to_string())
        .await;
    client.wait_for("turn/completed").await;
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn subscribing_twice_gives_each_event_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.call("thread/subscribe", json!({ "threadId": id })).await;
    client.call("thread/subscribe", json!({ "threadId": id })).await;
    client.start_turn(&id, "say Hi").await;
    let mut seen = client.until("turn/completed").await;
    seen.extend(client.until("thread/runtimeChanged").await);
    for method in [
        "turn/started",
        "turn/completed",
        "thread/renamed",
        "thread/started",
    ] {
        let count = seen.iter().filter(|message| message["method"] == method).count();
        assert_eq!(count, 1, "{method}");
    }
}

#[tokio::test]
async fn a_notification_subscribes_too_and_unknown_ones_are_ignored() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut watcher = server.client().await;
    let id = client.start_thread().await;
    watcher.notify("no/such", json!({})).await;
    watcher
        .notify(
            "thread/subscribe",
            json!({ "threadId": id, "replayRecent": true }),
        )
        .await;
    client.start_turn(&id, "say Hi").await;
    watcher.wait_for("turn/completed").await;
}

/// 03 §5.1: clients show a message's pictures from this list.
#[tokio::test]
async fn a_message_lists_its_pictures_on_the_servers_disk() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    let picture = json!({ "path": "/srv/tea/pot.png", "mimeType": "image/png" });
    let mut part = picture.clone();
    part["type"] = json!("localImage");
    let input = json!([{ "type": "text", "text": "say hi " }, part]);
    client
        .call("turn/start", json!({ "threadId": id, "input": input }))
        .await;
    let ended = client.wait_for("turn/completed").await;
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    assert_eq!(items[0]["payload"]["images"], json!([picture]));
    // The model gets the picture, not its name (03 §5.1).
    let given = &items[0]["payload"]["materializedInputParts"];
    assert_eq!(given[1], items[0]["payload"]["nativeInputParts"][1]);
    assert_eq!(given[1]["path"], "/srv/tea/pot.png");
}

#[tokio::test]
async fn a_list_takes_a_bounded_number_of_other_channels() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let origins: Vec<String> = (0..257).map(|n| format!("channel-{n}")).collect();
    let asked =
        |origins: &[String]| json!({ "identity": { "channelName": "test" }, "crossChannelOrigins": origins });
    let error = client.error("thread/list", asked(&origins)).await;
    assert_eq!(error["code"], -32602);
    client.call("thread/list", asked(&origins[1..])).await;
}
