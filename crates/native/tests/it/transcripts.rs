//! The answers and effects of each method, word for word.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

/// Sends a request and collects everything up to a message of the method `last`, or the answer alone.
async fn ask(client: &mut Client, method: &str, params: Value, last: Option<&str>) -> Vec<Value> {
    let id = client.request(method, params).await;
    let mut seen = Vec::new();
    let (mut answered, mut told) = (false, last.is_none());
    while !(answered && told) {
        let message = client.next().await.expect("the connection stays");
        answered |= message.get("method").is_none() && message["id"] == id;
        told |= last.is_some_and(|last| message["method"] == last);
        seen.push(message);
    }
    seen
}

/// Waits until a Thread is idle, and drops the messages meanwhile.
async fn settle(client: &mut Client) {
    client
        .find("idle", |message| {
            message["method"] == "thread/runtimeChanged" && message["params"]["runtime"]["running"] == false
        })
        .await;
    while client.unread() > 0 {
        client.next().await;
    }
}

macro_rules! transcript {
    ($server:expr, $messages:expr) => {
        insta::assert_snapshot!($server.redact(&$messages))
    };
}

#[tokio::test]
async fn initialize_and_initialized() {
    let server = Server::start().await;
    let mut client = Client::new(server.link());
    let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
    let mut seen = ask(&mut client, "thread/list", json!({}), None).await;
    seen.extend(
        ask(
            &mut client,
            "initialize",
            json!({ "clientInfo": { "name": "x" } }),
            None,
        )
        .await,
    );
    seen.extend(ask(&mut client, "initialize", info.clone(), None).await);
    seen.extend(ask(&mut client, "thread/list", json!({}), None).await);
    seen.extend(ask(&mut client, "initialize", info.clone(), None).await);
    client.notify("initialized", json!({})).await;
    client.notify("initialized", json!({})).await;
    seen.extend(ask(&mut client, "initialize", info, None).await);
    transcript!(server, seen);
}

#[tokio::test]
async fn thread_start() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let identity =
        json!({ "channelName": "kettle", "userId": "u-3", "channelContext": "workspace:/srv/tea" });
    let config = json!({ "model": "brew-large", "somethingNew": [1] });
    let params = json!({ "identity": identity, "displayName": " Boil water ", "config": config });
    let seen = ask(&mut client, "thread/start", params, Some("thread/started")).await;
    transcript!(server, seen);
}

#[tokio::test]
async fn thread_pause_and_resume() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = json!({ "threadId": client.start_thread().await });
    client.wait_for("thread/started").await;
    let mut seen = ask(
        &mut client,
        "thread/pause",
        thread.clone(),
        Some("thread/statusChanged"),
    )
    .await;
    seen.extend(ask(&mut client, "thread/resume", thread, Some("thread/resumed")).await);
    transcript!(server, seen);
}

#[tokio::test]
async fn thread_archive_and_unarchive() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = json!({ "threadId": client.start_thread().await });
    client.wait_for("thread/started").await;
    let mut seen = ask(
        &mut client,
        "thread/archive",
        thread.clone(),
        Some("thread/statusChanged"),
    )
    .await;
    seen.extend(ask(&mut client, "thread/archive", thread.clone(), None).await);
    seen.extend(ask(&mut client, "thread/resume", thread.clone(), None).await);
    seen.extend(
        ask(
            &mut client,
            "thread/unarchive",
            thread,
            Some("thread/statusChanged"),
        )
        .await,
    );
    transcript!(server, seen);
}

#[tokio::test]
async fn thread_rename_and_delete() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.wait_for("thread/started").await;
    let rename = |name: &str| json!({ "threadId": id, "displayName": name });
    let mut seen = ask(
        &mut client,
        "thread/rename",
        rename(" Tea time "),
        Some("thread/renamed"),
    )
    .await;
    seen.extend(ask(&mut client, "thread/rename", rename("Tea time"), None).await);
    seen.extend(ask(&mut client, "thread/rename", rename("  "), None).await);
    seen.extend(
        ask(
            &mut client,
            "thread/delete",
            json!({ "threadId": id }),
            Some("thread/deleted"),
        )
        .await,
    );
    seen.extend(ask(&mut client, "thread/delete", json!({ "threadId": id }), None).await);
    transcript!(server, seen);
}

