//! Several workspaces at the one address of a node.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use bobbin_testkit::{Client, Link};
use futures_util::SinkExt as _;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Child;
use tokio::time::{Duration, Instant, sleep};
use tokio_tungstenite::tungstenite::Error;

use crate::support::{PATIENCE, Workspace, rich, state_folder};

/// A node that serves `tea` and `pot`, two folders of a home.
struct Node {
    home: Workspace,
    child: Child,
    address: String,
    token: String,
}

impl Node {
    async fn start() -> Self {
        Self::in_home(Workspace::new(), "ws://127.0.0.1:0").await
    }

    async fn in_home(home: Workspace, listen: &str) -> Self {
        for name in ["tea", "pot"] {
            std::fs::create_dir_all(home.path().join(name)).unwrap();
            let added = home.run(&["workspace", "add", name]).await;
            assert!(
                added.status.success(),
                "{}",
                String::from_utf8_lossy(&added.stderr)
            );
        }
        let child = home
            .bobbin(&["node", "--listen", listen])
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let record = home.state().join("node.lock");
        let pid = child.id();
        let address = loop_until("the node listens", || {
            let text = std::fs::read_to_string(&record).ok()?;
            let record: Value = serde_json::from_str(&text).ok()?;
            (record["pid"].as_u64() == pid.map(u64::from))
                .then(|| record["address"].as_str().unwrap().to_owned())
        })
        .await;
        let token = home.run(&["token"]).await;
        let token = String::from_utf8(token.stdout).unwrap().trim().to_owned();
        Self {
            home,
            child,
            address,
            token,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn at(&self, path: &str) -> String {
        format!("{}/{path}?token={}", self.address, self.token)
    }

    async fn client(&self, workspace: &str) -> Client {
        let link = Link::web_socket(&self.at(&format!("w/{workspace}/ws"))).await;
        Client::ready(link, "me", rich()).await
    }

    /// The server's process of a workspace; `None` where none runs.
    fn server(&self, name: &str) -> Option<i32> {
        server(self.home.state(), &self.path(name))
    }

    /// Ends the node and the servers.
    async fn end(mut self) {
        self.child.kill().await.unwrap();
        self.home.run(&["stop", "--all"]).await;
    }
}

fn server(state: &Path, root: &Path) -> Option<i32> {
    let text = std::fs::read_to_string(state_folder(state, root).join("bobbin.json")).ok()?;
    let state: Value = serde_json::from_str(&text).ok()?;
    let pid = i32::try_from(state["pid"].as_i64()?).ok()?;
    Path::new(&format!("/proc/{pid}")).exists().then_some(pid)
}

async fn loop_until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(5)).await;
    }
}

fn kill(pid: i32) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
}

#[tokio::test]
async fn each_workspace_is_at_its_name_and_its_server_is_that_of_every_program() {
    let node = Node::start().await;
    let mut tea = node.client("tea").await;
    let mut pot = node.client("pot").await;
    for (client, name) in [(&mut tea, "tea"), (&mut pot, "pot")] {
        let thread = client.start_thread().await;
        client.start_turn(&thread, "run `echo hot > cup`").await;
        let asked = client.wait_for("item/approval/request").await;
        client.reply(&asked, json!({ "decision": "accept" })).await;
        client.wait_for("turn/completed").await;
        assert!(node.path(name).join("cup").exists());
    }
    let pid = node.server("tea").unwrap();
    let tea_path = node.path("tea");
    let workspace = tea_path.to_str().unwrap();
    for args in [
        &["exec", "--workspace", workspace, "say hello"][..],
        &["threads", "--workspace", workspace],
    ] {
        let output = node.home.run(args).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
    }
    assert_eq!(node.server("tea"), Some(pid), "they have joined the same server");
    let listed = tea
        .call("thread/list", json!({ "identity": { "channelName": "test" } }))
        .await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 2, "{listed}");
    node.end().await;
}

