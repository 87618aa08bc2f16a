//! Tools that a client runs, over the whole binary: who is asked, who may say yes, and what a crash leaves.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Workspace, methods};

const CALL: &str = r#"call `release` with {"pigeon": "NO-11"}"#;

async fn start(client: &mut Client) -> String {
    let tool = json!({
        "name": "release",
        "namespace": "loft",
        "description": "Releases a pigeon.",
        "inputSchema": {
            "type": "object",
            "properties": { "pigeon": { "type": "string" } },
            "required": ["pigeon"],
        },
        "approval": { "kind": "remoteResource", "targetArgument": "pigeon", "operation": "release" },
    });
    let params = json!({ "identity": { "channelName": "test" }, "dynamicTools": [tool] });
    let started = client.call("thread/start", params).await;
    started["thread"]["id"].as_str().unwrap().to_owned()
}

fn call_of(ended: &Value) -> &Value {
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    let call = items.iter().find(|item| item["type"] == "dynamicToolCall");
    &call.unwrap()["payload"]
}

#[tokio::test]
async fn one_client_allows_what_another_runs_and_a_crash_repeats_nothing() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut owner = server.client("loft").await;
    let mut person = server.client("person").await;
    let thread = start(&mut owner).await;
    let target = json!({ "threadId": thread });
    person.call("thread/subscribe", target.clone()).await;
    person.start_turn(&thread, CALL).await;
    let asked = person.wait_for("item/approval/request").await;
    person.reply(&asked, json!({ "decision": "accept" })).await;
    let call = owner.wait_for("item/tool/call").await;
    assert_eq!(call["params"]["arguments"], json!({ "pigeon": "NO-11" }));
    let answer = json!({ "success": true, "contentItems": [{ "type": "text", "text": "It flies." }] });
    owner.reply(&call, answer).await;
    let seen = person.until("turn/completed").await;
    assert!(!methods(&seen).contains(&"item/tool/call"));
    assert_eq!(
        call_of(seen.last().unwrap())["contentItems"][0]["text"],
        "It flies."
    );

    // Again, and the server dies while the client has it.
    person.start_turn(&thread, CALL).await;
    let asked = person.wait_for("item/approval/request").await;
    person.reply(&asked, json!({ "decision": "accept" })).await;
    owner.wait_for("item/tool/call").await;
    server.kill().await;
    drop((owner, person));
    let server = workspace.web_socket();
    let mut owner = server.client("loft").await;
    owner.call("thread/resume", target).await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let turns = loop {
        let turns = owner.call("thread/read", read.clone()).await["thread"]["turns"].clone();
        if turns[1]["status"] != "running" {
            break turns;
        }
    };
    let ended = json!({ "params": { "turn": turns[1] } });
    assert_eq!(turns[1]["status"], "completed", "{turns}");
    assert_eq!(call_of(&ended)["errorCode"], "InterruptedByRestart");
    owner.start_turn(&thread, CALL).await;
    let asked = owner.wait_for("item/approval/request").await;
    owner.reply(&asked, json!({ "decision": "accept" })).await;
    let call = owner.wait_for("item/tool/call").await;
    owner.reply(&call, json!({ "success": true })).await;
    let ended = owner.wait_for("turn/completed").await;
    assert_eq!(
        ended["params"]["turn"]["id"], "turn_003",
        "nothing was sent twice"
    );
    assert_eq!(call_of(&ended)["success"], true);
    assert!(server.terminate().await.success());
}
