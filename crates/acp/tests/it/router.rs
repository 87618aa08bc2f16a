//! The process between a client and the servers of its directories.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_acp::router::{Connect, run};
use bobbin_framing::{Limits, Transport};
use bobbin_testkit::{Client, Link};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Server, allow, prompt, said, text, until_answer};

/// Servers by their folders, which connect as often as they were offered.
#[derive(Default)]
struct Servers {
    transports: Mutex<HashMap<PathBuf, Vec<Transport>>>,
    connected: Mutex<Vec<PathBuf>>,
    known: Mutex<HashSet<PathBuf>>,
}

impl Servers {
    fn offer(&self, server: &Server) {
        let mut transports = self.transports.lock();
        let folder = server.root().to_owned();
        self.known.lock().insert(folder.clone());
        transports.entry(folder).or_default().push(server.transport());
    }
}

impl Connect for Servers {
    fn connect(&self, folder: PathBuf) -> BoxFuture<'static, Result<Transport, String>> {
        self.connected.lock().push(folder.clone());
        let transport = self.transports.lock().get_mut(&folder).and_then(Vec::pop);
        std::future::ready(transport.ok_or_else(|| format!("no server starts in {}", folder.display())))
            .boxed()
    }

    fn knows(&self, folder: &Path) -> bool {
        self.known.lock().contains(folder)
    }

    fn version(&self) -> &'static str {
        "0.0.0"
    }
}

fn start(servers: &Arc<Servers>, here: &Path) -> (Client, JoinHandle<()>) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let transport = Transport::lines(reader, writer, Limits::default());
    let running = run(
        transport,
        servers.clone(),
        here.to_owned(),
        std::future::pending(),
    );
    let running = tokio::spawn(running);
    let (reader, writer) = tokio::io::split(far);
    (Client::new(Link::lines(reader, writer)), running)
}

async fn greeted(servers: &Arc<Servers>, here: &Path) -> (Client, JoinHandle<()>) {
    let (mut client, running) = start(servers, here);
    client.call("initialize", json!({ "protocolVersion": 1 })).await;
    (client, running)
}

