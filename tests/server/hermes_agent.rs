//! The agent and an HL7 message under the whole binary: what stays out of logs, and what remains of a deleted Thread.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};

use crate::support::{ALONE, Workspace, rich};

const MESSAGE: &str =
    "MSH|^~\\&|LAB|||20260101||ADT^A01|1|P|2.5\rPID|1||471147||QUARTERMAIN^ZENOBIA||19610203\r";
/// Values of the message, and one that the agent writes.
const VALUES: [&str; 5] = ["QUARTERMAIN", "ZENOBIA", "471147", "19610203", "XANTHIPPE"];

/// The process of an extension. Its command sets a place.
#[test]
#[ignore = "not a test: the process that the others speak with"]
fn extension() {
    let mut output = std::fs::OpenOptions::new()
        .write(true)
        .open("/proc/self/fd/3")
        .unwrap();
    let mut send = |message: &Value| {
        let body = message.to_string();
        write!(output, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    };
    let mut input = std::io::stdin().lock();
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if input.read(&mut byte).unwrap() == 0 {
                return;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .unwrap();
        let mut body = vec![0; length.trim().parse().unwrap()];
        input.read_exact(&mut body).unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap();
        match message["method"].as_str() {
            Some("initialize") => {
                let about = json!({ "name": "lab", "version": "1", "capabilities": { "commands": ["lab/fill", "lab/idle"] } });
                send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": about }));
            }
            Some("command/execute") if message["params"]["command"] == "lab/fill" => {
                let params = json!({ "patches": [{ "path": "PID.8", "value": "F" }] });
                send(
                    &json!({ "jsonrpc": "2.0", "id": 1, "method": "editor/patchMessage", "params": params }),
                );
            }
            Some("shutdown") => {
                send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} }));
                return;
            }
            _ => {}
        }
    }
}

fn entry() -> Value {
    let exe = std::env::current_exe().unwrap();
    let line = "exec \"$0\" hermes_agent::extension --exact --ignored --nocapture 3>&1 >/dev/null";
    json!({ "Name": "Lab", "Path": "/bin/sh", "Args": ["-c", line, exe] })
}

/// Finds the files in a directory that have a text in them.
fn with_text(directory: &Path, text: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            with_text(&path, text, found);
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(text.len()).any(|window| window == text.as_bytes())
        {
            found.push(format!("{text} in {}", path.display()));
        }
    }
}

