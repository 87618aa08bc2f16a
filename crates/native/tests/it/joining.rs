//! The messages that each client gets: late readers, numbers, channels, and questions.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::halfway::HalfwayEngine;
use crate::support::Server;

fn methods(seen: &[Value]) -> Vec<&str> {
    seen.iter()
        .filter_map(|message| message["method"].as_str())
        .collect()
}

async fn channel_of_a_turn(client: &mut Client, thread: &str) -> Value {
    client.start_turn(thread, "say Hi").await;
    let ended = client.wait_for("turn/completed").await;
    let turn = &ended["params"]["turn"];
    assert_eq!(
        turn["originChannel"], turn["items"][0]["payload"]["channelName"],
        "{turn}"
    );
    turn["originChannel"].clone()
}

#[tokio::test]
async fn a_turn_has_the_channel_of_the_thread_only_where_the_same_connection_started_it() {
    let server = Server::start().await;
    let mut starter = server.client().await;
    let mut editor = server.client_with(json!({ "acpExtensions": {} })).await;
    let mut terminal = server.client().await;
    let id = starter.start_thread().await;
    assert_eq!(channel_of_a_turn(&mut starter, &id).await, "test");
    assert_eq!(channel_of_a_turn(&mut editor, &id).await, "acp");
    assert_eq!(channel_of_a_turn(&mut terminal, &id).await, "cli");
    assert_eq!(channel_of_a_turn(&mut starter, &id).await, "test");
}

#[tokio::test]
async fn a_list_without_an_identity_has_the_threads_of_the_workspace() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let ids = [client.start_thread().await, client.start_thread().await];
    let listed = client.call("thread/list", json!({})).await;
    let found = listed["data"].as_array().unwrap();
    assert_eq!(found.len(), 2, "{listed}");
    assert!(
        ids.iter()
            .all(|id| found.iter().any(|thread| thread["id"] == id.as_str()))
    );
    let elsewhere = json!({ "identity": { "channelName": "test", "workspacePath": "/elsewhere" } });
    assert_eq!(client.call("thread/list", elsewhere).await["data"], json!([]));
}

#[tokio::test]
async fn the_terminal_client_that_enters_each_new_thread_hears_of_its_own_alone() {
    let server = Server::start().await;
    let mut terminal = Client::ready(server.link(), "dotcraft-tui", json!({})).await;
    let mut other = server.client().await;
    let foreign = other.start_thread().await;
    let own = terminal.start_thread().await;
    let entered = terminal.wait_for("thread/started").await;
    assert_eq!(entered["params"]["thread"]["id"], own.as_str());
    for thread in [&foreign, &own] {
        let told = other.wait_for("thread/started").await;
        assert_eq!(told["params"]["thread"]["id"], thread.as_str());
    }
}

#[tokio::test]
async fn numbers_are_shown_to_those_who_declared_event_cursors_and_only_grow() {
    let server = Server::start().await;
    let mut numbered = server.client_with(json!({ "eventCursors": true })).await;
    let mut plain = server.client().await;
    let id = numbered.start_thread().await;
    plain.call("thread/subscribe", json!({ "threadId": id })).await;
    numbered.start_turn(&id, "think Hm\nsay Hello there").await;
    let seen = numbered.until("turn/completed").await;
    let numbers: Vec<u64> = seen
        .iter()
        .filter(|message| message["params"]["threadId"] == id.as_str())
        .map(|message| message["params"]["seq"].as_u64().expect("a number"))
        .collect();
    assert!(numbers.len() > 8 && numbers.is_sorted(), "{numbers:?}");
    let same = plain.until("turn/completed").await;
    assert!(same.iter().all(|message| message["params"].get("seq").is_none()));
}

#[tokio::test]
async fn a_running_turn_is_read_with_its_text_so_far_and_joined_in_the_middle() {
    let engine = HalfwayEngine::default();
    let server = Server::over(engine.clone()).await;
    let mut starter = server.client().await;
    let mut late = server.client().await;
    let id = starter.start_thread().await;
    starter.start_turn(&id, "go").await;
    starter.wait_for("item/agentMessage/delta").await;
    late.call("thread/subscribe", json!({ "threadId": id })).await;
    let read = json!({ "threadId": id, "includeTurns": true });
    let thread = late.call("thread/read", read).await["thread"].clone();
    let turn = &thread["turns"][0];
    assert_eq!(
        (&turn["status"], &thread["runtime"]["running"]),
        (&json!("running"), &json!(true))
    );
    let item = &turn["items"][1];
    assert_eq!(
        (&item["status"], &item["payload"]["text"]),
        (&json!("streaming"), &json!("Half a "))
    );
    assert_eq!(item.get("completedAt"), None);
    engine.release();
    let rest = late.wait_for("item/agentMessage/delta").await;
    assert_eq!(rest["params"]["delta"], "word");
    let ended = late.wait_for("turn/completed").await;
    assert_eq!(
        ended["params"]["turn"]["items"][1]["payload"]["text"],
        "Half a word"
    );
    starter.wait_for("turn/completed").await;
}

