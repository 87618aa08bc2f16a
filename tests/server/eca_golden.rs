//! A whole session of an editor of the first version against the binary, kept as a transcript: every message of that
//! version that an editor sends, in the order it would, and all that it is sent.
//!
//! What changes from run to run is replaced: paths, times, how a text was cut into pieces.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::eca::{content, hello, start};
use crate::support::Workspace;

/// What was said so far, one message a line.
struct Transcript {
    lines: Vec<String>,
    workspace: String,
    home: String,
}

impl Transcript {
    fn ask(&mut self, method: &str, params: &Value) {
        self.line("→", &json!({ "method": method, "params": params }));
    }

    fn line(&mut self, arrow: &str, message: &Value) {
        let mut message = message.clone();
        redact(&mut message);
        let text = message.to_string();
        let text = text
            .replace(&self.workspace, "WORKSPACE")
            .replace(&self.home, "HOME");
        self.lines.push(format!("{arrow} {text}"));
    }

    /// Takes what the server says up to a message.
    async fn until(&mut self, client: &mut Client, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut said: Vec<Value> = Vec::new();
        while let Some(message) = client.next().await {
            let over = wanted(&message);
            match said.last_mut() {
                Some(last) if goes_on(last, &message) => join(last, &message),
                _ => said.push(message.clone()),
            }
            if over {
                for message in &said {
                    self.line("←", message);
                }
                return message;
            }
        }
        // Whoever looks into the answer finds nothing, and the transcript shows where it ends.
        for message in &said {
            self.line("←", message);
        }
        self.lines.push("the connection ended".to_owned());
        Value::Null
    }

    async fn call(&mut self, client: &mut Client, method: &str, params: Value) {
        self.ask(method, &params);
        let id = client.request(method, params).await;
        self.until(client, |message| message["id"] == id).await;
    }

    async fn notify(&mut self, client: &Client, method: &str, params: Value) {
        self.ask(method, &params);
        client.notify(method, params).await;
    }

    /// Prompts and takes everything up to the first content of a kind. Returns it.
    async fn prompt(&mut self, client: &mut Client, message: &str, kind: &str) -> Value {
        let params = json!({ "chatId": "c-81", "message": message, "behavior": "agent" });
        self.ask("chat/prompt", &params);
        client.request("chat/prompt", params).await;
        self.until(client, |message| content(message, kind)).await
    }

    async fn finished(&mut self, client: &mut Client) {
        self.until(client, |message| {
            message["params"]["content"]["state"] == "finished"
        })
        .await;
    }
}

/// Where a piece of something streamed has its text.
fn piece(message: &Value) -> Option<&'static str> {
    if content(message, "toolCallPrepare") {
        return Some("argumentsText");
    }
    (content(message, "text") && message["params"]["role"] == "assistant").then_some("text")
}

/// Whether a message is more of what the last one is a piece of.
fn goes_on(last: &Value, message: &Value) -> bool {
    let of = |message: &Value| message["params"]["content"]["id"].clone();
    piece(last).is_some() && piece(last) == piece(message) && of(last) == of(message)
}

fn join(last: &mut Value, message: &Value) {
    let name = piece(message).unwrap_or_default();
    let text = |message: &Value| message["params"]["content"][name].as_str().map(str::to_owned);
    let whole = [text(last), text(message)];
    last["params"]["content"][name] = json!(whole.into_iter().flatten().collect::<String>());
}

fn redact(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if ["totalTimeMs", "processId", "version"].contains(&name.as_str()) {
                    *value = json!("…");
                } else {
                    redact(value);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(redact),
        _ => {}
    }
}

#[tokio::test]
async fn a_session_of_the_first_version() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    std::fs::write(workspace.path().join("README.md"), "# Tea\n").unwrap();
    let real = |of: &Workspace| of.path().canonicalize().unwrap().display().to_string();
    let mut said = Transcript {
        lines: Vec::new(),
        workspace: real(&workspace),
        home: real(&home),
    };
    let (mut child, mut client) = start(&home, &["eca"]);
    said.call(&mut client, "initialize", hello(&workspace)).await;
    said.notify(&client, "initialized", json!({})).await;
    // What the tools' schemas say is theirs.
    client.wait_for("tool/serverUpdated").await;
    said.until(&mut client, |message| message["params"]["type"] == "finish")
        .await;
    let file = workspace.path().canonicalize().unwrap().join("README.md");
    for (method, params) in [
        ("chat/queryContext", json!({ "query": "README", "contexts": [] })),
        ("chat/queryCommands", json!({ "query": "costs" })),
    ] {
        said.call(&mut client, method, params).await;
    }
    let params = json!({ "chatId": "c-81", "message": "hello", "contexts": [
        { "type": "file", "path": file, "linesRange": { "start": 1, "end": 1 } }, { "type": "repoMap" },
    ]});
    said.ask("chat/prompt", &params);
    client.request("chat/prompt", params).await;
    said.finished(&mut client).await;
    let run = said
        .prompt(&mut client, "run `echo hot >> pot`", "toolCallRun")
        .await;
    let approve = json!({ "chatId": "c-81", "toolCallId": run["params"]["content"]["id"] });
    said.notify(&client, "chat/toolCallApprove", approve).await;
    said.finished(&mut client).await;
    let run = said
        .prompt(&mut client, "run `echo cold >> pot`", "toolCallRun")
        .await;
    let reject = json!({ "chatId": "c-81", "toolCallId": run["params"]["content"]["id"] });
    said.notify(&client, "chat/toolCallReject", reject).await;
    said.finished(&mut client).await;
    said.prompt(&mut client, "run `sleep 60`", "toolCallRun").await;
    said.notify(&client, "chat/promptStop", json!({ "chatId": "c-81" }))
        .await;
    said.finished(&mut client).await;
    let plan = json!({ "behavior": "plan" });
    client.notify("chat/selectedBehaviorChanged", plan).await;
    client.wait_for("tool/serverUpdated").await;
    for method in ["mcp/stopServer", "mcp/startServer"] {
        said.notify(&client, method, json!({ "name": "nobody" })).await;
    }
    said.call(&mut client, "chat/delete", json!({ "chatId": "c-81" }))
        .await;
    said.until(&mut client, |message| message["method"] == "chat/deleted")
        .await;
    said.call(&mut client, "shutdown", json!(null)).await;
    said.notify(&client, "exit", json!(null)).await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let pot = std::fs::read_to_string(workspace.path().join("pot")).unwrap();
    assert_eq!(pot, "hot\n");
    insta::assert_snapshot!(said.lines.join("\n"));
}