/// Waits until a start has removed what deleted Threads left: it does so once it has nothing else to write.
async fn wait_until_removed(state: &Path) {
    for _ in 0..1000 {
        let mut left = Vec::new();
        for value in VALUES {
            with_text(state, value, &mut left);
        }
        if left.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn values_of_a_message_are_in_no_log_and_go_with_their_thread() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "HermesExtensions": [entry()] }));
    let logs = tempfile::tempdir().unwrap();
    let log = logs.path().join("bobbin.log");
    let mut command = workspace.bobbin(&[
        "app-server",
        "--listen",
        ALONE,
        "--log-file",
        log.to_str().unwrap(),
    ]);
    command
        .env("BOBBIN_LOG", "trace,bobbin=trace")
        .stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let link = Link::lines(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut shows = rich();
    shows["extensions"]["hermesUi"] = json!({});
    let mut client = Client::ready(link, "me", shows).await;
    let thread = client.start_thread().await;
    client
        .call(
            "hermes/document/open",
            json!({ "threadId": thread, "text": MESSAGE }),
        )
        .await;
    for call in [
        "call `Hl7Get` with {}",
        r#"call `Hl7Get` with {"path": "PID.5"}"#,
        r#"call `Hl7Patch` with {"patches": [{"path": "PID.5.2", "value": "XANTHIPPE"}, {"path": "PID.0", "value": "XANTHIPPE"}]}"#,
        "call `Hl7Validate` with {}",
        r#"call `ExtensionCommand` with {"command": "lab/fill"}"#,
        r#"call `Hl7Patch` with {"patches": "XANTHIPPE"}"#,
    ] {
        client.start_turn(&thread, call).await;
        loop {
            let message = client.next().await.unwrap();
            match message["method"].as_str() {
                Some("item/approval/request") => {
                    client
                        .reply(&message, json!({ "decision": "acceptForSession" }))
                        .await;
                }
                Some("turn/completed") => {
                    assert!(message.to_string().contains("toolResult"), "{message:#}");
                    break;
                }
                _ => {}
            }
        }
    }
    let read = client
        .call("hermes/document/get", json!({ "threadId": thread }))
        .await;
    let text = read["text"].as_str().unwrap();
    assert!(text.contains("|QUARTERMAIN^XANTHIPPE||19610203|F"), "{text}");
    let mut stored = Vec::new();
    with_text(workspace.state(), "ZENOBIA", &mut stored);
    assert!(
        !stored.is_empty(),
        "what the model has read is in the conversation"
    );

    client.call("thread/delete", json!({ "threadId": thread })).await;
    client.wait_for("hermes/document/closed").await;
    let closed = client
        .error("hermes/document/get", json!({ "threadId": thread }))
        .await;
    assert_eq!(closed["data"]["reason"], "notOpen", "{closed}");
    client.finish().await;
    let ended = child.wait_with_output().await.unwrap();
    assert!(ended.status.success());
    let (mut process, link) = workspace.stdio();
    let client = Client::ready(link, "me", rich()).await;
    wait_until_removed(workspace.state()).await;
    client.finish().await;
    assert!(process.exit().await.success());

    let mut found = Vec::new();
    for value in VALUES {
        with_text(logs.path(), value, &mut found);
        with_text(workspace.state(), value, &mut found);
        assert!(!String::from_utf8_lossy(&ended.stderr).contains(value));
    }
    assert_eq!(found, Vec::<String>::new());
    assert!(
        std::fs::metadata(
            std::fs::read_dir(logs.path())
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .path()
        )
        .unwrap()
        .len()
            > 1000
    );
}

#[tokio::test]
async fn an_extension_changes_a_file_from_the_command_line() {
    let workspace = Workspace::new();
    let nothing = workspace.run(&["hermes", "list"]).await;
    let said = String::from_utf8(nothing.stdout).unwrap();
    assert!(
        said.contains("No Hermes extensions are configured") && said.contains("docs/hermes.md"),
        "{said}"
    );

    let broken = json!({ "Name": "Broken", "Path": "/no/such/extension" });
    workspace.configure(&json!({ "HermesExtensions": [entry(), broken] }));
    let file = workspace.path().join("a.hl7");
    std::fs::write(&file, MESSAGE).unwrap();
    let run = async |args: &[&str]| {
        let output = workspace.run(&[&["hermes", "run"], args].concat()).await;
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(said).unwrap())
    };
    let (code, said) = run(&["lab", "lab/fill", "a.hl7", "--output", "b.hl7"]).await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), MESSAGE);
    let other = std::fs::read_to_string(workspace.path().join("b.hl7")).unwrap();
    assert_eq!(other, MESSAGE.replace("||19610203\r", "||19610203|F\r"));
    let (code, said) = run(&["Lab", "lab/fill", "a.hl7"]).await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), other);
    for (args, expected, word) in [
        (
            &["lab", "lab/idle", "a.hl7", "--wait", "1"][..],
            3,
            "has not changed",
        ),
        (&["lab", "lab/none", "a.hl7"], 1, "lab/none"),
        (&["Broken", "x", "a.hl7"], 1, "does not run"),
        (&["ghost", "x", "a.hl7"], 1, "bobbin hermes list"),
        (&["lab", "lab/fill", "none.hl7"], 1, "none.hl7"),
        (&["lab"], 2, "Usage"),
    ] {
        let (code, said) = run(args).await;
        assert_eq!(code, expected, "{args:?}: {said}");
        assert!(said.contains(word), "{args:?}: {said}");
        assert!(VALUES.iter().all(|value| !said.contains(value)), "{said}");
    }
}
