//! Who may ask, and what is asked wrongly.

use bobbin_hub::Started;
use serde_json::{Value, json};

use crate::support::TestHub;

#[tokio::test]
async fn the_status_is_open_and_all_else_wants_the_token_and_no_foreign_page() {
    let hub = TestHub::start().await;
    let host = format!("Host: {}\r\n", hub.authority());
    let (status, body) = hub.raw("GET", "/v1/status", &host, "").await;
    let said: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &said["apiBaseUrl"]),
        (200, &json!(hub.lock.api_base_url))
    );
    assert_eq!(said["capabilities"]["tray"], false);
    let binary = std::env::current_exe().unwrap().canonicalize().unwrap();
    assert_eq!(said["binaryPath"], json!(binary));
    assert_eq!(hub.lock.binary_path.as_ref(), Some(&binary));
    let own = hub.headers();
    let wrong = format!("{host}Authorization: Bearer wrong\r\n");
    let foreign = format!("{own}Origin: https://evil.example\r\n");
    let table = [
        ("GET", "/v1/appservers", host.clone(), 401),
        ("GET", "/v1/events", wrong, 401),
        ("POST", "/v1/shutdown", host.clone(), 401),
        ("GET", "/v1/appservers", own.clone(), 200),
        ("GET", "/v1/appservers", foreign, 403),
        ("GET", "/v1/status", "Host: evil.example\r\n".to_owned(), 403),
        ("GET", "/v1/nothing", own, 404),
    ];
    for (method, path, headers, expected) in table {
        let (status, body) = hub.raw(method, path, &headers, "").await;
        assert_eq!(status, expected, "{method} {path} {headers}");
        if expected == 401 {
            let error: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(error["error"]["code"], "unauthorized");
        }
    }
    drop(hub.end().await);
}

#[tokio::test]
async fn what_is_wrong_with_a_request_has_its_code() {
    let hub = TestHub::start().await;
    let root = hub.workspace("tea");
    std::fs::create_dir(root.join("bare")).unwrap();
    let path = |path| json!({ "workspacePath": path });
    let proxy = json!({ "workspacePath": root, "apiProxy": { "enabled": true } });
    let (ensure, notify) = ("appservers/ensure", "notifications/request");
    let table = [
        (ensure, json!({}), 400, "workspaceNotFound"),
        (ensure, path(root.join("no")), 404, "workspaceNotFound"),
        (ensure, path(root.join("bare")), 404, "workspaceNotFound"),
        (ensure, proxy, 400, "invalidProxySidecar"),
        ("appservers/stop", path(root), 404, "workspaceNotFound"),
        (notify, json!({ "kind": "x" }), 400, "invalidNotification"),
        (notify, json!("x".repeat(70_000)), 400, "invalidRequest"),
    ];
    for (path, body, status, code) in table {
        let answer = hub.ask("POST", &format!("/v1/{path}"), &body).await;
        let found = (answer.0, &answer.1["error"]["code"]);
        assert_eq!(found, (status, &json!(code)), "{path}");
    }
    let found = hub.ask("GET", "/v1/appservers/by-workspace", &Value::Null).await;
    assert_eq!(found.0, 400);
    drop(hub.end().await);
}

#[tokio::test]
async fn notifications_reach_subscribers_and_a_second_hub_finds_the_first() {
    let hub = TestHub::start().await;
    let mut events = hub.events().await;
    let wanted = json!({ "workspacePath": "/srv/tea", "kind": "k", "title": "t", "severity": "odd" });
    let answer = hub.ask("POST", "/v1/notifications/request", &wanted).await;
    assert_eq!(answer, (200, json!({ "accepted": true })));
    let event = events.next("notification.requested").await;
    assert_eq!(
        event["data"],
        json!({ "kind": "k", "title": "t", "severity": "info" })
    );
    let Started::Already(Some(other)) = hub.start_another().await else {
        panic!("there are two");
    };
    assert_eq!(other.api_base_url, hub.lock.api_base_url);
    let stopped = hub.ask("POST", "/v1/shutdown", &Value::Null).await;
    assert_eq!(stopped, (200, json!({ "ok": true })));
    events.next("hub.stopping").await;
    let home = hub.end().await;
    assert!(!home.path().join("hub/hub.lock").exists());
}
