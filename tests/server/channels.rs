//! External channels of the real binary: configured by file, their adapters started and ended with it.

use bobbin_testkit::Client;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Workspace};

/// An adapter that leaves its process id, says who it is, and answers nothing.
fn adapter(workspace: &Workspace, name: &str) -> Value {
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "clientInfo": { "name": "sh", "version": "1" },
        "capabilities": { "channelAdapter": { "channelName": name } },
    } });
    let initialized = json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} });
    let pid = workspace.path().join("pid");
    let script = format!(
        "echo $$ > '{}'\necho '{initialize}'\nread answer\necho '{initialized}'\nwhile read line; do :; done",
        pid.display()
    );
    json!({ "Enabled": true, "Transport": "subprocess", "Command": "/bin/sh", "Args": ["-c", script] })
}

/// Waits until the adapter of a channel is there.
async fn running(client: &mut Client, name: &str) {
    let looking = async {
        loop {
            let status = client.call("channel/status", json!({})).await;
            let mut channels = status["channels"].as_array().unwrap().iter();
            if channels.any(|one| one["name"] == name && one["running"] == true) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap();
}

#[tokio::test]
async fn a_broken_channel_is_one_sentence_and_the_others_are_there_and_die_with_the_server() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "ExternalChannels": {
        "owl": { "Enabled": true, "Transport": "feather" },
        "pigeon": adapter(&workspace, "pigeon"),
        "crow": { "Enabled": true, "Transport": "websocket" },
    } }));
    let mut server = workspace.web_socket();
    let mut client = server.client("test").await;
    running(&mut client, "pigeon").await;
    let listed = client.call("channel/list", json!({})).await;
    let listed = listed["channels"].as_array().unwrap().iter();
    let external: Vec<&Value> = listed.filter(|one| one["category"] == "external").collect();
    assert_eq!(external.len(), 2, "{external:?}");
    let crow = json!({ "channelAdapter": { "channelName": "crow" } });
    let mut crow = server.client_with("crow", crow).await;
    running(&mut crow, "crow").await;
    let pid = std::fs::read_to_string(workspace.path().join("pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap());
    // As a crash would: nobody ends the adapter but its parent.
    server.kill_now().await;
    let gone = async {
        while kill(pid, None).is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone)
        .await
        .expect("the adapter is left");
    let doctor = workspace.run(&["doctor"]).await;
    let said = String::from_utf8([doctor.stdout, doctor.stderr].concat()).unwrap();
    let broken: Vec<&str> = said.lines().filter(|line| line.contains("owl")).collect();
    assert_eq!(broken.len(), 1, "{said}");
}

#[tokio::test]
async fn a_channel_of_a_cloned_folder_waits_for_the_word_of_its_user() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    workspace.configure(&json!({ "ExternalChannels": { "pigeon": adapter(&workspace, "pigeon") } }));
    let mut command = workspace.bobbin(&["trust"]);
    let listed = command.env("HOME", home.path()).output().await.unwrap();
    let text = String::from_utf8([listed.stdout, listed.stderr].concat()).unwrap();
    assert!(
        text.contains("the channel pigeon") && text.contains("/bin/sh"),
        "{text}"
    );
}
