//! An MCP server over HTTP under the whole binary.

use bobbin_testkit::kiosk::Kiosk;
use bobbin_testkit::{Client, Link, tea_server};
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::mcp;
use crate::support::{ALONE, Workspace, rich};

#[tokio::test]
async fn the_proxy_of_the_environment_gets_nothing_of_it() {
    let (url, serving) = tea_server::listen().await;
    // Whoever connects there is seen.
    let proxy = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let workspace = Workspace::new();
    workspace.configure(&json!({ "McpServers": { "pantry": { "url": url } } }));
    let mut command = workspace.bobbin(&["app-server", "--listen", ALONE, "--log", "error"]);
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ] {
        command.env(name, &address);
    }
    command.env_remove("no_proxy").env_remove("NO_PROXY");
    let mut child = command
        .stdin(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let link = Link::lines(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = Client::ready(link, "me", rich()).await;
    let thread = client.start_thread().await;
    client
        .start_turn(&thread, r#"call mcp__pantry__steep with {"minutes": 4}"#)
        .await;
    let ended = tokio::select! {
        ended = client.wait_for("turn/completed") => ended,
        asked = proxy.accept() => panic!("the proxy was asked: {asked:?}"),
    };
    assert!(ended.to_string().contains("steeped for 4 minutes"), "{ended:#}");
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
    serving.abort();
}

#[tokio::test]
async fn a_client_logs_its_user_in_and_the_server_starts() {
    let (kiosk, serving) = Kiosk::open().await;
    let (workspace, home) = (Workspace::new(), Workspace::new());
    mcp::configure(
        home.path(),
        &json!({ "kiosk": { "url": kiosk.url() }, "here": { "command": "/no/such/server" } }),
    );
    mcp::configure(workspace.path(), &json!({ "foreign": { "url": kiosk.url() } }));
    let (mut child, mut client) = mcp::start(&workspace, &home).await;
    for (name, code, word) in [
        ("ghost", -32070, "ghost"),
        ("here", -32072, "no login"),
        ("foreign", -32072, "trust"),
    ] {
        let error = client.error("mcp/login", json!({ "name": name })).await;
        assert_eq!(error["code"], code, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }

    let is_refused = |message: &Value| message["params"]["server"]["wantsLogin"] == true;
    let status = client.call("mcp/status/list", json!({})).await;
    let kiosk_now = status["servers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "kiosk");
    if kiosk_now.unwrap()["wantsLogin"] != true {
        client.find("a server that wants a login", is_refused).await;
    }
    let started = client.call("mcp/login", json!({ "name": "Kiosk" })).await;
    let page = started["url"].as_str().unwrap();
    let again = client.call("mcp/login", json!({ "name": "kiosk" })).await;
    assert_eq!(again["url"], page, "one login at a time");
    kiosk
        .browse(page, "/callback", "error=access_denied&state=STATE")
        .await;
    let ended = client.wait_for("mcp/login/completed").await;
    assert_eq!(ended["params"]["success"], false);
    let why = ended["params"]["errorMessage"].as_str().unwrap();
    assert!(why.contains("access_denied"), "{why}");

    let started = client.call("mcp/login", json!({ "name": "kiosk" })).await;
    let page = started["url"].as_str().unwrap();
    kiosk.browse(page, "/callback", "code=leaf&state=STATE").await;
    let ended = client.wait_for("mcp/login/completed").await;
    assert_eq!(ended["params"], json!({ "name": "kiosk", "success": true }));
    let thread = client.start_thread().await;
    client.start_turn(&thread, "call mcp__kiosk__sell with {}").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let ended = client.wait_for("turn/completed").await;
    assert!(ended.to_string().contains("sold"), "{ended:#}");

    let removed = client.call("mcp/logout", json!({ "name": "kiosk" })).await;
    assert_eq!(removed, json!({ "removed": true }));
    let removed = client.call("mcp/logout", json!({ "name": "kiosk" })).await;
    assert_eq!(removed, json!({ "removed": false }));
    // A login that waits ends with the server.
    client.call("mcp/login", json!({ "name": "kiosk" })).await;
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
    serving.abort();
}

#[tokio::test]
async fn a_client_with_a_secret_logs_in_on_the_command_line_and_exec_says_what_it_lacks() {
    let (kiosk, serving) = Kiosk::open().await;
    kiosk.accept_only("ours", "hush");
    let (workspace, home) = (Workspace::new(), Workspace::new());
    mcp::configure(home.path(), &json!({ "kiosk": { "url": kiosk.url() } }));
    let bobbin = |args: &[&str]| {
        let mut command = workspace.bobbin(args);
        command.env("HOME", home.path()).env_remove("KIOSK_SECRET");
        command
    };
    let sell = ["exec", "--approve", "call mcp__kiosk__sell with {}"];
    let refused = bobbin(&sell).output().await.unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("the MCP server kiosk does not run: it wants a login; run `bobbin mcp login kiosk`"),
        "{said}"
    );

    let login = [
        "mcp",
        "login",
        "kiosk",
        "--client-id",
        "ours",
        "--client-secret-env",
        "KIOSK_SECRET",
    ];
    let unset = bobbin(&login).output().await.unwrap();
    let said = String::from_utf8_lossy(&unset.stderr);
    assert!(
        !unset.status.success() && said.contains("the variable KIOSK_SECRET has no secret"),
        "{said}"
    );
    let mut child = bobbin(&login)
        .env("KIOSK_SECRET", "hush")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.starts_with("http") {
            kiosk.browse(&line, "/callback", "code=leaf&state=STATE").await;
        }
        said.push(line);
    }
    assert!(child.wait().await.unwrap().success());
    assert!(said.last().unwrap().contains("is logged in"), "{said:?}");
    assert!(!said.concat().contains("hush"), "{said:?}");

    kiosk.demand("tools/call", "sell");
    let lacking = bobbin(&sell).output().await.unwrap();
    let said = String::from_utf8_lossy(&lacking.stdout) + String::from_utf8_lossy(&lacking.stderr);
    assert!(
        said.contains("wants a login that allows more (scope sell); run `bobbin mcp login kiosk`"),
        "{said}"
    );
    serving.abort();
}
