//! The agent's loop in the binary, with a model behind a provider that does what the prompt says.

use bobbin_testkit::{Client, ModelServer, Part, Reply, Script, Usage};
use serde_json::{Value, json};

use crate::support::{Process, Workspace, agent_text};

/// Writes a configuration whose usual model is the scripted one.
fn configure(workspace: &Workspace, server: &ModelServer, more: &Value) {
    let mut config = json!({
        "Model": "script/m",
        "Titles": { "Enabled": false },
        "Providers": { "script": { "Wire": "chat", "BaseUrl": server.base_url(), "ContextWindow": 20_000 } },
    });
    let members = more.as_object().cloned().unwrap_or_default();
    config.as_object_mut().unwrap().extend(members);
    let craft = workspace.path().join(".craft");
    std::fs::create_dir_all(&craft).unwrap();
    std::fs::write(craft.join("config.json"), config.to_string()).unwrap();
}

/// Follows a Turn, saying yes to what is asked, until it has ended or so many messages were seen.
async fn follow(client: &mut Client, most: usize) -> bool {
    for _ in 0..most {
        let message = tokio::time::timeout(std::time::Duration::from_secs(20), client.next())
            .await
            .expect("the server goes on")
            .expect("the connection stays");
        match message["method"].as_str() {
            Some("item/approval/request") => {
                client.reply(&message, json!({ "decision": "accept" })).await;
            }
            Some("turn/completed" | "turn/failed" | "turn/cancelled") => return true,
            _ => {}
        }
    }
    false
}

/// Runs a Turn and waits until another can start.
async fn whole_turn(client: &mut Client, thread: &str, text: &str) {
    client.start_turn(thread, text).await;
    client.wait_for("turn/completed").await;
    idle(client).await;
}

async fn idle(client: &mut Client) {
    let is_idle = |message: &Value| {
        message["method"] == "thread/runtimeChanged" && message["params"]["runtime"]["running"] == false
    };
    client.find("the end of the Turn", is_idle).await;
}

async fn last_turn(client: &mut Client, thread: &str) -> Value {
    let read = client
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    read["thread"]["turns"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone()
}

async fn again(workspace: &Workspace, thread: &str) -> (Process, Client) {
    let server = workspace.web_socket();
    let mut client = server.client("after").await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    (server, client)
}

#[tokio::test]
async fn a_round_of_calls_survives_sigkill_anywhere_and_no_call_is_repeated_or_forgotten() {
    let provider = ModelServer::start(Script::default()).await.unwrap();
    let prompt = "call Exec {\"command\":\"echo a >> ran\"}\ncall Exec {\"command\":\"echo b >> ran\"}";
    // Moments spread over the round: after every third message that the client sees.
    for seen in (1..).step_by(3) {
        let workspace = Workspace::new();
        configure(&workspace, &provider, &json!({}));
        let server = workspace.web_socket();
        let mut client = server.client("before").await;
        let thread = client.start_thread().await;
        client.start_turn(&thread, prompt).await;
        let through = follow(&mut client, seen).await;
        server.kill().await;
        drop(client.finish().await);

        let (server, mut client) = again(&workspace, &thread).await;
        let mut turn = last_turn(&mut client, &thread).await;
        if turn["status"] == "running" || turn["status"] == "waitingApproval" {
            follow(&mut client, usize::MAX).await;
            turn = last_turn(&mut client, &thread).await;
        }
        assert_eq!(turn["status"], "completed", "after {seen}: {turn:#}");
        let ran = std::fs::read_to_string(workspace.path().join("ran")).unwrap_or_default();
        let items = turn["items"].as_array().unwrap();
        let of = |kind: &str| -> Vec<&Value> { items.iter().filter(|item| item["type"] == kind).collect() };
        let results = of("toolResult");
        assert_eq!(of("toolCall").len(), results.len(), "after {seen}: {turn:#}");
        let done = results
            .iter()
            .filter(|item| item["payload"]["success"] == true)
            .count();
        for letter in ["a", "b"] {
            assert!(
                ran.lines().filter(|line| *line == letter).count() <= 1,
                "after {seen}: {ran}"
            );
        }
        // What is not done is told of, and the model has heard of all of it.
        let told = results.iter().filter(|item| {
            item["payload"]["result"]
                .as_str()
                .unwrap()
                .starts_with("interrupted_by_restart")
        });
        assert_eq!(done + told.count(), results.len(), "after {seen}: {turn:#}");
        assert!(ran.lines().count() >= done, "after {seen}: {turn:#}");
        assert!(
            agent_text(&turn).contains("The results: "),
            "after {seen}: {turn:#}"
        );
        server.kill().await;
        drop(client.finish().await);
        if through {
            assert!(seen > 20, "a round has more messages than {seen}");
            return;
        }
    }
}

#[tokio::test]
async fn a_project_speaks_to_the_model_and_clients_see_what_becomes_of_the_window() {
    let long = "tea ".repeat(5_000);
    let said = |text: &str, input| Reply {
        usage: Some(Usage {
            input,
            output: 10,
            ..Usage::default()
        }),
        ..Reply::of([Part::Text(text.into())])
    };
    let provider = ModelServer::start(Script::of([
        said(&long, 17_000),
        said("They spoke of tea.", 4_000),
        said("Green.", 900),
    ]))
    .await
    .unwrap();
    let workspace = Workspace::new();
    configure(&workspace, &provider, &json!({}));
    std::fs::write(workspace.path().join("AGENTS.md"), "Answer in one word.").unwrap();
    let server = workspace.web_socket();
    let mut client = server.client("cl").await;
    let thread = client.start_thread().await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    client.start_turn(&thread, "Tell me of tea.").await;
    let usage = client.wait_for("item/usage/delta").await;
    assert_eq!(usage["params"]["contextUsage"]["contextWindow"], 18_000);
    client.wait_for("turn/completed").await;
    client.start_turn(&thread, "Which colour?").await;
    let is_event = |kind: &'static str| {
        move |message: &Value| message["method"] == "system/event" && message["params"]["kind"] == kind
    };
    client.find("compacting", is_event("compacting")).await;
    let done = client.find("compacted", is_event("compacted")).await;
    // The instructions and the tools are a third of so small a window.
    assert!(done["params"]["percentLeft"].as_f64().unwrap() > 0.6, "{done}");
    client.wait_for("turn/completed").await;
    let turn = last_turn(&mut client, &thread).await;
    let notice = turn["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["type"] == "systemNotice");
    let payload = &notice.unwrap()["payload"];
    assert_eq!(
        (&payload["kind"], &payload["trigger"]),
        (&json!("compacted"), &json!("auto"))
    );
    assert!(
        !turn.to_string().contains("They spoke of tea."),
        "the summary is the model's"
    );
    let asked = provider.asked();
    let system = asked[0].body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("Answer in one word."), "{system}");
    let last = asked[2].body["messages"].to_string();
    assert!(
        last.contains("They spoke of tea.") && !last.contains("tea tea tea"),
        "{last}"
    );
    server.kill().await;
    drop(client.finish().await);
}

