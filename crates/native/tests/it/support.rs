//! A server in memory, and transcripts with ids and times redacted.

use std::collections::BTreeMap;
use std::sync::Arc;

use bobbin_agent_api::Services;
use bobbin_agent_api::model_catalog::{ListModelsError, ListedModel, ModelCatalog};
use bobbin_agent_api::suggest::Suggestions;
use bobbin_agent_api::terminal::Terminals;
use bobbin_agent_api::tool_server::ToolServers;
use bobbin_core::engine::Engine;
use bobbin_core::{Hub, Settings};
use bobbin_framing::{Limits, Transport};
use bobbin_model::UnixMillis;
use bobbin_native::Endpoint;
use bobbin_prompts::{Machine, Prompts};
use bobbin_testkit::{Client, Link, ManualClock, ScriptEngine, TestWorkspace};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// A core and the means to connect to it.
pub(crate) struct Server {
    workspace: TestWorkspace,
    pub(crate) engine: ScriptEngine,
    pub(crate) hub: Arc<Hub>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let engine = ScriptEngine::default();
        let workspace = TestWorkspace::default();
        let hub = workspace.open(Arc::new(engine.clone())).await;
        Self {
            workspace,
            engine,
            hub,
        }
    }

    /// Starts a server with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let engine = ScriptEngine::default();
        let workspace = TestWorkspace::default();
        let hub = workspace.open_with(Arc::new(engine.clone()), change).await;
        Self {
            workspace,
            engine,
            hub,
        }
    }

    /// Starts a server with another engine.
    pub(crate) async fn over(engine: impl Engine) -> Self {
        let workspace = TestWorkspace::default();
        let hub = workspace.open(Arc::new(engine)).await;
        Self {
            workspace,
            engine: ScriptEngine::default(),
            hub,
        }
    }

    /// Opens the workspace again after its core was stopped.
    pub(crate) async fn reopen(&self) -> Arc<Hub> {
        self.workspace.open(Arc::new(ScriptEngine::default())).await
    }

    /// Returns the clock of the core.
    pub(crate) fn clock(&self) -> Arc<ManualClock> {
        self.workspace.clock.clone()
    }

    /// The same with another engine.
    pub(crate) async fn reopen_with(&self, engine: impl Engine) -> Arc<Hub> {
        self.workspace.open(Arc::new(engine)).await
    }

    pub(crate) fn link(&self) -> Link {
        Self::link_to(self.hub.clone())
    }

    pub(crate) fn link_to(hub: Arc<Hub>) -> Link {
        Self::link_with(hub, None)
    }

    /// Connects to a server that runs tool servers, or that does not.
    pub(crate) fn link_with(hub: Arc<Hub>, tool_servers: Option<Arc<dyn ToolServers>>) -> Link {
        Self::link_to_all(hub, tool_servers, None, None)
    }

    /// Connects to a server with what it has beside its core.
    pub(crate) fn link_to_all(
        hub: Arc<Hub>,
        tool_servers: Option<Arc<dyn ToolServers>>,
        terminals: Option<Arc<dyn Terminals>>,
        suggestions: Option<Arc<dyn Suggestions>>,
    ) -> Link {
        let prompts = Prompts::new(hub.settings().workspace.clone(), None, Machine::default());
        let services = Services {
            prompts: Some(Arc::new(prompts)),
            tool_servers,
            terminals,
            suggestions,
            ..Self::services()
        };
        Self::link_beside(&Arc::new(bobbin_native::Server::new(hub, services)))
    }

    /// What a server is that has nothing but models beside its core.
    pub(crate) fn services() -> Services {
        Services {
            version: "0.0.0",
            models: Some(Arc::new(Kiln)),
            ..Services::default()
        }
    }

    /// Connects to one server, as often as that is wanted.
    pub(crate) fn link_beside(server: &Arc<bobbin_native::Server>) -> Link {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::lines(reader, writer, Limits::default());
        // Ends with its client.
        tokio::spawn(bobbin_native::serve(transport, Endpoint::Stdio, server.clone()));
        let (reader, writer) = tokio::io::split(far);
        Link::lines(reader, writer)
    }

    pub(crate) async fn client(&self) -> Client {
        self.client_with(json!({ "toolExecutionLifecycle": true })).await
    }

    pub(crate) async fn client_with(&self, capabilities: Value) -> Client {
        Client::ready(self.link(), "test", capabilities).await
    }

    /// Writes a conversation down with everything that changes from run to run replaced.
    pub(crate) fn redact(&self, messages: &[Value]) -> String {
        let mut names = BTreeMap::new();
        let root = self.hub.settings().workspace.to_string_lossy().into_owned();
        let lines = messages.iter().map(|message| {
            let text = message.to_string().replace(&root, "WORKSPACE");
            redact(&text, &mut names)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Replaces ids by `thread_A`, `thread_B`, … in order of appearance; times stand still in tests.
fn redact(text: &str, names: &mut BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for part in text.split_inclusive('"') {
        let word = part.strip_suffix('"').unwrap_or(part);
        let kind = ["thread_2", "queued_2", "term_"]
            .iter()
            .find(|kind| word.starts_with(**kind));
        let approval = word.len() == 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = match kind {
            Some(kind) => Some(kind.trim_end_matches('2').to_owned()),
            None => approval.then(|| "approval_".to_owned()),
        };
        let Some(prefix) = name else {
            out.push_str(part);
            continue;
        };
        let next = u32::try_from(names.values().filter(|known| known.starts_with(&prefix)).count()).unwrap();
        let letter = char::from_u32(u32::from('A') + next).unwrap();
        let name = names
            .entry(word.to_owned())
            .or_insert_with(|| format!("{prefix}{letter}"));
        out.push_str(name);
        out.push('"');
    }
    // Ids inside sentences.
    names.iter().fold(out, |text, (id, name)| text.replace(id, name))
}

/// Has one model.
struct Kiln;

impl ModelCatalog for Kiln {
    fn list(&self) -> BoxFuture<'static, Result<Vec<ListedModel>, ListModelsError>> {
        let model = ListedModel {
            id: "kiln/large".into(),
            owned_by: "potter".into(),
            created_at: UnixMillis(0),
        };
        async move { Ok(vec![model]) }.boxed()
    }
}
