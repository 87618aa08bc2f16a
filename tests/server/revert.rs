//! Undoing what a Turn did to files, over the wire and across a crash.

use std::fs;

use serde_json::{Value, json};

use crate::support::{ALONE, Process, Workspace};

/// Runs a Turn to its end, saying yes to what it asks.
async fn run(client: &mut bobbin_testkit::Client, thread: &str, text: &str) -> String {
    let turn = client.start_turn(thread, text).await;
    loop {
        let message = client.next().await.unwrap();
        match message["method"].as_str() {
            Some("item/approval/request") => client.reply(&message, json!({ "decision": "accept" })).await,
            Some("turn/completed") => return turn,
            _ => {}
        }
    }
}

async fn connect(server: &Process, name: &str) -> bobbin_testkit::Client {
    server.client(name).await
}

#[tokio::test]
async fn a_turn_is_undone_over_the_wire_and_everybody_is_told() {
    let workspace = Workspace::new();
    let file = |name: &str| workspace.path().join(name);
    fs::write(file("notes.txt"), "mine\n").unwrap();
    let server = workspace.web_socket();
    let mut client = connect(&server, "one").await;
    let mut other = connect(&server, "two").await;
    let thread = client.start_thread().await;
    let written = run(
        &mut client,
        &thread,
        "read `notes.txt` then write `notes.txt`: the agent's",
    )
    .await;
    let ran = run(
        &mut client,
        &thread,
        "run `echo more >> notes.txt; mkdir out; echo x > out/made`",
    )
    .await;
    assert_eq!(
        fs::read_to_string(file("notes.txt")).unwrap(),
        "the agent's\nmore\n"
    );

    // A client that has seen none of it finds how many files each Turn changed.
    let read = json!({ "threadId": thread, "includeTurns": true });
    let turns = other.call("thread/read", read).await["thread"]["turns"].clone();
    let changed: Vec<&Value> = turns
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| &turn["filesChanged"])
        .collect();
    assert_eq!(changed, [1, 2]);

    // The earlier one alone would lose what the later one did.
    let request = |turn: &str| json!({ "threadId": thread, "turnId": turn, "clientRequestId": turn });
    let error = client.error("turn/revert", request(&written)).await;
    assert_eq!(error["code"], -32603);
    assert_eq!(error["data"]["reason"], "filesChanged");
    assert_eq!(error["data"]["files"], json!(["notes.txt"]));

    // What a command did needs no force either.
    let result = client.call("turn/revert", request(&ran)).await;
    let files = json!([
        { "path": "notes.txt", "action": "restored" },
        { "path": "out/made", "action": "removed" },
    ]);
    assert_eq!(result, json!({ "turnId": ran, "files": files }));
    assert_eq!(fs::read_to_string(file("notes.txt")).unwrap(), "the agent's\n");
    assert!(!file("out").exists());
    let told = other.wait_for("turn/reverted").await;
    assert_eq!(
        told["params"],
        json!({ "threadId": thread, "turnId": ran, "files": files })
    );

    // A crash changes nothing: what was answered is answered again, and what is left is undone.
    server.kill().await;
    let server = workspace.web_socket();
    let mut client = connect(&server, "three").await;
    assert_eq!(client.call("turn/revert", request(&ran)).await["files"], files);
    let result = client.call("turn/revert", request(&written)).await;
    assert_eq!(
        result["files"],
        json!([{ "path": "notes.txt", "action": "restored" }])
    );
    assert_eq!(fs::read_to_string(file("notes.txt")).unwrap(), "mine\n");

    // What a person does is not lost, unless they say so.
    let made = run(&mut client, &thread, "write `new.txt`: x").await;
    fs::write(file("new.txt"), "a person's\n").unwrap();
    let error = client
        .error("turn/revert", json!({ "threadId": thread, "turnId": made }))
        .await;
    assert_eq!(error["data"]["files"], json!(["new.txt"]));
    let forced = json!({ "threadId": thread, "turnId": made, "force": true });
    client.call("turn/revert", forced).await;
    assert!(!file("new.txt").exists());
    assert_eq!(server.terminate().await.code(), Some(0));
}

#[tokio::test]
async fn a_server_that_finds_no_git_does_not_offer_it() {
    let workspace = Workspace::new();
    let mut command = workspace.bobbin(&["app-server", "--listen", ALONE]);
    let mut child = command
        .env("PATH", workspace.path())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let link = bobbin_testkit::Link::lines(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = bobbin_testkit::Client::new(link);
    let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
    let capabilities = client.call("initialize", info).await["capabilities"].clone();
    assert_eq!(capabilities["threadSearch"], true);
    assert_eq!(capabilities["turnRevert"], Value::Null);
    client.notify("initialized", json!({})).await;
    let thread = client.start_thread().await;
    run(&mut client, &thread, "write `a.txt`: x").await;
    let error = client
        .error("turn/revert", json!({ "threadId": thread, "turnId": "turn_001" }))
        .await;
    assert!(
        error["data"]["detail"].as_str().unwrap().contains("git"),
        "{error}"
    );
}

#[tokio::test]
async fn the_diff_of_a_turn_is_read_again_after_a_restart() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = connect(&server, "one").await;
    let thread = client.start_thread().await;
    let wrote = run(&mut client, &thread, "write `glaze.md`: blue").await;
    let said = run(&mut client, &thread, "say done").await;
    server.kill().await;
    let server = workspace.web_socket();
    let mut client = connect(&server, "two").await;
    let of = |turn: &str| json!({ "threadId": thread, "turnId": turn });
    let read = client.call("turn/diff/read", of(&wrote)).await;
    assert!(read["diff"].as_str().unwrap().contains("+blue"), "{read}");
    assert_eq!(read["files"][0]["path"], "glaze.md");
    let nothing = json!({ "diff": "", "files": [], "truncated": false });
    assert_eq!(client.call("turn/diff/read", of(&said)).await, nothing);
    let error = client.error("turn/diff/read", of("x")).await;
    assert_eq!(error["code"], -32602);
}