#[tokio::test]
async fn unsubscribing_leaves_a_turn_that_was_started_here() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.start_turn(&id, "hang").await;
    let target = json!({ "threadId": id });
    client.call("thread/unsubscribe", target.clone()).await;
    let stop = json!({ "threadId": id, "turnId": "" });
    client.call("turn/interrupt", stop.clone()).await;
    client.wait_for("turn/cancelled").await;
    // The cursor ends here: the next Turn is another client's.
    let mut other = server.client().await;
    other.start_turn(&id, "say hi").await;
    other.wait_for("turn/completed").await;
    client
        .call("thread/list", json!({ "identity": { "channelName": "test" } }))
        .await;
    while client.unread() > 0 {
        let message = client.next().await.unwrap();
        assert_ne!(message["params"]["turn"]["id"], "turn_003");
    }
}

/// 02 §5.6: a Turn that is delivered through a subscription is not delivered without it.
#[tokio::test]
async fn unsubscribing_ends_the_delivery_of_a_turn_that_was_started_while_subscribed() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    let target = json!({ "threadId": id });
    client.call("thread/subscribe", target.clone()).await;
    client.start_turn(&id, "wait\nsay Hi").await;
    client.wait_for("turn/started").await;
    client.call("thread/unsubscribe", target).await;
    server.engine.release();
    let idle = client
        .find("idle", |m| m["params"]["runtime"]["running"] == false)
        .await;
    assert_eq!(idle["method"], "thread/runtimeChanged");
    client.call("channel/list", json!({})).await;
    while client.unread() > 0 {
        let message = client.next().await.unwrap();
        // The unread messages include those before `idle`.
        assert_ne!(message["method"], "turn/completed", "{message}");
        assert_ne!(message["params"]["item"]["type"], "agentMessage", "{message}");
    }
}

