//! A server in memory, an editor that speaks to it, and transcripts with ids and times redacted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bobbin_agent_api::Services;
use bobbin_agent_api::model_providers::ModelProviders;
use bobbin_agent_api::suggest::Suggestions;
use bobbin_agent_api::terminal::Terminals;
use bobbin_agent_api::tool::{Effect, ToolSpec};
use bobbin_agent_api::tool_server::ToolServers;
use bobbin_core::engine::Engine;
use bobbin_core::{ListFilter, Threads};
use bobbin_eca::End;
use bobbin_editor_kit::{
    EditorModels, EditorServices, EditorTools, Failure, Host, KeyStatus, Limit, NoticeKind, OpenRequest,
    Pages, UserNotice,
};
use bobbin_framing::{Limits, Transport};
use bobbin_model::{Effort, InputPart, ItemBody, Json, TurnId};
use bobbin_prompts::{Machine, Prompts};
use bobbin_testkit::{Client, Link, ScriptEngine, TestWorkspace};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A core and the means to connect to it.
pub(crate) struct Server {
    workspace: TestWorkspace,
    pub(crate) engine: ScriptEngine,
    pub(crate) threads: Arc<Threads>,
    pub(crate) tool_servers: Option<Arc<dyn ToolServers>>,
    pub(crate) terminals: Option<Arc<dyn Terminals>>,
    pub(crate) suggestions: Option<Arc<dyn Suggestions>>,
    pub(crate) own_providers: Option<Arc<dyn ModelProviders>>,
    editor_tools: Arc<EditorTools>,
    pub(crate) models: Arc<Kiln>,
}

/// A host with an open core.
struct Opened {
    threads: Arc<Threads>,
    tool_servers: Option<Arc<dyn ToolServers>>,
    editor_tools: Arc<EditorTools>,
    models: Arc<Kiln>,
    terminals: Option<Arc<dyn Terminals>>,
    suggestions: Option<Arc<dyn Suggestions>>,
    own_providers: Option<Arc<dyn ModelProviders>>,
}

/// Pages of `https://tea.example/…`. Those of `slow.example` never come.
struct Shelf;

impl Pages for Shelf {
    fn read<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>> {
        async move {
            if url.starts_with("https://slow.example") {
                std::future::pending::<()>().await;
            }
            let page = url.strip_prefix("https://tea.example/");
            let page = page.ok_or_else(|| "there is no such page".to_owned())?;
            Ok(format!("All about {page}."))
        }
        .boxed()
    }
}

/// Two models of the provider `kiln`, and a third one after a query.
#[derive(Debug, Default)]
pub(crate) struct Kiln {
    /// Whether the provider lists `kiln/new`.
    pub(crate) lists_more: AtomicBool,
    asked: AtomicBool,
    /// Whether the provider `oven` has a key.
    pub(crate) oven_has_key: AtomicBool,
}

impl EditorModels for Kiln {
    fn known(&self) -> Vec<String> {
        let more = self.lists_more.load(Ordering::Relaxed) && self.asked.load(Ordering::Relaxed);
        let names = ["large", "small"].into_iter().chain(more.then_some("new"));
        names.map(|name| format!("kiln/{name}")).collect()
    }

    fn usual(&self) -> String {
        "kiln/large".to_owned()
    }

    fn find(&self, name: &str) -> Option<String> {
        let name = name.strip_prefix("kiln/").unwrap_or(name);
        self.known().into_iter().find(|known| known[5..] == *name)
    }

    fn efforts(&self, name: &str) -> Vec<Effort> {
        let has = name == "kiln/small";
        has.then_some([Effort::Low, Effort::High])
            .into_iter()
            .flatten()
            .collect()
    }

    fn providers(&self) -> Vec<(String, KeyStatus)> {
        vec![
            ("kiln".to_owned(), KeyStatus::Configured),
            (
                "oven".to_owned(),
                if self.oven_has_key.load(Ordering::Relaxed) {
                    KeyStatus::Configured
                } else {
                    KeyStatus::Missing
                },
            ),
        ]
    }

    fn limit(&self, name: &str) -> Option<Limit> {
        (name == "kiln/large").then_some(Limit {
            context: 64_000,
            output: 8000,
        })
    }

    fn refresh(&self) -> BoxFuture<'_, ()> {
        self.asked.store(true, Ordering::Relaxed);
        std::future::ready(()).boxed()
    }
}