#[tokio::test]
async fn a_limit_of_the_configuration_ends_a_turn_with_its_words() {
    let provider = ModelServer::start(Script::default()).await.unwrap();
    let workspace = Workspace::new();
    configure(&workspace, &provider, &json!({ "Limits": { "Tokens": 10 } }));
    let server = workspace.web_socket();
    let mut client = server.client("cl").await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "call FindFiles {}").await;
    let failed = client.wait_for("turn/failed").await;
    let error = failed["params"]["error"].as_str().unwrap();
    assert!(
        error.contains("may use 10") && error.contains("Limits.Tokens"),
        "{error}"
    );
    let items = failed["params"]["turn"]["items"].as_array().unwrap();
    assert_eq!(items.last().unwrap()["payload"]["code"], "limit_tokens");
    server.kill().await;
    drop(client.finish().await);
}

#[tokio::test]
async fn a_compaction_is_asked_for_and_stopped() {
    let long = "tea ".repeat(9_000);
    let said = |parts: &[Part]| Reply::of(parts.iter().cloned());
    let script = Script {
        replies: vec![
            said(&[Part::Text("Hello.".into())]),
            said(&[Part::Text(long.clone())]),
            said(&[Part::Text("Green.".into())]),
            said(&[Part::Text("They spoke of tea.".into())]),
            said(&[Part::Text(long)]),
            said(&[Part::Text("Green.".into())]),
            said(&[Part::Stall]),
        ],
        counts: true,
        ..Script::default()
    };
    let provider = ModelServer::start(script).await.unwrap();
    let workspace = Workspace::new();
    configure(&workspace, &provider, &json!({}));
    let server = workspace.web_socket();
    let mut client = server.client("cl").await;
    let thread = client.start_thread().await;
    let here = json!({ "threadId": thread });
    whole_turn(&mut client, &thread, "Hello.").await;
    // Nothing is compacted yet, so nothing can be stopped.
    client.call("thread/maintenance/interrupt", here.clone()).await;
    let short = client.call("thread/compact/start", here.clone()).await;
    idle(&mut client).await;
    assert_eq!(short["outcome"], "skipped");
    assert!(short["message"].is_string(), "{short}");
    whole_turn(&mut client, &thread, "Tell me of tea.").await;
    whole_turn(&mut client, &thread, "Which colour?").await;
    let done = client.call("thread/compact/start", here.clone()).await;
    idle(&mut client).await;
    assert_eq!(done["outcome"], "partial", "{done}");
    assert!(done["contextUsage"]["tokens"].as_u64().unwrap() < 9_000, "{done}");
    let notice = last_turn(&mut client, &thread).await["items"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()["payload"]
        .clone();
    assert_eq!(
        (&notice["kind"], &notice["trigger"]),
        (&json!("compacted"), &json!("manual"))
    );
    whole_turn(&mut client, &thread, "Again.").await;
    whole_turn(&mut client, &thread, "Which colour?").await;
    let asked = provider.asked_count();
    let compaction = client.request("thread/compact/start", here.clone()).await;
    provider.until_asked(asked + 1).await;
    let busy = client.error("thread/compact/start", here.clone()).await;
    assert_eq!(busy["code"], -32012);
    client.call("thread/maintenance/interrupt", here).await;
    let stopped = client.answer(compaction).await;
    assert_eq!(stopped["result"]["outcome"], "cancelled", "{stopped}");
    server.kill().await;
    drop(client.finish().await);
}

#[tokio::test]
async fn the_tools_of_the_server_are_listed() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("cl").await;
    let names = |listed: &Value, plan: bool| -> Vec<String> {
        let tools = listed["tools"].as_array().unwrap().iter();
        let tools = tools.filter(|tool| tool["planMode"] == true || !plan);
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = client.call("tool/list", json!({})).await;
    let agent = names(&all, false);
    assert!(
        agent.is_sorted() && agent.contains(&"WriteFile".to_owned()),
        "{agent:?}"
    );
    let plan = client.call("tool/list", json!({ "mode": "plan" })).await;
    assert_eq!(names(&plan, false), names(&all, true));
    assert!(!names(&plan, false).contains(&"WriteFile".to_owned()));
    assert_eq!(client.call("tool/list", json!({ "mode": "other" })).await, all);
    server.kill().await;
    drop(client.finish().await);
}
