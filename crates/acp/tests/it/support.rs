//! A server in memory, and clients that speak to it.

use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::engines::{EngineList, ListedEngine};
use bobbin_agent_api::{Features, Services};
use bobbin_core::Threads;
use bobbin_core::engine::Engine;
use bobbin_editor_kit::{
    EditorModels, EditorServices, EditorTools, Failure, Host, Limit, NoticeKind, OpenRequest, UserNotice,
};
use bobbin_framing::{Limits, Transport};
use bobbin_model::{ClientKeys, Effort};
use bobbin_prompts::{Machine, Prompts};
use bobbin_testkit::{Client, Link, ScriptEngine, TestWorkspace};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// A core and the means to connect to it.
pub(crate) struct Server {
    pub(crate) workspace: TestWorkspace,
    pub(crate) engine: ScriptEngine,
    pub(crate) threads: Arc<Threads>,
    engines: Option<EngineList>,
}

/// A host with an open core.
pub(crate) struct Opened(Arc<Threads>, Option<EngineList>);

/// Two models of the provider `kiln`, of which the small one can be asked to think.
struct Kiln;

impl EditorModels for Kiln {
    fn known(&self) -> Vec<String> {
        vec!["kiln/large".to_owned(), "kiln/small".to_owned()]
    }

    fn usual(&self) -> String {
        "kiln/large".to_owned()
    }

    fn find(&self, name: &str) -> Option<String> {
        let known = self.known().into_iter();
        known
            .into_iter()
            .find(|known| known == name || known[5..] == *name)
    }

    fn efforts(&self, name: &str) -> Vec<Effort> {
        if name == "kiln/small" {
            vec![Effort::Low, Effort::High]
        } else {
            Vec::new()
        }
    }

    fn currency(&self) -> Option<String> {
        Some("EUR".to_owned())
    }

    fn limit(&self, _: &str) -> Option<Limit> {
        Some(Limit {
            context: 64_000,
            output: 8000,
        })
    }

    fn refresh(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

impl Host for Opened {
    fn open(&self, _: OpenRequest) -> BoxFuture<'_, Result<EditorServices, Failure>> {
        let workspace = self.0.settings().workspace.clone();
        let offer = EditorServices {
            threads: self.0.clone(),
            models: Arc::new(Kiln),
            tools: Vec::new(),
            services: Services {
                prompts: Some(Arc::new(Prompts::new(workspace, None, Machine::default()))),
                others: match self.1.clone() {
                    Some(engines) => Features::default().with(engines),
                    None => Features::default(),
                },
                ..Services::default()
            },
            editor_tools: Arc::<EditorTools>::default(),
            pages: None,
            config_files: Vec::new(),
            home: None,
            keys: ClientKeys::default(),
            own_providers: None,
            notices: vec![UserNotice {
                kind: NoticeKind::Warning,
                message: "The tea is cold.".to_owned(),
            }],
        };
        std::future::ready(Ok(offer)).boxed()
    }

    fn version(&self) -> &'static str {
        "0.0.0"
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::of(ScriptEngine::default(), |_| None).await
    }

    /// Starts a server with an engine of its own.
    pub(crate) async fn over(engine: Arc<dyn Engine>) -> Self {
        Self::of(ScriptEngine::default(), |_| Some(engine)).await
    }

    async fn of(engine: ScriptEngine, other: impl FnOnce(&ScriptEngine) -> Option<Arc<dyn Engine>>) -> Self {
        let workspace = TestWorkspace::default();
        let runs = other(&engine).unwrap_or_else(|| Arc::new(engine.clone()));
        let threads = workspace.open(runs).await;
        Self {
            workspace,
            engine,
            threads,
            engines: None,
        }
    }

    /// Adds other agents.
    pub(crate) fn with_engines(mut self, names: &[&str]) -> Self {
        let listed = names.iter().map(|name| ListedEngine {
            name: (*name).to_owned(),
            trusted: true,
            network: false,
        });
        self.engines = Some(EngineList(listed.collect()));
        self
    }

    fn host(&self) -> Arc<Opened> {
        Arc::new(Opened(self.threads.clone(), self.engines.clone()))
    }

    /// Stops the core and opens the workspace again.
    pub(crate) async fn restart(&mut self) {
        self.threads.stop().await;
        self.threads = self.workspace.open(Arc::new(self.engine.clone())).await;
    }

