//! Texts that a model writes in an editor, on the whole binary.

use bobbin_testkit::{ModelServer, Part, Reply, Script};
use serde_json::{Value, json};

use crate::eca::{hello, start};
use crate::support::Workspace;

#[tokio::test]
async fn a_model_rewrites_and_completes_in_an_editor() {
    let text = |text: &str| Reply::of([Part::Text(text.to_owned())]);
    let server = ModelServer::start(Script::of([
        text("```rust\nbrew(); pour();\n```"),
        text("pour();"),
    ]));
    let server = server.await.unwrap();
    let workspace = Workspace::new();
    let (_child, mut client) = start(&workspace, &["eca"]);
    let mut hello = hello(&workspace);
    let kiln = json!({ "api": "openai-chat", "url": server.base_url(), "key": "k", "models": { "m": {} } });
    hello["initializationOptions"] =
        json!({ "pureConfig": true, "providers": { "kiln": kiln }, "defaultModel": "kiln/m" });
    client.call("initialize", hello).await;
    client.notify("initialized", json!({})).await;
    let at = json!({ "line": 1, "character": 8 });
    let asked = json!({
        "id": "r", "text": "boil();\n", "prompt": "brew and pour", "path": workspace.path().join("tea.rs"),
        "range": { "start": at, "end": at },
    });
    let answer = client.call("rewrite/prompt", asked).await;
    assert_eq!(answer, json!({ "status": "prompting", "model": "kiln/m" }));
    let mut written = String::new();
    loop {
        let content = client.wait_for("rewrite/contentReceived").await["params"]["content"].clone();
        match content["type"].as_str() {
            Some("finished") => break,
            Some("started") => {}
            _ => written += content["text"].as_str().expect("a text"),
        }
    }
    assert_eq!(written, "brew(); pour();\n");
    let asked =
        json!({ "docText": "brew(); \n", "docVersion": 1, "position": { "line": 1, "character": 9 } });
    let answer = client.call("completion/inline", asked).await;
    assert_eq!(answer["items"][0]["text"], "pour();");
    let asked: Vec<Value> = server.asked().into_iter().map(|asked| asked.body).collect();
    let asked: Vec<&Value> = asked
        .iter()
        .filter(|body| body.get("messages").is_some())
        .collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for (body, words) in asked
        .iter()
        .zip([["brew and pour", "boil();"], ["before the cursor", "brew();"]])
    {
        assert_eq!(body.get("tools"), None);
        let body = body.to_string();
        assert!(words.iter().all(|word| body.contains(word)), "{body}");
    }
    // Neither is part of a chat.
    let chats = client.call("chat/list", json!({})).await;
    assert_eq!(chats, json!({ "chats": [] }));
}