#[tokio::test]
async fn a_client_that_cannot_approve_is_declined_at_once() {
    let server = Server::start().await;
    let mut client = server.client_with(json!({ "approvalSupport": false })).await;
    let id = client.start_thread().await;
    client.start_turn(&id, "ask make tea").await;
    let seen = client.until("turn/completed").await;
    assert!(!methods(&seen).contains(&"item/approval/request"));
    let resolved = seen
        .iter()
        .find(|message| message["method"] == "item/approval/resolved");
    let payload = &resolved.expect("it is settled")["params"]["item"]["payload"];
    assert_eq!(
        (&payload["decision"], &payload["approved"]),
        (&json!("decline"), &json!(false))
    );
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn a_subscriber_that_can_approve_is_asked_for_a_starter_that_cannot() {
    let server = Server::start().await;
    let mut starter = server.client_with(json!({ "approvalSupport": false })).await;
    let mut watcher = server.client().await;
    let id = starter.start_thread().await;
    watcher.call("thread/subscribe", json!({ "threadId": id })).await;
    starter.start_turn(&id, "ask make tea").await;
    let asked = watcher.wait_for("item/approval/request").await;
    watcher.reply(&asked, json!({ "decision": "accept" })).await;
    let seen = starter.until("turn/completed").await;
    assert!(!methods(&seen).contains(&"item/approval/request"));
    assert_eq!(server.engine.effects(), ["make tea"]);
}

#[tokio::test]
async fn the_first_answer_settles_it_and_a_later_one_is_taken_without_a_word() {
    let server = Server::start().await;
    let mut first = server.client().await;
    let mut second = server.client().await;
    let id = first.start_thread().await;
    second.call("thread/subscribe", json!({ "threadId": id })).await;
    first.start_turn(&id, "ask make tea").await;
    let (asked, also) = (
        first.wait_for("item/approval/request").await,
        second.wait_for("item/approval/request").await,
    );
    assert_eq!(asked["params"], also["params"]);
    second.reply(&also, json!({ "decision": "decline" })).await;
    first.wait_for("item/approval/resolved").await;
    first.reply(&asked, json!({ "decision": "accept" })).await;
    let seen = first.until("turn/completed").await;
    assert!(!methods(&seen).contains(&"item/approval/resolved"));
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    // The late answer did not close its connection.
    assert_eq!(first.error("no/such", json!({})).await["code"], -32601);
}

/// 04 §6: subscribers and the client that started the Turn are asked, but not other clients that acted in the Thread.
#[tokio::test]
async fn a_passer_by_is_not_asked() {
    let server = Server::start().await;
    let mut starter = server.client().await;
    let mut passer = server.client().await;
    let id = starter.start_thread().await;
    starter.start_turn(&id, "ask make tea").await;
    let asked = starter.wait_for("item/approval/request").await;
    let input = json!([{ "type": "text", "text": "say later" }]);
    passer
        .call("turn/enqueue", json!({ "threadId": id, "input": input }))
        .await;
    passer.call("thread/resume", json!({ "threadId": id })).await;
    passer.wait_for("thread/resumed").await;
    starter.reply(&asked, json!({ "decision": "accept" })).await;
    starter.wait_for("turn/completed").await;
    // The end of the Turn was broadcast, so a question would have come before it.
    passer
        .find("idle", |m| m["params"]["runtime"]["running"] == false)
        .await;
    while passer.unread() > 0 {
        let message = passer.next().await.unwrap();
        assert_ne!(message["method"], "item/approval/request", "{message}");
    }
}

/// 04 §6: a client that steers another's Turn sees the outcome, but is not asked about it.
#[tokio::test]
async fn who_steers_a_turn_of_another_is_not_asked() {
    let server = Server::start().await;
    let mut starter = server.client().await;
    let mut other = server.client().await;
    let id = starter.start_thread().await;
    let turn = starter.start_turn(&id, "wait\nask make tea").await;
    let input = json!([{ "type": "text", "text": "say later" }]);
    let queued = other
        .call("turn/enqueue", json!({ "threadId": id, "input": input }))
        .await;
    let steer = json!({
        "threadId": id, "expectedTurnId": turn, "queuedInputId": queued["queuedInput"]["id"],
    });
    other.call("turn/steer", steer).await;
    server.engine.release();
    let asked = starter.wait_for("item/approval/request").await;
    starter.reply(&asked, json!({ "decision": "accept" })).await;
    let seen = other.until("turn/completed").await;
    assert!(methods(&seen).contains(&"item/completed"));
    assert!(!methods(&seen).contains(&"item/approval/request"));
}

/// 04 §3: a permission beyond this machine is never stored for ever, whatever a client answers.
#[tokio::test]
async fn always_is_not_offered_for_what_is_beyond_this_machine_and_counts_for_the_thread_only() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.start_turn(&id, "reach pigeon:7").await;
    let asked = client.wait_for("item/approval/request").await;
    assert_eq!(asked["params"]["approvalType"], "remoteResource");
    assert_eq!(
        asked["params"]["availableDecisions"],
        json!(["accept", "acceptForSession", "decline", "cancel"])
    );
    client.reply(&asked, json!({ "decision": "acceptAlways" })).await;
    client.wait_for("turn/completed").await;
    client.start_turn(&id, "reach pigeon:7").await;
    let seen = client.until("turn/completed").await;
    assert!(!methods(&seen).contains(&"item/approval/request"));
    let other = client.start_thread().await;
    client.start_turn(&other, "reach pigeon:7").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "decline" })).await;
    client.wait_for("turn/completed").await;
    assert_eq!(server.engine.effects(), ["pigeon:7", "pigeon:7"]);
    // An operation on this machine has all five answers, which an absent list means.
    client.start_turn(&other, "ask make tea").await;
    let asked = client.wait_for("item/approval/request").await;
    assert_eq!(asked["params"]["availableDecisions"], json!(null));
}

/// 02 §5.6: a dialog on the screen can be answered after its client has gone to another Thread.
#[tokio::test]
async fn what_was_asked_before_unsubscribing_can_still_be_answered() {
    let server = Server::start().await;
    let mut starter = server.client_with(json!({ "approvalSupport": false })).await;
    let mut watcher = server.client().await;
    let id = starter.start_thread().await;
    let target = json!({ "threadId": id });
    watcher.call("thread/subscribe", target.clone()).await;
    starter.start_turn(&id, "ask make tea\nask make cake").await;
    let asked = watcher.wait_for("item/approval/request").await;
    watcher.call("thread/unsubscribe", target.clone()).await;
    watcher.reply(&asked, json!({ "decision": "accept" })).await;
    // No client can be asked a second question.
    starter.wait_for("turn/completed").await;
    assert_eq!(server.engine.effects(), ["make tea"]);
}

