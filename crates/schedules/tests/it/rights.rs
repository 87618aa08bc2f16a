//! Rights of jobs.

use bobbin_model::ApprovalPolicy;
use serde_json::{Value, json};

use crate::support::{HOUR, Server, add, jobs};

/// Returns the result of a job made in a Thread with this configuration, and the configuration of its run.
async fn run_of(server: &Server, config: Value, message: &str) -> (Value, Value) {
    let mut client = server.client().await;
    let start = json!({ "identity": { "channelName": "test" }, "config": config });
    let thread = client.call("thread/start", start).await;
    let thread = thread["thread"]["id"].as_str().unwrap().to_owned();
    let arguments = json!({ "action": "add", "message": message, "everySeconds": 3600 });
    add(&mut client, &thread, &arguments).await;
    server.pass(&mut client, HOUR).await;
    let result = client.wait_for("system/jobResult").await["params"].clone();
    let read = client
        .call(
            "thread/read",
            json!({ "threadId": result["threadId"], "includeTurns": true }),
        )
        .await;
    let id = jobs(&mut client).await[0]["id"].clone();
    client.call("cron/remove", json!({ "jobId": id })).await;
    (result, read["thread"].clone())
}

#[tokio::test]
async fn what_needs_an_answer_is_declined_where_nobody_can_be_asked() {
    let server = Server::start().await;
    let (_, thread) = run_of(&server, json!({}), "ask rm -rf tea\nsay Done.").await;
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    let items = thread["turns"][0]["items"].to_string();
    assert!(items.contains("decline"), "{items}");
    assert_eq!(thread["turns"][0]["status"], "completed");
}

#[tokio::test]
async fn a_job_runs_with_the_mode_policy_and_tools_of_its_author() {
    let server = Server::start().await;
    let config = json!({ "mode": "plan", "approvalPolicy": "interrupt", "toolAllowList": ["ReadFile"], "model": "clay" });
    let (_, thread) = run_of(&server, config.clone(), "say Hm.").await;
    let mut expected = config;
    expected["toolDenyList"] = json!(["Cron"]);
    assert_eq!(thread["configuration"], expected);
    let (_, thread) = run_of(&server, json!({ "approvalPolicy": "autoApprove" }), "ask boil").await;
    assert_eq!(thread["configuration"]["approvalPolicy"], "autoApprove");
    assert_eq!(server.engine.effects(), ["boil"]);
}

#[tokio::test]
async fn a_workspace_that_became_stricter_binds_jobs_too() {
    let server = Server::with(ApprovalPolicy::AutoApprove).await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let arguments = json!({ "action": "add", "message": "ask boil", "everySeconds": 3600 });
    add(&mut client, &thread, &arguments).await;
    server.pass(&mut client, HOUR).await;
    client.wait_for("system/jobResult").await;
    assert_eq!(server.engine.effects(), ["boil"]);
    let policy = &server.threads.settings().approval_policy;
    policy.set(Some(ApprovalPolicy::Default), true);
    server.pass(&mut client, HOUR).await;
    client.wait_for("system/jobResult").await;
    assert_eq!(server.engine.effects(), ["boil"]);
}

/// Triggers the heartbeat with this file. Returns the answer and the Turns of its Thread.
async fn beat(server: &Server, text: &str) -> (Value, Value) {
    let file = server.threads.settings().workspace.join("HEARTBEAT.md");
    std::fs::write(&file, text).unwrap();
    let mut client = server.client().await;
    let answer = client.call("heartbeat/trigger", json!({})).await;
    let all = json!({ "identity": { "channelName": "test" }, "crossChannelOrigins": ["heartbeat"] });
    let threads = client.call("thread/list", all).await["data"].clone();
    let Some(id) = threads.get(0).map(|thread| thread["id"].clone()) else {
        return (answer, Value::Null);
    };
    let read = json!({ "threadId": id, "includeTurns": true });
    let read = client.call("thread/read", read).await;
    (answer, read["thread"]["turns"].clone())
}

#[tokio::test]
async fn the_heartbeat_does_unasked_only_what_the_workspace_allows() {
    let server = Server::start().await;
    let (answer, turns) = beat(&server, "ask boil\nsay Done.").await;
    assert_eq!(answer, json!({ "result": "Done." }));
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    let items = turns[0]["items"].to_string();
    assert!(items.contains("decline"), "{items}");
    // The user who triggers it is its author, so the present policy applies.
    let policy = &server.threads.settings().approval_policy;
    policy.set(Some(ApprovalPolicy::AutoApprove), true);
    beat(&server, "ask boil\nsay Done.").await;
    assert_eq!(server.engine.effects(), ["boil"]);
}

#[tokio::test]
async fn the_heartbeat_of_a_folder_that_is_not_trusted_does_nothing_and_says_why() {
    let server = Server::untrusted().await;
    let (answer, turns) = beat(&server, "call boil").await;
    let why = answer["error"].as_str().unwrap();
    assert!(why.contains("`bobbin trust`"), "{why}");
    assert_eq!(turns, Value::Null);
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn a_workspace_that_became_freer_frees_no_job() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let thread = client.start_thread().await;
    let arguments = json!({ "action": "add", "message": "ask boil", "everySeconds": 3600 });
    add(&mut client, &thread, &arguments).await;
    server
        .threads
        .settings()
        .approval_policy
        .set(Some(ApprovalPolicy::AutoApprove), true);
    server.pass(&mut client, HOUR).await;
    client.wait_for("system/jobResult").await;
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}