#[tokio::test]
async fn an_editor_is_at_the_workspaces_address_too() {
    let node = Node::start().await;
    let mut editor = Client::new(Link::web_socket(&node.at("w/tea/eca")).await);
    let folders = json!([{ "uri": format!("file://{}", node.path("tea").display()), "name": "tea" }]);
    let hello = json!({
        "clientInfo": { "name": "sketchpad" },
        "capabilities": { "codeAssistant": { "chat": true } },
        "workspaceFolders": folders,
    });
    let answer = editor.call("initialize", hello).await;
    assert_eq!(answer["models"], json!(["offline"]));
    editor.notify("initialized", json!({})).await;
    // Like one of a listener, it stores no keys in the home of the server's user.
    let key = json!({ "provider": "anthropic", "data": { "api-key": "sk-of-the-kiln" } });
    let error = editor.error("providers/loginInput", key).await;
    let said = error["message"].as_str().unwrap();
    assert!(said.contains("on the server's machine"), "{error}");
    assert!(!node.home.path().join(".craft/config.json").exists());
    node.end().await;
}

#[tokio::test]
async fn who_may_connect_is_checked_at_the_node_and_a_wrong_name_is_said() {
    let node = Node::start().await;
    for path in ["w/tea/ws", "w/tea/eca", "node/ws", "w/none/ws"] {
        for token in ["", "?token=wrong"] {
            let refused = tokio_tungstenite::connect_async(format!("{}/{path}{token}", node.address)).await;
            assert!(
                matches!(refused, Err(Error::Http(answer)) if answer.status() == 401),
                "{path}{token}"
            );
        }
    }
    let missing = tokio_tungstenite::connect_async(node.at("w/tea/other")).await;
    assert!(matches!(missing, Err(Error::Http(answer)) if answer.status() == 404));
    let mut client = Client::new(Link::web_socket(&node.at("w/none/ws")).await);
    let closed = client
        .find("a close", |message| message.get("close").is_some())
        .await;
    assert_eq!(
        (&closed["close"], &closed["reason"]),
        (&json!(1011), &json!("no workspace has the name none"))
    );
    node.end().await;
}

