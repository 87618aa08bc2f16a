//! `bobbin exec`: one prompt from a script.

use std::process::{Output, Stdio};

use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::support::{PATIENCE, Workspace};

#[tokio::test]
async fn a_listing_ends_with_0() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("kettle.txt"), "hot").unwrap();
    let output = workspace.run(&["exec", "run `ls -la`"]).await;
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stdout.contains("kettle.txt"), "{stdout}");
}

#[tokio::test]
async fn a_refused_approval_an_unknown_option_and_a_wrong_rule_have_their_own_codes() {
    let workspace = Workspace::new();
    let refused = workspace.run(&["exec", "run `touch one`"]).await;
    let unknown = workspace.run(&["exec", "--no-such-option", "hi"]).await;
    let wrong = workspace.run(&["exec", "--allow", " ", "hi"]).await;
    let codes = [&refused, &unknown, &wrong].map(|output| output.status.code().unwrap());
    assert_eq!(codes, [4, 2, 1]);
    assert!(!workspace.path().join("one").exists());
    for output in [&refused, &wrong] {
        let said = String::from_utf8_lossy(&output.stderr);
        let complaints = said.lines().filter(|line| line.starts_with("bobbin: ")).count();
        assert_eq!(complaints, 1, "{said}");
    }
}

#[tokio::test]
async fn it_joins_the_running_server() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("watcher").await;
    let output = workspace.run(&["exec", "say hello there"]).await;
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("hello there"));
    // Somebody connected to that server hears of its thread.
    client.wait_for("thread/started").await;
}

/// Runs exec with something on stdin.
async fn piped(workspace: &Workspace, args: &[&str], input: &[u8]) -> Output {
    let mut command = workspace.bobbin(args);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writing = tokio::spawn(async move {
        // An exec that refuses does not read to the end.
        drop(stdin.write_all(&input).await);
    });
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    writing.await.unwrap();
    output.unwrap().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test]
async fn an_answer_of_any_size_is_printed_whole() {
    let workspace = Workspace::new();
    let long = "x".repeat(2_200_000);
    let (code, stdout, stderr) =
        said(&piped(&workspace, &["exec", "-"], format!("say {long}").as_bytes()).await);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.trim() == long, "{} letters", stdout.len());
}

#[tokio::test]
async fn stdin_beside_a_prompt_is_a_block_of_it_and_too_much_of_it_is_refused() {
    let workspace = Workspace::new();
    let (_, stdout, _) = said(&piped(&workspace, &["exec", "say", "hello"], b"from a pipe\n").await);
    assert_eq!(stdout, "hello\n\n<stdin>\nfrom a pipe\n</stdin>\n");
    let (code, stdout, stderr) = said(&piped(&workspace, &["exec", "say it"], &vec![b'x'; 5 << 20]).await);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("longer than"), "{stderr}");
    // Nothing was started for it.
    assert!(!stderr.contains("thread_"), "{stderr}");
}

#[tokio::test]
async fn a_prompt_that_the_offline_model_does_not_understand_is_no_success() {
    let workspace = Workspace::new();
    let (code, stdout, _) = said(&workspace.run(&["exec", "make it nicer"]).await);
    assert_eq!(code, Some(3));
    assert!(stdout.contains("make it nicer"), "{stdout}");
}

#[tokio::test]
async fn an_interrupt_by_another_client_is_no_refusal() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut watcher = server.client("watcher").await;
    let running = workspace
        .bobbin(&["exec", "--approve", "run `sleep 60`"])
        .output();
    let interrupting = async {
        let started = watcher.wait_for("thread/started").await;
        let thread = started["params"]["thread"]["id"].clone();
        watcher
            .call("thread/subscribe", json!({ "threadId": thread }))
            .await;
        loop {
            let item = watcher.wait_for("item/started").await;
            if item["params"]["item"]["type"] == "commandExecution" {
                break;
            }
        }
        watcher
            .call("turn/interrupt", json!({ "threadId": thread, "turnId": "" }))
            .await;
    };
    let (output, ()) = tokio::join!(tokio::time::timeout(PATIENCE, running), interrupting);
    let (code, _, stderr) = said(&output.unwrap().unwrap());
    assert_eq!(code, Some(5), "{stderr}");
    assert!(stderr.contains("by another client"), "{stderr}");
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_interrupted() {
    let workspace = Workspace::new();
    let (code, _, stderr) = said(
        &workspace
            .run(&["exec", "--approve", "--timeout", "1s", "run `sleep 60`"])
            .await,
    );
    assert_eq!(code, Some(9), "{stderr}");
}

#[tokio::test]
async fn rules_and_the_sandbox_of_one_run_count_for_that_run_only() {
    let workspace = Workspace::new();
    let (code, _, stderr) = said(
        &workspace
            .run(&["exec", "--allow", "touch *", "run `touch one`"])
            .await,
    );
    assert_eq!(code, Some(0), "{stderr}");
    assert!(workspace.path().join("one").exists());
    let (code, _, stderr) = said(&workspace.run(&["exec", "run `touch two`"]).await);
    assert_eq!(code, Some(4), "{stderr}");
    workspace
        .run(&["exec", "--approve", "--sandbox", "readOnly", "run `touch two`"])
        .await;
    assert!(!workspace.path().join("two").exists());
    let (_, stdout, _) = said(
        &workspace
            .run(&["exec", "--mode", "plan", "--approve", "run `touch two`"])
            .await,
    );
    assert!(stdout.contains("plan mode"), "{stdout}");
}

