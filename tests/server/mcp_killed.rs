//! An MCP server that is killed while a Turn waits for it: what the Turn, its people and its model are told, and that
//! the Turn goes on.

use bobbin_testkit::{Client, ModelServer, Part, Reply, Script, ScriptedCall, tea_server};
use serde_json::{Value, json};

use crate::mcp::{entry, noted, start};
use crate::support::{PATIENCE, Workspace};

/// Returns the number of the process that the pantry runs in.
fn pid(workspace: &Workspace) -> nix::unistd::Pid {
    let number = std::fs::read_to_string(workspace.path().join("pid")).unwrap();
    nix::unistd::Pid::from_raw(number.parse().unwrap())
}

/// Kills the pantry once it has been asked for what it never answers, for this many times.
async fn kill_in_call(workspace: &Workspace, times: usize) {
    let waits = || noted(workspace).iter().filter(|line| *line == "wait").count();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while waits() < times {
        assert!(tokio::time::Instant::now() < deadline, "the call did not come");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    nix::sys::signal::kill(pid(workspace), nix::sys::signal::Signal::SIGKILL).unwrap();
}

fn call(id: &str, tool: &str, arguments: Value) -> Reply {
    Reply::of([Part::Call(ScriptedCall {
        id: id.into(),
        tool: format!("mcp__pantry__{tool}"),
        arguments,
    })])
}

fn say(text: &str) -> Reply {
    Reply::of([Part::Text(text.into())])
}

/// Configures a pantry whose process can be found, and a model.
fn configure(home: &Workspace, workspace: &Workspace, model: &ModelServer) {
    let mut pantry = entry(workspace);
    pantry["env"][tea_server::PID] = json!(workspace.path().join("pid").to_string_lossy());
    home.configure(&json!({
        "Model": "script/scripted",
        "Titles": { "Enabled": false },
        "Providers": { "script": { "Wire": "chat", "BaseUrl": model.base_url() } },
        "McpServers": { "pantry": pantry },
    }));
}

/// Starts a Turn and accepts the first thing that is asked.
async fn start_accepted(client: &mut Client, thread: &str, text: &str) {
    client.start_turn(thread, text).await;
    let asked = client.wait_for("item/approval/request").await;
    client
        .reply(&asked, json!({ "decision": "acceptForSession" }))
        .await;
}

fn items<'a>(turn: &'a Value, kind: &str) -> Vec<&'a Value> {
    let items = turn["params"]["turn"]["items"].as_array().unwrap();
    items.iter().filter(|item| item["type"] == kind).collect()
}

fn results(turn: &Value) -> Vec<(&str, bool)> {
    let results = items(turn, "toolResult").into_iter().map(|item| {
        let payload = &item["payload"];
        (
            payload["result"].as_str().unwrap(),
            payload["success"].as_bool().unwrap(),
        )
    });
    results.collect()
}

const LOST: &str = "the MCP server pantry ended while this call ran; it may have had some or all of its effect, and it \
                    was not repeated";

#[tokio::test]
async fn a_server_killed_in_a_call_costs_that_call_and_the_turn_goes_on_with_the_server_back() {
    let model = ModelServer::start(Script::of([
        call("c1", "wait", json!({})),
        call("c2", "steep", json!({ "minutes": 3 })),
        say("It broke once, and then it steeped."),
        call("c3", "steep", json!({ "minutes": 5 })),
        say("Again."),
    ]))
    .await
    .unwrap();
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(&home, &workspace, &model);
    let (mut child, mut client) = start(&workspace, &home).await;
    let thread = client.start_thread().await;

    start_accepted(&mut client, &thread, "wait, then steep").await;
    kill_in_call(&workspace, 1).await;
    let ended = client.wait_for("turn/completed").await;
    let turn = &ended["params"]["turn"];
    assert_eq!(turn["status"], "completed", "{turn:#}");
    assert_eq!(results(&ended), [(LOST, false), ("steeped for 3 minutes", true)]);
    // The call and its lifecycle are closed Items that say the same.
    let calls = items(&ended, "toolCall");
    assert!(
        calls.iter().all(|call| call["status"] == "completed"),
        "{calls:#?}"
    );
    let ran = items(&ended, "toolExecution");
    let ran: Vec<_> = ran
        .iter()
        .map(|item| (&item["payload"]["status"], &item["payload"]["errorMessage"]))
        .collect();
    assert_eq!(
        ran,
        [
            (&json!("failed"), &json!(LOST)),
            (&json!("completed"), &json!(null))
        ]
    );
    // The model was told as much, and decided.
    assert!(model.asked()[1].body.to_string().contains(LOST));

    // People see the server go and come back.
    let is_broken = |message: &Value| {
        message["method"] == "mcp/status/updated" && message["params"]["server"]["startupState"] == "error"
    };
    let broken = client.find("the server's end", is_broken).await;
    let why = broken["params"]["server"]["lastError"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        why.contains("ended by itself") && why.contains("started again in 1 s"),
        "{why}"
    );

    // The next Turn finds it as if nothing had been.
    client.start_turn(&thread, "steep").await;
    let ended = client.wait_for("turn/completed").await;
    assert_eq!(results(&ended), [("steeped for 5 minutes", true)]);
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
    assert_eq!(
        noted(&workspace),
        ["started", "wait", "started", "steep", "steep", "ended"]
    );
}
