//! Prompts, their updates, and how they end.

use base64::Engine as _;
use serde_json::json;

use crate::support::{Server, calls, find_update, kinds, prompt, said, text, until_answer};

#[tokio::test]
async fn the_commands_come_after_the_answer_that_names_the_session() {
    let server = Server::start().await;
    let mut client = server.client_with(json!({})).await;
    let id = client
        .request("session/new", json!({ "cwd": server.cwd() }))
        .await;
    let seen = until_answer(&mut client, id).await;
    assert_eq!(seen.len(), 1, "{seen:?}");
    let commands = find_update(&mut client, "available_commands_update").await;
    let names: Vec<&str> = commands["availableCommands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"costs") && !names.contains(&"resume"),
        "{names:?}"
    );
}

#[tokio::test]
async fn messages_thoughts_plans_and_usage_come_before_the_answer() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let words = "think hm\nsay one two\nplan boil water\nusage 70 7";
    let (seen, answer) = prompt(&mut client, &session, words).await;
    assert_eq!(answer["result"], json!({ "stopReason": "end_turn" }));
    assert_eq!(said(&seen, "agent_thought_chunk"), "hm");
    assert_eq!(said(&seen, "agent_message_chunk"), "one two");
    assert!(!kinds(&seen).contains(&"user_message_chunk"), "{seen:?}");
    let plan = seen
        .iter()
        .find(|message| message["params"]["update"]["sessionUpdate"] == "plan");
    assert_eq!(
        plan.unwrap()["params"]["update"]["entries"],
        json!([{ "content": "boil water", "priority": "medium", "status": "pending" }])
    );
    let usage = seen
        .iter()
        .find(|message| message["params"]["update"]["sessionUpdate"] == "usage_update")
        .unwrap();
    assert_eq!(usage["params"]["update"]["size"], 64_000);
    let place = &seen.last().unwrap()["params"]["_meta"]["bobbin"];
    assert_eq!(
        (&place["threadId"], &place["turnId"]),
        (&json!(session), &json!("turn_001"))
    );
    assert!(place["seq"].as_u64().is_some());
}

#[tokio::test]
async fn a_call_is_shown_from_its_start_to_its_end() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let (seen, _) = prompt(&mut client, &session, "call touch tea\ndeny rm tea\nsay done").await;
    let calls = calls(&seen);
    let first = calls[0];
    assert_eq!(
        (&first["sessionUpdate"], &first["status"]),
        (&json!("tool_call"), &json!("pending"))
    );
    assert_eq!(
        (&first["kind"], &first["title"]),
        (&json!("execute"), &json!("touch tea"))
    );
    assert_eq!(first["rawInput"], json!({ "command": "touch tea" }));
    let statuses: Vec<_> = calls.iter().filter_map(|call| call["status"].as_str()).collect();
    assert_eq!(
        statuses,
        ["pending", "in_progress", "completed", "pending", "failed"]
    );
    assert_eq!(calls[2]["content"][0]["content"]["text"], "done");
}

#[tokio::test]
async fn a_second_prompt_is_queued_and_answered_after_its_own_turn() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let first = client
        .request("session/prompt", text(&session, "wait\nsay first"))
        .await;
    let second = client
        .request("session/prompt", text(&session, "say second"))
        .await;
    server.engine.release();
    let seen = until_answer(&mut client, first).await;
    assert_eq!(said(&seen, "agent_message_chunk"), "first");
    let seen = until_answer(&mut client, second).await;
    assert_eq!(said(&seen, "agent_message_chunk"), "second");
    assert_eq!(
        said(&seen, "user_message_chunk"),
        "",
        "clients show their own prompts themselves"
    );
    assert_eq!(seen.last().unwrap()["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn a_failure_is_an_error_with_the_text_so_far_and_the_session_goes_on() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let (seen, answer) = prompt(&mut client, &session, "say so far\nfail the kettle is broken").await;
    assert_eq!(said(&seen, "agent_message_chunk"), "so far");
    assert_eq!(answer["error"]["code"], -32603);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("the kettle is broken")
    );
    let (_, answer) = prompt(&mut client, &session, "say on").await;
    assert_eq!(answer["result"]["stopReason"], "end_turn");
}

