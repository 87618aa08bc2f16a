//! A whole session of an editor of the first version against the binary, kept as a transcript: every message of that
//! version that an editor sends, in the order it would, and all that it is sent.
//!
//! What changes from run to run is replaced: paths, times, how a text was cut into pieces. What this session leaves out
//! is in that of `eca_golden_whole`.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::eca::{content, hello, start};
use crate::support::Workspace;

/// What was said so far, one message a line.
pub(crate) struct Transcript {
    pub(crate) lines: Vec<String>,
    /// What changes from run to run, with what stands there instead.
    hidden: Vec<(String, &'static str)>,
    /// Answers so far, which have their numbers from that: how many requests were made besides does not show.
    answered: usize,
}

impl Transcript {
    pub(crate) fn new(home: &Workspace, workspace: &Workspace) -> Self {
        let real = |of: &Workspace| of.path().canonicalize().unwrap().display().to_string();
        Self {
            lines: Vec::new(),
            hidden: vec![(real(workspace), "WORKSPACE"), (real(home), "HOME")],
            answered: 0,
        }
    }

    pub(crate) fn hide(&mut self, text: &str, name: &'static str) {
        if !self.hidden.iter().any(|(hidden, _)| hidden == text) {
            self.hidden.push((text.to_owned(), name));
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) {
        self.line("→", &json!({ "method": method, "params": params }));
    }

    pub(crate) fn line(&mut self, arrow: &str, message: &Value) {
        let mut message = message.clone();
        if arrow == "←" && message.get("method").is_none() && message.get("id").is_some() {
            message["id"] = json!(self.answered);
            self.answered += 1;
        }
        redact_tools(&mut message);
        redact(&mut message);
        let mut text = message.to_string();
        for (hidden, name) in &self.hidden {
            text = text.replace(hidden, name);
        }
        self.lines.push(format!("{arrow} {text}"));
    }

    /// Takes what the server says up to a message.
    pub(crate) async fn until(&mut self, client: &mut Client, wanted: impl Fn(&Value) -> bool) -> Value {
        self.until_all(client, &[&wanted]).await.pop().unwrap_or_default()
    }

    /// Takes what the server says until each of the wanted messages has come. Requests of the server, which other
    /// things do not wait for and which come between any two of them, are written behind everything else.
    pub(crate) async fn until_all(
        &mut self,
        client: &mut Client,
        wanted: &[&dyn Fn(&Value) -> bool],
    ) -> Vec<Value> {
        let mut found = vec![None; wanted.len()];
        let (mut said, mut asked): (Vec<Value>, Vec<Value>) = Default::default();
        while found.contains(&None) {
            let Some(message) = client.next().await else {
                // Whoever looks into the answer finds nothing, and the transcript shows where it ends.
                said.push(json!("the connection ended"));
                break;
            };
            for (found, wanted) in found.iter_mut().zip(wanted) {
                if found.is_none() && wanted(&message) {
                    *found = Some(message.clone());
                }
            }
            match said.last_mut() {
                _ if message.get("method").is_some() && message.get("id").is_some() => asked.push(message),
                Some(last) if goes_on(last, &message) => join(last, &message),
                _ => said.push(message),
            }
        }
        for message in said.iter().chain(&asked) {
            self.line("←", message);
        }
        found.into_iter().map(Option::unwrap_or_default).collect()
    }

    pub(crate) async fn call(&mut self, client: &mut Client, method: &str, params: Value) {
        self.ask(method, &params);
        let id = client.request(method, params).await;
        self.until(client, |message| message["id"] == id).await;
    }

    pub(crate) async fn notify(&mut self, client: &Client, method: &str, params: Value) {
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

    pub(crate) async fn finished(&mut self, client: &mut Client) {
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
    if content(message, "reasonText") {
        return Some("text");
    }
    (content(message, "text") && message["params"]["role"] == "assistant").then_some("text")
}

/// Whether a message is more of what the last one is a piece of.
fn goes_on(last: &Value, message: &Value) -> bool {
    let of = |message: &Value| {
        let content = &message["params"]["content"];
        (content["type"].clone(), content["id"].clone())
    };
    piece(last).is_some() && piece(last) == piece(message) && of(last) == of(message)
}

fn join(last: &mut Value, message: &Value) {
    let name = piece(message).unwrap_or_default();
    let text = |message: &Value| message["params"]["content"][name].as_str().map(str::to_owned);
    let whole = [text(last), text(message)];
    last["params"]["content"][name] = json!(whole.into_iter().flatten().collect::<String>());
}

/// Leaves of the tools what the transcript is about: which there are and which are withheld. Of ours some stand for all.
fn redact_tools(message: &mut Value) {
    let server = message.pointer("/params/name").cloned().unwrap_or_default();
    let tools = message.pointer_mut("/params/tools");
    if let Some(tools) = tools.and_then(Value::as_array_mut) {
        let ours = ["editor_diagnostics", "ReadFile", "WriteFile"].map(Value::from);
        tools.retain(|tool| server != "ECA" || ours.contains(&tool["name"]));
        for tool in tools {
            tool["description"] = json!("…");
            tool["parameters"] = json!("…");
        }
    }
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
    let (home, workspace) = (Workspace::asking(), Workspace::new());
    std::fs::write(workspace.path().join("README.md"), "# Tea\n").unwrap();
    let mut said = Transcript::new(&home, &workspace);
    let (mut child, mut client) = start(&home, &["eca"]);
    said.call(&mut client, "initialize", hello(&workspace)).await;
    said.notify(&client, "initialized", json!({})).await;
    said.until(&mut client, |message| message["params"]["type"] == "native")
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
    said.notify(&client, "chat/selectedBehaviorChanged", plan).await;
    said.until(&mut client, |message| message["params"]["type"] == "native")
        .await;
    for method in ["mcp/stopServer", "mcp/startServer"] {
        said.notify(&client, method, json!({ "name": "nobody" })).await;
    }
    said.call(&mut client, "chat/delete", json!({ "chatId": "c-81" }))
        .await;
    said.call(&mut client, "shutdown", json!(null)).await;
    said.notify(&client, "exit", json!(null)).await;
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let pot = std::fs::read_to_string(workspace.path().join("pot")).unwrap();
    assert_eq!(pot, "hot\n");
    insta::assert_snapshot!(said.lines.join("\n"));
}
