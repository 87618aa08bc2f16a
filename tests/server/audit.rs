//! The audit: who did what, in a chain that shows what is missing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::people::{admit, client, has_bubblewrap, requests, run};
use crate::support::Workspace;

/// Requests that need the right to approve or to own, and are not in the audit.
const LEFT_OUT: [&str; 34] = [
    "alert/test",
    "audit/cut",
    "audit/list",
    "config/read",
    "device/list",
    "doctor/run",
    "externalChannel/get",
    "externalChannel/list",
    "externalChannel/logs",
    "forward/list",
    "git/fetch/plan",
    "git/pullRequest/plan",
    "git/push/plan",
    "hermes/document/change",
    "hermes/document/close",
    "hermes/document/open",
    "hermes/document/patch",
    "hermes/document/redo",
    "hermes/document/set",
    "hermes/document/undo",
    "hooks/list",
    "mcp/get",
    "mcp/list",
    "mcp/prompt/get",
    "mcp/resource/list",
    "mcp/resource/read",
    "mcpServer/resource/read",
    "provider/list",
    "shell/attach",
    "shell/detach",
    "shell/list",
    "shell/resize",
    "shell/write",
    "subagent/profiles/list",
];

/// Returns the entries that `bobbin audit` prints.
async fn entries(workspace: &Workspace, args: &[&str]) -> Vec<Value> {
    let printed = run(workspace, &[&["audit", "--json"], args].concat()).await;
    let lines = printed.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.map(|row: Value| row["entry"].clone()).collect()
}

#[tokio::test]
async fn who_did_what_is_on_record_outlives_its_thread_and_is_verified() {
    let workspace = Workspace::asking();
    if !has_bubblewrap(&workspace).await {
        return;
    }
    let server = workspace.web_socket();
    let mut me = server.client("me").await;
    let mut author = client(&server, &admit(&workspace, "au", "author").await, "writing").await;
    let mut approver = client(&server, &admit(&workspace, "ap", "approver").await, "deciding").await;
    let thread = author.start_thread().await;
    approver
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    author.start_turn(&thread, "run `echo secret-text >> ran`").await;
    let asked = approver.wait_for("item/approval/request").await;
    approver
        .reply(&asked, json!({ "decision": "acceptForSession" }))
        .await;
    approver.until("turn/completed").await;
    author
        .start_turn(&thread, "run `echo declined-text >> ran`")
        .await;
    let asked = approver.wait_for("item/approval/request").await;
    approver.reply(&asked, json!({ "decision": "decline" })).await;
    approver.until("turn/completed").await;
    let command = json!({ "threadId": thread, "command": "echo typed-by-hand" });
    approver.call("thread/shellCommand", command).await;
    approver.until("turn/completed").await;
    me.call("thread/delete", json!({ "threadId": thread })).await;

    let all = entries(&workspace, &[]).await;
    let name = |entry: &Value| entry["actor"]["name"].as_str().map(str::to_owned);
    let said: Vec<_> = all
        .iter()
        .map(|entry| (name(entry), entry["deed"].clone()))
        .collect();
    let [au, ap] = ["au", "ap"].map(|name| Some(name.to_owned()));
    let settled = &said[1].1["answered"];
    assert_eq!(
        (
            &said[0].0,
            &said[1].0,
            &settled["decision"],
            &settled["operation"]
        ),
        (
            &au,
            &ap,
            &json!("acceptForSession"),
            &json!("echo secret-text >> ran")
        )
    );
    assert!(
        settled["rule"].as_str().unwrap().starts_with("shell:"),
        "{settled}"
    );
    let declined = &said[3].1["answered"];
    assert_eq!(declined["decision"], "decline");
    let whole = json!(all).to_string();
    assert!(!whole.contains("declined-text"), "{whole}");
    let names: Vec<_> = said[4..]
        .iter()
        .map(|(name, deed)| {
            let deed = deed.as_object().unwrap().iter().next().unwrap();
            (name.clone(), deed.0.clone(), deed.1.clone())
        })
        .collect();
    let requested = |method: &str| json!({ "method": method });
    assert_eq!(
        names[0],
        (ap.clone(), "requested".into(), requested("thread/shellCommand"))
    );
    assert_eq!(
        (&names[1].0, &names[1].2["command"]),
        (&ap, &json!("echo typed-by-hand"))
    );
    let last = names.last().unwrap();
    assert_eq!((&last.0, &last.2), (&None, &requested("thread/delete")));

    assert_eq!(entries(&workspace, &["--actor", "au"]).await.len(), 2);
    assert_eq!(entries(&workspace, &["--actor", "owner"]).await.len(), 1);
    assert_eq!(entries(&workspace, &["--thread", &thread]).await.len(), all.len());
    assert_eq!(entries(&workspace, &["--thread", "thread_none"]).await.len(), 0);
    assert_eq!(entries(&workspace, &["--until", "1d"]).await.len(), 0);
    assert_eq!(entries(&workspace, &["--since", "1d"]).await.len(), all.len());
    let shown = run(&workspace, &["audit"]).await;
    assert!(shown.contains("ap  ran `echo typed-by-hand`"), "{shown}");
    let whole = format!("up to entry {}.", all.len());
    assert!(run(&workspace, &["audit", "verify"]).await.contains(&whole));
}