#[tokio::test]
async fn thread_mode_set_and_config_update() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.wait_for("thread/started").await;
    let mut seen = Vec::new();
    for (method, params) in [
        (
            "thread/config/update",
            json!({ "threadId": id, "config": { "model": "m", "other": { "a": 1 } } }),
        ),
        ("thread/mode/set", json!({ "threadId": id, "mode": "plan" })),
        ("thread/mode/set", json!({ "threadId": id, "mode": "dance" })),
        (
            "thread/config/update",
            json!({ "threadId": id, "config": { "mode": "dance" } }),
        ),
        ("thread/read", json!({ "threadId": id })),
    ] {
        seen.extend(ask(&mut client, method, params, None).await);
    }
    transcript!(server, seen);
}

#[tokio::test]
async fn thread_list_and_read() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.start_turn(&id, "say Three files do.").await;
    settle(&mut client).await;
    let identity = json!({ "channelName": "other" });
    let mut seen = ask(&mut client, "thread/list", json!({ "identity": identity }), None).await;
    let elsewhere = json!({ "channelName": "x", "workspacePath": "/nowhere" });
    seen.extend(ask(&mut client, "thread/list", json!({ "identity": elsewhere }), None).await);
    let read = json!({ "threadId": id, "includeTurns": true });
    seen.extend(ask(&mut client, "thread/read", read, None).await);
    transcript!(server, seen);
}

#[tokio::test]
async fn thread_subscribe_and_unsubscribe() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut watcher = server.client().await;
    let id = client.start_thread().await;
    client.start_turn(&id, "say Hi").await;
    settle(&mut client).await;
    settle(&mut watcher).await;
    let params = json!({ "threadId": id, "replayRecent": true });
    let mut seen = ask(&mut watcher, "thread/subscribe", params, Some("turn/completed")).await;
    seen.extend(
        ask(
            &mut watcher,
            "thread/unsubscribe",
            json!({ "threadId": id }),
            None,
        )
        .await,
    );
    transcript!(server, seen);
}

#[tokio::test]
async fn turn_start_with_every_kind_of_item() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.wait_for("thread/started").await;
    let text = "think Search first.\ncall ls\nusage 910 44\nplan Descale\ndiff boil.txt\nsay Three files do.";
    let input = json!([{ "type": "text", "text": text }, { "type": "fileRef", "path": "a.txt" }]);
    let sender = json!({ "senderId": "u-3", "senderName": "Mika" });
    let params = json!({ "threadId": id, "input": input, "sender": sender });
    let mut seen = ask(&mut client, "turn/start", params, Some("turn/completed")).await;
    seen.extend(client.until("thread/runtimeChanged").await);
    transcript!(server, seen);
}

#[tokio::test]
async fn turn_that_asks_and_is_allowed() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.wait_for("thread/started").await;
    let input = json!([{ "type": "text", "text": "ask make tea" }]);
    let params = json!({ "threadId": id, "input": input });
    let mut seen = ask(&mut client, "turn/start", params, Some("item/approval/request")).await;
    client
        .reply(seen.last().unwrap(), json!({ "decision": "accept" }))
        .await;
    seen.extend(client.until("turn/completed").await);
    transcript!(server, seen);
    assert_eq!(server.engine.effects(), ["make tea"]);
}

#[tokio::test]
async fn turn_interrupt() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.wait_for("thread/started").await;
    let turn = client.start_turn(&id, "say Hello there\nhang").await;
    client.wait_for("item/completed").await;
    client
        .find("the message", |m| {
            m["params"]["item"]["type"] == "agentMessage" && m["method"] == "item/completed"
        })
        .await;
    while client.unread() > 0 {
        client.next().await;
    }
    let stop = |turn: &str| json!({ "threadId": id, "turnId": turn });
    let mut seen = ask(&mut client, "turn/interrupt", stop("turn_009"), None).await;
    seen.extend(ask(&mut client, "turn/interrupt", stop(&turn), Some("turn/cancelled")).await);
    seen.extend(ask(&mut client, "turn/interrupt", stop(&turn), None).await);
    transcript!(server, seen);
}

