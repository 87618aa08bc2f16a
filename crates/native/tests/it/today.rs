//! Clients of today beside those of May and clients that declare nothing (07).

use bobbin_core::engine::{Ask, Engine, EngineFailure, TurnContext};
use bobbin_model::{ApprovalKind, Scope};
use bobbin_testkit::Client;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::support::Server;

/// What the desktop of today declares.
fn desktop() -> Value {
    json!({ "appBindingVersion": 1, "requestUserInputSupport": true, "approvalSupport": true, "mcpElicitation": true })
}

fn methods(messages: &[Value]) -> Vec<&str> {
    let named = messages.iter().filter_map(|message| message["method"].as_str());
    named.collect()
}

/// Waits until a Thread runs no Turn. Leaves notifications unread.
async fn idle(client: &mut Client, id: &str) {
    let params = json!({ "threadId": id });
    while client.call("thread/read", params.clone()).await["thread"]["runtime"]["running"] != false {
        tokio::task::yield_now().await;
    }
}

/// Reads what comes before the answer to a harmless request.
async fn rest(client: &mut Client) -> Vec<Value> {
    let id = client.request("channel/list", json!({})).await;
    let mut seen = Vec::new();
    while let Some(message) = client.next().await {
        if message["id"] == json!(id) {
            break;
        }
        seen.push(message);
    }
    seen
}

#[tokio::test]
async fn a_client_of_today_gets_the_new_name_directly_after_the_old_one() {
    let server = Server::start().await;
    let mut today = server.client_with(desktop()).await;
    let mut may = server.client_with(json!({ "userInputSupport": true })).await;
    let mut plain = server.client().await;
    let id = today.start_thread().await;
    for client in [&mut today, &mut may, &mut plain] {
        client.call("thread/subscribe", json!({ "threadId": id })).await;
    }
    today.start_turn(&id, "say tea").await;
    for client in [&mut today, &mut may, &mut plain] {
        idle(client, &id).await;
    }
    today
        .call("thread/mode/set", json!({ "threadId": id, "mode": "plan" }))
        .await;
    today.call("thread/archive", json!({ "threadId": id })).await;
    today.call("thread/unarchive", json!({ "threadId": id })).await;
    let seen = rest(&mut today).await;
    let names = methods(&seen);
    let pairs: Vec<_> = names
        .windows(2)
        .filter(|pair| pair[1] == "thread/status/changed")
        .collect();
    assert!(
        pairs.iter().all(|pair| pair[0] == "thread/runtimeChanged"),
        "{names:?}"
    );
    let named = |name: &str| seen.iter().find(|message| message["method"] == name).unwrap();
    assert_eq!(
        named("thread/updated")["params"]["thread"]["configuration"]["mode"],
        "plan"
    );
    assert_eq!(named("thread/archived")["params"], json!({ "threadId": id }));
    assert_eq!(named("thread/unarchived")["params"], json!({ "threadId": id }));
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert_eq!(names[place("thread/archived") - 1], "thread/statusChanged");
    for client in [&mut may, &mut plain] {
        let seen = rest(client).await;
        let names = methods(&seen);
        assert!(names.contains(&"thread/statusChanged"), "{names:?}");
        for new in [
            "thread/status/changed",
            "thread/archived",
            "thread/unarchived",
            "thread/updated",
        ] {
            assert!(!names.contains(&new), "{names:?}");
        }
    }
}

#[tokio::test]
async fn each_runtime_snapshot_comes_under_both_names_with_the_same_content() {
    let server = Server::start().await;
    let mut today = server.client_with(desktop()).await;
    let id = today.start_thread().await;
    today.call("thread/subscribe", json!({ "threadId": id })).await;
    today.start_turn(&id, "say tea").await;
    let seen = today.until("turn/completed").await;
    let old = seen
        .iter()
        .filter(|message| message["method"] == "thread/runtimeChanged");
    let new = seen
        .iter()
        .filter(|message| message["method"] == "thread/status/changed");
    let old: Vec<_> = old.map(|message| &message["params"]).collect();
    let new: Vec<_> = new.map(|message| &message["params"]).collect();
    assert!(!old.is_empty());
    assert_eq!(old, new);
}