#[tokio::test]
async fn the_last_thread_goes_on() {
    let workspace = Workspace::new();
    let (code, _, stderr) = said(&workspace.run(&["exec", "say second"]).await);
    assert_eq!(code, Some(0), "{stderr}");
    let thread = stderr
        .lines()
        .find_map(|line| line.strip_prefix("thread "))
        .unwrap();
    let (code, _, stderr) = said(&workspace.run(&["exec", "--last", "say third"]).await);
    assert_eq!(code, Some(0));
    assert!(stderr.contains(&format!("thread {thread}")), "{stderr}");
}

#[tokio::test]
async fn json_lines_end_with_the_result() {
    let workspace = Workspace::new();
    let last = workspace.path().join("last.txt");
    let args = [
        "exec",
        "--json",
        "--output-last-message",
        last.to_str().unwrap(),
        "say hi",
    ];
    let (code, stdout, stderr) = said(&workspace.run(&args).await);
    assert_eq!(code, Some(0), "{stderr}");
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["method"], "bobbin/exec");
    let end = lines.last().unwrap();
    assert_eq!(end["method"], "bobbin/exec/ended");
    assert_eq!(
        (&end["params"]["exitCode"], &end["params"]["answer"]),
        (&json!(0), &json!("hi"))
    );
    assert!(
        lines
            .iter()
            .all(|line| line["method"] != "item/agentMessage/delta")
    );
    assert_eq!(std::fs::read_to_string(&last).unwrap(), "hi");
}

#[tokio::test]
async fn an_answer_of_the_wrong_form_is_asked_for_once_more() {
    let text = |text: &str| Reply::of([Part::Text(text.into())]);
    let script = Script {
        replies: vec![
            text("two"),
            text("```json\n{\"cups\":2}\n```"),
            text("no"),
            text("{}"),
        ],
        models: vec!["scripted".into()],
        key: None,
        ..Script::default()
    };
    let server = ModelServer::start(script).await.unwrap();
    let workspace = Workspace::new();
    workspace.configure(&json!({
        "Model": "script/scripted",
        "Titles": { "Enabled": false },
        "Providers": { "script": { "Wire": "chat", "BaseUrl": server.base_url() } },
    }));
    std::fs::write(
        workspace.path().join("form.json"),
        r#"{"type":"object","required":["cups"]}"#,
    )
    .unwrap();
    let args = ["exec", "--output-schema", "form.json", "how many?"];
    let (code, stdout, stderr) = said(&workspace.run(&args).await);
    assert_eq!((code, stdout.as_str()), (Some(0), "{\"cups\":2}\n"), "{stderr}");
    let (code, stdout, stderr) = said(&workspace.run(&args).await);
    assert_eq!((code, stdout.as_str()), (Some(8), ""), "{stderr}");
    assert!(stderr.contains("cups"), "{stderr}");
    assert_eq!(server.asked_count(), 4);
}

#[tokio::test]
async fn the_answer_of_another_model_is_noted() {
    let script = Script {
        replies: vec![Reply::error(500, "server_error", "broken"); 8],
        models: vec!["scripted".into()],
        key: None,
        ..Script::default()
    };
    let server = ModelServer::start(script).await.unwrap();
    let workspace = Workspace::new();
    workspace.configure(&json!({
        "Model": "script/scripted",
        "Fallbacks": ["offline"],
        "Providers": { "script": { "Wire": "chat", "BaseUrl": server.base_url() } },
    }));
    let (_, _, stderr) = said(&workspace.run(&["exec", "say hi"]).await);
    assert!(stderr.contains("script/scripted"), "{stderr}");
    // As it waits, and only once for each attempt.
    assert_eq!(stderr.matches("Retrying in 1 s (2 of 4)").count(), 1, "{stderr}");
}

#[tokio::test]
async fn a_guard_with_a_mistake_refuses_its_calls_and_each_failure_names_its_call() {
    let call = |id: &str, tool: &str, arguments| ScriptedCall {
        id: id.into(),
        tool: tool.into(),
        arguments,
    };
    let calls = vec![
        call("c1", "Exec", json!({ "command": "touch cup" })),
        call("c2", "ReadFile", json!({ "path": "kettle.txt" })),
    ];
    let script = Script {
        replies: vec![
            Reply::of([Part::Calls(calls)]),
            Reply::of([Part::Text("Done.".into())]),
        ],
        models: vec!["scripted".into()],
        ..Script::default()
    };
    let server = ModelServer::start(script).await.unwrap();
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("kettle.txt"), "hot").unwrap();
    workspace.configure(&json!({
        "Model": "script/scripted",
        "Titles": { "Enabled": false },
        "Providers": { "script": { "Wire": "chat", "BaseUrl": server.base_url() } },
        "Hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [
            { "type": "command", "command": "exit 2", "timeout": "5s" },
        ] }] },
    }));
    let (code, stdout, stderr) = said(&workspace.run(&["exec", "--approve", "go"]).await);
    assert_eq!((code, stdout.as_str()), (Some(0), "Done.\n"), "{stderr}");
    let failed: Vec<&str> = stderr.lines().filter(|line| line.contains("failed: ")).collect();
    let [failed] = failed[..] else {
        panic!("{stderr}");
    };
    assert!(
        failed.starts_with("  failed: Exec touch cup: refused: "),
        "{failed}"
    );
    assert!(failed.contains("PreToolUse[0].hooks[0].timeout"), "{failed}");
    assert!(!workspace.path().join("cup").exists());
}
