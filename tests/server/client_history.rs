//! A Thread whose history its client keeps, with a model behind a provider.

use bobbin_testkit::{Client, ModelServer, Script};
use serde_json::json;

use crate::support::{Workspace, agent_text, rich};

#[tokio::test]
async fn the_provider_is_asked_with_the_history_of_the_client() {
    let provider = ModelServer::start(Script::default()).await.unwrap();
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.path().join(".craft")).unwrap();
    let entry = json!({ "Wire": "chat", "BaseUrl": provider.base_url(), "Models": ["scripted"] });
    let config = json!({ "Providers": { "script": entry }, "Model": "script/scripted", "Titles": { "Enabled": false } });
    std::fs::write(workspace.path().join(".craft/config.json"), config.to_string()).unwrap();
    let (mut process, link) = workspace.stdio();
    let mut client = Client::ready(link, "me", rich()).await;
    let params = json!({ "identity": { "channelName": "test" }, "historyMode": "client" });
    let started = client.call("thread/start", params).await;
    let id = started["thread"]["id"].as_str().unwrap();
    let messages = json!([
        { "role": "user", "content": "The kettle is called Mika." },
        { "role": "assistant", "content": "I know." },
    ]);
    let input = json!([{ "type": "text", "text": "say Mika" }]);
    client
        .call(
            "turn/start",
            json!({ "threadId": id, "input": input, "messages": messages }),
        )
        .await;
    let ended = client.wait_for("turn/completed").await;
    assert_eq!(agent_text(&ended["params"]["turn"]), "Mika");
    let body = provider.asked().last().unwrap().body.clone();
    let said: Vec<String> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] != "system")
        .map(|message| format!("{}", message["content"]))
        .collect();
    assert!(said[0].contains("The kettle is called Mika."), "{body}");
    assert!(
        said[1].contains("I know.") && said[2].contains("say Mika"),
        "{body}"
    );
    assert_eq!(said.len(), 3);
    drop(client);
    assert!(process.exit().await.success());
}
