//! Queries for menus (sections 12, 13, 20.5 and 20.6).

use serde_json::json;

use crate::support::{Server, is_content, prompt, texts, transcript, until};

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

#[tokio::test]
async fn commands_and_skills_in_files_are_offered_and_run() {
    let server = Server::start().await;
    let craft = server.root().join(".craft");
    for (file, text) in [
        (
            "commands/brew.md",
            "---\ndescription: Brews\n---\nsay brewing $ARGUMENTS",
        ),
        ("commands/costs.md", "say hidden by ours"),
        (
            "skills/descale/SKILL.md",
            "---\nname: descale\ndescription: Removes lime\n---\nUse vinegar.",
        ),
    ] {
        let path = craft.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut client = server.editor().await;
    let found = client.call("chat/queryCommands", json!({ "query": "" })).await;
    let named = |name: &str| {
        let all = found["commands"].as_array().unwrap().iter();
        let found: Vec<_> = all.filter(|command| command["name"] == name).collect();
        assert_eq!(found.len(), 1, "{name}");
        (found[0]["type"].clone(), found[0]["description"].clone())
    };
    assert_eq!(named("brew"), (json!("customPrompt"), json!("Brews")));
    assert_eq!(named("descale"), (json!("skill"), json!("Removes lime")));
    assert_eq!(named("costs").0, "native");
    let seen = prompt(
        &mut client,
        json!({ "chatId": "a", "message": "/brew  green tea" }),
    )
    .await;
    assert_eq!(texts(&seen, "user"), "/brew  green tea\n");
    assert_eq!(server.attached("a").await, ["say brewing green tea"]);
    prompt(
        &mut client,
        json!({ "chatId": "b", "message": "/descale the kettle" }),
    )
    .await;
    assert_eq!(
        server.attached("b").await,
        ["Follow the skill 'descale':\n\nUse vinegar.\n\nthe kettle"]
    );
    // An unknown command and a path are the user's text.
    prompt(&mut client, json!({ "chatId": "c", "message": "/boil" })).await;
    prompt(
        &mut client,
        json!({ "chatId": "d", "message": "/etc/passwd: what is it?" }),
    )
    .await;
    assert!(server.attached("c").await.is_empty() && server.attached("d").await.is_empty());
    // Opened again, it is shown as it was typed.
    let opened = client.request("chat/open", json!({ "chatId": "a" })).await;
    let seen = until(&mut client, |message| message["id"] == opened).await;
    let echo = seen.iter().find(|message| is_content(message, "text")).unwrap();
    assert_eq!(echo["params"]["content"]["text"], "/brew  green tea\n");
}

#[tokio::test]
async fn files_of_all_folders_are_found() {
    let server = Server::start().await;
    let (other, third) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(server.root().join("cup.md"), "").unwrap();
    std::fs::write(other.path().join("cup.rs"), "").unwrap();
    std::fs::write(third.path().join("cup.txt"), "").unwrap();
    let folder = |path: &std::path::Path| json!({ "uri": format!("file://{}", path.display()), "name": "x" });
    let mut hello = crate::support::hello();
    hello["workspaceFolders"] = json!([folder(server.root()), folder(other.path())]);
    let (mut client, _) = server.connect();
    client.call("initialize", hello).await;
    let found = async |client: &mut bobbin_testkit::Client| -> Vec<String> {
        let found = client.call("chat/queryContext", json!({ "query": "cup" })).await;
        let paths = found["contexts"].as_array().unwrap().iter();
        let paths = paths.filter_map(|context| context["path"].as_str());
        paths
            .map(|path| path.rsplit('/').next().unwrap().to_owned())
            .collect()
    };
    let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let (first, second) = (name(server.root()), name(other.path()));
    assert_eq!(found(&mut client).await, [&first, &second, "cup.md", "cup.rs"]);
    let event = json!({ "added": [folder(third.path())], "removed": [folder(other.path())] });
    client
        .notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }))
        .await;
    assert_eq!(
        found(&mut client).await,
        [&first, &name(third.path()), "cup.md", "cup.txt"]
    );
}
