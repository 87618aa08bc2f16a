//! Hooks that a client lists, trusts and switches, of a workspace that is not its user's home.

use std::path::Path;
use std::process::Stdio;

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Process, Workspace};

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Returns the hooks of a file that run this for each prompt.
fn hooks(command: &str) -> Value {
    json!({ "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": command, "timeout": 7 }] }] })
}

fn serve(workspace: &Workspace, home: &Workspace) -> Process {
    let mut command = workspace.bobbin(&["app-server", "--listen", "ws://127.0.0.1:0"]);
    command
        .env("HOME", home.path())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    Process::of(
        command.spawn().unwrap(),
        workspace.state_folder().join("bobbin.json"),
    )
}

async fn connect(server: &Process) -> Client {
    let today = json!({ "configChange": true, "appBindingVersion": 1 });
    server.client_with("desk", today).await
}

/// Runs a Turn and returns the hooks that it has asked, by name.
async fn asked(client: &mut Client, workspace: &Workspace) -> Vec<String> {
    let seen = workspace.path().join("seen");
    drop(std::fs::remove_file(&seen));
    let thread = client.start_thread().await;
    client.start_turn(&thread, "Make tea.").await;
    client.wait_for("turn/completed").await;
    let seen = std::fs::read_to_string(&seen).unwrap_or_default();
    let mut names: Vec<String> = seen.lines().map(str::to_owned).collect();
    names.sort();
    names
}

async fn list(client: &mut Client) -> Value {
    client.call("hooks/list", json!({})).await
}

/// Returns key, trust and switch of each hook.
fn states(listed: &Value) -> Vec<(&str, &str, bool)> {
    let hooks = listed["hooks"].as_array().unwrap().iter();
    hooks
        .map(|hook| {
            let text = |name: &str| hook[name].as_str().unwrap();
            (
                text("key"),
                text("trustStatus"),
                hook["enabled"].as_bool().unwrap(),
            )
        })
        .collect()
}

async fn news(client: &mut Client) {
    let news = client.wait_for("workspace/configChanged").await;
    assert_eq!(news["params"]["regions"], json!(["hooks"]));
}

