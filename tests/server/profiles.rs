//! Subagents that are command lines of other programs, over the real binary.

use std::os::unix::fs::PermissionsExt as _;

use bobbin_testkit::{Client, ModelServer, Part, Reply, Script, ScriptedCall};
use serde_json::{Value, json};

use crate::support::{Workspace, agent_text};

fn call(tool: &str, arguments: Value) -> Reply {
    Reply::of([Part::Call(ScriptedCall {
        id: format!("{tool}-1"),
        tool: tool.into(),
        arguments,
    })])
}

/// Returns a workspace whose model is `model`, and whose profiles are shell scripts.
fn workspace(model: &ModelServer, profiles: &[(&str, &str, Value)]) -> Workspace {
    let workspace = Workspace::new();
    let mut section = json!({});
    for (name, script, more) in profiles {
        let path = workspace.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        section[name] = json!({ "runtime": "cli-oneshot", "bin": format!("./{name}") });
        let entry = section[name].as_object_mut().unwrap();
        entry.extend(more.as_object().unwrap().clone());
    }
    workspace.configure(&json!({
        "Providers": { "script": { "Wire": "chat", "BaseUrl": model.base_url() } },
        "Model": "script/scripted", "Titles": { "Enabled": false },
        "Permissions": { "DefaultApprovalPolicy": "autoApprove" },
        "Sandbox": { "Profile": "full" },
        "SubAgent": { "EnableExternalCliSessionResume": true },
        "SubAgentProfiles": section,
    }));
    workspace
}

/// Runs a Turn to its end.
async fn turn(client: &mut Client, thread: &str) -> Value {
    client.start_turn(thread, "Go.").await;
    let ended = client
        .find("the turn ends", |message| {
            message["method"] == "turn/completed" && message["params"]["threadId"] == thread
        })
        .await;
    ended["params"]["turn"].clone()
}

/// Returns the results of the calls of a tool in a Turn.
fn results<'a>(turn: &'a Value, part: &str) -> Vec<&'a str> {
    let items = turn["items"].as_array().unwrap().iter();
    let results = items.filter(|item| item["type"] == "toolResult");
    let results = results.map(|item| item["payload"]["result"].as_str().unwrap());
    results.filter(|result| result.contains(part)).collect()
}

#[tokio::test]
async fn command_lines_answer_in_each_format_and_fail_in_words() {
    let json = json!({ "outputFormat": "json", "outputJsonPath": "result", "supportsResume": true,
        "resumeArgTemplate": "--resume {sessionId}", "resumeSessionIdJsonPath": "id",
        "outputInputTokensJsonPath": "used" });
    let profiles = [
        ("text", "echo \"text $*\"; echo noise >&2", json!({})),
        (
            "json",
            "echo noise; echo \"{\\\"result\\\":\\\"json $*\\\",\\\"id\\\":\\\"s-1\\\",\\\"used\\\":7}\"",
            json,
        ),
        ("stdin", "echo \"stdin $(cat)\"", json!({ "inputMode": "stdin" })),
        (
            "env",
            "echo \"env $TASK\"",
            json!({ "inputMode": "env", "inputEnvKey": "TASK" }),
        ),
        (
            "file",
            "echo noise; echo file > \"$2\"",
            json!({ "outputFileArgTemplate": "-o {path}" }),
        ),
        ("login", "echo 'no key' >&2; exit 3", json!({})),
        ("slow", "echo started; sleep 600", json!({ "timeout": 1 })),
        ("flood", "yes | head -c 3000000", json!({ "maxOutputBytes": 100 })),
        (
            "mute",
            "echo '{}'",
            json!({ "outputFormat": "json", "outputJsonPath": "result" }),
        ),
    ];
    let mut replies = Vec::new();
    for (name, ..) in &profiles {
        let spawn = json!({ "agentPrompt": "boil it", "agentNickname": name, "profile": name });
        replies.push(call("SpawnAgent", spawn));
        replies.push(call("WaitAgent", json!({ "agents": [name] })));
    }
    replies.push(call("SendInput", json!({ "agent": "json", "input": "again" })));
    replies.push(call("WaitAgent", json!({ "agents": ["json"] })));
    replies.push(Reply::of([Part::Text("Done.".into())]));
    let model = ModelServer::start(Script::of(replies)).await.unwrap();
    let workspace = workspace(&model, &profiles);
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = client.start_thread().await;
    let turn = turn(&mut client, &thread).await;
    assert_eq!(agent_text(&turn), "Done.");
    for (name, answer) in [
        ("text", "finished\ntext boil it\nnoise"),
        ("json", "finished\njson boil it"),
        ("stdin", "finished\nstdin boil it"),
        ("env", "finished\nenv boil it"),
        ("file", "finished\nfile"),
        ("login", "failed: exit code 3\nno key"),
        ("slow", "failed: killed after 1000 ms, its time limit\nstarted"),
        ("flood", "bytes left out"),
        ("mute", "no JSON with 'result'"),
        ("json", "finished\njson --resume s-1 again"),
    ] {
        let found = results(&turn, answer);
        assert!(
            found.iter().any(|found| found.starts_with(name)),
            "{name}: {turn:#}"
        );
    }
    assert!(
        turn["tokenUsage"]["inputTokens"].as_u64().unwrap() >= 14,
        "{turn}"
    );
    let all = json!({ "parentThreadId": thread, "includeClosed": true });
    let children = client.call("subagent/children/list", all).await;
    let edge = &children["data"][0]["edge"];
    assert_eq!(
        (&edge["profileName"], &edge["runtimeType"]),
        (&json!("text"), &json!("cli-oneshot"))
    );
}

#[tokio::test]
async fn a_killed_server_leaves_no_command_and_the_turn_above_says_so() {
    let spawn = json!({ "agentPrompt": "boil it", "agentNickname": "kettle", "profile": "kettle" });
    let model = ModelServer::start(Script::of([
        call("SpawnAgent", spawn),
        call("WaitAgent", json!({})),
        // After the restart.
        call("WaitAgent", json!({ "agents": ["kettle"] })),
        Reply::of([Part::Text("It was cut.".into())]),
    ]))
    .await
    .unwrap();
    let script = "echo $$ > pid.new; mv pid.new pid; sleep 600";
    let workspace = workspace(&model, &[("kettle", script, json!({}))]);
    let mut server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "Go.").await;
    let pid = workspace.path().join("pid");
    let started = async {
        loop {
            if let Ok(text) = std::fs::read_to_string(&pid) {
                return text.trim().parse::<i32>().unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    let pid = tokio::time::timeout(std::time::Duration::from_mins(1), started)
        .await
        .unwrap();
    model.until_asked(2).await;
    server.kill_now().await;

    let server = workspace.web_socket();
    let mut client = server.client("me again").await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let ended = client
        .find("the turn ends", |message| {
            message["method"] == "turn/completed" && message["params"]["threadId"] == thread.as_str()
        })
        .await;
    let turn = &ended["params"]["turn"];
    assert_eq!(agent_text(turn), "It was cut.");
    assert!(
        !results(turn, "failed\ninterrupted_by_restart").is_empty(),
        "{turn:#}"
    );
    let process = nix::unistd::Pid::from_raw(pid);
    let gone = async {
        while nix::sys::signal::kill(process, None).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_mins(1), gone)
        .await
        .expect("the command is still there");
}
