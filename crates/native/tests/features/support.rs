//! A server in memory with the groups of this crate, and transcripts with ids and times redacted.

use std::sync::Arc;

use bobbin_agent_api::Services;
use bobbin_agent_api::model_catalog::{
    DefaultModel, DefaultSource, ListModelsError, ListedModel, ModelCatalog, ModelPrice, ModelProvider,
};
use bobbin_core::{Settings, Threads};
use bobbin_framing::{Limits, Transport};
use bobbin_model::{ProviderProtocol, UnixMillis};
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_prompts::{Machine, Prompts};
use bobbin_testkit::{Client, Link, ManualClock, ScriptEngine, TestWorkspace};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// A core, and functions that connect to it.
pub(crate) struct Server {
    workspace: TestWorkspace,
    pub(crate) threads: Arc<Threads>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts a server with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let workspace = TestWorkspace::default();
        let engine = Arc::new(ScriptEngine::default());
        let threads = workspace.open_with(engine, change).await;
        Self { workspace, threads }
    }

    /// Returns the clock of the core.
    pub(crate) fn clock(&self) -> Arc<ManualClock> {
        self.workspace.clock.clone()
    }

    /// Returns the services of a server with prompts and models.
    pub(crate) fn services(&self) -> Services {
        let prompts = Prompts::new(
            self.threads.settings().workspace.clone(),
            None,
            Machine::default(),
        );
        Services {
            version: "0.0.0",
            prompts: Some(Arc::new(prompts)),
            models: Some(Arc::new(Kiln)),
            ..Services::default()
        }
    }

    /// Makes the server of a dialect with these features.
    pub(crate) fn native(&self, services: Services) -> Arc<bobbin_native::Server> {
        let groups = Groups::of(&[bobbin_native::GROUPS]);
        Arc::new(bobbin_native::Server::new(self.threads.clone(), services, groups))
    }

    pub(crate) fn link(&self) -> Link {
        Self::link_to(&self.native(self.services()))
    }

    /// Connects to the server; may be called repeatedly.
    pub(crate) fn link_to(server: &Arc<bobbin_native::Server>) -> Link {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::lines(reader, writer, Limits::default());
        // The task ends with its client.
        tokio::spawn(bobbin_native::serve(transport, Endpoint::Stdio, server.clone()));
        let (reader, writer) = tokio::io::split(far);
        Link::lines(reader, writer)
    }

    pub(crate) async fn client(&self) -> Client {
        let capabilities = json!({ "toolExecutionLifecycle": true });
        Client::ready(self.link(), "test", capabilities).await
    }

    /// Records a conversation, with everything replaced that changes from run to run.
    pub(crate) fn redact(&self, messages: &[Value]) -> String {
        bobbin_testkit::redacted(messages, &self.threads.settings().workspace)
    }
}

/// Has one model.
struct Kiln;

impl ModelCatalog for Kiln {
    fn default_model(&self) -> DefaultModel {
        DefaultModel {
            id: "kiln/large".into(),
            efforts: vec![bobbin_model::Effort::Low],
            source: DefaultSource::Key {
                variable: "KILN_KEY".into(),
            },
        }
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<ListedModel>, ListModelsError>> {
        let model = ListedModel {
            id: "kiln/large".into(),
            owned_by: "potter".into(),
            created_at: UnixMillis(0),
            efforts: vec![bobbin_model::Effort::Low, bobbin_model::Effort::High],
            provider: Some(ModelProvider {
                id: "kiln".into(),
                protocol: ProviderProtocol::Responses,
            }),
            context_window: Some(64_000),
            price: Some(ModelPrice {
                input: 2_500_000,
                cached_input: 250_000,
                output: 10_000_000,
                currency: Some("EUR".into()),
            }),
        };
        async move { Ok(vec![model]) }.boxed()
    }
}