#[tokio::test]
async fn hooks_are_listed_trusted_and_switched() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    home.configure(&json!({ "Hooks": hooks("echo user >> $PWD/seen") }));
    workspace.configure(&json!({ "Hooks": hooks("sh hook.sh") }));
    write(workspace.path(), "hook.sh", "echo folder >> seen");
    let server = serve(&workspace, &home);
    let mut client = connect(&server).await;
    let listed = list(&mut client).await;
    let (user, folder) = ("user:0", "workspace:0");
    assert_eq!(
        states(&listed),
        [(user, "trusted", true), (folder, "untrusted", true)]
    );
    assert_eq!((&listed["warnings"], &listed["errors"]), (&json!([]), &json!([])));
    let hook = &listed["hooks"][1];
    let path = workspace
        .path()
        .join(".craft/config.json")
        .canonicalize()
        .unwrap();
    let expected = json!({
        "key": folder, "eventName": "UserPromptSubmit", "handlerType": "command", "timeoutSec": 7.0,
        "executionMode": "sync", "asyncRewake": false, "source": "workspace", "sourcePath": path, "displayOrder": 1,
        "enabled": true, "isManaged": false, "currentHash": hook["currentHash"], "trustStatus": "untrusted",
        "command": "sh hook.sh",
    });
    assert_eq!(*hook, expected);
    let hash = hook["currentHash"].as_str().unwrap().to_owned();
    assert!(
        hash.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64),
        "{hash}"
    );
    assert_eq!(asked(&mut client, &workspace).await, ["user"]);

    // What has changed since it was shown is not trusted, and nothing is switched with it.
    for wrong in [
        json!({ "key": folder, "trustedHash": "sha256:00", "enabled": false }),
        json!({ "key": user, "trustedHash": hash, "enabled": false }),
        json!({ "key": "workspace:1", "enabled": false }),
    ] {
        let error = client.error("hooks/setState", wrong).await;
        assert_eq!(error["code"], -32602, "{error}");
    }
    assert_eq!(list(&mut client).await, listed);
    let trusted = json!({ "key": folder, "trustedHash": hash });
    let seen = client.call("hooks/setState", trusted.clone()).await;
    assert_eq!(states(&seen)[1], (folder, "trusted", true));
    news(&mut client).await;
    assert_eq!(asked(&mut client, &workspace).await, ["folder", "user"]);

    // Another content waits for trust.
    write(workspace.path(), "hook.sh", "echo other >> seen");
    assert_eq!(states(&list(&mut client).await)[1], (folder, "modified", true));
    assert_eq!(asked(&mut client, &workspace).await, ["user"]);
    let error = client.error("hooks/setState", trusted).await;
    assert_eq!(error["code"], -32602, "{error}");

    // A switch lasts.
    let off = json!({ "key": user, "enabled": false });
    let seen = client.call("hooks/setState", off).await;
    assert_eq!(states(&seen)[0], (user, "trusted", false));
    assert_eq!(asked(&mut client, &workspace).await, [""; 0]);
    assert!(server.terminate().await.success());
    let server = serve(&workspace, &home);
    let mut client = connect(&server).await;
    assert_eq!(states(&list(&mut client).await)[0], (user, "trusted", false));
    assert_eq!(asked(&mut client, &workspace).await, [""; 0]);
    let on = json!({ "key": user, "enabled": true });
    client.call("hooks/setState", on).await;
    assert_eq!(asked(&mut client, &workspace).await, ["user"]);

    // What is listed is what runs, also after a change by hand; mistakes are reported.
    home.configure(&json!({ "Hooks": { "Stopp": [] } }));
    let listed = list(&mut client).await;
    assert_eq!(states(&listed), [(folder, "modified", true)]);
    assert_eq!(listed["warnings"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(asked(&mut client, &workspace).await, [""; 0]);
    home.configure(&json!({ "Hooks": [] }));
    let listed = list(&mut client).await;
    let error = &listed["errors"][0];
    assert!(
        error["path"].as_str().unwrap().ends_with("config.json"),
        "{listed}"
    );
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_plugins_hooks_are_trusted_with_it() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    home.configure(&json!({}));
    let plugin = workspace.path().join(".craft/plugins/tea-log");
    write(
        &plugin,
        ".claude-plugin/plugin.json",
        r#"{ "name": "tea-log", "version": "1.0.0" }"#,
    );
    let file = json!({ "hooks": hooks("echo plugin >> seen") });
    write(&plugin, "hooks/hooks.json", &file.to_string());
    let server = serve(&workspace, &home);
    let mut client = connect(&server).await;
    let key = "plugin:tea-log:0";
    let listed = list(&mut client).await;
    assert_eq!(states(&listed), [(key, "untrusted", true)]);
    let hook = &listed["hooks"][0];
    assert_eq!(
        (&hook["source"], &hook["pluginId"]),
        (&json!("plugin"), &json!("tea-log"))
    );
    let plugins = client.call("plugin/list", json!({})).await;
    assert_eq!(plugins["plugins"][0]["hooks"][0]["key"], key);
    let error = client
        .error("hooks/trustPlugin", json!({ "pluginId": "milk" }))
        .await;
    assert_eq!(error["code"], -32602, "{error}");
    assert_eq!(asked(&mut client, &workspace).await, [""; 0]);

    let seen = client
        .call("hooks/trustPlugin", json!({ "pluginId": "tea-log" }))
        .await;
    assert_eq!(states(&seen), [(key, "trusted", true)]);
    news(&mut client).await;
    assert_eq!(asked(&mut client, &workspace).await, ["plugin"]);

    // All of the plugin counts for its hash.
    write(
        &plugin,
        "skills/pour/SKILL.md",
        "---\ndescription: How to pour\n---\nSlowly.\n",
    );
    let listed = list(&mut client).await;
    assert_eq!(states(&listed), [(key, "untrusted", true)]);
    let hash = &listed["hooks"][0]["currentHash"];
    assert_ne!(hash, &seen["hooks"][0]["currentHash"]);
    let seen = client
        .call(
            "hooks/setState",
            json!({ "key": key, "trustedHash": hash, "enabled": false }),
        )
        .await;
    assert_eq!(states(&seen), [(key, "trusted", false)]);
    assert_eq!(asked(&mut client, &workspace).await, [""; 0]);
    assert!(server.terminate().await.success());
}