impl Host for Opened {
    fn open(&self, wanted: OpenRequest) -> BoxFuture<'_, Result<EditorServices, Failure>> {
        let tool = |name: &str, effect| ToolSpec {
            name: Arc::from(name),
            description: "A tool.".into(),
            input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
            effect,
        };
        let offer = EditorServices {
            threads: self.threads.clone(),
            models: self.models.clone(),
            tools: vec![tool("look", Effect::Reads), tool("Exec", Effect::Writes)],
            services: Services {
                tool_servers: self.tool_servers.clone(),
                terminals: self.terminals.clone(),
                suggestions: self.suggestions.clone(),
                prompts: Some(Arc::new(Prompts::new(
                    self.threads.settings().workspace.clone(),
                    None,
                    Machine::default(),
                ))),
                ..Services::default()
            },
            editor_tools: self.editor_tools.clone(),
            pages: Some(Arc::new(Shelf)),
            config_files: Vec::new(),
            home: None,
            keys: bobbin_model::ClientKeys::default(),
            own_providers: self.own_providers.clone(),
            notices: vec![UserNotice {
                kind: NoticeKind::Warning,
                message: "The tea is cold.".to_owned(),
            }],
        };
        let busy = wanted.root.is_some_and(|root| root == Path::new("/busy"));
        async move {
            if busy {
                return Err(Failure("the workspace /busy is served by process 7".to_owned()));
            }
            Ok(offer)
        }
        .boxed()
    }

    fn version(&self) -> &'static str {
        "0.0.0"
    }

    fn handshake(&self) -> Option<Duration> {
        Some(Duration::from_secs(30))
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        let editor_tools: Arc<EditorTools> = Arc::default();
        let engine = ScriptEngine::default().with_tools(editor_tools.clone());
        let workspace = TestWorkspace::default();
        let threads = workspace.open(Arc::new(engine.clone())).await;
        Self {
            workspace,
            engine,
            threads,
            tool_servers: None,
            terminals: None,
            suggestions: None,
            own_providers: None,
            editor_tools,
            models: Arc::default(),
        }
    }

    /// Starts a server with another engine.
    pub(crate) async fn over(engine: impl Engine) -> Self {
        let workspace = TestWorkspace::default();
        let threads = workspace.open(Arc::new(engine)).await;
        Self {
            workspace,
            engine: ScriptEngine::default(),
            threads,
            tool_servers: None,
            terminals: None,
            suggestions: None,
            own_providers: None,
            editor_tools: Arc::default(),
            models: Arc::default(),
        }
    }

    /// Stops the core and opens the workspace again.
    pub(crate) async fn restart(&mut self) {
        self.threads.stop().await;
        self.threads = self.workspace.open(Arc::new(self.engine.clone())).await;
    }

    pub(crate) fn root(&self) -> &Path {
        &self.threads.settings().workspace
    }

    /// Connects without a handshake.
    pub(crate) fn connect(&self) -> (Client, JoinHandle<End>) {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::content_length(reader, writer, Limits::default());
        let serving = tokio::spawn(bobbin_eca::serve(
            transport,
            Arc::new(Opened {
                threads: self.threads.clone(),
                tool_servers: self.tool_servers.clone(),
                editor_tools: self.editor_tools.clone(),
                models: self.models.clone(),
                terminals: self.terminals.clone(),
                suggestions: self.suggestions.clone(),
                own_providers: self.own_providers.clone(),
            }),
        ));
        let (reader, writer) = tokio::io::split(far);
        (Client::new(Link::headers(reader, writer)), serving)
    }

    /// Connects an editor that is ready and has read its first messages.
    pub(crate) async fn editor(&self) -> Client {
        let (mut client, _) = self.connect();
        client.call("initialize", hello()).await;
        client.notify("initialized", json!({})).await;
        client.until("$/showMessage").await;
        client
    }

    /// Connects an editor that supports requests for diagnostics.
    pub(crate) async fn editor_with_diagnostics(&self) -> Client {
        let (mut client, _) = self.connect();
        let mut hello = hello();
        hello["capabilities"]["codeAssistant"]["editor"] = json!({ "diagnostics": true });
        client.call("initialize", hello).await;
        client.notify("initialized", json!({})).await;
        client.until("$/showMessage").await;
        client
    }

    /// Returns the attachments of a chat's first prompt, as the agent has them.
    pub(crate) async fn attached(&self, chat: &str) -> Vec<String> {
        let filter = ListFilter {
            workspace_path: self.root().to_string_lossy().into_owned(),
            channel_context: Some(format!("eca:{chat}")),
            ..ListFilter::default()
        };
        let found = self.threads.list(filter).await.unwrap();
        let turns = self
            .threads
            .turns_before(&found[0].header.id, TurnId(2), 1)
            .await
            .unwrap();
        let ItemBody::UserMessage(said) = &turns[0].items[0].body else {
            panic!("{turns:?}");
        };
        let parts = said.native.iter().filter_map(|part| match part {
            InputPart::Context { label, text } => Some(format!("{label}|{text}")),
            InputPart::CommandRef { expanded, .. } => expanded.clone(),
            _ => None,
        });
        parts.collect()
    }

    /// Returns a transcript with everything replaced that changes from run to run. Pieces of a streamed text are
    /// joined, since they depend on time.
    pub(crate) fn redact(&self, messages: &[Value]) -> String {
        let mut names = BTreeMap::new();
        let root = self.root().to_string_lossy().into_owned();
        let mut whole: Vec<Value> = Vec::new();
        for message in messages {
            match whole.last_mut() {
                Some(last) if goes_on(last, message) => join(last, message),
                _ => whole.push(message.clone()),
            }
        }
        let lines = whole.iter().map(|message| {
            let text = message.to_string().replace(&root, "WORKSPACE");
            redact(&text, &mut names)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

pub(crate) fn hello() -> Value {
    json!({
        "processId": null,
        "clientInfo": { "name": "sketchpad", "version": "3.1" },
        "capabilities": { "codeAssistant": { "chat": true } },
        "workspaceFolders": [{ "uri": "file:///srv/teapot", "name": "teapot" }],
    })
}

/// Whether a message is a content of a kind.
pub(crate) fn is_content(message: &Value, kind: &str) -> bool {
    message["method"] == "chat/contentReceived" && message["params"]["content"]["type"] == kind
}

/// Returns the member with the text of a streamed piece.
fn piece(message: &Value) -> Option<&'static str> {
    if is_content(message, "toolCallPrepare") {
        return Some("argumentsText");
    }
    (is_content(message, "text") && message["params"]["role"] == "assistant").then_some("text")
}

/// Whether a message continues the streamed text of the last one.
fn goes_on(last: &Value, message: &Value) -> bool {
    let of = |message: &Value| {
        let params = &message["params"];
        (params["chatId"].clone(), params["content"]["id"].clone())
    };
    piece(last).is_some() && piece(last) == piece(message) && of(last) == of(message)
}

fn join(last: &mut Value, message: &Value) {
    let name = piece(message).unwrap_or_default();
    let text = |message: &Value| message["params"]["content"][name].as_str().map(str::to_owned);
    let whole = [text(last), text(message)];
    last["params"]["content"][name] = json!(whole.into_iter().flatten().collect::<String>());
}

/// Whether a message says that a turn is over.
pub(crate) fn is_finished(message: &Value) -> bool {
    is_content(message, "progress") && message["params"]["content"]["state"] == "finished"
}

/// Collects all messages up to the first wanted one, in order.
pub(crate) async fn until(client: &mut Client, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut seen = Vec::new();
    loop {
        let message = client.next().await.expect("the connection stays");
        assert!(
            message.get("method").is_none() || !has_null(&message["params"]),
            "{message}"
        );
        let last = wanted(&message);
        seen.push(message);
        if last {
            return seen;
        }
    }
}

/// Whether a notification says `null` where it must not (2.3).
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.iter().any(has_null),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name != "selectVariant" && has_null(value)),
        _ => false,
    }
}

