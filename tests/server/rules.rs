//! Rules from configuration files: what they allow runs, what they refuse does not, and both are explained.

use serde_json::{Value, json};

use crate::support::{Workspace, methods};

fn configured(rules: &Value) -> Workspace {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path().join(".craft")).unwrap();
    let config = json!({ "Permissions": { "Rules": rules } });
    std::fs::write(workspace.path().join(".craft/config.json"), config.to_string()).unwrap();
    workspace
}

fn results(messages: &[Value]) -> Vec<String> {
    let items = messages.iter().map(|message| &message["params"]["item"]);
    let results = items.filter(|item| item["type"] == "toolResult" && item["status"] == "completed");
    results
        .map(|item| item["payload"]["result"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn what_a_rule_allows_runs_unasked_and_what_one_refuses_does_not_run_at_all() {
    let workspace = configured(&json!([
        { "Action": "allow", "Command": "touch *" },
        { "Action": "deny", "Command": "touch secret", "Reason": "it is not yours" },
    ]));
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    // A refusal holds where everything else is accepted, too.
    for policy in ["default", "autoApprove"] {
        let thread = client.start_thread().await;
        let config = json!({ "threadId": thread, "config": { "approvalPolicy": policy } });
        client.call("thread/config/update", config).await;
        client
            .start_turn(&thread, "run `touch one` then run `nice touch secret`")
            .await;
        let seen = client.until("turn/completed").await;
        assert!(
            !methods(&seen).contains(&"item/approval/request"),
            "{:?}",
            methods(&seen)
        );
        let results = results(&seen);
        assert!(results[0].starts_with("exit code 0"), "{results:?}");
        assert!(results[1].contains("it is not yours"), "{results:?}");
    }
    assert!(workspace.path().join("one").exists());
    assert!(!workspace.path().join("secret").exists());
    let explained = client
        .call("policy/explain", json!({ "command": "nice touch secret" }))
        .await;
    assert_eq!(explained["outcome"], "refused");
    assert_eq!(explained["rule"]["text"], "deny command `touch secret`");
    assert!(
        explained["rule"]["source"]
            .as_str()
            .unwrap()
            .ends_with(".craft/config.json")
    );
}

#[tokio::test]
async fn a_rule_that_cannot_be_used_keeps_the_server_from_starting() {
    let workspace = configured(&json!([{ "Action": "deny", "Command": "rm *", "Pth": "x" }]));
    for command in ["serve", "exec"] {
        let prompt: &[&str] = if command == "exec" {
            &["exec", "list the files"]
        } else {
            &["serve"]
        };
        let output = workspace.run(prompt).await;
        assert_eq!(output.status.code(), Some(1), "{command}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            told.contains("Permissions.Rules[0].Pth is not a setting; did you mean Path?"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_judged_is_not_run_where_nobody_is_asked() {
    let workspace = configured(&json!([
        { "Action": "deny", "Command": "rm *" },
        { "Action": "deny", "Path": "secrets/key" },
        { "Action": "deny", "Path": "secrets/out", "Operation": "write" },
    ]));
    std::fs::create_dir(workspace.path().join("secrets")).unwrap();
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let thread = client.start_thread().await;
    let config = json!({ "threadId": thread, "config": { "approvalPolicy": "autoApprove" } });
    client.call("thread/config/update", config).await;
    let lines = [
        format!("{} rm x", ":;".repeat(257)),
        format!(": {}; rm x", "a ".repeat(4_100)),
        format!("cat {} secrets/key", "sub/a ".repeat(260)),
        format!("cat {} secrets/key", "sub/a ".repeat(1_100)),
        "ls 'a".to_owned(),
        "cat /proc/self/fd/9".to_owned(),
        "cd secrets && echo x > out".to_owned(),
        "cd -- secrets && cat key".to_owned(),
    ];
    for line in lines {
        let explained = client
            .call("policy/explain", json!({ "command": line, "threadId": thread }))
            .await;
        assert_eq!(explained["outcome"], "refused", "{line}: {explained}");
    }
    client.start_turn(&thread, "run `touch done; ls 'a`").await;
    let seen = client.until("turn/completed").await;
    let results = results(&seen);
    assert!(
        results[0].contains("cannot be held against the rules"),
        "{results:?}"
    );
    assert!(!workspace.path().join("done").exists());
    assert!(!workspace.path().join("secrets/out").exists());
    let config = json!({ "threadId": thread, "config": { "approvalPolicy": "default" } });
    client.call("thread/config/update", config).await;
    let explained = client
        .call(
            "policy/explain",
            json!({ "command": "ls 'a", "threadId": thread }),
        )
        .await;
    assert_eq!(explained["outcome"], "asks", "{explained}");
}
