//! `bobbin plugin`, beside a running server and without one.

use serde_json::json;

use crate::support::Workspace;

/// Runs a command. Returns whether it succeeded, and what it said.
async fn bobbin(workspace: &Workspace, args: &[&str]) -> (bool, String) {
    let home = workspace.state().join("home");
    let running = workspace.bobbin(args).env("HOME", home).output();
    let output = tokio::time::timeout(crate::support::PATIENCE, running).await;
    let output = output.unwrap().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// Writes a plugin in the format of Claude Code.
fn write(workspace: &Workspace) {
    let folder = workspace.path().join("tea-log");
    let file = |path: &str, text: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    file(
        ".claude-plugin/plugin.json",
        r#"{ "name": "tea-log", "version": "1.0.0", "description": "Notes on tea.\u001b[2J\nMore." }"#,
    );
    file(
        "skills/pour/SKILL.md",
        "---\nname: pour\ndescription: How to pour.\n---\nSlowly.\n",
    );
    file(
        "hooks/hooks.json",
        r#"{ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "ring bell" }] }] } }"#,
    );
}

#[tokio::test]
async fn plugins_are_installed_switched_and_removed_in_a_running_server_and_without_one() {
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.path().join(".craft")).unwrap();
    std::fs::create_dir_all(workspace.state().join("home")).unwrap();
    write(&workspace);
    let (done, said) = bobbin(&workspace, &["plugin"]).await;
    assert!(done && said.contains("no plugins"), "{said}");
    let (done, said) = bobbin(&workspace, &["plugin", "install", "tea-log"]).await;
    assert!(!done && said.contains("write ./tea-log"), "{said}");
    let (done, said) = bobbin(&workspace, &["plugin", "install", "./milk"]).await;
    assert!(!done && said.contains("./milk cannot be installed"), "{said}");

    let (done, said) = bobbin(&workspace, &["plugin", "install", "./tea-log"]).await;
    assert!(done && said.contains("tea-log 1.0.0 (enabled"), "{said}");
    // What it brings is shown, what runs in full, and nothing of it acts on the terminal.
    for part in ["skill pour", "How to pour.", "ring bell", r"\u{1b}[2J"] {
        assert!(said.contains(part), "{part}: {said}");
    }

    let server = workspace.web_socket();
    let mut client = server.client("cook").await;
    let listed = client.call("skills/list", json!({})).await.to_string();
    assert!(listed.contains("pour"), "{listed}");
    let (_, said) = bobbin(&workspace, &["plugin", "list"]).await;
    assert!(said.contains("  hook Stop: ring bell"), "{said}");
    let (done, said) = bobbin(&workspace, &["plugin", "disable", "tea-log"]).await;
    assert!(done && said.contains("tea-log 1.0.0 (disabled"), "{said}");
    client.wait_for("workspace/configChanged").await;
    let listed = client.call("skills/list", json!({})).await.to_string();
    assert!(!listed.contains("pour"), "{listed}");
    let (done, said) = bobbin(&workspace, &["plugin", "enable", "tea-log"]).await;
    assert!(done && said.contains("tea-log 1.0.0 (enabled"), "{said}");
    assert!(server.terminate().await.success());

    let (done, said) = bobbin(&workspace, &["plugin", "remove", "tea-log"]).await;
    assert!(
        done && !workspace.path().join(".craft/plugins/tea-log").exists(),
        "{said}"
    );
    let (done, said) = bobbin(&workspace, &["plugin", "view", "tea-log"]).await;
    assert!(!done && said.contains("'tea-log' was not found"), "{said}");
}
