//! The binary with a model behind a provider, which follows a script.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bobbin_testkit::{Client, ModelServer, Part, Reply, Script, ScriptedCall};
use serde_json::{Value, json};

use crate::eca;
use crate::support::{Workspace, agent_text, rich};

const KEY: &str = "sk-sesame-9876543210";

/// Writes a configuration, and a key file beside it that only its owner can read.
fn configure(home: &Path, config: &Value) {
    let craft = home.join(".craft");
    std::fs::create_dir_all(&craft).unwrap();
    let mut config = config.clone();
    config["Titles"] = json!({ "Enabled": false });
    std::fs::write(craft.join("config.json"), config.to_string()).unwrap();
    let key = craft.join("script.key");
    std::fs::write(&key, format!("{KEY}\n")).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn provider(server: &ModelServer, wire: &str) -> Value {
    json!({ "Wire": wire, "BaseUrl": server.base_url(), "ApiKeyFile": "~/.craft/script.key" })
}

async fn locked(replies: Vec<Reply>) -> ModelServer {
    let script = Script {
        replies,
        models: vec!["scripted".into()],
        key: Some(KEY.into()),
        ..Script::default()
    };
    ModelServer::start(script).await.unwrap()
}

/// Whether any file below a directory has the key in it, but the file it is kept in.
fn has_key(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.into_iter().any(|path| {
        if path.is_dir() {
            return has_key(&path);
        }
        let bytes = std::fs::read(&path).unwrap();
        !path.ends_with("script.key") && bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes())
    })
}

#[tokio::test]
async fn exec_runs_a_prompt_with_the_named_model_on_every_wire() {
    for wire in ["chat", "responses", "messages"] {
        let call = ScriptedCall {
            id: "c1".into(),
            tool: "ReadFile".into(),
            arguments: json!({ "path": "kettle.txt" }),
        };
        let server = locked(vec![
            Reply::of([Part::Reasoning("Hm.".into()), Part::Call(call)]),
            Reply::of([Part::Text("The kettle is hot.".into())]),
        ])
        .await;
        let workspace = Workspace::new();
        std::fs::write(workspace.path().join("kettle.txt"), "hot").unwrap();
        configure(
            workspace.path(),
            &json!({ "Providers": { "script": provider(&server, wire) } }),
        );
        let output = workspace
            .run(&[
                "exec",
                "--model",
                "script/scripted",
                "--log",
                "trace",
                "How is the kettle?",
            ])
            .await;
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert!(stdout.contains("The kettle is hot."), "{stdout}");
        assert!(
            server.asked().last().unwrap().body.to_string().contains("hot"),
            "the result was sent"
        );
        assert!(
            !stderr.contains(KEY) && !has_key(workspace.path()),
            "{wire}: the key is nowhere"
        );
    }
}

#[tokio::test]
async fn a_thread_keeps_the_model_it_was_given_and_can_be_given_another() {
    let server = locked(Vec::new()).await;
    let workspace = Workspace::new();
    configure(
        workspace.path(),
        &json!({ "Providers": { "script": provider(&server, "chat") } }),
    );
    let first = workspace
        .run(&["exec", "--json", "--model", "script/a", "say one"])
        .await;
    let stdout = String::from_utf8(first.stdout).unwrap();
    let begun: Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
    let thread = begun["params"]["threadId"].as_str().unwrap();
    workspace.run(&["exec", "--thread", thread, "say two"]).await;
    workspace
        .run(&["exec", "--thread", thread, "--model", "script/b", "say three"])
        .await;
    let offline = workspace
        .run(&["exec", "--thread", thread, "--model", "offline", "say four"])
        .await;
    assert!(String::from_utf8_lossy(&offline.stdout).contains("four"));
    let models: Vec<Value> = server
        .asked()
        .iter()
        .map(|asked| asked.body["model"].clone())
        .collect();
    assert_eq!(models, ["a", "a", "b"]);
}

#[tokio::test]
async fn model_list_has_what_the_provider_says_or_why_not() {
    let server = locked(Vec::new()).await;
    let workspace = Workspace::new();
    let keyless = json!({ "BaseUrl": server.base_url() });
    configure(
        workspace.path(),
        &json!({ "Providers": { "script": provider(&server, "messages"), "keyless": keyless } }),
    );
    let (_process, link) = workspace.stdio();
    let mut client = Client::ready(link, "lister", json!({})).await;
    let listed = client.call("model/list", json!({})).await;
    let expected = json!([
        { "id": "offline", "ownedBy": "bobbin", "createdAt": "1970-01-01T00:00:00.000Z", "isDefault": true },
        {
            "id": "script/scripted", "ownedBy": "script", "createdAt": "2023-11-14T22:13:20.000Z",
            "isDefault": false, "providerId": "script", "protocol": "anthropic",
        },
    ]);
    assert_eq!(listed, json!({ "success": true, "models": expected }));

    let workspace = Workspace::new();
    configure(workspace.path(), &json!({ "Providers": { "keyless": keyless } }));
    let (_process, link) = workspace.stdio();
    let mut client = Client::ready(link, "lister", json!({})).await;
    let listed = client.call("model/list", json!({})).await;
    assert_eq!(
        (&listed["success"], &listed["errorCode"]),
        (&json!(false), &json!("MissingApiKey")),
        "{listed}"
    );
}

