//! `ensure` and its rules, `stop`, `restart`, and the ends that nobody has asked for.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::TestHub;

const ENSURE: &str = "/v1/appservers/ensure";

fn kill_hard(pid: &Value) {
    let pid = i32::try_from(pid.as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

#[tokio::test]
async fn concurrent_ensures_start_one_server_which_stop_ends() {
    let hub = TestHub::start().await;
    let root = hub.workspace("tea");
    let mut events = hub.events().await;
    let nothing = json!({ "workspacePath": root, "startIfMissing": false });
    let (status, seen) = hub.ask("POST", ENSURE, &nothing).await;
    assert_eq!((status, &seen["state"]), (200, &json!("stopped")));
    let asked = (0..4).map(|_| hub.post("ensure", &root));
    let answers = futures_util::future::join_all(asked).await;
    for (status, answer) in &answers {
        assert_eq!((*status, answer), (200, &answers[0].1));
    }
    let server = &answers[0].1;
    assert_eq!(server["state"], "running");
    let url = server["endpoints"]["appServerWebSocket"].as_str().unwrap();
    assert!(url.ends_with("/ws?token=tea%20%26%20milk"), "{url}");
    let port = events.next("port.allocated").await;
    assert!(url.contains(&format!(":{}/", port["data"]["port"])));
    events.next("appserver.starting").await;
    let running = events.next("appserver.running").await;
    assert_eq!(running["data"]["pid"], server["pid"]);
    assert_eq!(hub.post("ensure", &root).await.1, *server, "returned unchanged");
    let lock = std::fs::read_to_string(root.join(".craft/appserver.lock")).unwrap();
    let lock: Value = serde_json::from_str(&lock).unwrap();
    assert_eq!(
        (&lock["pid"], &lock["managedByHub"]),
        (&server["pid"], &json!(true))
    );
    let path = format!("/v1/appservers/by-workspace?path={}", root.display());
    assert_eq!(hub.ask("GET", &path, &Value::Null).await.1, *server);
    let (_, all) = hub.ask("GET", "/v1/appservers", &Value::Null).await;
    assert_eq!(all, json!([server]));
    let (status, restarted) = hub.post("restart", &root).await;
    assert_eq!((status, &restarted["state"]), (200, &json!("running")));
    assert_ne!(restarted["pid"], server["pid"]);
    let (status, stopped) = hub.post("stop", &root).await;
    assert_eq!((status, &stopped["state"]), (200, &json!("stopped")));
    let exited = events.next("appserver.exited").await;
    assert_eq!(exited["data"]["reason"], "stopped");
    assert!(!root.join(".craft/appserver.lock").exists());
    drop(hub.end().await);
}

#[tokio::test]
async fn a_killed_server_is_seen_and_started_anew() {
    let hub = TestHub::start().await;
    let root = hub.workspace("tea");
    let (_, first) = hub.post("ensure", &root).await;
    let mut events = hub.events().await;
    kill_hard(&first["pid"]);
    let exited = events.next("appserver.exited").await;
    assert_eq!(exited["data"]["exitCode"], 128 + 9);
    let (_, seen) = hub.post("ensure", &root).await;
    assert_eq!(seen["state"], "running");
    assert_ne!(seen["pid"], first["pid"]);
    let home = hub.end().await;
    // The next Hub knows the workspace, and that no server is there.
    let hub = TestHub::start_in(home).await;
    let (_, all) = hub.ask("GET", "/v1/appservers", &Value::Null).await;
    assert_eq!(
        (&all[0]["state"], &all[0]["canonicalWorkspacePath"]),
        (&json!("stopped"), &json!(root))
    );
    drop(hub.end().await);
}

#[tokio::test]
async fn a_failed_start_says_why_and_leaves_nothing() {
    let hub = TestHub::start().await;
    let root = hub.workspace("tea");
    std::fs::write(root.join("broken"), "").unwrap();
    let (status, answer) = hub.post("ensure", &root).await;
    let error = &answer["error"];
    assert_eq!((status, &error["code"]), (500, &json!("appServerStartFailed")));
    let stderr = error["details"]["stderr"].as_str().unwrap();
    assert!(stderr.contains("the kettle is broken"), "{stderr}");
    assert!(!root.join(".craft/appserver.lock").exists());
    std::fs::remove_file(root.join("broken")).unwrap();
    assert_eq!(hub.post("ensure", &root).await.0, 200);
    drop(hub.end().await);
}

#[tokio::test]
async fn a_server_that_others_started_is_returned_and_not_stopped() {
    let one = TestHub::start().await;
    let root = one.workspace("tea");
    let (_, server) = one.post("ensure", &root).await;
    let other = one.stranger().await;
    let (status, seen) = other.post("ensure", &root).await;
    assert_eq!((status, &seen["startedByHub"]), (200, &json!(false)));
    assert_eq!(seen["pid"], server["pid"]);
    let service = &seen["serviceStatus"]["appServerWebSocket"];
    assert_eq!(service["state"], "external");
    let (status, refused) = other.post("stop", &root).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("workspaceLocked"))
    );
    std::fs::write(root.join("deaf"), "").unwrap();
    let (status, refused) = other.post("ensure", &root).await;
    assert_eq!(
        (status, &refused["error"]["details"]["pid"]),
        (409, &server["pid"])
    );
    drop(other.end().await);
    drop(one.end().await);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_unhealthy_until_it_does() {
    let hub = TestHub::start().await;
    let root = hub.workspace("tea");
    let (_, first) = hub.post("ensure", &root).await;
    let mut events = hub.events().await;
    std::fs::write(root.join("deaf"), "").unwrap();
    events.next("appserver.unhealthy").await;
    std::fs::remove_file(root.join("deaf")).unwrap();
    // It answers again, so its Turns go on.
    let (_, seen) = hub.post("ensure", &root).await;
    assert_eq!((&seen["state"], &seen["pid"]), (&json!("running"), &first["pid"]));
    drop(hub.end().await);
}

#[tokio::test]
async fn a_proxy_that_does_not_come_up_fails_the_start() {
    let hub = TestHub::start().await;
    let root = hub.workspace("tea");
    let proxy = json!({
        "enabled": true, "binaryPath": "/bin/false", "configPath": "/etc/hostname",
        "endpoint": "http://127.0.0.1:1/v1", "apiKey": "sesame",
    });
    let wanted = json!({ "workspacePath": root, "apiProxy": proxy });
    let (status, answer) = hub.ask("POST", ENSURE, &wanted).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (500, &json!("appServerStartFailed"))
    );
    assert_eq!(hub.post("ensure", &root).await.0, 200);
    let (status, seen) = hub.ask("POST", ENSURE, &wanted).await;
    let service = &seen["serviceStatus"]["apiProxy"];
    assert_eq!((status, &service["state"]), (200, &json!("restartRequired")));
    assert!(!seen.to_string().contains("sesame"));
    drop(hub.end().await);
}