#[tokio::test]
async fn people_reach_the_workspaces_in_which_they_have_a_role_and_learn_of_no_other() {
    let node = Node::start().await;
    let run = async |args: &[&str]| {
        let ran = node.home.run(args).await;
        assert!(
            ran.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&ran.stderr)
        );
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    run(&["people", "add", "vi", "--role", "viewer", "--workspace", "tea"]).await;
    let token = run(&["token", "--for", "vi"]).await;
    let at = |path: &str| format!("{}/{path}?token={token}", node.address);
    for path in ["w/pot/ws", "w/none/ws", "w/tea/eca"] {
        let refused = tokio_tungstenite::connect_async(at(path)).await;
        assert!(
            matches!(refused, Err(Error::Http(answer)) if answer.status() == 403),
            "{path}"
        );
    }
    let mut watcher = Client::new(Link::web_socket(&at("node/ws")).await);
    let list = watcher.wait_for("workspace/listChanged").await;
    let names: Vec<_> = list["params"]["workspaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["tea"]);
    for method in ["workspace/add", "workspace/remove", "device/invite"] {
        assert_eq!(watcher.error(method, json!({})).await["code"], -32601, "{method}");
    }
    let mut me = node.client("tea").await;
    let thread = me.start_thread().await;
    let mut viewer = Client::ready(Link::web_socket(&at("w/tea/ws")).await, "watching", rich()).await;
    viewer.call("thread/read", json!({ "threadId": thread })).await;
    let input = json!([{ "type": "text", "text": "hello" }]);
    let refused = viewer
        .error("turn/start", json!({ "threadId": thread, "input": input }))
        .await;
    assert_eq!(
        (&refused["code"], &refused["data"]["role"]),
        (&json!(-32004), &json!("viewer"))
    );
    run(&["people", "remove", "vi"]).await;
    let removed = Instant::now();
    for client in [&mut viewer, &mut watcher] {
        let closed = client
            .find("a close", |message| message.get("close").is_some())
            .await;
        assert_eq!(closed["close"], 1008, "{closed}");
        assert!(
            closed["reason"].as_str().unwrap().contains("has ended"),
            "{closed}"
        );
    }
    assert!(
        removed.elapsed() < Duration::from_secs(1),
        "{:?}",
        removed.elapsed()
    );
    node.end().await;
}

#[tokio::test]
async fn the_list_says_what_goes_on_and_follows_changes() {
    let node = Node::start().await;
    let mut watcher = Client::new(Link::web_socket(&node.at("node/ws")).await);
    let named = |message: &Value, name: &str| {
        let all = message["params"]["workspaces"].as_array();
        let found = all.and_then(|all| all.iter().find(|one| one["name"] == name));
        found.cloned().unwrap_or_default()
    };
    watcher
        .find("both", |message| {
            !named(message, "tea").is_null() && !named(message, "pot").is_null()
        })
        .await;
    let mut client = node.client("pot").await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "run `echo hot > cup`").await;
    let asked = client.wait_for("item/approval/request").await;
    let waits = watcher
        .find("a question", |message| named(message, "pot")["waiting"] == 1)
        .await;
    let pot = named(&waits, "pot");
    assert_eq!(
        (&pot["openTurns"], &pot["latest"]["threadId"], &pot["isRunning"]),
        (&json!(1), &json!(thread), &json!(true))
    );
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let done = watcher
        .find("the end", |message| named(message, "pot")["openTurns"] == 0)
        .await;
    let words = named(&done, "pot")["latest"]["words"].clone();
    assert!(words.as_str().unwrap().contains("echo hot"), "{words}");

    std::fs::create_dir(node.path("Milk Jug")).unwrap();
    let add = json!({ "path": node.path("Milk Jug") });
    assert_eq!(watcher.call("workspace/add", add).await["name"], "milk-jug");
    watcher
        .find("the jug", |message| !named(message, "milk-jug").is_null())
        .await;
    watcher
        .call("workspace/remove", json!({ "name": "milk-jug" }))
        .await;
    watcher
        .find("no jug", |message| {
            message["method"] == "workspace/listChanged" && named(message, "milk-jug").is_null()
        })
        .await;
    for (method, params, reason) in [
        ("workspace/add", json!({ "path": "tea" }), "absolute"),
        (
            "workspace/add",
            json!({ "path": node.path("none") }),
            "cannot be opened",
        ),
        (
            "workspace/add",
            json!({ "path": node.path("tea"), "name": "pot" }),
            "already",
        ),
        ("workspace/remove", json!({ "name": "milk-jug" }), "no workspace"),
    ] {
        let error = watcher.error(method, params).await;
        let said = error["message"].as_str().unwrap();
        assert!(
            error["code"] == -32602 && said.contains(reason),
            "{method}: {error}"
        );
    }
    node.end().await;
}

#[tokio::test]
async fn a_killed_server_starts_again_at_once_and_its_question_is_asked_again() {
    let node = Node::start().await;
    let mut client = node.client("tea").await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "run `echo hot > cup`").await;
    client.wait_for("item/approval/request").await;
    let killed = node.server("tea").unwrap();
    kill(killed);
    let closed = client
        .find("a close", |message| message.get("close").is_some())
        .await;
    assert_eq!(closed["close"], 1012);
    loop_until("another server", || {
        node.server("tea").filter(|pid| *pid != killed)
    })
    .await;
    let mut client = node.client("tea").await;
    client
        .call("thread/subscribe", json!({ "threadId": thread }))
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    assert_eq!(
        std::fs::read_to_string(node.path("tea").join("cup")).unwrap(),
        "hot\n"
    );
    node.end().await;
}

#[tokio::test]
async fn a_killed_server_stays_away_once_its_workspace_was_taken_out() {
    let node = Node::start().await;
    let _client = node.client("tea").await;
    let (tea, pot) = loop_until("both run", || node.server("tea").zip(node.server("pot"))).await;
    assert!(
        node.home
            .run(&["workspace", "remove", "tea"])
            .await
            .status
            .success()
    );
    kill(tea);
    kill(pot);
    loop_until("pot again", || node.server("pot").filter(|pid| *pid != pot)).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(node.server("tea"), None);
    node.end().await;
}