/// Sends a prompt and collects everything up to the end of its turn.
pub(crate) async fn prompt(client: &mut Client, params: Value) -> Vec<Value> {
    client.request("chat/prompt", params).await;
    until(client, is_finished).await
}

/// Sends a prompt and collects everything up to the call it makes.
pub(crate) async fn prompt_until_asked(client: &mut Client, params: Value) -> Vec<Value> {
    client.request("chat/prompt", params).await;
    until(client, |message| {
        message["params"]["content"]["text"] == "Waiting for tool call approval"
    })
    .await
}

/// Joins the texts of a role.
pub(crate) fn texts(messages: &[Value], role: &str) -> String {
    messages
        .iter()
        .filter(|message| is_content(message, "text") && message["params"]["role"] == role)
        .map(|message| message["params"]["content"]["text"].as_str().unwrap())
        .collect()
}

/// Returns the types of contents, and the methods of other notifications.
pub(crate) fn kinds(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|message| {
            let content = &message["params"]["content"];
            content["type"].as_str().or_else(|| message["method"].as_str())
        })
        .collect()
}

/// Replaces Threads' ids by `thread_A`, `thread_B`, … in order of appearance; times stand still in tests.
fn redact(text: &str, names: &mut BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for part in text.split_inclusive('"') {
        let word = part.strip_suffix('"').unwrap_or(part);
        if !word.starts_with("thread_2") {
            out.push_str(part);
            continue;
        }
        let next = u32::try_from(names.len()).unwrap();
        let letter = char::from_u32(u32::from('A') + next).unwrap();
        let name = names
            .entry(word.to_owned())
            .or_insert_with(|| format!("thread_{letter}"));
        out.push_str(name);
        out.push('"');
    }
    out
}

/// Compares a conversation with its stored snapshot.
macro_rules! transcript {
    ($server:expr, $messages:expr) => {
        insta::assert_snapshot!($server.redact(&$messages))
    };
}
pub(crate) use transcript;
