//! The channels of a running server: which adapters are accepted, and which are connected.
//!
//! One mutex over the channels, locked for a short time; adapters are closed and processes started outside of it. A newer
//! adapter of a channel replaces the connected one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use bobbin_agent_api::channel::{ChannelConfig, ChannelTransport};
use bobbin_agent_api::policy::Policy;
use bobbin_children::{Children, Environment};
use bobbin_model::Json;
use bobbin_native::client::Client;
use bobbin_native::{Endpoint, Server};
use bobbin_peer::PeerHandle;
use bobbin_supervise::{Group, Start};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::MAX_CHANNELS;
use crate::adapter::{Adapter, reject};
use crate::descriptor::{Abilities, Diagnostic};
use crate::logs::Logs;
use crate::process::AdapterService;
use crate::settings::DeclaredChannel;

/// Environment of a server's adapters.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The workspace, free of symbolic links.
    pub root: PathBuf,
    /// Variables of every adapter.
    pub environment: Environment,
    /// Directory for temporary files for adapters.
    pub temporary: PathBuf,
    /// Judges which files of the workspace may be read.
    pub policy: Arc<dyn Policy>,
    /// The built-in adapters, if there are any.
    pub modules: Option<Modules>,
}

/// Built-in adapters that Node runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modules {
    /// The folder with one folder for each adapter.
    pub folder: PathBuf,
    /// The program of Node.
    pub node: String,
    /// Whether that program is Node only with a variable.
    pub run_as_node: bool,
}

/// Accepts adapters, starts the server's own, and knows which are connected.
pub struct Host {
    place: Surroundings,
    pub(crate) children: Children,
    channels: Mutex<BTreeMap<String, Channel>>,
    processes: Group<AdapterService>,
    /// Serves the adapters that the server starts.
    server: OnceLock<Weak<Server>>,
    /// Address at which adapters connect, with the token; not set without a listener.
    address: OnceLock<String>,
    own: Weak<Host>,
}

struct Channel {
    declared: DeclaredChannel,
    /// Reason why its adapter does not run, for users.
    problem: Option<String>,
    here: watch::Sender<Option<Arc<Adapter>>>,
    logs: Logs,
}

/// Whether the adapter of a channel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChannelRuntimeState {
    /// It is not there, and the server does not start it.
    Stopped,
    /// The server starts it.
    Starting,
    /// It is connected.
    Running,
    /// It could not be started.
    Failed,
}