#[tokio::test]
async fn blocks_become_the_input_and_those_not_offered_are_refused() {
    let server = Server::start().await;
    std::fs::write(server.root().join("a.txt"), "on disk").unwrap();
    let (mut client, session) = server.session().await;
    let uri = format!("file://{}/a.txt", server.root().display());
    let blocks = json!([
        { "type": "text", "text": "say" },
        { "type": "resource_link", "uri": uri, "name": "a.txt" },
        { "type": "resource", "resource": { "uri": "file:///w/b.txt", "text": "unsaved" } },
    ]);
    let params = json!({ "sessionId": session, "prompt": blocks });
    let answer = client.call("session/prompt", params).await;
    assert_eq!(answer["stopReason"], "end_turn");
    let mut other = server.client_with(json!({})).await;
    let (seen, _) = server.open(&mut other, "session/load", &session).await;
    assert_eq!(said(&seen, "user_message_chunk"), "say @a.txt @b.txt");
    let wav = base64::engine::general_purpose::STANDARD.encode("wav");
    for blocks in [
        json!([{ "type": "audio", "mimeType": "audio/wav", "data": wav }]),
        json!([{ "type": "smell" }]),
        json!([]),
    ] {
        let params = json!({ "sessionId": session, "prompt": blocks });
        assert_eq!(client.error("session/prompt", params).await["code"], -32602);
    }
    let error = client.error("session/prompt", text("thread_none", "say x")).await;
    assert_eq!(error["code"], -32002);
}

#[tokio::test]
async fn a_command_of_ours_is_answered_without_a_turn() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    let (seen, answer) = prompt(&mut client, &session, "/costs").await;
    assert!(
        said(&seen, "agent_message_chunk").contains("no tokens"),
        "{seen:?}"
    );
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    let listed = client.call("session/list", json!({})).await;
    assert!(listed["sessions"][0]["title"].is_null(), "{listed}");
}

#[tokio::test]
async fn a_title_is_told() {
    let server = Server::start().await;
    let (mut client, session) = server.session().await;
    prompt(&mut client, &session, "say tea").await;
    let handle = server
        .threads
        .thread(&bobbin_model::ThreadId::new(session.as_str()))
        .await
        .unwrap();
    let display_name = "Tea".to_owned();
    let renamed = handle.ask(|reply| bobbin_core::Command::Rename { display_name, reply });
    renamed.await.unwrap();
    let update = client
        .find("a title", |message| message["params"]["update"]["title"] == "Tea")
        .await;
    assert_eq!(update["params"]["update"]["sessionUpdate"], "session_info_update");
}

#[tokio::test]
async fn notices_and_compactions_are_for_clients_that_offer_them() {
    let server = Server::start().await;
    let capabilities = json!({ "session": { "notices": {}, "compaction": {} } });
    let mut client = server.client_with(capabilities).await;
    let started = client.call("session/new", json!({ "cwd": server.cwd() })).await;
    let notice = find_update(&mut client, "notice").await;
    assert_eq!(
        notice,
        json!({ "sessionUpdate": "notice", "severity": "warning", "title": "The tea is cold." })
    );
    // What a prompt leaves out is a notice for this client.
    let missing = format!("file://{}/none.txt", server.root().display());
    let link = json!({ "type": "resource_link", "uri": missing, "name": "none.txt" });
    let params =
        json!({ "sessionId": started["sessionId"], "prompt": [{ "type": "text", "text": "say tea" }, link] });
    client.call("session/prompt", params.clone()).await;
    let notice = find_update(&mut client, "notice").await;
    assert!(notice["title"].as_str().unwrap().contains("none.txt"), "{notice}");
    // For another it is a message, and the server's notices are left out.
    let (mut other, session) = server.session().await;
    let mut params = params;
    params["sessionId"] = json!(session);
    let id = other.request("session/prompt", params).await;
    let seen = until_answer(&mut other, id).await;
    assert!(!kinds(&seen).contains(&"notice"), "{seen:?}");
    let said = said(&seen, "agent_message_chunk");
    assert!(said.contains("none.txt") && !said.contains("cold"), "{said}");
}