#[tokio::test]
async fn turn_enqueue_and_queue_remove() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.start_turn(&id, "wait").await;
    client.wait_for("thread/renamed").await;
    while client.unread() > 0 {
        client.next().await;
    }
    let queued = |text: &str| json!({ "threadId": id, "input": [{ "type": "text", "text": text }] });
    let mut seen = ask(
        &mut client,
        "turn/enqueue",
        queued("say one"),
        Some("thread/queue/updated"),
    )
    .await;
    let entry = seen[0]["result"]["queuedInput"]["id"].clone();
    seen.extend(
        ask(
            &mut client,
            "turn/enqueue",
            queued("say two"),
            Some("thread/queue/updated"),
        )
        .await,
    );
    let remove = json!({ "threadId": id, "queuedInputId": entry });
    seen.extend(
        ask(
            &mut client,
            "turn/queue/remove",
            remove.clone(),
            Some("thread/queue/updated"),
        )
        .await,
    );
    seen.extend(ask(&mut client, "turn/queue/remove", remove, None).await);
    server.engine.release();
    seen.extend(client.until("turn/completed").await);
    seen.extend(client.until("turn/completed").await);
    transcript!(server, seen);
}

#[tokio::test]
async fn turn_steer() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    let turn = client.start_turn(&id, "wait\nlisten").await;
    client.wait_for("thread/renamed").await;
    let queued = json!({ "threadId": id, "input": [{ "type": "text", "text": "Count them too" }] });
    let entry = client.call("turn/enqueue", queued).await["queuedInput"]["id"].clone();
    client.wait_for("thread/queue/updated").await;
    while client.unread() > 0 {
        client.next().await;
    }
    let steer = |turn: &str| json!({ "threadId": id, "expectedTurnId": turn, "queuedInputId": entry });
    let mut seen = ask(&mut client, "turn/steer", steer("turn_009"), None).await;
    seen.extend(
        ask(
            &mut client,
            "turn/steer",
            steer(&turn),
            Some("thread/queue/updated"),
        )
        .await,
    );
    seen.extend(ask(&mut client, "turn/steer", steer(&turn), None).await);
    server.engine.release();
    seen.extend(client.until("turn/completed").await);
    seen.extend(ask(&mut client, "turn/steer", steer(&turn), None).await);
    transcript!(server, seen);
}

#[tokio::test]
async fn thread_rollback() {
    let server = Server::start().await;
    let capabilities = json!({ "toolExecutionLifecycle": true, "eventCursors": true });
    let mut watcher = server.client_with(capabilities).await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    for text in ["say one", "say two", "say three"] {
        client.start_turn(&id, text).await;
        client.wait_for("turn/completed").await;
    }
    client.start_turn(&id, "wait").await;
    let back = |count: i64| json!({ "threadId": id, "numTurns": count });
    let mut seen = Vec::new();
    seen.push(json!({ "running": client.error("thread/rollback", back(1)).await }));
    server.engine.release();
    client.wait_for("turn/completed").await;
    client.wait_for("thread/runtimeChanged").await;
    watcher
        .call("thread/subscribe", json!({ "threadId": id, "afterSeq": 0 }))
        .await;
    watcher.wait_for("thread/synced").await;
    for count in [0, 5] {
        seen.push(json!({ "too few or many": client.error("thread/rollback", back(count)).await }));
    }
    while client.unread() > 0 {
        client.next().await;
    }
    seen.extend(ask(&mut client, "thread/rollback", back(2), None).await);
    seen.push(watcher.wait_for("thread/rolledBack").await);
    let read = json!({ "threadId": id, "includeTurns": true, "turnLimit": 1 });
    seen.extend(ask(&mut client, "thread/read", read, None).await);
    let list = client
        .call("thread/list", json!({ "identity": { "channelName": "test" } }))
        .await;
    assert_eq!(list["data"][0]["turnCount"], 2);
    let next = client.start_turn(&id, "say five").await;
    assert_eq!(next, "turn_005");
    transcript!(server, seen);
}

#[tokio::test]
async fn turn_that_fails() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.wait_for("thread/started").await;
    let input = json!([{ "type": "text", "text": "fail The model endpoint refused the key." }]);
    let params = json!({ "threadId": id, "input": input });
    let seen = ask(&mut client, "turn/start", params, Some("turn/failed")).await;
    transcript!(server, seen);
}

/// By category, then by name.
#[tokio::test]
async fn channel_list() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let seen = ask(&mut client, "channel/list", json!({}), None).await;
    transcript!(server, seen);
}
