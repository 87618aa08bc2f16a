//! Conversations in a PostgreSQL: what a server does while it is there, and while it is not.

use std::time::Duration;

use bobbin_testkit::{Client, Link, Postgres};
use serde_json::json;

use crate::support::{PATIENCE, Workspace, not_tested, rich};
use crate::web_socket::http;

/// Seconds of the shortest lease.
const LEASE: u64 = 3;

/// Starts a database, and a workspace whose configuration names it.
fn started(name: &str) -> Option<(Postgres, Workspace)> {
    let Some(server) = Postgres::start() else {
        not_tested("PostgreSQL is not installed in /usr/lib/postgresql");
        return None;
    };
    let workspace = with_database(&server.database(name), LEASE);
    Some((server, workspace))
}

/// Returns a workspace whose configuration names a database, as on a machine of its own.
fn with_database(address: &str, lease: u64) -> Workspace {
    let workspace = Workspace::new();
    connect(&workspace, address, lease, None);
    workspace
}

/// Names a database in a machine's configuration, and where other nodes reach the one there.
fn connect(workspace: &Workspace, address: &str, lease: u64, node: Option<&str>) {
    let password = workspace.path().join("password");
    std::fs::write(&password, "sesame\n").unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&password, private).unwrap();
    workspace.configure(&json!({
        "Database": { "Url": address, "PasswordFile": "~/password", "LeaseSeconds": lease, "NodeAddress": node },
    }));
}

/// Starts a Turn with a command that writes a byte again and again, and returns once it does.
async fn beating(client: &mut Client, workspace: &Workspace) -> String {
    let thread = client.start_thread().await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    client
        .start_turn(&thread, "run `while sleep 0.02; do printf x >> beat; done`")
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    while beats(workspace) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    thread
}

fn beats(workspace: &Workspace) -> u64 {
    let beat = std::fs::metadata(workspace.path().join("beat"));
    beat.map_or(0, |beat| beat.len())
}

