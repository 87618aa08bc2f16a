//! An MCP server over HTTP under the whole binary.

use bobbin_testkit::{Client, Link, tea_server};
use serde_json::json;
use std::process::Stdio;

use crate::support::{Workspace, rich};

#[tokio::test]
async fn the_proxy_of_the_environment_gets_nothing_of_it() {
    let (url, serving) = tea_server::listen().await;
    // Whoever connects there is seen.
    let proxy = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let workspace = Workspace::new();
    workspace.configure(&json!({ "McpServers": { "pantry": { "url": url } } }));
    let mut command = workspace.bobbin(&["app-server", "--log", "error"]);
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