    pub(crate) fn root(&self) -> &Path {
        &self.threads.settings().workspace
    }

    pub(crate) fn cwd(&self) -> Value {
        json!(self.root().to_string_lossy())
    }

    /// Returns one end of a connection that is served.
    pub(crate) fn transport(&self) -> Transport {
        let (ours, theirs) = Transport::memory_pair();
        tokio::spawn(bobbin_acp::serve(theirs, self.host()));
        ours
    }

    /// Connects without a handshake.
    pub(crate) fn connect(&self) -> Client {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::lines(reader, writer, Limits::default());
        tokio::spawn(bobbin_acp::serve(transport, self.host()));
        let (reader, writer) = tokio::io::split(far);
        Client::new(Link::lines(reader, writer))
    }

    /// Connects a client with these capabilities.
    pub(crate) async fn client_with(&self, capabilities: Value) -> Client {
        let mut client = self.connect();
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        client.call("initialize", hello).await;
        client
    }

    /// Connects a client, and starts a session.
    pub(crate) async fn session(&self) -> (Client, String) {
        self.session_with(json!({})).await
    }

    /// Connects a client with these capabilities, and starts a session.
    pub(crate) async fn session_with(&self, capabilities: Value) -> (Client, String) {
        let mut client = self.client_with(capabilities).await;
        let params = json!({ "cwd": self.cwd(), "mcpServers": [] });
        let started = client.call("session/new", params).await;
        let id = started["sessionId"].as_str().unwrap().to_owned();
        find_update(&mut client, "available_commands_update").await;
        (client, id)
    }

    /// Opens a session on another connection, with or without its history. Returns what came before the answer.
    pub(crate) async fn open(&self, client: &mut Client, how: &str, id: &str) -> (Vec<Value>, Value) {
        let params = json!({ "sessionId": id, "cwd": self.cwd(), "mcpServers": [] });
        let request = client.request(how, params).await;
        let mut seen = until_answer(client, request).await;
        let answer = seen.pop().unwrap();
        (seen, answer)
    }
}

/// Returns the params of a prompt of one text.
pub(crate) fn text(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

/// Returns every message up to the answer of a request, and the answer.
pub(crate) async fn until_answer(client: &mut Client, id: i64) -> Vec<Value> {
    until(client, |message| {
        message.get("method").is_none() && message["id"] == id
    })
    .await
}

/// Returns every message up to a wanted one, and that one.
pub(crate) async fn until(client: &mut Client, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut seen = Vec::new();
    loop {
        let message = client.next().await.expect("the connection stays");
        let last = wanted(&message);
        seen.push(message);
        if last {
            return seen;
        }
    }
}

/// Sends a prompt. Returns the updates and requests of its Turn, and its answer.
pub(crate) async fn prompt(client: &mut Client, session: &str, words: &str) -> (Vec<Value>, Value) {
    let id = client.request("session/prompt", text(session, words)).await;
    let mut seen = until_answer(client, id).await;
    let answer = seen.pop().unwrap();
    (seen, answer)
}

/// Waits for an update of a kind, keeping other messages.
pub(crate) async fn find_update(client: &mut Client, kind: &str) -> Value {
    let found = client.find(kind, |message| update(message) == Some(kind)).await;
    found["params"]["update"].clone()
}

/// Returns the kind of an update.
pub(crate) fn update(message: &Value) -> Option<&str> {
    message["params"]["update"]["sessionUpdate"].as_str()
}

/// Returns the kinds of updates, and the methods of other messages.
pub(crate) fn kinds(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|message| update(message).or(message["method"].as_str()))
        .collect()
}

/// Joins the texts of chunks of a kind.
pub(crate) fn said(messages: &[Value], kind: &str) -> String {
    let chunks = messages.iter().filter(|message| update(message) == Some(kind));
    chunks
        .map(|message| message["params"]["update"]["content"]["text"].as_str().unwrap())
        .collect()
}

/// Returns the updates of calls, in order.
pub(crate) fn calls(messages: &[Value]) -> Vec<&Value> {
    let updates = messages
        .iter()
        .filter(|message| matches!(update(message), Some("tool_call" | "tool_call_update")));
    updates.map(|message| &message["params"]["update"]).collect()
}

/// Answers a permission.
pub(crate) async fn allow(client: &Client, asked: &Value, option: &str) {
    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
    client.reply(asked, outcome).await;
}
