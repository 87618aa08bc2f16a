//! A second session of an editor of the first version against the binary, kept as a transcript: what the first leaves
//! out. A model that thinks and costs money, tools of an MCP server that is started and stopped, the editor's own
//! diagnostics, a change of a file, a call that fails, one that the mode forbids, every kind of context.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bobbin_testkit::{ModelServer, Part, Reply, Script, ScriptedCall, Usage};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::eca::{content, hello, start};
use crate::eca_golden::Transcript;
use crate::mcp;
use crate::support::Workspace;

/// What the model does, a reply a request.
fn script(page: &str) -> Script {
    let call = |id: &str, tool: &str, arguments: Value| {
        let (id, tool) = (id.to_owned(), tool.to_owned());
        Part::Call(ScriptedCall { id, tool, arguments })
    };
    let edit = json!({ "path": "pot", "oldText": "cold", "newText": "hot" });
    let parts = [
        vec![
            Part::Reasoning("Is the pot warm?".into()),
            Part::Text("I will ask your editor.".into()),
            call("c1", "editor_diagnostics", json!({ "path": "pot" })),
        ],
        vec![call("c2", "mcp__pantry__steep", json!({ "minutes": 2 }))],
        vec![
            call("c3r", "ReadFile", json!({ "path": "pot" })),
            call("c3", "EditFile", edit),
        ],
        vec![call("c4", "ReadFile", json!({ "path": "cup" }))],
        vec![call("c5", "WebFetch", json!({ "url": page }))],
        vec![Part::Text("The pot is hot.".into())],
        vec![call(
            "c6",
            "WriteFile",
            json!({ "path": "cup", "content": "tea" }),
        )],
        vec![Part::Text("A plan writes nothing.".into())],
    ];
    let usage = Some(Usage {
        input: 1000,
        output: 100,
        ..Usage::default()
    });
    let replies = parts.map(|parts| Reply {
        usage,
        ..Reply::of(parts)
    });
    Script {
        replies: replies.into(),
        models: vec!["scripted".into()],
        key: None,
        ..Script::default()
    }
}

fn configure_model(home: &Path, server: &ModelServer, page: &str) {
    let provider = json!({ "Wire": "messages", "BaseUrl": server.base_url(), "ApiKey": "none", "Models": ["scripted"],
        "MaxOutputTokens": 8000, "ContextWindow": 64000, "Price": { "Input": 3, "Output": 15 } });
    let place = page
        .trim_start_matches("http://")
        .split('/')
        .next()
        .unwrap_or_default();
    let rule = json!({ "Action": "allow", "Tool": format!("WebFetch:{place}") });
    let config = json!({ "Model": "scripted", "Titles": { "Enabled": false }, "Providers": { "script": provider },
        "Permissions": { "Rules": [rule] } });
    std::fs::create_dir(home.join(".craft")).unwrap();
    let file = home.join(".craft/config.json");
    std::fs::write(&file, config.to_string()).unwrap();
    // There is a key in it.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Serves a page once; returns its address.
async fn a_page() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/tea", listener.local_addr().unwrap());
    let serve = async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        let body = "<html><head><title>Tea</title></head><body>Hot.</body></html>";
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
        let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    };
    (address, tokio::spawn(serve))
}

fn is_update(message: &Value, status: &str) -> bool {
    message["method"] == "tool/serverUpdated" && message["params"]["status"] == status
}

fn progress(message: &Value, text: &str) -> bool {
    content(message, "progress") && message["params"]["content"]["text"] == text
}