/// Waits until the command of [`beating`] writes nothing more.
async fn silent(workspace: &Workspace) {
    let silence = async {
        loop {
            let before = beats(workspace);
            tokio::time::sleep(Duration::from_millis(300)).await;
            if beats(workspace) == before {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, silence)
        .await
        .expect("the command ends");
}

fn signal(pid: u32, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
}

#[tokio::test]
async fn another_machine_goes_on_with_the_turns_of_one_that_is_frozen() {
    let Some((database, one)) = started("frozen") else {
        return;
    };
    let other = with_database(&database.address("frozen"), LEASE);
    let mut frozen = one.web_socket();
    let mut client = frozen.client("db").await;
    let thread = beating(&mut client, &one).await;
    assert!(
        one.run(&["workspace", "add", "--name", "tea"])
            .await
            .status
            .success()
    );
    let listed = one.run(&["workspace", "list", "--json"]).await.stdout;
    let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
    let id = listed["id"].as_str().unwrap();
    let unknown = "3f2a7c10-9d0b-4c1e-8a55-0d7b6c0e1f2b";
    let refused = other.run(&["workspace", "add", "--join", unknown]).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && said.contains(id), "{said}");
    let join = ["workspace", "add", "--join", id];
    assert!(other.run(&join).await.status.success());
    let refused = other.run(&["exec", "say one"]).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("serves this workspace"), "{said}");
    assert_eq!(refused.status.code(), Some(10), "{said}");

    signal(frozen.pid(), nix::sys::signal::Signal::SIGSTOP);
    silent(&one).await;
    let over = async {
        while !frozen.is_over() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, over)
        .await
        .expect("the kernel ends it");
    let server = loop {
        let mut server = other.web_socket();
        if server.listening().await.is_some() {
            break server;
        }
    };
    let mut client = server.client("db").await;
    let turn = async {
        loop {
            let read = json!({ "threadId": thread, "includeTurns": true });
            let read = client.call("thread/read", read).await;
            let turn = read["thread"]["turns"][0].clone();
            if turn["status"] != "running" {
                break (turn, read["thread"]["workspacePath"].clone());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let (turn, path) = tokio::time::timeout(PATIENCE, turn).await.unwrap();
    assert_eq!(turn["status"], "completed", "{turn}");
    assert_eq!(path, other.path().canonicalize().unwrap().to_str().unwrap());
    assert!(
        !other.path().join("beat").exists(),
        "the command is not run again"
    );
    let fences = database.query(
        "frozen",
        "SELECT string_agg(DISTINCT fence::text, ',') FROM event",
    );
    assert_eq!(fences.trim(), "1,2");
    assert!(server.terminate().await.success());
    // One that ends in order makes room at once.
    let server = one.web_socket();
    server.client("db").await;
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_database_that_is_away_for_longer_than_the_lease_ends_commands_and_nothing_else() {
    let Some((database, workspace)) = started("long") else {
        return;
    };
    let server = workspace.web_socket();
    let mut client = server.client("db").await;
    let thread = beating(&mut client, &workspace).await;
    database.interrupt();
    silent(&workspace).await;
    // The connections that followed the Thread are closed.
    drop(client);
    let mut client = server.client("db").await;
    let error = client.error("thread/read", json!({ "threadId": thread })).await;
    assert_eq!(error["data"]["reason"], "notHeld", "{error}");
    drop(client);
    database.resume();
    let open = "SELECT count(*) FROM turn WHERE completed_at IS NULL";
    let ends = async {
        while database.query("long", open).trim() != "0" {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ends)
        .await
        .expect("the Turn goes on");
    let mut client = server.client("db").await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    client.start_turn(&thread, "run `echo back > back`").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    assert!(workspace.path().join("back").exists(), "commands run again");
    assert!(server.terminate().await.success());
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
    let Some((database, _)) = started("away") else {
        return;
    };
    let workspace = with_database(&database.address("away"), 60);
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
async fn conversations_are_copied_there_and_back_and_go_on() {
    let Some((database, workspace)) = started("copied") else {
        return;
    };
    let address = database.address("copied");
    let without = || workspace.configure(&json!({}));
    let read = async |server: &crate::support::Process, thread: &str| {
        let read = json!({ "threadId": thread, "includeTurns": true });
        let mut read = server.client("db").await.call("thread/read", read).await;
        read["thread"]["turns"].take()
    };
    without();
    let server = workspace.web_socket();
    let mut client = server.client("db").await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "say one").await;
    client.wait_for("turn/completed").await;
    client.start_turn(&thread, "run `echo x > ran`").await;
    client.wait_for("item/approval/request").await;
    let refused = workspace.run(&["state", "copy", "--to", "postgres"]).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("serve"), "a server runs: {said}");
    drop(client);
    server.kill().await;
    let refused = workspace.run(&["state", "copy", "--to", "postgres"]).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("Database.Url"), "{said}");

    connect(&workspace, &address, LEASE, None);
    let copied = workspace.run(&["state", "copy", "--to", "postgres"]).await;
    let said = String::from_utf8(copied.stdout).unwrap();
    assert!(said.contains("Copied 1 conversations"), "{said}");
    let server = workspace.web_socket();
    let mut client = server.client("db").await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    let turns = read(&server, &thread).await;
    assert!(server.terminate().await.success());

    let copied = workspace.run(&["state", "copy", "--to", "sqlite"]).await;
    assert!(copied.status.success(), "{copied:?}");
    without();
    let server = workspace.web_socket();
    assert_eq!(read(&server, &thread).await, turns);
    assert!(server.terminate().await.success());

    // What a backup has is taken in on PostgreSQL as well, as finished history.
    let backup = workspace.run(&["backup", "copy.db"]).await;
    assert!(backup.status.success(), "{backup:?}");
    let other = with_database(&address, LEASE);
    let file = workspace.path().join("copy.db");
    let imported = other.run(&["import", file.to_str().unwrap()]).await;
    let said = String::from_utf8([imported.stdout, imported.stderr].concat()).unwrap();
    assert!(said.contains("Imported 1 conversations"), "{said}");
    let server = other.web_socket();
    let imported = read(&server, &thread).await;
    assert_eq!(imported.as_array().unwrap().len(), 2);
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

#[tokio::test]
async fn a_node_takes_over_what_another_machine_left_and_nothing_that_ended_in_order() {
    let Some((database, one)) = started("nodes") else {
        return;
    };
    let other = with_database(&database.address("nodes"), LEASE);
    let server = one.web_socket();
    let mut client = server.client("db").await;
    let thread = beating(&mut client, &one).await;
    assert!(
        one.run(&["workspace", "add", "--name", "tea"])
            .await
            .status
            .success()
    );
    let listed = one.run(&["workspace", "list", "--json"]).await.stdout;
    let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
    let join = [
        "workspace",
        "add",
        "--name",
        "pot",
        "--join",
        listed["id"].as_str().unwrap(),
    ];
    assert!(other.run(&join).await.status.success());
    let node = other.bobbin(&["node", "--listen", "ws://127.0.0.1:0"]);
    let mut node = node_of(node);
    let status = async || {
        let status = other.run(&["node", "status", "--json"]).await.stdout;
        serde_json::from_slice::<serde_json::Value>(&status).unwrap()
    };
    let there = async {
        while status().await["nodes"].as_array().is_none_or(Vec::is_empty) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, there)
        .await
        .expect("the node is seen");
    let seen = status().await;
    assert_eq!(seen["workspaces"][0]["lease"]["fence"], 1, "{seen}");
    assert!(seen["workspaces"][0]["pid"].is_null(), "{seen}");
    server.kill().await;
    let turn = async {
        let open = "SELECT count(*) FROM turn WHERE completed_at IS NULL";
        while database.query("nodes", open).trim() != "0" {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, turn)
        .await
        .expect("the other node goes on with the Turn");
    let seen = status().await;
    assert_eq!(seen["workspaces"][0]["lease"]["fence"], 2, "{seen}");
    let pid = seen["workspaces"][0]["pid"].as_u64().unwrap();
    let figures = async {
        let has = |figures: &str| {
            figures.contains("bobbin_takeovers_total 1\n") && figures.contains("bobbin_leases 1\n")
        };
        while !has(&counters(&other).await) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, figures)
        .await
        .expect("the node counts leases and takeovers");
    let shown = other.run(&["threads", "show", &thread]).await;
    assert!(shown.status.success(), "{shown:?}");
    // What ends in order is not taken over.
    let ends = "SELECT count(*) FROM lease WHERE holder = ''";
    signal(u32::try_from(pid).unwrap(), nix::sys::signal::Signal::SIGTERM);
    let ended = async {
        while database.query("nodes", ends).trim() != "1" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended)
        .await
        .expect("the lease is given up");
    signal(node.id().unwrap(), nix::sys::signal::Signal::SIGTERM);
    assert!(node.wait().await.unwrap().success());
    assert_eq!(database.query("nodes", "SELECT count(*) FROM node").trim(), "0");
    assert_eq!(database.query("nodes", "SELECT fence FROM lease").trim(), "2");
}

fn node_of(mut command: tokio::process::Command) -> tokio::process::Child {
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::inherit())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_client_of_any_node_reaches_the_machine_that_serves_its_workspace() {
    let Some((database, one)) = started("any") else {
        return;
    };
    let address = database.address("any");
    let other = with_database(&address, LEASE);
    // A port that is free now.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let listen = format!("ws://127.0.0.1:{port}");
    connect(&one, &address, LEASE, Some(&listen));
    assert!(
        one.run(&["workspace", "add", "--name", "tea"])
            .await
            .status
            .success()
    );
    let mut first = node_of(one.bobbin(&["node", "--listen", &listen]));
    let id = async {
        loop {
            let listed = one.run(&["workspace", "list", "--json"]).await.stdout;
            let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
            if let Some(id) = listed["id"].as_str() {
                break id.to_owned();
            }
        }
    };
    let id = tokio::time::timeout(PATIENCE, id).await.unwrap();
    let join = ["workspace", "add", "--name", "pot", "--join", &id];
    assert!(other.run(&join).await.status.success());
    let mut second = node_of(other.bobbin(&["node", "--listen", "ws://127.0.0.1:0"]));
    let both = async {
        loop {
            let status = other.run(&["node", "status", "--json"]).await.stdout;
            let status: serde_json::Value = serde_json::from_slice(&status).unwrap_or_default();
            if status["nodes"].as_array().is_some_and(|nodes| nodes.len() == 2) {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, both)
        .await
        .expect("both nodes are there");
    let near = node_address(&one, "/w/tea/ws").await;
    let far = node_address(&other, "/w/pot/ws").await;
    let mut near = Client::ready(Link::web_socket(&near).await, "near", rich()).await;
    let thread = near.start_thread().await;
    let mut client = Client::ready(Link::web_socket(&far).await, "far", rich()).await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    near.start_turn(&thread, "run `echo here > here`").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    assert!(
        one.path().join("here").exists(),
        "it ran where the workspace is served"
    );
    assert!(!other.path().join("here").exists());

    let figures = counters(&other).await;
    let line = "bobbin_relayed_connections{to=\"node\"} 1\n";
    assert!(figures.contains(line), "{figures}");

    // The token of a user of that node is not the nodes' key.
    let forged = node_address(&one, &format!("/relay/{id}/native")).await;
    assert!(tokio_tungstenite::connect_async(&forged).await.is_err());

    // The machine is frozen: the client comes back through the same node, which serves the workspace then.
    near.start_turn(&thread, "run `echo two > two`").await;
    client.wait_for("item/approval/request").await;
    let server = std::fs::read_to_string(one.state_folder().join("bobbin.json")).unwrap();
    let server: serde_json::Value = serde_json::from_str(&server).unwrap();
    let server = u32::try_from(server["pid"].as_u64().unwrap()).unwrap();
    for pid in [first.id().unwrap(), server] {
        signal(pid, nix::sys::signal::Signal::SIGSTOP);
    }
    let closed = client
        .find("a close", |message| message.get("close").is_some())
        .await;
    assert_eq!(closed["close"], 1012, "{closed}");
    let mut client = Client::ready(Link::web_socket(&far).await, "far", rich()).await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    // The question is about the folder of that machine. The client may have seen the one before for a moment.
    let asks_here = |message: &serde_json::Value| {
        let target = message["params"]["target"].as_str();
        let here = other.path().canonicalize().unwrap();
        message["method"] == "item/approval/request" && target == here.to_str()
    };
    let asked = client.find("a question", asks_here).await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    assert!(other.path().join("two").exists(), "the question went on there");
    assert_eq!(database.query("any", "SELECT fence FROM lease").trim(), "2");

    drop((near, client));
    first.kill().await.unwrap();
    signal(second.id().unwrap(), nix::sys::signal::Signal::SIGTERM);
    assert!(second.wait().await.unwrap().success());
}

/// Returns the figures of a machine's node.
async fn counters(workspace: &Workspace) -> String {
    let address = node_address(workspace, "/metrics").await;
    let (_, token) = address.split_once('?').unwrap();
    let (status, body) = http(&address, &format!("GET /metrics?{token} HTTP/1.1")).await;
    assert!(status.contains("200"), "{status}");
    body
}

/// Returns the address of a path at a machine's node, once it listens, with the token of its user.
async fn node_address(workspace: &Workspace, path: &str) -> String {
    let record = workspace.state().join("node.lock");
    let token = String::from_utf8(workspace.run(&["token"]).await.stdout).unwrap();
    let listens = async {
        loop {
            let text = std::fs::read_to_string(&record).unwrap_or_default();
            let record: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            if let Some(address) = record["address"].as_str() {
                break format!("{address}{path}?token={}", token.trim());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, listens).await.unwrap()
}
