//! What a task works with: a repository, a server, a client, and what the model was sent.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use bobbin_testkit::{Client, ModelServer, Part, Reply, Script, ScriptedCall};
use serde_json::{Value, json};

use crate::support::{Process, Workspace, rich};

/// The wires, by their names in a configuration.
pub(crate) const WIRES: [&str; 3] = ["chat", "messages", "responses"];

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Returns a call of a tool.
pub(crate) fn call(tool: &str, arguments: Value) -> Part {
    Part::Call(ScriptedCall {
        id: format!("c{}", CALLS.fetch_add(1, Ordering::Relaxed)),
        tool: tool.into(),
        arguments,
    })
}

/// Returns a reply with one call.
pub(crate) fn one(tool: &str, arguments: Value) -> Reply {
    Reply::of([call(tool, arguments)])
}

pub(crate) fn run(command: &str) -> Reply {
    one("Exec", json!({ "command": command }))
}

pub(crate) fn read(path: &str) -> Reply {
    one("ReadFile", json!({ "path": path }))
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> Reply {
    one(
        "EditFile",
        json!({ "path": path, "oldText": old, "newText": new }),
    )
}

pub(crate) fn say(text: &str) -> Reply {
    Reply::of([Part::Text(text.into())])
}

/// A part of a conversation, whatever its wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sent {
    User(String),
    Agent(String),
    Called(String),
    Result(String),
}

/// What a user does when they are asked.
pub(crate) struct User<'a> {
    pub(crate) decision: &'a str,
    /// What they do before they answer: write a file, or say something to the agent.
    pub(crate) before: Before<'a>,
}

pub(crate) enum Before<'a> {
    Nothing,
    Write(&'a str, &'a str),
    Steer(&'a str),
}

pub(crate) const ACCEPT: User<'static> = User {
    decision: "accept",
    before: Before::Nothing,
};

/// A Turn as its client saw it.
pub(crate) struct Done {
    pub(crate) turn: Value,
    /// The questions that were asked.
    pub(crate) asked: Vec<Value>,
}

impl Done {
    pub(crate) fn id(&self) -> &str {
        self.turn["id"].as_str().unwrap()
    }

    /// Returns the results of calls, each with whether it went well.
    pub(crate) fn results(&self) -> Vec<(bool, String)> {
        let items = self.turn["items"].as_array().unwrap().iter();
        let results = items.filter(|item| item["type"] == "toolResult");
        results
            .map(|item| {
                let payload = &item["payload"];
                let text = payload["result"].as_str().unwrap().to_owned();
                (payload["success"] == true, text)
            })
            .collect()
    }
}

pub(crate) struct Desk {
    pub(crate) workspace: Workspace,
    pub(crate) provider: ModelServer,
    pub(crate) client: Client,
    pub(crate) thread: String,
    wire: &'static str,
    _server: Process,
}