#[tokio::test]
async fn all_else_that_a_session_of_the_first_version_has() {
    let (page, served) = a_page().await;
    let server = ModelServer::start(script(&page)).await.unwrap();
    let (home, workspace) = (Workspace::new(), Workspace::new());
    configure_model(home.path(), &server, &page);
    mcp::configure(workspace.path(), &json!({ "pantry": mcp::entry(&workspace) }));
    std::fs::write(workspace.path().join("pot"), "cold\n").unwrap();
    let mut said = Transcript::new(&home, &workspace);
    said.hide(&server.base_url(), "SERVER");
    said.hide(&page, "PAGE");
    said.hide(&std::env::current_exe().unwrap().display().to_string(), "PROGRAM");
    let (mut child, mut client) = start(&home, &["eca", "--log-level", "error"]);
    let mut hello = hello(&workspace);
    hello["capabilities"]["codeAssistant"]["editor"] = json!({ "diagnostics": true });
    hello["initializationOptions"] = json!({ "chatBehavior": "plan" });
    said.call(&mut client, "initialize", hello).await;
    said.notify(&client, "initialized", json!({})).await;
    let stopped = |message: &Value| is_update(message, "stopped");
    let warned = |message: &Value| message["method"] == "$/showMessage";
    said.until_all(&mut client, &[&stopped, &warned]).await;

    // The mode and the server of tools.
    said.notify(
        &client,
        "chat/selectedBehaviorChanged",
        json!({ "behavior": "agent" }),
    )
    .await;
    said.until(&mut client, |message| message["params"]["type"] == "native")
        .await;
    said.notify(&client, "mcp/startServer", json!({ "name": "pantry" }))
        .await;
    said.until(&mut client, |message| is_update(message, "running"))
        .await;
    let menu = loop {
        // What it has besides is listed a moment later.
        let found = client.call("chat/queryContext", json!({ "query": "menu" })).await;
        let contexts = found["contexts"].as_array().unwrap();
        if let Some(menu) = contexts.iter().find(|context| context["type"] == "mcpResource") {
            break menu.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    said.call(&mut client, "chat/queryCommands", json!({ "query": "brew" }))
        .await;

    // A prompt with every kind of context, in a chat that the server names.
    let pot = workspace.path().canonicalize().unwrap().join("pot");
    let at = json!({ "line": 1, "character": 0 });
    let contexts = json!([
        { "type": "file", "path": pot, "linesRange": { "start": 1, "end": 1 } },
        { "type": "directory", "path": workspace.path() },
        { "type": "web", "url": format!("{}/tea", server.base_url()) },
        { "type": "repoMap" },
        { "type": "cursor", "path": pot, "position": { "start": at, "end": at } },
        menu,
    ]);
    let params = json!({ "message": "Heat the pot.", "model": "script/scripted", "contexts": contexts });
    said.ask("chat/prompt", &params);
    let id = client.request("chat/prompt", params).await;
    let answer = said.until(&mut client, |message| message["id"] == id).await;
    let chat = answer["result"]["chatId"].clone();
    let asked = |message: &Value| message["method"] == "editor/getDiagnostics";
    let calling = |message: &Value| progress(message, "Calling tool");
    let found = said.until_all(&mut client, &[&asked, &calling]).await;
    let diagnostic = json!({ "uri": format!("file://{}", pot.display()), "severity": "warning", "source": "brewer",
        "range": { "start": at, "end": at }, "code": "cold", "message": "The pot is cold." });
    let diagnostics = json!({ "diagnostics": [diagnostic] });
    said.line("→", &json!({ "id": found[0]["id"], "result": diagnostics }));
    client.reply(&found[0], diagnostics).await;
    said.finished(&mut client).await;
    assert_eq!(std::fs::read_to_string(&pot).unwrap(), "hot\n");
    served.await.unwrap();

    // A mode that forbids.
    let params = json!({ "chatId": chat, "message": "Fill the cup.", "behavior": "plan" });
    said.ask("chat/prompt", &params);
    client.request("chat/prompt", params).await;
    said.finished(&mut client).await;
    assert!(!workspace.path().join("cup").exists());

    said.notify(&client, "mcp/stopServer", json!({ "name": "pantry" }))
        .await;
    said.until(&mut client, |message| is_update(message, "stopped"))
        .await;
    said.call(&mut client, "chat/delete", json!({ "chatId": chat }))
        .await;
    said.call(&mut client, "shutdown", json!(null)).await;
    said.notify(&client, "exit", json!(null)).await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let text = said.lines.join("\n");
    insta::assert_snapshot!(text.replace(chat.as_str().unwrap(), "CHAT"));
}
