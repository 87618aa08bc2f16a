//! Messages larger than a connection's queue are sent, and so are the messages after them.

use serde_json::json;

use crate::support::Server;

#[tokio::test]
async fn a_turn_larger_than_the_queue_is_told_and_so_is_the_next() {
    let server = Server::start().await;
    let mut starter = server.client().await;
    let id = starter.start_thread().await;
    let mut watcher = server.client().await;
    watcher.call("thread/subscribe", json!({ "threadId": id })).await;
    starter.start_turn(&id, "flood 9\nsay first").await;
    for client in [&mut starter, &mut watcher] {
        let ended = client.wait_for("turn/completed").await;
        assert!(ended.to_string().len() > 9 << 20);
    }
    starter.start_turn(&id, "ask make tea").await;
    let asked = watcher.wait_for("item/approval/request").await;
    watcher.reply(&asked, json!({ "decision": "accept" })).await;
    for client in [&mut starter, &mut watcher] {
        let ended = client.wait_for("turn/completed").await;
        assert_eq!(ended["params"]["turn"]["id"], "turn_002");
    }
}

#[tokio::test]
async fn a_replay_gives_a_turn_larger_than_the_queue() {
    let server = Server::start().await;
    let mut starter = server.client().await;
    let id = starter.start_thread().await;
    starter.start_turn(&id, "flood 9").await;
    starter.wait_for("turn/completed").await;
    let mut late = server.client().await;
    let target = json!({ "threadId": id, "replayRecent": true });
    late.call("thread/subscribe", target).await;
    starter.start_turn(&id, "say second").await;
    late.find("the end of the second", |message| {
        message["method"] == "turn/completed" && message["params"]["turn"]["id"] == "turn_002"
    })
    .await;
}

#[tokio::test]
async fn a_rollback_says_where_to_go_on_when_not_all_that_is_left_fits() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    for text in ["say tea", "flood 3", "flood 3", "say oops"] {
        client.start_turn(&id, text).await;
        client.wait_for("turn/completed").await;
    }
    let request = json!({ "threadId": id, "numTurns": 1, "clientRequestId": "b" });
    let left = client.call("thread/rollback", request.clone()).await;
    let turns = left["thread"]["turns"].as_array().unwrap();
    assert_eq!((turns.len(), &turns[0]["id"]), (1, &json!("turn_003")));
    let cursor = &left["turnPage"]["nextCursor"];
    let more = json!({ "threadId": id, "includeTurns": true, "cursor": cursor });
    let read = client.call("thread/read", more).await;
    let turns = read["thread"]["turns"].as_array().unwrap();
    assert_eq!((turns.len(), &turns[1]["id"]), (2, &json!("turn_002")));
    let again = client.call("thread/rollback", request).await;
    assert_eq!(again["turnPage"], left["turnPage"]);
    // All remaining Turns fit into this answer.
    let request = json!({ "threadId": id, "numTurns": 2 });
    let left = client.call("thread/rollback", request).await;
    assert_eq!(left.get("turnPage"), None);
}

#[tokio::test]
async fn a_turn_larger_than_the_queue_can_be_read() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.start_turn(&id, "flood 9").await;
    client.wait_for("turn/completed").await;
    let target = json!({ "threadId": id, "includeTurns": true });
    let read = client.call("thread/read", target).await;
    let result = &read["thread"]["turns"][0]["items"][2]["payload"]["result"];
    assert_eq!(result.as_str().map(str::len), Some(9 << 20));
}
