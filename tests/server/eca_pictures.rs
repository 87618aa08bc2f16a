//! Pictures that an editor attaches, on the whole binary.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_testkit::{ModelServer, Script};
use serde_json::{Value, json};

use crate::eca::{finished, hello, start};
use crate::support::Workspace;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn kiln(server: &ModelServer, model: &str) -> Value {
    let kiln = json!({ "Wire": "chat", "BaseUrl": server.base_url(), "Models": [model] });
    json!({ "Providers": { "kiln": kiln }, "Titles": { "Enabled": false }, "Model": format!("kiln/{model}") })
}

/// The files of pictures in the workspace's state.
fn stored(workspace: &Workspace) -> Vec<String> {
    let outputs = workspace.database().parent().unwrap().join("terminals");
    let threads = std::fs::read_dir(outputs).unwrap().flatten();
    let files = threads.filter_map(|thread| std::fs::read_dir(thread.path()).ok());
    let names = files
        .flatten()
        .flatten()
        .map(|file| file.file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("picture_")).collect()
}

#[tokio::test]
async fn pictures_of_a_prompt_reach_a_model_that_sees_and_stay_with_their_chat() {
    let server = ModelServer::start(Script::default()).await.unwrap();
    let (workspace, elsewhere) = (Workspace::new(), Workspace::new());
    workspace.configure(&kiln(&server, "gpt-4o"));
    let shot = elsewhere.path().join("shot.png");
    std::fs::write(&shot, PNG).unwrap();
    let (mut child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    client.notify("initialized", json!({})).await;
    let url = format!("data:image/png;base64,{}", STANDARD.encode(PNG));
    let contexts = json!([
        { "type": "file", "path": shot },
        { "type": "image", "mediaType": "image/png", "base64": STANDARD.encode([PNG, b"2"].concat()) },
    ]);
    let prompt = json!({ "chatId": "c", "message": "say look", "contexts": contexts });
    client.call("chat/prompt", prompt).await;
    finished(&mut client).await;
    std::fs::remove_file(&shot).unwrap();
    let sent = server.asked()[0].body.to_string();
    assert_eq!(sent.matches("data:image/png;base64,").count(), 2, "{sent}");
    assert!(sent.contains(&url), "{sent}");
    assert_eq!(stored(&workspace).len(), 2);
    client.call("shutdown", json!(null)).await;
    client.notify("exit", json!(null)).await;
    child.wait().await.unwrap();
    // After a restart the conversation has them still; a deleted chat has none.
    let (_child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    client.notify("initialized", json!({})).await;
    client.call("chat/open", json!({ "chatId": "c" })).await;
    let echo = client
        .find("the prompt", |message| message["params"]["role"] == "user")
        .await;
    assert_eq!(echo["params"]["content"]["text"], "say look\n");
    client
        .call("chat/prompt", json!({ "chatId": "c", "message": "say again" }))
        .await;
    finished(&mut client).await;
    assert!(server.asked()[1].body.to_string().contains(&url));
    client.call("chat/delete", json!({ "chatId": "c" })).await;
    client.call("shutdown", json!(null)).await;
    client.notify("exit", json!(null)).await;
    // The server goes on, and removes them in its own time.
    for _ in 0..400 {
        if stored(&workspace).is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{:?}", stored(&workspace));
}

#[tokio::test]
async fn a_picture_that_a_model_does_not_get_is_told_to_both() {
    let server = ModelServer::start(Script::default()).await.unwrap();
    let workspace = Workspace::new();
    workspace.configure(&kiln(&server, "blind"));
    let (_child, mut client) = start(&workspace, &["eca"]);
    client.call("initialize", hello(&workspace)).await;
    client.notify("initialized", json!({})).await;
    let contexts = json!([
        { "type": "image", "mediaType": "image/png", "base64": STANDARD.encode(PNG) },
        { "type": "image", "mediaType": "image/tiff", "base64": STANDARD.encode("II*") },
    ]);
    let prompt = json!({ "chatId": "c", "message": "say look", "contexts": contexts });
    client.call("chat/prompt", prompt).await;
    for words in ["Not attached: picture: it is no PNG", "does not see pictures"] {
        let says = |message: &Value| {
            let text = message["params"]["content"]["text"].as_str();
            message["params"]["role"] == "system" && text.is_some_and(|text| text.contains(words))
        };
        client.find(words, says).await;
    }
    finished(&mut client).await;
    let sent = server.asked()[0].body.to_string();
    assert!(
        sent.contains("[image: picture]") && sent.contains("it is no PNG"),
        "{sent}"
    );
}
