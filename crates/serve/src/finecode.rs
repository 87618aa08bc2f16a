//! FineCode in this server: its host, made of the configuration and the trust in the folder.

use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use bobbin_agent_api::tool::ToolSource;
use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_children::{Children, Environment};
use bobbin_core::Hub;
use bobbin_finecode::{Announce, Host, Parts};
use bobbin_finecode_agent::Actions;
use bobbin_finecode_native::FineCodeNews;
use bobbin_workspace::{TrustFile, TrustRecord};

use bobbin_config::Config;

/// FineCode in a running server.
#[derive(Clone)]
pub(crate) struct FineCode {
    host: Arc<Host>,
    /// What the agent may run.
    actions: Arc<Actions>,
    hub: Arc<OnceLock<Weak<Hub>>>,
}

impl FineCode {
    pub(crate) fn new(
        root: &Path,
        config: &Config,
        trust: &TrustFile,
        children: &Children,
        environment: &Environment,
    ) -> Self {
        let hub: Arc<OnceLock<Weak<Hub>>> = Arc::default();
        let known = hub.clone();
        let announce = move |event| {
            if let Some(hub) = known.get().and_then(Weak::upgrade) {
                hub.broadcast(FineCodeNews(event), 0);
            }
        };
        let host = host(
            root,
            config,
            trust.clone(),
            children.clone(),
            environment.clone(),
            Arc::new(announce),
        );
        let host = Arc::new(host);
        // Settings may name actions for all workspaces; most of these have no project.
        let settings = &config.finecode;
        let has_projects = !settings.agent.is_empty()
            && (!settings.projects.is_empty() || !bobbin_finecode::projects_of(root).is_empty());
        let trust = trust.clone();
        let counts = move || has_projects && trust.read().trusted;
        let actions = Actions::new(host.clone(), root.to_owned(), settings, counts);
        Self {
            host,
            actions: Arc::new(actions),
            hub,
        }
    }

    /// Returns the actions that the agent may run.
    pub(crate) fn source(&self) -> Arc<dyn ToolSource> {
        self.actions.clone()
    }

    /// Has what happens announced through `hub`.
    pub(crate) fn begin(&self, hub: &Arc<Hub>) {
        // Called once.
        drop(self.hub.set(Arc::downgrade(hub)));
    }

    /// Returns what clients may ask.
    pub(crate) fn feature(&self) -> bobbin_finecode_native::FineCode {
        bobbin_finecode_native::FineCode::new(self.host.clone())
    }

    /// Ends all runners.
    pub(crate) async fn end(&self) {
        self.host.end().await;
    }
}

/// Returns the host of a workspace. It starts nothing before a run needs it.
pub fn host(
    root: &Path,
    config: &Config,
    trust: TrustFile,
    children: Children,
    environment: Environment,
    announce: Announce,
) -> Host {
    let trust = move |project: &Path| {
        if trust.read().trusted {
            return Ok(());
        }
        let folder = trust.root().display();
        Err(format!(
            "{} runs code of the folder {folder}, which you have not trusted: `bobbin trust` shows what it brings",
            project.display()
        ))
    };
    Host::new(Parts {
        root: root.to_owned(),
        settings: config.finecode.clone(),
        children,
        environment,
        trust: Arc::new(trust),
        announce,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Returns what a folder's projects bring that waits for trust. Blocks on the disk.
pub(crate) fn trust_item(root: &Path, record: &TrustRecord) -> Option<TrustItem> {
    let projects = bobbin_finecode::projects_of(root);
    (!projects.is_empty()).then(|| TrustItem {
        kind: TrustKind::Server,
        name: "FineCode actions".to_owned(),
        detail: format!(
            "run what pyproject.toml and .venvs say, in {}",
            projects.join(", ")
        ),
        fingerprint: None,
        trusted: record.trusted,
    })
}