#[tokio::test]
async fn a_node_ends_at_once_also_with_a_client_that_does_not_read() {
    let mut node = Node::start().await;
    let (mut socket, _) = tokio_tungstenite::connect_async(node.at("w/tea/ws"))
        .await
        .unwrap();
    let params = json!({ "clientInfo": { "name": "me", "version": "1" }, "capabilities": {} });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    socket.send(hello.to_string().into()).await.unwrap();
    let initialized = json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} });
    socket.send(initialized.to_string().into()).await.unwrap();
    // Each answer repeats the name, until neither side takes more.
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "m".repeat(200), "params": {} });
    let request = request.to_string();
    let pause = Duration::from_secs(1);
    while let Ok(sent) = tokio::time::timeout(pause, socket.send(request.as_str().into())).await {
        sent.unwrap();
    }
    let pid = i32::try_from(node.child.id().unwrap()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(5), node.child.wait()).await;
    assert!(ended.unwrap().unwrap().success());
    node.home.run(&["stop", "--all"]).await;
}

#[tokio::test]
async fn a_link_in_the_place_of_a_folder_leads_to_no_other_workspace() {
    let node = Node::start().await;
    std::fs::rename(node.path("tea"), node.path("moved")).unwrap();
    std::os::unix::fs::symlink(node.path("moved"), node.path("tea")).unwrap();
    let mut client = Client::new(Link::web_socket(&node.at("w/tea/ws")).await);
    let closed = client
        .find("a close", |message| message.get("close").is_some())
        .await;
    let said = closed["reason"].as_str().unwrap();
    assert!(
        closed["close"] == 1011 && said.contains("is a link to"),
        "{closed}"
    );
    node.end().await;
}

#[tokio::test]
async fn a_stopped_server_stays_stopped_until_a_client_comes_and_a_node_that_ends_stops_none() {
    let mut node = Node::start().await;
    let client = node.client("tea").await;
    let before = node.server("tea").unwrap();
    loop_until("both run", || node.server("pot")).await;
    let stopped = node.home.run(&["stop", "--all"]).await;
    assert!(stopped.status.success());
    drop(client);
    // The node would have started it by then.
    sleep(Duration::from_millis(500)).await;
    assert_eq!((node.server("tea"), node.server("pot")), (None, None));
    let client = node.client("tea").await;
    let after = node.server("tea").unwrap();
    assert_ne!(before, after);
    let pid = i32::try_from(node.child.id().unwrap()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).unwrap();
    let ended = tokio::time::timeout(PATIENCE, node.child.wait()).await.unwrap();
    assert!(ended.unwrap().success());
    assert_eq!(node.server("tea"), Some(after));
    drop(client);
    node.home.run(&["stop", "--all"]).await;
}