/// A channel as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelStatus {
    pub(crate) name: String,
    pub(crate) enabled: bool,
    pub(crate) state: ChannelRuntimeState,
    pub(crate) problem: Option<String>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Host {
    /// Makes the host of a server, without channels.
    pub fn new(children: Children, place: Surroundings) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            place,
            children,
            channels: Mutex::default(),
            processes: Group::new(MAX_CHANNELS),
            server: OnceLock::new(),
            address: OnceLock::new(),
            own: own.clone(),
        })
    }

    /// Starts the server's own adapters. `server` serves them, or they connect to `address`, which has the token in its
    /// query and is `None` without a listener. Call it once.
    pub fn begin(&self, server: &Arc<Server>, address: Option<String>) {
        // Fails only on a second call.
        drop(self.server.set(Arc::downgrade(server)));
        if let Some(address) = address {
            drop(self.address.set(address));
        }
        let declared: Vec<DeclaredChannel> = {
            let channels = self.channels.lock();
            channels
                .values()
                .map(|channel| channel.declared.clone())
                .collect()
        };
        for declared in declared {
            self.run(declared);
        }
    }

    /// Ends every adapter. Waits for those that the server started.
    pub async fn end(&self) {
        let started = |channel: &&Channel| channel.declared.config.transport.process().is_some();
        let names: Vec<String> = {
            let channels = self.channels.lock();
            let here = channels
                .values()
                .filter(|channel| channel.here.borrow().is_some());
            here.filter(started)
                .map(|channel| channel.declared.config.name.clone())
                .collect()
        };
        self.processes.end().await;
        if !names.is_empty() {
            tracing::info!(channels = ?names, "the adapters that the server started have ended");
        }
    }

    /// Sets the configuration of a channel, and starts, restarts or closes its adapter.
    pub(crate) fn set(&self, declared: DeclaredChannel) {
        let key = key(&declared.config.name);
        let before = {
            let mut channels = self.channels.lock();
            if channels.len() >= MAX_CHANNELS && !channels.contains_key(&key) {
                tracing::warn!(
                    channel = declared.config.name,
                    "there are too many channels; one is left out"
                );
                return;
            }
            let channel = Channel {
                problem: withheld(&declared).map(str::to_owned),
                declared: declared.clone(),
                here: watch::Sender::new(None),
                logs: channels
                    .get(&key)
                    .map(|channel| channel.logs.clone())
                    .unwrap_or_default(),
            };
            channels.insert(key, channel)
        };
        if let Some(before) = before {
            before.leave("Channel was configured anew.");
        }
        if self.server.get().is_some() {
            self.run(declared);
        }
    }

    /// Removes a channel and closes its adapter.
    pub(crate) fn remove(&self, name: &str) {
        let key = key(name);
        let removed = self.channels.lock().remove(&key);
        if let Some(removed) = removed {
            removed.leave("Channel is not configured any more.");
        }
        self.processes.remove(&key);
    }

    /// Starts the adapter of a channel, in place of a running one, if the server is to start it.
    fn run(&self, declared: DeclaredChannel) {
        let key = key(&declared.config.name);
        let starts = declared.config.transport.process().is_some();
        if !starts || !declared.config.enabled || !declared.trusted {
            self.processes.remove(&key);
            return;
        }
        let service = AdapterService::new(self.own.clone(), declared);
        if let Err(full) = self.processes.set(&key, service, Start::Now) {
            tracing::warn!(channel = key, %full, "a channel is left out");
        }
    }

    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.place
    }

    pub(crate) fn server(&self) -> Option<Arc<Server>> {
        self.server.get()?.upgrade()
    }

    pub(crate) fn address(&self) -> Option<&str> {
        self.address.get().map(String::as_str)
    }

    /// Returns the names of the channels.
    pub(crate) fn names(&self) -> Vec<String> {
        let channels = self.channels.lock();
        channels
            .values()
            .map(|channel| channel.declared.config.name.clone())
            .collect()
    }

    /// Returns the status of the channels, by name.
    pub(crate) fn status(&self) -> Vec<ChannelStatus> {
        let channels = self.channels.lock();
        let status = channels.values().map(|channel| {
            let adapter = channel.adapter();
            ChannelStatus {
                name: channel.declared.config.name.clone(),
                enabled: channel.declared.config.enabled,
                state: channel.state(),
                problem: channel.problem.clone(),
                diagnostics: adapter
                    .map(|adapter| adapter.can.diagnostics.clone())
                    .unwrap_or_default(),
            }
        });
        status.collect()
    }

    /// Returns the connected adapter of a channel.
    pub(crate) fn adapter(&self, name: &str) -> Option<Arc<Adapter>> {
        self.channels.lock().get(&key(name))?.adapter()
    }

    /// Whether a connected adapter takes messages for its chats.
    pub(crate) fn delivers(&self) -> bool {
        let channels = self.channels.lock();
        let mut adapters = channels.values().filter_map(Channel::adapter);
        adapters.any(|adapter| adapter.can.delivers)
    }

    /// Whether the channel is enabled and trusted.
    pub(crate) fn counts(&self, name: &str) -> bool {
        let channels = self.channels.lock();
        let channel = channels.get(&key(name));
        channel.is_some_and(|channel| channel.declared.config.enabled && channel.declared.trusted)
    }

    /// Checks a client that declares itself the adapter of a channel, and closes it if it is not accepted.
    pub(crate) fn greet(&self, name: &str, endpoint: &Endpoint, peer: &PeerHandle) {
        if let Err(why) = self.admits(name, endpoint) {
            tracing::warn!(channel = name, why, "a channel adapter is rejected");
            if let Endpoint::Adapter(start) = endpoint {
                self.note_problem(start, Some(format!("its adapter was rejected: {why}")));
            }
            reject(peer, name, &why);
        }
    }

    /// Returns the channel's configured name if the adapter is accepted, or else the reason.
    fn admits(&self, name: &str, endpoint: &Endpoint) -> Result<Arc<str>, String> {
        let channels = self.channels.lock();
        let Some(channel) = channels.get(&key(name)) else {
            return Err(format!(
                "Channel adapter rejected: '{name}' is not registered in server configuration"
            ));
        };
        let ChannelConfig {
            name,
            enabled,
            transport,
        } = &channel.declared.config;
        if !enabled {
            return Err(format!("Channel '{name}' is not enabled."));
        }
        if let Some(why) = withheld(&channel.declared) {
            return Err(format!("Channel '{name}' is not used: {why}."));
        }
        match (transport, endpoint) {
            (ChannelTransport::Subprocess(_), Endpoint::Adapter(started)) if **started == **name => {}
            (
                ChannelTransport::Subprocess(_),
                Endpoint::Stdio | Endpoint::Local(_) | Endpoint::WebSocket { .. },
            ) => {
                return Err(format!(
                    "Channel '{name}' is configured as subprocess: the server starts its adapter, and no other one is let in."
                ));
            }
            (_, Endpoint::Adapter(started)) => {
                return Err(format!("This adapter was started for the channel '{started}'."));
            }
            (
                ChannelTransport::WebSocket | ChannelTransport::ManagedWebSocket(_),
                Endpoint::Stdio | Endpoint::Local(_) | Endpoint::WebSocket { .. },
            ) => {}
        }
        Ok(name.as_str().into())
    }

    /// Adds an adapter that has finished its handshake. Returns it if it is accepted.
    pub(crate) fn join(&self, name: &str, capability: &Json, client: &Client) -> Option<Arc<Adapter>> {
        // A refused adapter was closed by `greet`, or since.
        let channel = self.admits(name, client.endpoint()).ok()?;
        let can = Abilities::read(&channel, capability);
        for Diagnostic { code, message } in &can.diagnostics {
            tracing::warn!(
                channel = &*channel,
                code,
                message,
                "a tool of a channel is left out"
            );
        }
        let start = match client.endpoint() {
            Endpoint::Adapter(start) => Some(start.clone()),
            Endpoint::Stdio | Endpoint::Local(_) | Endpoint::WebSocket { .. } => None,
        };
        let adapter = Arc::new(Adapter::new(channel, can, start, client));
        let before = {
            let mut channels = self.channels.lock();
            let channel = channels.get_mut(&key(name))?;
            channel.problem = None;
            channel.here.send_replace(Some(adapter.clone()))
        };
        if let Some(before) = before.filter(|before| before.is_there()) {
            before.reject("A newer adapter of this channel has connected.");
        }
        tracing::info!(
            channel = &*adapter.channel,
            tools = adapter.can.tools.len(),
            "a channel adapter is there"
        );
        Some(adapter)
    }

    /// Removes an adapter that is gone.
    pub(crate) fn leave(&self, adapter: &Arc<Adapter>) {
        let channels = self.channels.lock();
        if let Some(channel) = channels.get(&key(&adapter.channel)) {
            channel.here.send_if_modified(|here| {
                let is_it = here.as_ref().is_some_and(|here| Arc::ptr_eq(here, adapter));
                if is_it {
                    *here = None;
                }
                is_it
            });
        }
    }

    /// Returns a receiver of the connected adapter of a channel.
    pub(crate) fn watch(&self, name: &str) -> Option<watch::Receiver<Option<Arc<Adapter>>>> {
        let channels = self.channels.lock();
        Some(channels.get(&key(name))?.here.subscribe())
    }

    /// Sets the reason why the adapter of a channel does not run.
    pub(crate) fn note_problem(&self, name: &str, problem: Option<String>) {
        if let Some(channel) = self.channels.lock().get_mut(&key(name)) {
            channel.problem = problem;
        }
    }

    /// Returns what the adapter of a channel writes.
    pub(crate) fn logs(&self, name: &str) -> Option<Logs> {
        Some(self.channels.lock().get(&key(name))?.logs.clone())
    }

    /// Returns the reason why the adapter of a channel does not run.
    pub(crate) fn problem(&self, name: &str) -> Option<String> {
        self.channels.lock().get(&key(name))?.problem.clone()
    }
}

impl Channel {
    fn state(&self) -> ChannelRuntimeState {
        let starts = || {
            let config = &self.declared.config;
            config.enabled && self.declared.trusted && config.transport.process().is_some()
        };
        if self.adapter().is_some() {
            ChannelRuntimeState::Running
        } else if self.problem.is_some() && starts() {
            ChannelRuntimeState::Failed
        } else if starts() {
            ChannelRuntimeState::Starting
        } else {
            ChannelRuntimeState::Stopped
        }
    }

    fn adapter(&self) -> Option<Arc<Adapter>> {
        self.here.borrow().clone().filter(|adapter| adapter.is_there())
    }

    fn leave(self, why: &str) {
        if let Some(adapter) = self.adapter() {
            adapter.reject(why);
        }
    }
}

/// Returns a reason if a channel is enabled but its user has not trusted it.
fn withheld(declared: &DeclaredChannel) -> Option<&'static str> {
    let waits = declared.config.enabled && !declared.trusted;
    waits
        .then_some("it comes with the workspace, which you have not trusted with it; `bobbin trust` shows it")
}

/// Returns a channel's key, since names are compared without case.
pub(crate) fn key(name: &str) -> String {
    name.to_lowercase()
}
