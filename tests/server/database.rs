//! Conversations in a PostgreSQL: what a server does while it is there, and while it is not.

use std::time::Duration;

use bobbin_testkit::{Client, Link, Postgres};
use serde_json::json;

use crate::support::{PATIENCE, Workspace, not_tested, rich};

/// Starts a database, and a workspace whose configuration names it.
fn started(name: &str) -> Option<(Postgres, Workspace)> {
    let Some(server) = Postgres::start() else {
        not_tested("PostgreSQL is not installed in /usr/lib/postgresql");
        return None;
    };
    let workspace = Workspace::new();
    let password = workspace.path().join("password");
    std::fs::write(&password, "sesame\n").unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&password, private).unwrap();
    workspace.configure(&json!({
        "Database": { "Url": server.database(name), "PasswordFile": "~/password" },
    }));
    Some((server, workspace))
}

#[tokio::test]
async fn a_killed_server_goes_on_with_what_the_database_has() {
    let Some((database, workspace)) = started("tea") else {
        return;
    };
    let server = workspace.web_socket();
    let address = server.address().await;
    let mut client = Client::ready(Link::web_socket(&address).await, "db", rich()).await;
    let thread = client.start_thread().await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    client.start_turn(&thread, "say one").await;
    client.wait_for("turn/completed").await;
    client.start_turn(&thread, "run `echo x >> ran`").await;
    client.wait_for("item/approval/request").await;
    drop(client);
    server.kill().await;

    assert!(!workspace.database().exists());
    let turns = database.query("tea", "SELECT count(*) FROM turn WHERE completed_at IS NULL");
    assert_eq!(turns.trim(), "1");
    let server = workspace.web_socket();
    let address = server.address().await;
    let mut client = Client::ready(Link::web_socket(&address).await, "db", rich()).await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = client.call("thread/read", read).await;
    assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 2);
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("ran")).unwrap(),
        "x\n"
    );
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_database_that_is_away_is_told_and_all_goes_on_when_it_is_back() {
    let Some((database, workspace)) = started("away") else {
        return;
    };
    let server = workspace.web_socket();
    let address = server.address().await;
    let mut client = Client::ready(Link::web_socket(&address).await, "db", rich()).await;
    let thread = client.start_thread().await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let turn = client
        .start_turn(
            &thread,
            "run `echo x >> ran; while ! test -e go; do sleep 0.02; done`",
        )
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    while !std::fs::read(workspace.path().join("ran")).is_ok_and(|text| text == b"x\n") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    database.interrupt();
    std::fs::write(workspace.path().join("go"), "").unwrap();
    let start = json!({ "identity": { "channelName": "test" }, "clientRequestId": "refused" });
    let rename = json!({ "threadId": thread, "displayName": "refused" });
    for (method, params) in [("thread/start", start.clone()), ("thread/rename", rename)] {
        let error = client.error(method, params).await;
        assert_eq!(error["code"], -32603, "{method}: {error}");
        assert_eq!(
            error["data"]["reason"], "databaseUnreachable",
            "{method}: {error}"
        );
    }
    // A Thread that can be neither stored nor read is closed, with the connections that follow it.
    drop(client);
    database.resume();
    let open = "SELECT count(*) FROM turn WHERE completed_at IS NULL";
    let ends = async {
        while database.query("away", open).trim() != "0" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let ended = tokio::time::timeout(PATIENCE, ends).await;
    let events = || database.query("away", "SELECT seq, payload FROM event ORDER BY seq");
    assert!(ended.is_ok(), "the Turn goes on by itself: {}", events());
    let mut client = Client::ready(Link::web_socket(&address).await, "db", rich()).await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = client.call("thread/read", read).await;
    let turns = read["thread"]["turns"].as_array().unwrap();
    assert_eq!(
        (&turns[0]["id"], &turns[0]["status"]),
        (&turn.into(), &json!("completed"))
    );
    let ran = std::fs::read_to_string(workspace.path().join("ran")).unwrap();
    assert_eq!(ran, "x\n", "the command is not run again by itself");
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    client.call("thread/start", start).await;
    client.start_turn(&thread, "say after").await;
    client.wait_for("turn/completed").await;
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn doctor_looks_at_the_database_and_says_no_password() {
    let Some((database, workspace)) = started("looked") else {
        return;
    };
    let said = |output: std::process::Output| {
        let both = [output.stdout, output.stderr].concat();
        String::from_utf8(both).unwrap()
    };
    let text = said(workspace.run(&["doctor"]).await);
    assert!(text.contains("/looked: PostgreSQL"), "{text}");
    let refused = said(workspace.run(&["backup", "copy.db"]).await);
    assert!(refused.contains("pg_dump"), "{refused}");
    database.interrupt();
    let away = said(workspace.run(&["doctor"]).await);
    assert!(away.contains("look at Database.Url"), "{away}");
    let started = said(workspace.run(&["exec", "say one"]).await);
    assert!(started.contains("cannot open the database"), "{started}");
    for text in [text, refused, away, started] {
        assert!(!text.contains("sesame"), "{text}");
    }
}