/// Starts the server of a workspace that ends when nothing has used it for a moment.
async fn short_lived(node: &Node, name: &str) -> Child {
    let path = node.path(name);
    let mut child = node
        .home
        .bobbin(&[
            "detached",
            "--workspace",
            path.to_str().unwrap(),
            "--idle-ms",
            "300",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{}").await.unwrap();
    loop_until("the server runs", || node.server(name)).await;
    child
}

#[tokio::test]
async fn a_server_with_a_job_stays_at_a_node_and_one_without_ends() {
    let node = Node::start().await;
    loop_until("both run", || node.server("tea").and(node.server("pot"))).await;
    node.home.run(&["stop", "--all"]).await;
    let (mut tea, mut pot) = (short_lived(&node, "tea").await, short_lived(&node, "pot").await);
    let mut client = node.client("tea").await;
    let config =
        json!({ "identity": { "channelName": "test" }, "config": { "approvalPolicy": "autoApprove" } });
    let thread = client.call("thread/start", config).await["thread"]["id"].clone();
    let job = json!({ "action": "add", "message": "say hello", "everySeconds": 3600 });
    let input = json!([{ "type": "text", "text": format!("call `Cron` with {job}") }]);
    client
        .call("turn/start", json!({ "threadId": thread, "input": input }))
        .await;
    client.wait_for("turn/completed").await;
    let jobs = client.call("cron/list", json!({})).await;
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs}");
    drop(client);
    drop(node.client("pot").await);
    tokio::time::timeout(PATIENCE, pot.wait()).await.unwrap().unwrap();
    sleep(Duration::from_millis(900)).await;
    assert!(tea.try_wait().unwrap().is_none(), "its job runs every hour");
    let mut client = node.client("tea").await;
    let jobs = client.call("cron/list", json!({})).await;
    let id = jobs["jobs"][0]["id"].clone();
    client.call("cron/remove", json!({ "jobId": id })).await;
    drop(client);
    tokio::time::timeout(PATIENCE, tea.wait()).await.unwrap().unwrap();
    node.end().await;
}

#[tokio::test]
async fn a_node_that_other_machines_reach_changes_no_file_of_the_user() {
    let own = json!({ "server": { "name": "pantry", "command": "mine", "enabled": false }, "scope": "user" });
    let file = |home: &Workspace| std::fs::read_to_string(home.path().join(".craft/config.json"));
    let node = Node::in_home(Workspace::new(), "ws://0.0.0.0:0").await;
    let mut client = node.client("tea").await;
    client.error("mcp/upsert", own.clone()).await;
    assert!(file(&node.home).is_err());
    node.end().await;
    let node = Node::start().await;
    let mut client = node.client("tea").await;
    client.call("mcp/upsert", own).await;
    assert!(file(&node.home).unwrap().contains("mine"));
    node.end().await;
}

#[tokio::test]
async fn commands_find_the_node_and_a_second_one_is_refused() {
    let node = Node::start().await;
    let status = node.home.run(&["node", "status", "--json"]).await;
    assert!(status.status.success());
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["node"]["pid"], node.child.id().unwrap());
    assert_eq!(status["workspaces"].as_array().unwrap().len(), 2);
    let second = node.home.run(&["node"]).await;
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(
        !second.status.success() && said.contains("a node runs already"),
        "{said}"
    );
    let path = node.path("tea");
    let open = node
        .home
        .run(&["open", "--print", "--workspace", path.to_str().unwrap()])
        .await;
    let page = String::from_utf8(open.stdout).unwrap();
    assert!(page.contains("/w/tea/#"), "{page}");
    let elsewhere = node.home.run(&["open", "--print"]).await;
    assert!(!elsewhere.status.success(), "the node does not serve the home");
    let list = node.home.run(&["workspace", "list"]).await;
    let list = String::from_utf8(list.stdout).unwrap();
    let names: Vec<_> = list
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["pot", "tea"]);
    for wanted in ["pot", path.to_str().unwrap()] {
        let removed = node.home.run(&["workspace", "remove", wanted]).await;
        assert!(
            removed.status.success(),
            "{}",
            String::from_utf8_lossy(&removed.stderr)
        );
    }
    let list = node.home.run(&["workspace", "list"]).await;
    assert!(list.stdout.is_empty());
    // A name goes before a folder of the current directory.
    for (folder, name) in [("tea", "jug"), ("pot", "tea")] {
        node.home.run(&["workspace", "add", folder, "--name", name]).await;
    }
    let removed = node.home.run(&["workspace", "remove", "tea"]).await;
    assert!(removed.stdout.ends_with(b"/pot stay\n"), "{removed:?}");
    let mut node = node;
    node.child.kill().await.unwrap();
    // A server that the node was just starting is there a moment later.
    let said = async {
        loop {
            node.home.run(&["stop", "--all"]).await;
            let open = node
                .home
                .run(&["open", "--print", "--workspace", path.to_str().unwrap()])
                .await;
            if String::from_utf8_lossy(&open.stderr).contains("`bobbin node`") {
                break;
            }
        }
    };
    let said = tokio::time::timeout(PATIENCE, said).await;
    said.expect("it says which command starts a node");
}
