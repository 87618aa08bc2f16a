//! The channels of a workspace: their configuration, and its management by clients.
//!
//! Owns the host. Changes run one at a time: each is written, answered, and then applied and broadcast. A client's change is
//! the decision of the server's user, so it is trusted in the workspace's file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::ConfigNews;
use bobbin_agent_api::channel::{ChannelConfig, is_reserved};
use bobbin_core::{Broadcasts, Threads};
use bobbin_model::ServerOrigin;
use bobbin_settings::{FILE, edit};
use bobbin_workspace::{TrustFile, TrustRecord};
use parking_lot::Mutex;
use serde_json::Value;

use crate::failures::report_failures;
use crate::host::{Host, key};
use crate::settings::{DeclaredChannel, SECTION, check, entry, fingerprint, of_folder};

/// The region of the configuration that changes here.
const REGION: &str = "externalChannel";

/// The configured channels of a workspace, and the host that runs them.
pub struct Channels {
    host: Arc<Host>,
    /// The workspace's configuration.
    file: PathBuf,
    trust: TrustFile,
    declared: Mutex<Vec<DeclaredChannel>>,
    broadcasts: Broadcasts,
    /// Locked during a change of the configuration.
    changing: tokio::sync::Mutex<()>,
}

/// Reason why a change was not made.
#[derive(Debug)]
pub(crate) enum ChangeError {
    NotFound(String),
    Invalid(String),
    NameConflict(String),
    Unwritable(String),
}

impl Channels {
    /// Returns the channels of a workspace. Their adapters may connect from now on; [`Host::begin`] starts the server's own.
    pub fn new(
        host: Arc<Host>,
        trust: TrustFile,
        declared: Vec<DeclaredChannel>,
        broadcasts: Broadcasts,
    ) -> Arc<Self> {
        let channels = Self {
            host,
            file: trust.root().join(FILE),
            trust,
            declared: Mutex::new(declared),
            broadcasts,
            changing: tokio::sync::Mutex::default(),
        };
        for declared in channels.in_effect() {
            channels.host.set(declared);
        }
        Arc::new(channels)
    }

    /// Starts to report failed Turns to their chats. Call it once.
    pub fn begin(&self, threads: &Arc<Threads>) {
        threads.own(report_failures(self.host.clone(), Arc::downgrade(threads)));
    }

    /// Returns the host.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Applies the present content of the files: starts, restarts or ends the channels that have changed.
    pub fn refresh(&self, declared: Vec<DeclaredChannel>) {
        let before = self.in_effect();
        *self.declared.lock() = declared;
        let after = self.in_effect();
        for one in after.iter().filter(|one| !before.contains(one)) {
            self.host.set(one.clone());
        }
        for gone in before {
            let name = &gone.config.name;
            if !after.iter().any(|one| is_same(&one.config.name, name)) {
                self.host.remove(name);
            }
        }
    }

    /// Returns the channels in effect. Of two with the same name, the workspace's is used if it is trusted.
    pub(crate) fn in_effect(&self) -> Vec<DeclaredChannel> {
        let declared = self.declared.lock();
        let mut channels: BTreeMap<String, DeclaredChannel> = BTreeMap::new();
        for one in declared.iter() {
            let key = key(&one.config.name);
            let counts = one.origin == ServerOrigin::Workspace && one.trusted;
            if counts || !channels.contains_key(&key) {
                channels.insert(key, one.clone());
            }
        }
        channels.into_values().collect()
    }

    pub(crate) fn find(&self, name: &str) -> Result<DeclaredChannel, ChangeError> {
        let found = self
            .in_effect()
            .into_iter()
            .find(|one| is_same(&one.config.name, name));
        found.ok_or_else(|| ChangeError::NotFound(name.to_owned()))
    }

    /// Writes a channel and applies it. Calls `reply` before clients are notified.
    pub(crate) async fn upsert(
        &self,
        config: ChannelConfig,
        reply: impl FnOnce(Result<ChannelConfig, ChangeError>) + Send,
    ) {
        let _changing = self.changing.lock().await;
        match self.try_upsert(config).await {
            Ok(declared) => {
                reply(Ok(declared.config.clone()));
                self.notify("externalChannel/upsert");
                self.host.set(declared);
            }
            Err(error) => reply(Err(error)),
        }
    }

    /// Removes a channel from the workspace's file and ends its adapter. Calls `reply` before clients are notified.
    pub(crate) async fn remove(&self, name: String, reply: impl FnOnce(Result<(), ChangeError>) + Send) {
        let _changing = self.changing.lock().await;
        match self.try_remove(&name).await {
            Ok(()) => {
                reply(Ok(()));
                self.notify("externalChannel/remove");
                match self.find(&name) {
                    // The removed channel had replaced the user's own channel of the same name.
                    Ok(declared) => self.host.set(declared),
                    Err(_) => self.host.remove(&name),
                }
            }
            Err(error) => reply(Err(error)),
        }
    }

    async fn try_upsert(&self, config: ChannelConfig) -> Result<DeclaredChannel, ChangeError> {
        check(&config).map_err(|why| ChangeError::Invalid(format!("The channel cannot be used: {why}.")))?;
        if is_reserved(&config.name) {
            return Err(ChangeError::NameConflict(format!(
                "'{}' is a channel of the server itself.",
                config.name
            )));
        }
        let (trust, root) = (self.trust.clone(), self.trust.root().to_owned());
        let declared = self
            .write(move |file| {
                let fingerprint = fingerprint(&config, &root);
                trust.change(|record| record.add(&fingerprint))?;
                edit::set(file, &[(&[SECTION, &config.name], Some(entry(&config)))])?;
                let mut record = TrustRecord::default();
                record.add(&fingerprint);
                Ok(of_folder(config, &root, &record))
            })
            .await?;
        let mut known = self.declared.lock();
        known.retain(|known| !is_workspaces(known, &declared.config.name));
        known.push(declared.clone());
        Ok(declared)
    }

    async fn try_remove(&self, name: &str) -> Result<(), ChangeError> {
        if !self
            .declared
            .lock()
            .iter()
            .any(|known| is_workspaces(known, name))
        {
            self.find(name)?;
            return Err(ChangeError::Invalid(format!(
                "The channel '{name}' is in your own ~/.craft/config.json: remove it there."
            )));
        }
        let removed = name.to_owned();
        self.write(move |file| {
            let nothing: Option<Value> = None;
            edit::set(file, &[(&[SECTION, &removed], nothing)])
        })
        .await?;
        self.declared.lock().retain(|known| !is_workspaces(known, name));
        Ok(())
    }

    /// Runs a change of the workspace's file on a blocking thread.
    async fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Path) -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, ChangeError> {
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || change(&file)).await;
        let written = written.unwrap_or_else(|error| Err(error.into()));
        written.map_err(|error| ChangeError::Unwritable(format!("{error:#}")))
    }

    fn notify(&self, source: &'static str) {
        let regions = vec![REGION];
        self.broadcasts.send(ConfigNews { source, regions }, 0);
    }
}

fn is_same(one: &str, other: &str) -> bool {
    key(one) == key(other)
}

fn is_workspaces(declared: &DeclaredChannel, name: &str) -> bool {
    !declared.is_read_only() && is_same(&declared.config.name, name)
}
