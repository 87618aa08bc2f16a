//! What menus are filled from (sections 12, 13, 20.5 and 20.6).

use serde_json::json;

use crate::support::{Server, transcript};

#[tokio::test]
async fn contexts_files_commands_providers_and_jobs() {
    let server = Server::start().await;
    let root = server.root().to_owned();
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("src/spout.rs"), "").unwrap();
    std::fs::write(root.join(".gitignore"), "bobbin.*\n").unwrap();
    let mut client = server.editor().await;
    let given = json!([{ "type": "repoMap" }, { "type": "file", "path": root.join("src/spout.rs") }]);
    let mut seen = Vec::new();
    for (method, params) in [
        ("chat/queryContext", json!({ "query": "", "contexts": [] })),
        ("chat/queryContext", json!({ "chatId": "c", "query": "SPOUT" })),
        (
            "chat/queryContext",
            json!({ "query": "spout", "contexts": given }),
        ),
        ("chat/queryFiles", json!({ "query": "./src/" })),
        ("chat/queryCommands", json!({ "query": "" })),
        ("chat/queryCommands", json!({ "chatId": 3, "query": "TOKENS" })),
        ("providers/list", json!(null)),
        ("jobs/list", json!({})),
    ] {
        seen.push(client.answer_to(method, params).await);
    }
    transcript!(server, seen);
}