#[tokio::test]
async fn what_is_old_is_cut_and_a_changed_entry_is_noticed() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut me = server.client("me").await;
    for _ in 0..3 {
        me.call("approval/rules/remove", json!({})).await;
    }
    for args in [
        &["audit", "cut", "--before", "1d"][..],
        &["audit", "--since", "soon"],
    ] {
        assert!(!workspace.run(args).await.status.success(), "{args:?}");
    }
    let now = "2999-01-01";
    run(&workspace, &["audit", "cut", "--before", now]).await;
    let left = entries(&workspace, &[]).await;
    assert_eq!((left.len(), &left[0]["deed"]["cut"]["upTo"]), (1, &json!(3)));
    assert!(
        run(&workspace, &["audit", "verify"])
            .await
            .contains("Nothing is missing")
    );

    // A program changes the database.
    me.call("approval/rules/remove", json!({})).await;
    server.kill().await;
    let address = format!("sqlite:{}", workspace.database().display());
    let database = sqlx::SqlitePool::connect(&address);
    let database = database.await.unwrap();
    let change =
        "UPDATE audit SET entry = replace(entry, 'rules', 'rule') WHERE seq = (SELECT max(seq) FROM audit)";
    sqlx::query(change).execute(&database).await.unwrap();
    database.close().await;
    let found = workspace.run(&["audit", "verify"]).await;
    let errors = String::from_utf8_lossy(&found.stderr);
    assert!(
        !found.status.success() && errors.contains("was changed"),
        "{errors}"
    );
}

#[tokio::test]
async fn every_request_that_takes_the_right_to_approve_is_named_but_those_that_read() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let token = admit(&workspace, "me", "owner").await;
    let mut owner = client(&server, &token, "me").await;
    let mut expected: BTreeSet<String> = BTreeSet::new();
    for row in requests() {
        let (method, need) = (row["method"].as_str().unwrap(), row["need"].as_str().unwrap());
        owner.answer_to(method, json!({})).await;
        let is_named = need == "approve"
            || need == "own"
            || ["thread/config/update", "turn/interrupt"].contains(&method);
        if is_named && !LEFT_OUT.contains(&method) {
            expected.insert(method.to_owned());
        }
    }
    let named = entries(&workspace, &["--actor", "me"]).await;
    let named: BTreeSet<String> = named
        .iter()
        .filter_map(|entry| entry["deed"]["requested"]["method"].as_str())
        .map(str::to_owned)
        .collect();
    assert_eq!(named, expected);
    let known: Vec<_> = requests().iter().map(|row| row["method"].clone()).collect();
    for method in LEFT_OUT {
        assert!(known.contains(&json!(method)), "{method}");
    }
}
