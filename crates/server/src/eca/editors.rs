//! Connections of editors, ECA and ACP, beside the native connections of the same server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::ServerProcess;
use bobbin_agent_api::trust::WorkspaceTrust;
use bobbin_editor_kit::{EditorServices, Failure, Host, NoticeKind, OpenRequest, UserNotice};
use bobbin_model::{ClientKeys, Mode};
use bobbin_peer::Transport;
use bobbin_transport::{Caller, Connections};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::choices::Choices;
use crate::opened::{Opened, services};
use crate::pages::WebPages;
use crate::state;
use crate::state::home;
use crate::trust::Folder;
use bobbin_config::Config;
use bobbin_workspace::Workspace;

/// Longest wait for an editor's `initialize`.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// Serves every editor that connects.
#[derive(Clone)]
pub(crate) struct Editors(Served);

impl Editors {
    pub(crate) fn new(workspace: &Workspace, config: &Config, opened: &Opened) -> Self {
        let warnings = config.warnings.iter().chain(&opened.complaints);
        Self(Served {
            root: workspace.root.clone(),
            trust: opened.trust.clone(),
            offer: offer(opened, config, warnings.map(|text| warning(text)).collect()),
            options: config.editors_options.clone(),
        })
    }
}

impl Editors {
    /// Lets these editors store keys: they run as the server's user on its machine.
    pub(crate) fn with_keys(mut self, opened: &Opened) -> Self {
        self.0.offer.own_providers = Some(opened.config_files.clone());
        self
    }

    /// Serves one editor of the ECA dialect with these keys.
    pub(crate) async fn serve_with(&self, transport: Transport, keys: ClientKeys) {
        let process = self.0.offer.services.process.clone();
        let _open = process.as_ref().map(ServerProcess::connection);
        let end = bobbin_eca::serve(transport, self.host(keys)).await;
        tracing::debug!(?end, "an editor has left");
    }

    /// Serves one editor of the ACP dialect with these keys.
    pub(crate) async fn serve_acp(&self, transport: Transport, keys: ClientKeys) {
        let process = self.0.offer.services.process.clone();
        let _open = process.as_ref().map(ServerProcess::connection);
        bobbin_acp::serve(transport, self.host(keys)).await;
    }

    /// Serves one client of the Codex dialect with these keys.
    pub(crate) async fn serve_codex(&self, transport: Transport, keys: ClientKeys) {
        let process = self.0.offer.services.process.clone();
        let _open = process.as_ref().map(ServerProcess::connection);
        bobbin_codex::serve(transport, self.host(keys)).await;
    }

    fn host(&self, keys: ClientKeys) -> Arc<Served> {
        let mut served = self.0.clone();
        served.offer.keys = keys;
        Arc::new(served)
    }
}

/// Returns the services that a server offers to editors.
fn offer(opened: &Opened, config: &Config, notices: Vec<UserNotice>) -> EditorServices {
    EditorServices {
        threads: opened.threads.clone(),
        models: Arc::new(Choices(opened.models.clone())),
        tools: opened.tools.specs(Mode::Agent),
        services: services(opened),
        editor_tools: opened.editor_tools.clone(),
        pages: Some(Arc::new(WebPages)),
        config_files: config.sources.clone(),
        home: home(),
        notices,
        keys: ClientKeys::default(),
        own_providers: None,
    }
}

/// Serves every Codex client that connects.
pub(crate) struct CodexClients(pub(crate) Editors);

impl Connections for CodexClients {
    fn serve(&self, transport: Transport, _: Caller) -> BoxFuture<'static, ()> {
        let editors = self.0.clone();
        async move { editors.serve_codex(transport, ClientKeys::default()).await }.boxed()
    }
}

impl Connections for Editors {
    fn serve(&self, transport: Transport, _: Caller) -> BoxFuture<'static, ()> {
        let editors = self.clone();
        async move { editors.serve_with(transport, ClientKeys::default()).await }.boxed()
    }
}

/// The open workspace.
#[derive(Clone)]
struct Served {
    root: PathBuf,
    trust: Arc<Folder>,
    offer: EditorServices,
    /// The options of the editor that started the server.
    options: Option<(Map<String, Value>, Map<String, Value>)>,
}

impl Host for Served {
    fn open(&self, wanted: OpenRequest) -> BoxFuture<'_, Result<EditorServices, Failure>> {
        async move {
            // A client without a folder gets this workspace.
            if let Some(root) = &wanted.root
                && state::workspace(Some(root)).map_or(true, |found| found.root != self.root)
            {
                let (ours, theirs) = (self.root.display(), root.display());
                return Err(Failure(format!("this server serves {ours}, not {theirs}")));
            }
            let mut offer = self.offer.clone();
            let waiting = self.trust.notice().await;
            offer.notices.extend(waiting.map(|text| warning(&text)));
            if wanted.pure_config {
                offer.notices.push(warning(
                    "pureConfig has no effect here: the workspace's server has read its configuration already",
                ));
            }
            let theirs = (wanted.options.providers, wanted.options.mcp_servers);
            let are_known = theirs == Default::default() || Some(&theirs) == self.options.as_ref();
            if !are_known {
                offer.notices.push(warning(
                    "providers and mcpServers of the editor's options have no effect here: the workspace's server runs \
                     already; put them into ~/.craft/config.json",
                ));
            }
            Ok(offer)
        }
        .boxed()
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn handshake(&self) -> Option<Duration> {
        Some(HANDSHAKE)
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        self.offer.threads.ended().boxed()
    }
}

fn warning(text: &str) -> UserNotice {
    UserNotice {
        kind: NoticeKind::Warning,
        message: text.to_owned(),
    }
}
