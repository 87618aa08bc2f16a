//! Alerts of a real server, to an address and to a program.

use std::process::Stdio;
use std::time::Duration;

use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::mcp;
use crate::support::{PATIENCE, Workspace, rich};

/// An address that takes alerts, and answers with a status.
async fn address(status: impl Into<String>) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/tea", listener.local_addr().unwrap());
    let (sender, requests) = mpsc::channel(16);
    let status = status.into();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut text = Vec::new();
            let mut part = [0; 4096];
            loop {
                let read = stream.read(&mut part).await.unwrap_or(0);
                text.extend_from_slice(&part[..read]);
                let shown = String::from_utf8_lossy(&text).into_owned();
                if read == 0 || is_whole(&shown) {
                    drop(sender.send(shown).await);
                    break;
                }
            }
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            drop(stream.write_all(answer.as_bytes()).await);
        }
    });
    (url, requests)
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse::<usize>().ok())?
    });
    body.len() >= length.unwrap_or(0)
}

async fn next(requests: &mut mpsc::Receiver<String>) -> String {
    tokio::time::timeout(PATIENCE, requests.recv())
        .await
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn a_question_that_waits_is_reported_once_with_its_link() {
    let (url, mut requests) = address("200 OK").await;
    let workspace = Workspace::new();
    workspace
        .configure(&json!({ "Alerts": { "Url": url, "AfterSeconds": 5 }, "Titles": { "Enabled": false } }));
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    client.call("alert/test", json!({})).await;
    let test = next(&mut requests).await;
    assert!(
        test.starts_with("POST /tea HTTP/1.1") && test.ends_with("Alerts work"),
        "{test}"
    );

    let thread = client.start_thread().await;
    let title = json!({ "threadId": thread, "displayName": "Tidy\nthe \u{1b}[31mpantry" });
    client.call("thread/rename", title).await;
    client.start_turn(&thread, "run `echo s3cret > cup`").await;
    let asked = client.wait_for("item/approval/request").await;
    let alert = next(&mut requests).await;
    let page = format!("/#/t/{thread}");
    let is_link = |line: &str| line.starts_with("click: http://") && line.ends_with(&page);
    assert!(alert.lines().any(is_link), "{alert}");
    assert!(
        alert.ends_with("\r\n\r\nNeeds your answer: Tidy the  [31mpantry"),
        "{alert}"
    );
    client.reply(&asked, json!({ "decision": "decline" })).await;
    client.wait_for("turn/completed").await;
    // A new question of the same Thread is another one.
    client.start_turn(&thread, "run `echo again > cup`").await;
    client.wait_for("item/approval/request").await;
    let again = next(&mut requests).await;
    assert!(again.contains("Needs your answer"), "{again}");
    server.terminate().await;
}

#[tokio::test]
async fn a_server_without_clients_goes_on_until_a_question_is_reported() {
    let workspace = Workspace::new();
    let out = workspace.path().join("alert");
    let shown = out.display();
    let command = format!("cat > {shown}.new && mv {shown}.new {shown}");
    // It would end ten seconds after its client.
    workspace.configure(&json!({
        "Alerts": { "Command": ["sh", "-c", command], "AfterSeconds": 12, "Titles": false },
    }));
    let mut child = workspace
        .bobbin(&["app-server"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let link = Link::lines(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = Client::ready(link, "desktop", rich()).await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "run `echo tea > cup`").await;
    client.wait_for("item/approval/request").await;
    drop(client);
    child.wait().await.unwrap();
    let reported = async {
        loop {
            if let Ok(text) = std::fs::read_to_string(&out) {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let alert = tokio::time::timeout(PATIENCE, reported).await.unwrap();
    let alert: Value = serde_json::from_str(&alert).unwrap();
    assert_eq!(
        (&alert["kind"], &alert["threadId"], &alert["title"]),
        (&json!("question"), &json!(thread), &Value::Null)
    );
    workspace.run(&["stop"]).await;
}

#[tokio::test]
async fn a_folder_sends_no_alerts() {
    let (url, mut requests) = address("200 OK").await;
    let (home, workspace) = (Workspace::new(), Workspace::new());
    workspace.configure(&json!({ "Alerts": { "Url": url, "AfterSeconds": 5 } }));
    let (mut server, mut client) = mcp::start(&workspace, &home).await;
    let refused = client.error("alert/test", json!({})).await;
    assert_eq!(refused["code"], -32601);
    assert!(requests.try_recv().is_err());
    client.finish().await;
    server.wait().await.unwrap();
}

#[tokio::test]
async fn an_address_that_leads_elsewhere_is_a_refusal_and_does_not_spread() {
    for status in ["302 Found", "307 Temporary Redirect"] {
        let (elsewhere, mut led) = address("200 OK").await;
        let (url, mut requests) = address(format!("{status}\r\nLocation: {elsewhere}")).await;
        let workspace = Workspace::new();
        workspace.configure(&json!({ "Alerts": { "Url": url } }));
        let server = workspace.web_socket();
        let mut client = server.client("me").await;
        let error = client.error("alert/test", json!({})).await.to_string();
        assert!(error.contains(&status[..3]), "{error}");
        next(&mut requests).await;
        assert!(led.try_recv().is_err(), "{status}");
        server.terminate().await;
    }
}

#[tokio::test]
async fn an_alert_that_is_refused_says_so_without_the_address() {
    let (url, _requests) = address("403 Forbidden").await;
    let workspace = Workspace::new();
    workspace.configure(&json!({ "Alerts": { "Url": format!("{url}-s3cret") } }));
    let server = workspace.web_socket();
    let mut client = server.client("me").await;
    let error = client.error("alert/test", json!({})).await;
    let text = error.to_string();
    assert!(text.contains("403") && !text.contains("s3cret"), "{text}");
    server.terminate().await;
}