#[tokio::test]
async fn the_members_that_libraries_of_today_require_are_there_for_everybody() {
    let server = Server::start().await;
    for capabilities in [desktop(), json!({})] {
        let mut client = server.client_with(capabilities).await;
        let identity = json!({ "channelName": "desk", "userId": "ada" });
        let started = client.call("thread/start", json!({ "identity": identity })).await;
        let thread = &started["thread"];
        let path = &thread["workspacePath"];
        assert!(
            path.as_str().is_some_and(|path| path.starts_with('/')),
            "{started}"
        );
        assert_eq!(thread["sessionId"], thread["id"]);
        assert_eq!((&thread["cwd"], &thread["effectiveWorkspacePath"]), (path, path));
        assert_eq!(thread["runtimeWorkspaceRoots"], json!([path]));
        assert_eq!(thread["ephemeral"], json!(false));
        assert_eq!(thread.as_object().unwrap()["worktree"], Value::Null);
        assert_eq!(started["instructionSources"], json!([]));
        let id = thread["id"].as_str().unwrap().to_owned();
        client.start_turn(&id, "call kettle --on").await;
        let ended = client.until("turn/completed").await;
        let items = ended.last().unwrap()["params"]["turn"]["items"]
            .as_array()
            .unwrap();
        let payload = |kind: &str| &items.iter().find(|item| item["type"] == kind).unwrap()["payload"];
        let call = payload("toolCall");
        assert_eq!(call["providerFlatName"], call["toolName"]);
        assert_eq!(payload("toolResult")["toolName"], call["toolName"]);
        assert_eq!(payload("toolResult")["providerFlatName"], call["toolName"]);
        let shown = ended.iter().find(|message| {
            message["method"] == "item/completed" && message["params"]["item"]["type"] == "toolResult"
        });
        assert_eq!(
            shown.unwrap()["params"]["item"]["payload"]["toolName"],
            call["toolName"]
        );
    }
}

#[tokio::test]
async fn a_list_without_an_identity_or_of_the_workspace_shows_everyones_threads() {
    let server = Server::start().await;
    let mut client = server.client_with(desktop()).await;
    for context in ["group:7", "group:8"] {
        let identity = json!({ "channelName": "chat", "userId": "bo", "channelContext": context });
        client.call("thread/start", json!({ "identity": identity })).await;
    }
    let other = json!({ "channelName": "desk", "userId": "ada" });
    for params in [
        json!({ "identity": {}, "scope": "workspace", "includeSubAgents": true, "limit": 20 }),
        json!({ "identity": {} }),
        json!({}),
        json!({ "identity": other, "scope": "workspace" }),
    ] {
        let listed = client.call("thread/list", params.clone()).await;
        assert_eq!(listed["data"].as_array().unwrap().len(), 2, "{params}");
        assert_eq!(
            (&listed["totalMatched"], &listed["nextCursor"]),
            (&json!(2), &Value::Null)
        );
    }
    let own = client
        .call("thread/list", json!({ "identity": other, "scope": "identity" }))
        .await;
    assert_eq!(own["data"], json!([]));
    let first = client.call("thread/list", json!({ "limit": 1 })).await;
    assert!(
        first["nextCursor"].is_string() && first["totalMatched"].is_null(),
        "{first}"
    );
    let error = client.error("thread/list", json!({ "scope": "planet" })).await;
    assert_eq!(error["code"], -32602);
}

