//! A server in memory, and transcripts with ids and times redacted.

use std::sync::Arc;

use bobbin_agent_api::Services;
use bobbin_core::engine::Engine;
use bobbin_core::{Settings, Threads};
use bobbin_framing::{Limits, Transport};
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_prompts::{Machine, Prompts};
use bobbin_testkit::{Client, Link, ScriptEngine, TestWorkspace};
use serde_json::{Value, json};

/// A core, and functions that connect to it.
pub(crate) struct Server {
    workspace: TestWorkspace,
    pub(crate) engine: ScriptEngine,
    pub(crate) threads: Arc<Threads>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let engine = ScriptEngine::default();
        let workspace = TestWorkspace::default();
        let threads = workspace.open(Arc::new(engine.clone())).await;
        Self {
            workspace,
            engine,
            threads,
        }
    }

    /// Starts a server with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let engine = ScriptEngine::default();
        let workspace = TestWorkspace::default();
        let threads = workspace.open_with(Arc::new(engine.clone()), change).await;
        Self {
            workspace,
            engine,
            threads,
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
        }
    }

    /// Opens the workspace again after its core was stopped.
    pub(crate) async fn reopen(&self) -> Arc<Threads> {
        self.workspace.open(Arc::new(ScriptEngine::default())).await
    }

    /// The same with another engine.
    pub(crate) async fn reopen_with(&self, engine: impl Engine) -> Arc<Threads> {
        self.workspace.open(Arc::new(engine)).await
    }

    pub(crate) fn link(&self) -> Link {
        Self::link_to(self.threads.clone())
    }

    pub(crate) fn link_to(threads: Arc<Threads>) -> Link {
        let prompts = Prompts::new(threads.settings().workspace.clone(), None, Machine::default());
        let services = Services {
            prompts: Some(Arc::new(prompts)),
            ..Self::services()
        };
        let groups = Groups::of(&[bobbin_native::GROUPS]);
        Self::link_beside(&Arc::new(bobbin_native::Server::new(threads, services, groups)))
    }

    /// Connects to the server; may be called repeatedly.
    pub(crate) fn link_beside(server: &Arc<bobbin_native::Server>) -> Link {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::lines(reader, writer, Limits::default());
        // The task ends with its client.
        tokio::spawn(bobbin_native::serve(transport, Endpoint::Stdio, server.clone()));
        let (reader, writer) = tokio::io::split(far);
        Link::lines(reader, writer)
    }

    /// Returns the services of a server that has only its core.
    pub(crate) fn services() -> Services {
        Services {
            version: "0.0.0",
            ..Services::default()
        }
    }

    pub(crate) async fn client(&self) -> Client {
        self.client_with(json!({ "toolExecutionLifecycle": true })).await
    }

    pub(crate) async fn client_with(&self, capabilities: Value) -> Client {
        Client::ready(self.link(), "test", capabilities).await
    }

    /// Records a conversation, with everything replaced that changes from run to run.
    pub(crate) fn redact(&self, messages: &[Value]) -> String {
        bobbin_testkit::redacted(messages, &self.threads.settings().workspace)
    }
}
