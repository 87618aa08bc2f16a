//! An editor behind the whole binary: files as it has them.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Workspace;

fn result_of(ended: &Value) -> &str {
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    let result = items.iter().find(|item| item["type"] == "toolResult").unwrap();
    result["payload"]["result"].as_str().unwrap()
}

#[tokio::test]
async fn an_editor_reads_and_writes_for_a_turn() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("notes.md"), "on disk\n").unwrap();
    let (mut process, link) = workspace.stdio();
    let mut client = Client::new(link);
    let info = json!({
        "clientInfo": { "name": "editor", "version": "1" },
        "capabilities": { "acpExtensions": { "fsReadTextFile": true, "fsWriteTextFile": true } },
    });
    let answer = client.call("initialize", info).await;
    assert_eq!(answer["serverInfo"]["extensions"], json!(["acp"]));
    client.notify("initialized", json!({})).await;
    let id = client.start_thread().await;
    client.start_turn(&id, "read notes.md").await;
    let asked = client.wait_for("ext/acp/fs/readTextFile").await;
    client
        .reply(&asked, json!({ "content": "in the editor\n" }))
        .await;
    assert_eq!(
        result_of(&client.wait_for("turn/completed").await),
        "1\tin the editor\n"
    );
    client
        .find("idle", |message| message["params"]["runtime"]["running"] == false)
        .await;
    client.start_turn(&id, "write notes.md: new").await;
    let asked = client.wait_for("ext/acp/fs/writeTextFile").await;
    assert_eq!(asked["params"]["content"], "new\n");
    client.reply(&asked, json!({ "success": true })).await;
    let ended = client.wait_for("turn/completed").await;
    assert!(result_of(&ended).starts_with("replaced notes.md"));
    let left = std::fs::read_to_string(workspace.path().join("notes.md")).unwrap();
    assert_eq!(left, "on disk\n", "the editor writes, not the server");
    drop(client);
    assert!(process.exit().await.success());
}
