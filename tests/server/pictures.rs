//! Pictures that a browser hands in, and names of files for its menus, on the whole binary.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_testkit::{ModelServer, Script};
use serde_json::{Value, json};

use crate::support::Workspace;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn url(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

#[tokio::test]
async fn a_picture_that_comes_as_bytes_reaches_the_model_and_is_read_again() {
    let server = ModelServer::start(Script::default()).await.unwrap();
    let workspace = Workspace::new();
    let kiln = json!({ "Wire": "chat", "BaseUrl": server.base_url(), "Models": ["gpt-4o"] });
    workspace.configure(
        &json!({ "Providers": { "kiln": kiln }, "Titles": { "Enabled": false }, "Model": "kiln/gpt-4o" }),
    );
    let running = workspace.web_socket();
    let mut client = running.client("ada").await;
    let thread = client.start_thread().await;
    let start = |input: Value| json!({ "threadId": thread, "input": input });
    let picture = json!({ "type": "image", "url": url(PNG), "fileName": "pot.png" });
    let said = json!([{ "type": "text", "text": "say look" }, picture]);
    client.call("turn/start", start(said)).await;
    client.wait_for("turn/completed").await;
    let sent = server.asked()[0].body.to_string();
    assert_eq!(sent.matches(&url(PNG)).count(), 1, "{sent}");

    let read = client
        .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
        .await;
    let part = &read["thread"]["turns"][0]["items"][0]["payload"]["nativeInputParts"][1];
    assert_eq!(
        (&part["type"], &part["fileName"]),
        (&json!("localImage"), &json!("pot.png"))
    );
    let read = json!({ "threadId": thread, "path": part["path"] });
    let picture = client.call("turn/picture/read", read).await;
    assert_eq!(
        picture,
        json!({ "mediaType": "image/png", "dataBase64": STANDARD.encode(PNG) })
    );

    let large = [PNG, &vec![0; bobbin_agent_api::picture::MAX_PICTURE_BYTES / 2]].concat();
    for (bytes, why) in [(b"<svg/>".as_slice(), Some("no PNG")), (&large, None)] {
        let input = json!([{ "type": "image", "url": url(bytes) }]);
        let answer = client.answer_to("turn/enqueue", start(input)).await;
        let detail = answer["error"]["data"]["detail"].as_str();
        assert_eq!(why.is_some(), detail.is_some(), "{answer}");
        assert!(
            detail.unwrap_or_default().contains(why.unwrap_or_default()),
            "{answer}"
        );
    }
    client.wait_for("turn/completed").await;
    let other = client.start_thread().await;
    let name = part["path"].as_str().unwrap();
    for (thread, path) in [
        (&other, name.to_owned()),
        (&thread, format!("{name}/../../x.png")),
        (&thread, "/etc/passwd".to_owned()),
    ] {
        let answer = client
            .answer_to("turn/picture/read", json!({ "threadId": thread, "path": path }))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{path}: {answer}");
    }
}

/// Desktops and adapters of chat platforms store the pictures of their users there.
#[tokio::test]
async fn a_picture_below_attachments_reaches_the_model_and_a_missing_one_is_told_once() {
    let server = ModelServer::start(Script::default()).await.unwrap();
    let workspace = Workspace::new();
    let kiln = json!({ "Wire": "chat", "BaseUrl": server.base_url(), "Models": ["gpt-4o"] });
    workspace.configure(
        &json!({ "Providers": { "kiln": kiln }, "Titles": { "Enabled": false }, "Model": "kiln/gpt-4o" }),
    );
    let pasted = workspace.path().join(".craft/attachments/images/3f.png");
    std::fs::create_dir_all(pasted.parent().unwrap()).unwrap();
    std::fs::write(&pasted, PNG).unwrap();
    let running = workspace.web_socket();
    let mut client = running.client("ada").await;
    let thread = client.start_thread().await;
    let picture = |name: &str| json!({ "type": "localImage", "path": pasted.with_file_name(name) });
    let said = json!({ "type": "text", "text": "say look" });
    let mut errors = Vec::new();
    for input in [
        json!([said, picture("3f.png"), picture("gone.png")]),
        json!([said]),
        json!([said, picture("gone.png")]),
    ] {
        let start = json!({ "threadId": thread, "input": input });
        client.call("turn/start", start).await;
        let seen = client.until("turn/completed").await;
        let items = seen
            .iter()
            .filter(|message| message["method"] == "item/completed");
        let items = items.map(|message| &message["params"]["item"]);
        errors.extend(items.filter(|item| item["type"] == "error").cloned());
    }
    let sent = server.asked()[0].body.to_string();
    assert_eq!(sent.matches(&url(PNG)).count(), 1, "{sent}");
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert!(errors[0]["message"].as_str().unwrap().contains("gone.png"));
    let read = client.call("thread/read", json!({ "threadId": thread })).await;
    assert_eq!(read["thread"]["displayName"], "say look");
}

#[tokio::test]
async fn files_are_found_by_a_part_of_their_path() {
    let workspace = Workspace::new();
    let root = workspace.path();
    std::fs::create_dir_all(root.join("src/kettle")).unwrap();
    std::fs::create_dir_all(root.join("out")).unwrap();
    for file in ["src/kettle/lid.rs", "src/spout.rs", "out/lid.o"] {
        std::fs::write(root.join(file), "x").unwrap();
    }
    std::fs::write(root.join(".gitignore"), "out\n").unwrap();
    let running = workspace.web_socket();
    let mut client = running.client("ada").await;
    let found = client
        .call("workspace/files/find", json!({ "query": "LID" }))
        .await;
    assert_eq!(
        found,
        json!({ "files": [{ "path": "src/kettle/lid.rs", "isDirectory": false }] })
    );
    let found = client
        .call("workspace/files/find", json!({ "query": "kettle", "limit": 1 }))
        .await;
    assert_eq!(
        found,
        json!({ "files": [{ "path": "src/kettle", "isDirectory": true }] })
    );
    let answer = client
        .answer_to("workspace/files/find", json!({ "query": "", "limit": 101 }))
        .await;
    assert_eq!(answer["error"]["code"], -32602);
}