impl Desk {
    /// Sets a task up. `config` is added to the user's configuration.
    pub(crate) async fn new(
        wire: &'static str,
        files: &[(&str, &str)],
        config: Value,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Self {
        let script = Script {
            aside: Some(say("A summary: tea was made.")),
            counts: true,
            ..Script::of(replies)
        };
        Self::with(wire, files, config, script).await
    }

    pub(crate) async fn with(
        wire: &'static str,
        files: &[(&str, &str)],
        config: Value,
        script: Script,
    ) -> Self {
        let workspace = Workspace::new();
        for (path, text) in files {
            let path = workspace.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let provider = ModelServer::start(script).await.unwrap();
        let mut whole = json!({
            "Model": "script/m",
            "Titles": { "Enabled": false },
            "Providers": { "script": {
                "Wire": wire, "BaseUrl": provider.base_url(), "ContextWindow": 20_000, "Images": true,
            } },
        });
        whole
            .as_object_mut()
            .unwrap()
            .extend(config.as_object().cloned().unwrap_or_default());
        workspace.configure(&whole);
        let server = workspace.web_socket();
        let mut capabilities = rich();
        capabilities["backgroundTerminals"] = json!(true);
        let mut client = server.client_with("test", capabilities).await;
        let thread = client.start_thread().await;
        Self {
            workspace,
            provider,
            client,
            thread,
            wire,
            _server: server,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    /// Returns a file's text, or nothing where there is none.
    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs a Turn whose user says yes to everything.
    pub(crate) async fn turn(&mut self, prompt: &str) -> Done {
        self.turn_with(json!([{ "type": "text", "text": prompt }]), &ACCEPT)
            .await
    }

    /// Runs a Turn to its end.
    pub(crate) async fn turn_with(&mut self, input: Value, user: &User<'_>) -> Done {
        let params = json!({ "threadId": self.thread, "input": input });
        self.client.call("turn/start", params).await;
        let mut asked = Vec::new();
        loop {
            let message = self.client.next().await.expect("the connection stays");
            match message["method"].as_str() {
                Some("item/approval/request") => {
                    self.act(&user.before, &message).await;
                    let answer = json!({ "decision": user.decision });
                    self.client.reply(&message, answer).await;
                    asked.push(message["params"].clone());
                }
                Some("turn/completed" | "turn/failed" | "turn/cancelled") => {
                    let turn = message["params"]["turn"].clone();
                    return Done { turn, asked };
                }
                _ => {}
            }
        }
    }

    async fn act(&mut self, before: &Before<'_>, question: &Value) {
        match before {
            Before::Nothing => {}
            Before::Write(path, text) => std::fs::write(self.path(path), text).unwrap(),
            Before::Steer(text) => {
                let input = json!([{ "type": "text", "text": text }]);
                let params = json!({ "threadId": self.thread, "input": input });
                let queued = self.client.call("turn/enqueue", params).await;
                let steer = json!({
                    "threadId": self.thread,
                    "expectedTurnId": question["params"]["turnId"],
                    "queuedInputId": queued["queuedInput"]["id"],
                });
                self.client.call("turn/steer", steer).await;
            }
        }
    }

    /// Returns the body of a request to the model.
    pub(crate) fn body(&self, request: usize) -> Value {
        self.provider.asked()[request].body.clone()
    }

    /// Returns the names of the tools that a request offers.
    pub(crate) fn tools(&self, request: usize) -> Vec<String> {
        let body = self.body(request);
        let tools = list(&body["tools"]).iter();
        tools
            .map(|tool| {
                let named = if self.wire == "chat" {
                    &tool["function"]
                } else {
                    tool
                };
                named["name"].as_str().unwrap().to_owned()
            })
            .collect()
    }

    /// Returns the instructions of a request.
    pub(crate) fn instructions(&self, request: usize) -> String {
        let body = self.body(request);
        match self.wire {
            "chat" => text(&body["messages"][0]["content"]),
            "messages" => text(&body["system"]),
            _ => text(&body["instructions"]),
        }
    }

    /// Returns the conversation of a request.
    pub(crate) fn sent(&self, request: usize) -> Vec<Sent> {
        let body = self.body(request);
        let messages = if self.wire == "responses" {
            list(&body["input"])
        } else {
            list(&body["messages"])
        };
        let mut sent = Vec::new();
        for message in messages {
            match (message["role"].as_str(), message["type"].as_str()) {
                (Some("tool"), _) => sent.push(Sent::Result(text(&message["content"]))),
                (_, Some("function_call")) => sent.push(Sent::Called(name(&message["name"]))),
                (_, Some("function_call_output")) => sent.push(Sent::Result(text(&message["output"]))),
                (Some("user"), _) if self.wire == "messages" => {
                    sent.extend(list(&message["content"]).iter().map(|block| {
                        if block["type"] == "tool_result" {
                            Sent::Result(text(&block["content"]))
                        } else {
                            Sent::User(text(&json!([block])))
                        }
                    }));
                }
                (Some("user"), _) => sent.push(Sent::User(text(&message["content"]))),
                (Some("assistant"), _) => {
                    let said = text(&message["content"]);
                    sent.extend((!said.is_empty()).then_some(Sent::Agent(said)));
                    let own = list(&message["tool_calls"])
                        .iter()
                        .map(|call| &call["function"]["name"]);
                    let blocks = list(&message["content"]).iter();
                    let blocks = blocks.filter(|block| block["type"] == "tool_use");
                    let called = own.chain(blocks.map(|block| &block["name"]));
                    sent.extend(called.map(|called| Sent::Called(name(called))));
                }
                _ => {}
            }
        }
        sent
    }

    /// Returns the last part of the conversation of a request, which is a result.
    pub(crate) fn last_result(&self, request: usize) -> String {
        match self.sent(request).pop() {
            Some(Sent::Result(text)) => text,
            other => panic!("the last part of request {request} is {other:?}"),
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn name(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the text of a content, whether it is one or a list of blocks.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        blocks => list(blocks)
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    }
}