#[tokio::test]
async fn tools_that_a_client_names_go_to_servers_that_start_from_then_on() {
    let hub = TestHub::start().await;
    let (tea, milk) = (hub.workspace("tea"), hub.workspace("milk"));
    let state = |seen: &Value| seen["serviceStatus"]["typescriptRuntime"]["state"].clone();
    let (_, first) = hub.post("ensure", &tea).await;
    assert_eq!(state(&first), "unavailable");
    let wanted = json!({
        "workspacePath": tea,
        "runtimeTools": { "modulesDir": milk, "nodeBin": "/nowhere/node", "ripgrepPath": "rg" },
    });
    let (status, seen) = hub.ask("POST", ENSURE, &wanted).await;
    assert_eq!((status, state(&seen)), (200, json!("restartRequired")));
    assert_eq!(seen["pid"], first["pid"], "a healthy server goes on");
    let (_, seen) = hub.post("restart", &tea).await;
    assert_eq!(state(&seen), "allocated");
    let modules = std::fs::read_to_string(tea.join("modules")).unwrap();
    assert_eq!(modules, milk.display().to_string());
    let home = hub.end().await;
    let stored = std::fs::read_to_string(home.path().join("hub/runtime.json")).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(
        stored,
        json!({ "modulesDir": milk, "nodeRunAsNode": false, "builtInPluginRoots": [] })
    );
    // The next Hub remembers them.
    let hub = TestHub::start_in(home).await;
    let (_, seen) = hub.post("ensure", &milk).await;
    assert_eq!(state(&seen), "allocated");
    assert!(milk.join("modules").exists());
    drop(hub.end().await);
}