#[tokio::test]
async fn a_turn_whose_reply_was_cut_by_a_crash_asks_the_model_again() {
    let server = locked(vec![
        Reply::of([Part::Text("Half of".into()), Part::Stall]),
        Reply::of([Part::Text("All of it.".into())]),
    ])
    .await;
    let workspace = Workspace::new();
    configure(
        workspace.path(),
        &json!({ "Model": "script/scripted", "Providers": { "script": provider(&server, "responses") } }),
    );
    let process = workspace.web_socket();
    let mut client = process.client_with("watcher", rich()).await;
    let thread = client.start_thread().await;
    client.start_turn(&thread, "All?").await;
    client.wait_for("item/agentMessage/delta").await;
    process.kill().await;
    server.until_abandoned(1).await;

    let process = workspace.web_socket();
    let mut client = process.client_with("watcher", rich()).await;
    server.until_asked(2).await;
    let turn = loop {
        let read = client
            .call("thread/read", json!({ "threadId": thread, "includeTurns": true }))
            .await;
        let turn = read["thread"]["turns"][0].clone();
        if turn["status"] == "completed" {
            break turn;
        }
        assert_ne!(turn["status"], "failed", "{turn}");
    };
    assert!(agent_text(&turn).ends_with("All of it."), "{turn}");
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn a_project_s_file_gets_no_key_and_a_wrong_one_is_told() {
    let server = locked(Vec::new()).await;
    let (home, project) = (Workspace::new(), Workspace::new());
    configure(
        home.path(),
        &json!({ "Providers": { "script": provider(&server, "chat") } }),
    );
    let sly = json!({ "BaseUrl": server.base_url(), "ApiKeyFile": home.path().join(".craft/script.key") });
    std::fs::create_dir(project.path().join(".craft")).unwrap();
    std::fs::write(
        project.path().join(".craft/config.json"),
        json!({ "Model": "sly/m", "Providers": { "sly": sly } }).to_string(),
    )
    .unwrap();
    let output = project
        .bobbin(&["exec", "--trust", "hello"])
        .env("HOME", home.path())
        .output()
        .await
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("wants a key and there is none"), "{stderr}");
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.header("authorization").is_none())
    );
    // The project may choose among the user's models.
    std::fs::write(
        project.path().join(".craft/config.json"),
        "{\"Model\":\"script/m\"}",
    )
    .unwrap();
    let output = project
        .bobbin(&["exec", "--trust", "say fine"])
        .env("HOME", home.path())
        .output()
        .await
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("fine"));
}

#[tokio::test]
async fn the_doctor_says_which_model_answers_and_what_is_missing() {
    let server = locked(Vec::new()).await;
    let workspace = Workspace::new();
    let line = async |config: Value, wanted: &str| {
        configure(workspace.path(), &config);
        let output = workspace.run(&["doctor"]).await;
        let stdout = String::from_utf8(output.stdout).unwrap();
        let line = stdout
            .lines()
            .find(|line| line.split_whitespace().nth(1) == Some("model"));
        let line = line.unwrap_or_default().to_owned();
        assert!(line.contains(wanted) && !line.contains(KEY), "{line}");
        line.split_whitespace().next().unwrap_or_default().to_owned()
    };
    let providers =
        json!({ "script": provider(&server, "chat"), "keyless": { "BaseUrl": server.base_url() } });
    let with = |model: &str| json!({ "Model": model, "Providers": providers });
    assert_eq!(line(json!({}), "offline: no model is configured").await, "note");
    assert_eq!(
        line(
            with("script/scripted"),
            "which has it; the key is from the file ~/.craft/script.key"
        )
        .await,
        "ok"
    );
    assert_eq!(
        line(with("script/other"), "lists 1 others and not this one").await,
        "note"
    );
    assert_eq!(
        line(with("keyless/m"), "wants a key and there is none").await,
        "bad"
    );
    assert_eq!(
        line(with("nobody/m"), "There is no model \"nobody/m\"").await,
        "bad"
    );
    drop(server);
    assert_eq!(line(with("script/scripted"), "cannot be reached").await, "bad");
}

#[tokio::test]
async fn an_editor_is_offered_the_configured_models_and_chats_with_one() {
    let server = locked(vec![Reply::of([Part::Text("It is a kettle.".into())])]).await;
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let mut script = provider(&server, "messages");
    script["Models"] = json!(["scripted"]);
    configure(
        home.path(),
        &json!({ "Model": "scripted", "Providers": { "script": script } }),
    );
    let (mut child, mut client) = eca::start(&home, &["eca"]);
    let hello = client.call("initialize", eca::hello(&workspace)).await;
    assert_eq!(hello["models"], json!(["offline", "script/scripted"]));
    assert_eq!(hello["chatDefaultModel"], "script/scripted");
    client.notify("initialized", json!([])).await;
    client
        .call(
            "chat/prompt",
            json!({ "chatId": "c-1", "message": "What is it?" }),
        )
        .await;
    client
        .find("the model's words", |message| {
            eca::content(message, "text")
                && message["params"]["content"]["text"]
                    .as_str()
                    .unwrap()
                    .contains("kettle")
        })
        .await;
    eca::finished(&mut client).await;
    client.call("shutdown", Value::Null).await;
    client.notify("exit", Value::Null).await;
    assert!(child.wait().await.unwrap().success());
}