/// 02 §5.6, also if the client has acted in the Thread meanwhile.
#[tokio::test]
async fn what_was_asked_before_unsubscribing_can_be_answered_after_other_requests() {
    let server = Server::start().await;
    let mut starter = server.client_with(json!({ "approvalSupport": false })).await;
    let mut watcher = server.client().await;
    let id = starter.start_thread().await;
    let target = json!({ "threadId": id });
    watcher.call("thread/subscribe", target.clone()).await;
    starter.start_turn(&id, "ask make tea").await;
    let asked = watcher.wait_for("item/approval/request").await;
    watcher.call("thread/unsubscribe", target.clone()).await;
    watcher.call("thread/resume", target).await;
    watcher.wait_for("thread/resumed").await;
    let input = json!([{ "type": "text", "text": "say later" }]);
    let request = json!({ "threadId": id, "input": input });
    watcher.call("turn/enqueue", request).await;
    watcher.wait_for("thread/queue/updated").await;
    // The cursors of those two have ended before the next answer.
    watcher.call("channel/list", json!({})).await;
    watcher.reply(&asked, json!({ "decision": "accept" })).await;
    starter.wait_for("turn/completed").await;
    assert_eq!(server.engine.effects(), ["make tea"]);
}

/// A client that comes back is asked anew, and either dialog counts.
#[tokio::test]
async fn who_subscribes_again_is_asked_again_and_may_answer_either_question() {
    for answered in [0, 1] {
        let server = Server::start().await;
        let mut starter = server.client().await;
        let mut watcher = server.client().await;
        let id = starter.start_thread().await;
        let target = json!({ "threadId": id });
        watcher.call("thread/subscribe", target.clone()).await;
        starter.start_turn(&id, "ask make tea").await;
        let first = watcher.wait_for("item/approval/request").await;
        watcher.call("thread/unsubscribe", target.clone()).await;
        watcher.call("thread/subscribe", target.clone()).await;
        let second = watcher.wait_for("item/approval/request").await;
        assert_eq!(first["params"], second["params"]);
        let asked = [&first, &second][answered];
        watcher.reply(asked, json!({ "decision": "accept" })).await;
        starter.wait_for("turn/completed").await;
        assert_eq!(server.engine.effects(), ["make tea"]);
        // The other answer is ignored.
        watcher
            .reply([&second, &first][answered], json!({ "decision": "decline" }))
            .await;
        assert_eq!(watcher.error("no/such", json!({})).await["code"], -32601);
    }
}

/// Invariant 4: a replay does not repeat broadcasts.
#[tokio::test]
async fn a_replay_does_not_repeat_what_everyone_was_told() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.wait_for("thread/started").await;
    client
        .call(
            "thread/subscribe",
            json!({ "threadId": id, "replayRecent": true }),
        )
        .await;
    client.start_turn(&id, "say Hi").await;
    let seen = client.until("turn/completed").await;
    assert!(seen.iter().all(|message| message["method"] != "thread/started"));
}

/// 01 §12: clients that reconnect after a restart rely on it.
#[tokio::test]
async fn a_replay_reaches_back_behind_a_restart() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    client.start_turn(&id, "say Hi").await;
    client.wait_for("turn/completed").await;
    server.threads.stop().await;
    let threads = server.reopen().await;
    let mut late = Client::ready(Server::link_to(threads), "late", json!({})).await;
    late.call(
        "thread/subscribe",
        json!({ "threadId": id, "replayRecent": true }),
    )
    .await;
    let told = late.wait_for("turn/completed").await;
    assert_eq!(told["params"]["turn"]["id"], "turn_001");
}

/// 03 §4: an input that was queued while its Thread was paused runs later.
#[tokio::test]
async fn taking_a_paused_thread_up_again_goes_on_with_its_queue_after_a_good_turn_only() {
    for (end, goes_on) in [("wait", true), ("wait\nfail no tea", false)] {
        let server = Server::start().await;
        let mut client = server.client().await;
        let id = client.start_thread().await;
        client.start_turn(&id, end).await;
        let input = json!([{ "type": "text", "text": "say later" }]);
        client
            .call("turn/enqueue", json!({ "threadId": id, "input": input }))
            .await;
        let target = json!({ "threadId": id });
        client.call("thread/pause", target.clone()).await;
        server.engine.release();
        client
            .find("idle", |m| m["params"]["runtime"]["running"] == false)
            .await;
        client.call("thread/subscribe", target.clone()).await;
        client.call("thread/resume", target.clone()).await;
        if goes_on {
            let started = client
                .find("the second", |m| {
                    m["method"] == "turn/started" && m["params"]["turn"]["id"] == "turn_002"
                })
                .await;
            assert_eq!(started["params"]["threadId"], id.as_str());
        } else {
            let read = client.call("thread/read", target).await;
            assert_eq!(read["thread"]["queuedInputs"].as_array().unwrap().len(), 1);
            assert_eq!(read["thread"]["runtime"]["running"], false);
        }
    }
}