async fn session(client: &mut Client, server: &Server) -> String {
    let started = client
        .call("session/new", json!({ "cwd": server.cwd(), "mcpServers": [] }))
        .await;
    started["sessionId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn sessions_in_two_directories_reach_their_own_servers() {
    let (one, other) = (Server::start().await, Server::start().await);
    // Names of sessions come from the time.
    other.workspace.clock.advance(1);
    let servers = Arc::new(Servers::default());
    servers.offer(&one);
    servers.offer(&other);
    let (mut client, _) = greeted(&servers, one.root()).await;
    let (first, second) = (
        session(&mut client, &one).await,
        session(&mut client, &other).await,
    );
    let ids = [
        client
            .request("session/prompt", text(&first, "ask touch one"))
            .await,
        client
            .request("session/prompt", text(&second, "ask touch other"))
            .await,
    ];
    let asked = [
        client.wait_for("session/request_permission").await,
        client.wait_for("session/request_permission").await,
    ];
    assert_ne!(asked[0]["id"], asked[1]["id"]);
    for asked in &asked {
        allow(&client, asked, "allow_once").await;
    }
    for id in ids {
        assert_eq!(client.answer(id).await["result"]["stopReason"], "end_turn");
    }
    assert_eq!(one.engine.effects(), ["touch one"]);
    assert_eq!(other.engine.effects(), ["touch other"]);
    // Without a directory, the list has the sessions of all folders, newest first.
    let listed = client.call("session/list", json!({})).await;
    assert_eq!(ids_of(&listed), [second.as_str(), first.as_str()]);
    assert_eq!(listed["sessions"][1]["cwd"], one.cwd());
    let error = client.error("session/list", json!({ "cursor": "x" })).await;
    assert_eq!(error["code"], -32602);
}

fn ids_of(listed: &Value) -> Vec<&str> {
    let sessions = listed["sessions"].as_array().unwrap().iter();
    sessions
        .map(|session| session["sessionId"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_list_of_several_folders_has_pages_that_miss_and_repeat_nothing() {
    let (one, other) = (Server::start().await, Server::start().await);
    let servers = Arc::new(Servers::default());
    servers.offer(&one);
    servers.offer(&other);
    let (mut client, _) = greeted(&servers, one.root()).await;
    let mut started = Vec::new();
    for count in 0..130 {
        let server = if count % 3 == 0 { &one } else { &other };
        one.workspace.clock.advance(1);
        other.workspace.clock.advance(1);
        started.push(session(&mut client, server).await);
    }
    started.reverse();
    let (mut listed, mut params) = (Vec::new(), json!({}));
    loop {
        let page = client.call("session/list", params.clone()).await;
        listed.extend(ids_of(&page).into_iter().map(str::to_owned));
        match page["nextCursor"].as_str() {
            Some(next) => params["cursor"] = json!(next),
            None => break,
        }
    }
    assert_eq!(listed, started);
}

#[tokio::test]
async fn a_list_starts_no_server_in_a_folder_that_was_never_served() {
    let (one, other) = (Server::start().await, Server::start().await);
    let servers = Arc::new(Servers::default());
    let (mut client, _) = greeted(&servers, one.root()).await;
    for params in [json!({}), json!({ "cwd": null }), json!({ "cwd": other.cwd() })] {
        let listed = client.call("session/list", params).await;
        assert_eq!(listed, json!({ "sessions": [] }));
    }
    let deleted = client
        .error("session/delete", json!({ "sessionId": "thread_none" }))
        .await;
    assert_eq!(deleted["code"], -32002);
    assert_eq!(*servers.connected.lock(), Vec::<PathBuf>::new());
    // One that was served has its sessions.
    let (_client, known) = one.session().await;
    servers.offer(&one);
    let listed = client.call("session/list", json!({})).await;
    assert_eq!(ids_of(&listed), [known]);
}

#[tokio::test]
async fn a_list_waits_for_a_server_that_is_just_starting() {
    let server = Server::start().await;
    let servers = Arc::new(Servers::default());
    servers.offer(&server);
    servers.known.lock().clear();
    let (mut client, _) = greeted(&servers, Path::new("/")).await;
    let cwd = json!({ "cwd": server.cwd() });
    for (count, params) in [(1, json!({})), (2, cwd)] {
        server.workspace.clock.advance(1);
        let started = json!({ "cwd": server.cwd(), "mcpServers": [] });
        client.request("session/new", started).await;
        let listed = client.call("session/list", params).await;
        assert_eq!(ids_of(&listed).len(), count);
    }
}

#[tokio::test]
async fn params_of_the_wrong_type_are_invalid_whatever_the_method() {
    let server = Server::start().await;
    let servers = Arc::new(Servers::default());
    let (mut client, _) = greeted(&servers, server.root()).await;
    for method in [
        "session/prompt",
        "session/close",
        "session/delete",
        "session/set_mode",
        "session/set_config_option",
        "session/set_model",
    ] {
        for (params, why) in [
            (json!({ "sessionId": 42 }), "sessionId must be a text."),
            (
                json!({ "sessionId": null }),
                "sessionId is missing; name the session.",
            ),
            (json!({}), "sessionId is missing; name the session."),
            (json!(null), "sessionId is missing; name the session."),
        ] {
            let error = client.error(method, params.clone()).await;
            assert_eq!(error["code"], -32602, "{method} {params}");
            assert_eq!(error["message"], why, "{method} {params}");
        }
    }
    for method in ["session/load", "session/resume"] {
        let params = json!({ "sessionId": 42, "cwd": server.cwd() });
        let error = client.error(method, params).await;
        assert_eq!(error["message"], "sessionId must be a text.", "{method}");
        let error = client.error(method, json!({ "sessionId": "s", "cwd": 42 })).await;
        assert_eq!(error["message"], "cwd must be a text.", "{method}");
    }
    let error = client.error("session/list", json!({ "cwd": 42 })).await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn what_needs_no_server_is_answered_here() {
    let server = Server::start().await;
    let servers = Arc::new(Servers::default());
    let (mut client, _) = start(&servers, server.root());
    assert_eq!(client.error("session/list", json!({})).await["code"], -32600);
    for _ in 0..2 {
        let answer = client.call("initialize", json!({ "protocolVersion": 7 })).await;
        assert_eq!(answer["protocolVersion"], 1);
    }
    for (method, params, code) in [
        ("session/new", json!({ "cwd": "work" }), -32602),
        ("session/new", json!({ "cwd": "/does/not/exist" }), -32602),
        ("session/new", json!({}), -32602),
        ("session/prompt", text("thread_none", "x"), -32002),
        ("authenticate", json!({ "methodId": "x" }), -32602),
        ("_x/y", json!({}), -32601),
        // No server starts.
        ("session/new", json!({ "cwd": server.cwd() }), -32603),
    ] {
        assert_eq!(
            client.error(method, params.clone()).await["code"],
            code,
            "{method} {params}"
        );
    }
    for (line, code) in [("tea", -32700), ("[]", -32600)] {
        client.send_text(line).await;
        let refused = client.find(line, |message| message["id"].is_null()).await;
        assert_eq!(refused["error"]["code"], code, "{line}");
    }
}

#[tokio::test]
async fn a_server_that_goes_away_is_joined_again_and_its_sessions_go_on() {
    let mut server = Server::start().await;
    let servers = Arc::new(Servers::default());
    servers.offer(&server);
    let (mut client, _) = greeted(&servers, server.root()).await;
    let id = session(&mut client, &server).await;
    prompt(&mut client, &id, "say before").await;
    let open = client.request("session/prompt", text(&id, "hang")).await;
    client.call("session/list", json!({})).await;
    server.restart().await;
    assert_eq!(client.answer(open).await["error"]["code"], -32603);
    servers.offer(&server);
    client.notify("session/cancel", json!({ "sessionId": id })).await;
    let request = client.request("session/prompt", text(&id, "say after")).await;
    let seen = until_answer(&mut client, request).await;
    let answer: &Value = seen.last().unwrap();
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{seen:?}");
    assert!(said(&seen, "agent_message_chunk").ends_with("after"), "{seen:?}");
}

#[tokio::test]
async fn a_late_answer_to_a_lost_server_answers_no_other_request() {
    let mut server = Server::start().await;
    let servers = Arc::new(Servers::default());
    servers.offer(&server);
    let (mut client, _) = greeted(&servers, server.root()).await;
    let id = session(&mut client, &server).await;
    let lost = client.request("session/prompt", text(&id, "ask touch tea")).await;
    let asked = client.wait_for("session/request_permission").await;
    server.restart().await;
    let withdrawn = client.wait_for("$/cancel_request").await;
    assert_eq!(withdrawn["params"], json!({ "requestId": asked["id"] }));
    let error = client.answer(lost).await["error"].clone();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .ends_with("Load the session to see how it went on."),
        "{error}"
    );
    servers.offer(&server);
    server.workspace.clock.advance(1);
    let other = session(&mut client, &server).await;
    let request = client
        .request("session/prompt", text(&other, "ask touch milk"))
        .await;
    let next = client.wait_for("session/request_permission").await;
    assert_ne!(next["id"], asked["id"]);
    allow(&client, &asked, "allow_once").await;
    client.call("session/list", json!({ "cwd": server.cwd() })).await;
    assert_eq!(server.engine.effects(), Vec::<String>::new());
    allow(&client, &next, "reject_once").await;
    assert_eq!(client.answer(request).await["result"]["stopReason"], "end_turn");
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn a_request_that_its_server_withdraws_is_withdrawn_with_the_clients_id() {
    let server = Server::start().await;
    let servers = Arc::new(Servers::default());
    servers.offer(&server);
    let (mut client, _) = greeted(&servers, server.root()).await;
    let id = session(&mut client, &server).await;
    let mut last = None;
    for _ in 0..2 {
        let request = client.request("session/prompt", text(&id, "ask touch tea")).await;
        let asked = client.wait_for("session/request_permission").await;
        client.notify("session/cancel", json!({ "sessionId": id })).await;
        let withdrawn = client.wait_for("$/cancel_request").await;
        assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
        assert_ne!(last, Some(asked["id"].clone()));
        allow(&client, &asked, "allow_once").await;
        assert_eq!(client.answer(request).await["result"]["stopReason"], "cancelled");
        last = Some(asked["id"].clone());
    }
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn a_session_is_deleted_only_where_its_folder_is_known() {
    let server = Server::start().await;
    let (_client, known) = server.session().await;
    let servers = Arc::new(Servers::default());
    servers.offer(&server);
    let (mut client, _) = greeted(&servers, server.root()).await;
    let error = client
        .error("session/delete", json!({ "sessionId": known }))
        .await;
    assert_eq!(error["code"], -32002);
    assert!(
        error["message"].as_str().unwrap().contains("list the sessions"),
        "{error}"
    );
    let opened = json!({ "sessionId": known, "cwd": server.cwd() });
    client.call("session/resume", opened).await;
    client.call("session/close", json!({ "sessionId": known })).await;
    // Closed, and deleted already.
    for _ in 0..2 {
        let deleted = client.call("session/delete", json!({ "sessionId": known })).await;
        assert_eq!(deleted, json!({}));
    }
    let listed = client.call("session/list", json!({ "cwd": server.cwd() })).await;
    assert_eq!(listed["sessions"], json!([]));
    for (method, params) in [
        ("session/prompt", text(&known, "x")),
        ("session/close", json!({ "sessionId": known })),
        ("session/load", json!({ "sessionId": known, "cwd": server.cwd() })),
    ] {
        assert_eq!(client.error(method, params).await["code"], -32002, "{method}");
    }
}

#[tokio::test]
async fn a_session_that_was_listed_can_be_deleted() {
    let (one, other) = (Server::start().await, Server::start().await);
    let (_client, known) = other.session().await;
    let servers = Arc::new(Servers::default());
    servers.offer(&one);
    servers.offer(&other);
    let (mut client, _) = greeted(&servers, one.root()).await;
    client.call("session/list", json!({ "cwd": other.cwd() })).await;
    client.call("session/delete", json!({ "sessionId": known })).await;
    let listed = client.call("session/list", json!({ "cwd": other.cwd() })).await;
    assert_eq!(listed["sessions"], json!([]));
}

#[tokio::test]
async fn the_end_of_input_ends_the_process_and_not_the_turn() {
    let server = Server::start().await;
    let servers = Arc::new(Servers::default());
    servers.offer(&server);
    let (mut client, running) = greeted(&servers, server.root()).await;
    let id = session(&mut client, &server).await;
    client
        .request("session/prompt", text(&id, "wait\ncall touch tea\nsay done"))
        .await;
    client.call("session/list", json!({})).await;
    let mut other = server.client_with(json!({})).await;
    server.open(&mut other, "session/resume", &id).await;
    client.finish().await;
    running.await.unwrap();
    server.engine.release();
    other
        .find("the end", |message| {
            message["params"]["update"]["content"]["text"] == "done"
        })
        .await;
    assert_eq!(server.engine.effects(), ["touch tea"]);
}
