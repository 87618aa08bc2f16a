//! The trust in the served folder: lists its items, records the user's decision and applies it.
//!
//! Servers start and stop at once. Texts count from the next reading, settings from the next start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use bobbin_agent_api::trust::{
    TrustChange, TrustError, TrustItem, TrustKind, TrustNews, TrustStatus, WorkspaceTrust,
};
use bobbin_core::Threads;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::scan::Scan;
use crate::config;
use bobbin_channels::Channels;
use bobbin_config::Config;
use bobbin_hooks::HookRunner;
use bobbin_mcp::Servers;
use bobbin_plugins::Plugins;
use bobbin_profiles::Profiles;
use bobbin_workspace::{TrustFile, TrustRecord};

/// The trust in one served folder.
pub struct Folder {
    place: Place,
    servers: Arc<Servers>,
    channels: Arc<Channels>,
    hooks: Arc<HookRunner>,
    plugins: Arc<Plugins>,
    profiles: Arc<Profiles>,
    /// Fingerprints of the folder's settings that counted at the start.
    settings: BTreeSet<String>,
    threads: OnceLock<Weak<Threads>>,
    /// Locked while the record changes and takes effect.
    changing: tokio::sync::Mutex<()>,
}

/// The paths of the folder, of the home and of the record.
#[derive(Debug, Clone)]
struct Place {
    root: PathBuf,
    home: Option<PathBuf>,
    file: TrustFile,
}

impl Place {
    fn look(&self, record: &TrustRecord) -> anyhow::Result<(Config, Scan)> {
        let config = config::read_with(&self.root, self.home.as_deref(), record)?;
        let scan = Scan::of(&config, record, &self.root, self.home.as_deref());
        Ok((config, scan))
    }

    fn change(&self, change: &TrustChange) -> Result<(Config, Scan), TrustError> {
        let cannot = |error: anyhow::Error| TrustError::Unwritable(format!("{error:#}"));
        let (_, before) = self.look(&self.file.read()).map_err(cannot)?;
        if let TrustChange::TrustOnly(given) = change
            && let known = before.fingerprints()
            && !given.iter().all(|given| known.contains(&given.as_str()))
        {
            return Err(TrustError::Changed);
        }
        let changed = self.file.change(|record| before.apply(change, record));
        self.look(&changed.map_err(|error| cannot(error.into()))?)
            .map_err(cannot)
    }
}

/// The parts that run a folder's items.
pub type Brought = (
    Arc<Servers>,
    Arc<Channels>,
    Arc<HookRunner>,
    Arc<Plugins>,
    Arc<Profiles>,
);

impl Folder {
    /// Returns the trust in a folder with the configuration `config`.
    pub fn new(
        home: Option<&Path>,
        file: TrustFile,
        config: &Config,
        (servers, channels, hooks, plugins, profiles): Brought,
    ) -> Self {
        Self {
            place: Place {
                root: file.root().to_owned(),
                home: home.map(Path::to_owned),
                file,
            },
            servers,
            channels,
            hooks,
            plugins,
            profiles,
            settings: counted_settings(&config.folder_items),
            threads: OnceLock::new(),
            changing: tokio::sync::Mutex::default(),
        }
    }

    /// Broadcasts changes to the clients of `threads` from now on, and has the files read again for them.
    pub fn begin(&self, threads: &Arc<Threads>) {
        // Called once.
        drop(self.threads.set(Arc::downgrade(threads)));
        let (place, plugins) = (self.place.clone(), Arc::downgrade(&self.plugins));
        self.servers.let_reload(Arc::new(move || {
            let (config, _) = place.look(&place.file.read())?;
            if let Some(plugins) = plugins.upgrade() {
                plugins.refresh();
            }
            Ok(config.tool_servers)
        }));
    }

    /// Checks whether items wait for trust, on which the default approval policy of users depends.
    pub async fn look(&self) {
        if let Err(error) = self.scan().await {
            tracing::warn!(%error, "what the folder brings cannot be read");
        }
    }

    fn note(&self, scan: &Scan) {
        if let Some(threads) = self.threads.get().and_then(Weak::upgrade) {
            let nothing_waits = scan.waiting().next().is_none();
            threads
                .settings()
                .approval_policy
                .set_nothing_waits(nothing_waits);
        }
    }

    fn result(&self, scan: Scan) -> TrustStatus {
        TrustStatus {
            trusted: scan.trusted,
            restart_needed: counted_settings(&scan.items) != self.settings,
            items: scan.items,
        }
    }

    async fn scan(&self) -> Result<Scan, TrustError> {
        let place = self.place.clone();
        let looked = tokio::task::spawn_blocking(move || place.look(&place.file.read())).await;
        let (_, scan) = looked
            .unwrap_or_else(|error| Err(error.into()))
            .map_err(|error| TrustError::Unwritable(format!("{error:#}")))?;
        self.note(&scan);
        Ok(scan)
    }
}

/// Returns the fingerprints of the folder's settings that count.
fn counted_settings(items: &[TrustItem]) -> BTreeSet<String> {
    let settings = items
        .iter()
        .filter(|item| item.kind == TrustKind::Setting && item.trusted);
    settings.filter_map(|item| item.fingerprint.clone()).collect()
}

impl WorkspaceTrust for Folder {
    fn status(&self) -> BoxFuture<'_, Result<TrustStatus, TrustError>> {
        async move { Ok(self.result(self.scan().await?)) }.boxed()
    }

    fn set(&self, change: TrustChange) -> BoxFuture<'_, Result<TrustStatus, TrustError>> {
        async move {
            let _changing = self.changing.lock().await;
            let place = self.place.clone();
            let profiles = self.profiles.clone();
            let changed = tokio::task::spawn_blocking(move || {
                let changed = place.change(&change)?;
                profiles.refresh(changed.0.profiles.clone());
                Ok(changed)
            });
            let changed = changed.await;
            let (config, scan) =
                changed.unwrap_or_else(|error| Err(TrustError::Unwritable(error.to_string())))?;
            self.servers.refresh(config.tool_servers);
            self.channels.refresh(config.channels);
            self.hooks.set_configured(config.hooks);
            let plugins = self.plugins.clone();
            let refreshed = tokio::task::spawn_blocking(move || plugins.refresh()).await;
            refreshed.map_err(|error| TrustError::Unwritable(error.to_string()))?;
            if let Some(threads) = self.threads.get().and_then(Weak::upgrade) {
                let trusted = scan.trusted;
                threads.broadcasts().send(TrustNews { trusted }, 0);
            }
            self.note(&scan);
            Ok(self.result(scan))
        }
        .boxed()
    }

    fn notice(&self) -> BoxFuture<'_, Option<String>> {
        async move {
            let scan = self.scan().await.inspect_err(|error| {
                tracing::warn!(%error, "what the folder brings cannot be read");
            });
            scan.ok()?.sentence()
        }
        .boxed()
    }
}