/// Reads a list to its end; returns the entries and the sizes of the pages.
async fn all(client: &mut Client, method: &str, mut params: Value, limit: usize) -> (Vec<Value>, Vec<usize>) {
    let (mut data, mut sizes) = (Vec::new(), Vec::new());
    params["limit"] = json!(limit);
    loop {
        let page = client.call(method, params.clone()).await;
        let entries = page["data"].as_array().unwrap();
        sizes.push(entries.len());
        data.extend(entries.iter().cloned());
        match page["nextCursor"].as_str() {
            Some(next) => params["cursor"] = json!(next),
            None => return (data, sizes),
        }
    }
}

#[tokio::test]
async fn history_is_read_page_by_page_in_both_orders() {
    let server = Server::start().await;
    let mut client = server.client_with(desktop()).await;
    let id = client.start_thread().await;
    let mut turns = Vec::new();
    for text in ["say tea", "call kettle --on", "say milk"] {
        turns.push(client.start_turn(&id, text).await);
        idle(&mut client, &id).await;
    }
    let of = |order: &str| json!({ "threadId": id, "cursor": null, "sortDirection": order });
    let ids = |data: &[Value]| {
        data.iter()
            .map(|turn| turn["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (oldest_first, sizes) = all(&mut client, "thread/turns/list", of("ascending"), 2).await;
    assert_eq!((ids(&oldest_first), sizes), (turns.clone(), vec![2, 1]));
    assert!(oldest_first.iter().all(|turn| turn.get("items").is_none()));
    let (newest_first, sizes) = all(&mut client, "thread/turns/list", of("descending"), 2).await;
    turns.reverse();
    assert_eq!((ids(&newest_first), sizes), (turns.clone(), vec![2, 1]));

    let page = client
        .call("thread/turns/list", json!({ "threadId": id, "limit": 1 }))
        .await;
    assert_eq!(ids(page["data"].as_array().unwrap()), turns[..1]);
    let back = json!({ "threadId": id, "cursor": page["backwardsCursor"], "sortDirection": "ascending" });
    let again = client.call("thread/turns/list", back).await;
    assert_eq!(ids(again["data"].as_array().unwrap()), turns[..1]);
    let wrong = json!({ "threadId": id, "cursor": page["nextCursor"], "sortDirection": "ascending" });
    assert_eq!(client.error("thread/turns/list", wrong).await["code"], -32602);
    for limit in [0, 101] {
        let params = json!({ "threadId": id, "limit": limit });
        assert_eq!(client.error("thread/turns/list", params).await["code"], -32602);
    }

    let (items, _) = all(&mut client, "thread/items/list", of("ascending"), 2).await;
    let read = client
        .call("thread/read", json!({ "threadId": id, "includeTurns": true }))
        .await;
    let whole: Vec<&Value> = read["thread"]["turns"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|turn| turn["items"].as_array().unwrap())
        .collect();
    assert_eq!(
        items.iter().map(|entry| &entry["item"]).collect::<Vec<_>>(),
        whole
    );
    let (mut backwards, _) = all(&mut client, "thread/items/list", of("descending"), 3).await;
    backwards.reverse();
    assert_eq!(backwards, items);

    let mut one = of("ascending");
    one["turnId"] = json!(turns[1]);
    let (own, _) = all(&mut client, "thread/items/list", one, 500).await;
    assert!(!own.is_empty() && own.iter().all(|entry| entry["turnId"] == json!(turns[1])));
    assert!(own.iter().all(|entry| entry["item"]["turnId"] == entry["turnId"]));
    let unknown = json!({ "threadId": id, "turnId": "turn_900" });
    assert_eq!(client.error("thread/items/list", unknown).await["code"], -32013);
    let header = client.call("thread/read", json!({ "threadId": id })).await;
    assert!(header["thread"].get("turns").is_none());
}

#[tokio::test]
async fn a_history_goes_on_after_a_rollback_with_what_is_left() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.start_thread().await;
    let mut turns = Vec::new();
    for text in ["say 1", "say 2", "say 3", "say 4"] {
        turns.push(client.start_turn(&id, text).await);
        idle(&mut client, &id).await;
    }
    let page = json!({ "threadId": id, "limit": 1 });
    let newest = client.call("thread/turns/list", page).await;
    client
        .call("thread/rollback", json!({ "threadId": id, "numTurns": 2 }))
        .await;
    let next = json!({ "threadId": id, "cursor": newest["nextCursor"] });
    let left = client.call("thread/turns/list", next).await;
    let ids: Vec<_> = left["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["id"].clone())
        .collect();
    assert_eq!(ids, [json!(turns[1]), json!(turns[0])]);
    assert!(left["nextCursor"].is_null());
}

#[tokio::test]
async fn errors_say_their_kind_as_a_word() {
    let server = Server::start().await;
    let mut client = server.client_with(desktop()).await;
    let error = client
        .error("thread/read", json!({ "threadId": "nowhere" }))
        .await;
    let data = &error["data"];
    assert_eq!(
        (&error["code"], &data["code"]),
        (&json!(-32010), &json!("ThreadNotFound"))
    );
    assert_eq!(data["messageKey"], "errors.threadNotFound");
    assert_eq!(data["params"], json!({ "threadId": "nowhere" }));
    let error = client.error("dreams/list", json!({})).await;
    assert_eq!(
        (&error["data"]["code"], &error["data"]["params"]["method"]),
        (&json!("MethodNotFound"), &json!("dreams/list"))
    );
}

fn ids(queue: &Value) -> Vec<&str> {
    let entries = queue["queuedInputs"].as_array().unwrap().iter();
    entries.map(|entry| entry["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_queue_is_put_in_order_and_its_inputs_are_given_to_the_turn_and_taken_back() {
    let server = Server::start().await;
    let mut client = server.client_with(desktop()).await;
    let id = client.start_thread().await;
    let turn = client.start_turn(&id, "wait\nlisten").await;
    let mut queued = Vec::new();
    for text in ["say milk", "say sugar"] {
        let input = json!([{ "type": "text", "text": text }]);
        let params = json!({ "threadId": id, "input": input, "clientUserMessageId": text });
        let entry = client.call("turn/enqueue", params).await["queuedInput"].clone();
        assert_eq!(entry["clientUserMessageId"], text);
        queued.push(entry["id"].as_str().unwrap().to_owned());
    }
    let [milk, sugar] = [&queued[0], &queued[1]];
    let order = |ids: &[&str]| json!({ "threadId": id, "orderedQueuedInputIds": ids });
    let turned = client.call("turn/queue/reorder", order(&[sugar, milk])).await;
    assert_eq!(ids(&turned), [sugar, milk]);
    loop {
        let news = client.wait_for("thread/queue/updated").await;
        if ids(&news["params"]) == [sugar, milk] {
            break;
        }
    }
    for wrong in [&[sugar.as_str()][..], &[sugar, sugar], &[sugar, "q9"]] {
        let error = client.error("turn/queue/reorder", order(wrong)).await;
        assert_eq!(error["code"], -32602);
    }
    let update = |entry: &str, turn: &str, status: &str| json!({ "threadId": id, "expectedTurnId": turn, "queuedInputId": entry, "status": status });
    for _ in 0..2 {
        let given = client
            .call("turn/queue/update", update(milk, &turn, "guidancePending"))
            .await;
        assert_eq!(ids(&given), [sugar, milk]);
        assert_eq!(given["queuedInputs"][1]["status"], "guidancePending");
    }
    for _ in 0..2 {
        let back = client
            .call("turn/queue/update", update(milk, &turn, "queued"))
            .await;
        assert_eq!(back["queuedInputs"][1]["status"], "queued");
    }
    for (params, code) in [
        (update(milk, "turn_009", "guidancePending"), -32603),
        (update("q9", &turn, "queued"), -32010),
        (update(milk, &turn, "started"), -32602),
    ] {
        assert_eq!(client.error("turn/queue/update", params).await["code"], code);
    }
    server.engine.release();
    for text in ["say sugar", "say milk"] {
        let seen = client.until("turn/completed").await;
        let message = seen
            .iter()
            .rfind(|message| message["params"]["item"]["type"] == "userMessage");
        let payload = &message.unwrap()["params"]["item"]["payload"];
        if text == payload["text"] {
            assert_eq!(payload["clientUserMessageId"], text);
        }
    }
}

#[tokio::test]
async fn a_new_input_is_given_to_the_running_turn() {
    let server = Server::start().await;
    let mut client = server.client_with(desktop()).await;
    let id = client.start_thread().await;
    let turn = client.start_turn(&id, "wait\nlisten").await;
    let input = json!([{ "type": "text", "text": "less sugar" }]);
    let steer = |turn: &str| json!({ "threadId": id, "expectedTurnId": turn, "input": input, "clientUserMessageId": "u-7" });
    let error = client.error("turn/steer", steer("turn_009")).await;
    assert_eq!(error["code"], -32603);
    let mut both = steer(&turn);
    both["queuedInputId"] = json!("q1");
    assert_eq!(client.error("turn/steer", both).await["code"], -32602);
    let neither = json!({ "threadId": id, "expectedTurnId": turn });
    assert_eq!(client.error("turn/steer", neither).await["code"], -32602);
    let mut long = steer(&turn);
    long["clientUserMessageId"] = json!("u".repeat(129));
    assert_eq!(client.error("turn/steer", long).await["code"], -32602);
    let steered = client.call("turn/steer", steer(&turn)).await;
    assert_eq!(steered["turnId"], json!(turn));
    assert_eq!(steered["queuedInputs"].as_array().unwrap().len(), 1);
    let news = client.wait_for("thread/queue/updated").await;
    let entry = &news["params"]["queuedInputs"][0];
    assert_eq!(
        (&entry["status"], &entry["clientUserMessageId"]),
        (&json!("guidancePending"), &json!("u-7"))
    );
    server.engine.release();
    let seen = client.until("turn/completed").await;
    let said = seen.iter().rfind(|message| {
        message["method"] == "item/completed" && message["params"]["item"]["type"] == "userMessage"
    });
    let payload = &said.unwrap()["params"]["item"]["payload"];
    assert_eq!(
        (&payload["deliveryMode"], &payload["clientUserMessageId"]),
        (&json!("guidance"), &json!("u-7"))
    );
    let started = methods(&seen)
        .into_iter()
        .filter(|method| *method == "turn/started");
    assert_eq!(started.count(), 1);
}

#[tokio::test]
async fn a_fork_ends_where_it_is_asked_to_and_names_its_origin() {
    let server = Server::start().await;
    let mut client = server.client_with(desktop()).await;
    let id = client.start_thread().await;
    for text in ["say one", "say two"] {
        client.start_turn(&id, text).await;
        client.wait_for("turn/completed").await;
    }
    let running = client.start_turn(&id, "say three\nwait").await;
    let turns = async |client: &mut Client, params: Value| {
        let forked = client.call("thread/fork", params).await;
        let thread = &forked["thread"];
        assert!(forked["instructionSources"].is_array() && thread.get("turns").is_none());
        assert_eq!(
            (&thread["forkedFromId"], &thread["sessionId"]),
            (&json!(id), &thread["id"])
        );
        let list = json!({ "threadId": thread["id"], "sortDirection": "ascending" });
        let turns = client.call("thread/turns/list", list).await;
        let turns = turns["data"].as_array().unwrap().iter();
        let turns: Vec<_> = turns
            .map(|turn| format!("{} {}", turn["id"], turn["status"]))
            .collect();
        let items = json!({ "threadId": thread["id"], "sortDirection": "descending", "limit": 1 });
        let items = client.call("thread/items/list", items).await;
        if let Some(last) = items["data"].get(0) {
            let payload = &last["item"]["payload"];
            assert_eq!(
                (&payload["kind"], &payload["sourceThreadId"]),
                (&json!("forked"), &json!(id))
            );
        }
        turns.join(", ").replace('"', "")
    };
    let at = |point: Value| json!({ "threadId": id, "forkPoint": point });
    let [one, two, three] = ["turn_001 completed", "turn_002 completed", "turn_003 cancelled"];
    for (params, expected) in [
        (json!({ "threadId": id }), format!("{one}, {two}, {three}")),
        (json!({ "threadId": id, "turnId": "turn_001" }), one.to_owned()),
        (
            at(json!({ "turnId": "turn_002", "position": "after" })),
            format!("{one}, {two}"),
        ),
        (
            at(json!({ "turnId": "turn_002", "position": "before" })),
            one.to_owned(),
        ),
        (
            at(json!({ "turnId": "turn_001", "position": "before" })),
            String::new(),
        ),
        (
            at(json!({ "turnId": "turn_002", "itemId": "item_001" })),
            format!("{one}, turn_002 cancelled"),
        ),
        (at(json!({ "turnId": running })), format!("{one}, {two}, {three}")),
    ] {
        assert_eq!(turns(&mut client, params.clone()).await, expected, "{params}");
    }
    let mut both = at(json!({ "turnId": "turn_001" }));
    both["turnId"] = json!("turn_001");
    for (params, code) in [
        (both, -32602),
        (at(json!({ "turnId": "turn_001", "itemId": "item_099" })), -32602),
        (json!({ "threadId": id, "ephemeral": true }), -32602),
        (at(json!({ "turnId": "turn_099" })), -32013),
        (at(json!({ "turnId": "N" })), -32013),
        (json!({ "threadId": id, "turnId": running }), -32012),
    ] {
        assert_eq!(
            client.error("thread/fork", params.clone()).await["code"],
            code,
            "{params}"
        );
    }
    let named = json!({ "threadId": id, "displayName": "Second pot", "config": { "mode": "plan" } });
    let thread = client.call("thread/fork", named).await["thread"].clone();
    assert_eq!(
        (&thread["displayName"], &thread["configuration"]["mode"]),
        (&json!("Second pot"), &json!("plan"))
    );
    server.engine.release();
}

/// Asks about two commands at the same time.
struct AsksBoth;

impl Engine for AsksBoth {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        async move {
            let ask = |call: &str, command: &str| {
                turn.ask(Ask {
                    call_id: call.to_owned(),
                    scope: Scope::new(ApprovalKind::Shell, command, "/srv/tea"),
                    reason: "The agent wants to run a command.".to_owned(),
                })
            };
            let (one, other) = tokio::join!(ask("call_1", "kettle --on"), ask("call_2", "kettle --off"));
            one?;
            other?;
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn open_approvals_are_asked_again_one_after_the_other() {
    const REQUEST: &str = "item/approval/request";
    let server = Server::over(AsksBoth).await;
    let mut starter = server.client_with(desktop()).await;
    let id = starter.start_thread().await;
    starter.start_turn(&id, "go").await;
    let asked = starter.wait_for(REQUEST).await;
    starter.wait_for(REQUEST).await;
    // An error answers nothing.
    let error = json!({ "code": -32601, "message": "Method not found" });
    let error = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
    starter.send_text(error.to_string()).await;
    let mut second = server.client_with(desktop()).await;
    second.call("thread/resume", json!({ "threadId": id })).await;
    for command in ["kettle --on", "kettle --off"] {
        let again = second.wait_for(REQUEST).await;
        assert_eq!(again["params"]["operation"], command);
        let seen = rest(&mut second).await;
        assert!(!methods(&seen).contains(&REQUEST), "the next one waits");
        second.reply(&again, json!({ "decision": "accept" })).await;
        second.wait_for("item/approval/resolved").await;
    }
    starter.wait_for("turn/completed").await;
}
