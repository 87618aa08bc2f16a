//! The server's end, by SIGKILL and by SIGTERM, then the same workspace again: what was open goes on either way.

use bobbin_testkit::Client;
use rstest::rstest;
use serde_json::json;

use crate::support::{Process, Workspace};

/// How a server ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Killed,
    Stopped,
}

impl End {
    async fn of(self, server: Process) {
        match self {
            Self::Killed => server.kill().await,
            Self::Stopped => assert!(server.terminate().await.success()),
        }
    }
}

#[rstest]
#[tokio::test]
async fn a_waiting_approval_is_asked_again_and_the_turn_goes_on(
    #[values(End::Killed, End::Stopped)] end: End,
) {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("before").await;
    let thread = client.start_thread().await;
    let turn = client.start_turn(&thread, "run `echo x >> ran`").await;
    client.wait_for("item/approval/request").await;
    end.of(server).await;

    let server = workspace.web_socket();
    let mut client = server.client("after").await;
    let read = client
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    // This client has not said that it knows `waitingApproval`.
    assert_eq!(read["thread"]["turns"][0]["status"], "running");
    assert_eq!(read["thread"]["runtime"]["waitingOnApproval"], true);
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let asked = client.wait_for("item/approval/request").await;
    assert_eq!(asked["params"]["turnId"], turn);
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let done = client.wait_for("turn/completed").await;
    assert_eq!(done["params"]["turn"]["id"], turn);
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("ran")).unwrap(),
        "x\n"
    );
}

#[rstest]
#[tokio::test]
async fn a_command_that_ran_is_gone_and_is_not_run_again(#[values(End::Killed, End::Stopped)] end: End) {
    let workspace = Workspace::new();
    workspace.without_bubblewrap();
    let server = workspace.web_socket();
    let mut client = server.client("before").await;
    let thread = client.start_thread().await;
    client
        .start_turn(
            &thread,
            "run `echo x >> ran; echo $$ > pid; sleep 600 & sleep 600`",
        )
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let pid_file = workspace.path().join("pid");
    while !std::fs::read_to_string(&pid_file).is_ok_and(|pid| pid.ends_with('\n')) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    end.of(server).await;
    let group: i32 = std::fs::read_to_string(&pid_file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let group = nix::unistd::Pid::from_raw(group);
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    while nix::sys::signal::killpg(group, None).is_ok() {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the command's group lives on"
        );
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }

    let server = workspace.web_socket();
    let mut client = server.client("after").await;
    client
        .call(
            "thread/subscribe",
            json!({ "threadId": thread, "replayRecent": true }),
        )
        .await;
    let turns = loop {
        let read = client
            .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
            .await;
        if read["thread"]["runtime"]["running"] == false {
            break read["thread"]["turns"].clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let items = turns[0]["items"].as_array().unwrap();
    let result = items.iter().find(|item| item["type"] == "toolResult").unwrap();
    assert_eq!(result["payload"]["success"], false);
    assert!(
        result["payload"]["result"]
            .as_str()
            .unwrap()
            .contains("interrupted_by_restart")
    );
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("ran")).unwrap(),
        "x\n"
    );
}

#[rstest]
#[tokio::test]
async fn an_end_at_any_time_loses_nothing_acknowledged_and_leaves_no_turn_running(
    #[values(End::Killed, End::Stopped)] end: End,
) {
    let workspace = Workspace::new();
    // Moments spread over a short turn, from before its first commit to after its last.
    for round in 0..12u64 {
        let server = workspace.web_socket();
        let mut client = server.client("before").await;
        let thread = client.start_thread().await;
        let input = json!([{ "type": "text", "text": "repeat 2000 word" }]);
        let id = client
            .request("turn/start", json!({ "threadId": thread, "input": input }))
            .await;
        tokio::time::sleep(std::time::Duration::from_millis(round * 4)).await;
        end.of(server).await;
        let seen = client.finish().await;
        // A server that stops may refuse it.
        let acknowledged = seen.iter().any(|m| m.get("result").is_some() && m["id"] == id);

        let server = workspace.web_socket();
        let mut client = server.client("after").await;
        let turns = loop {
            let read = client
                .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
                .await;
            if read["thread"]["runtime"]["running"] == false {
                break read["thread"]["turns"].as_array().unwrap().clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        };
        assert!(
            !acknowledged || turns.len() == 1,
            "round {round}: the acknowledged turn is gone"
        );
        for turn in &turns {
            assert_eq!(turn["status"], "completed", "round {round}");
            for shown in seen.iter().filter(|m| m["method"] == "item/completed") {
                let item = &shown["params"]["item"];
                let stored = turn["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|known| known["id"] == item["id"]);
                assert_eq!(stored, Some(item), "round {round}: what was shown is stored");
            }
        }
        server.kill().await;
    }
}

/// As by a child that was being started when the server ended: it has the server's files until its program runs.
#[tokio::test]
async fn a_workspace_that_nobody_says_to_hold_is_served_once_its_lock_is_free() {
    let workspace = Workspace::new();
    let folder = workspace.state_folder();
    std::fs::create_dir_all(&folder).unwrap();
    let lock = std::fs::File::create(folder.join("bobbin.lock")).unwrap();
    lock.lock().unwrap();
    let server = workspace.web_socket();
    // Long after it is there, and long before it gives up.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    drop(lock);
    server.client("after").await;
}

#[tokio::test]
async fn changes_of_a_document_that_were_answered_are_there_after_a_kill_and_go_with_the_thread() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "HermesExtensions": [] }));
    let server = workspace.web_socket();
    let mut client = server.client("before").await;
    let thread = client.start_thread().await;
    let message = "MSH|^~\\&|LAB\rPID|1||4711\r";
    let open = json!({ "threadId": thread, "text": message });
    client.call("hermes/document/open", open).await;
    for value in ["4712", "4713"] {
        let patch = json!({ "threadId": thread, "patches": [{ "path": "PID.3", "value": value }] });
        client.call("hermes/document/patch", patch).await;
    }
    server.kill().await;

    let server = workspace.web_socket();
    let mut client = server.client("after").await;
    let read = client
        .call("hermes/document/get", json!({ "threadId": thread }))
        .await;
    assert_eq!(read["text"], "MSH|^~\\&|LAB\rPID|1||4713\r");
    client.call("thread/delete", json!({ "threadId": thread })).await;
    server.kill().await;

    let server = workspace.web_socket();
    let mut client = server.client("last").await;
    let listed = client.call("hermes/document/list", json!({})).await;
    assert_eq!(listed["documents"], json!([]));
    server.kill().await;
}

#[tokio::test]
async fn changes_of_a_document_stay_with_their_workspace() {
    let (one, other) = (Workspace::new(), Workspace::new());
    one.configure(&json!({ "HermesExtensions": [] }));
    other.configure(&json!({ "HermesExtensions": [] }));
    let server = one.web_socket();
    let mut client = server.client("one").await;
    let thread = client.start_thread().await;
    let open = json!({ "threadId": thread, "text": "MSH|^~\\&|LAB\r" });
    client.call("hermes/document/open", open).await;
    server.kill().await;

    // All workspaces of a user have one state directory.
    let (process, link) = other.stdio_with_state_of(&one);
    let mut client = Client::ready(link, "other", json!({})).await;
    let listed = client.call("hermes/document/list", json!({})).await;
    assert_eq!(listed["documents"], json!([]));
    process.kill().await;

    let server = one.web_socket();
    let mut client = server.client("one again").await;
    let listed = client.call("hermes/document/list", json!({})).await;
    assert_eq!(listed["documents"][0]["threadId"], thread);
    server.kill().await;
}
