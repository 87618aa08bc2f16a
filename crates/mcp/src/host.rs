//! All servers of a workspace: the list, their tasks, and the tools they have together.
//!
//! Owns the tasks and joins them. At most [`MAX_SERVERS`] servers; the mutex is held for look-ups only.

use std::collections::BTreeMap;
use std::sync::Arc;

use bobbin_agent_api::tool::{Tool, ToolSource};
use bobbin_agent_api::tool_server::{ServerPrompt, ServerResource};
use bobbin_children::Children;
use bobbin_model::{ServerState, ToolServer};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::service::Peer;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::call::HostedTool;
use crate::connect::connect;
use crate::extras;
use crate::server::Server;
use crate::supervise::supervise;
use crate::{Announce, Secret, ServerSpec};

/// Most servers of a workspace (guess: several times what anybody has).
const MAX_SERVERS: usize = 64;

/// There are as many servers as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are {MAX_SERVERS} MCP servers already; remove one first")]
pub struct Full;

/// Runs MCP servers.
pub struct Host {
    children: Children,
    announce: Announce,
    servers: Mutex<Servers>,
    tasks: TaskTracker,
}

#[derive(Default)]
struct Servers {
    /// By their names in lower case.
    by_name: BTreeMap<String, Entry>,
    ended: bool,
}

struct Entry {
    server: Arc<Server>,
    task: JoinHandle<()>,
}

impl Host {
    /// Returns a host without servers. Their processes are started through `children`; what becomes of them is
    /// told to `announce`.
    pub fn new(children: Children, announce: Announce) -> Self {
        Self {
            children,
            announce,
            servers: Mutex::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Adds a server, or puts it in the place of the one with its name, which is ended first. Returns at once;
    /// it starts in the background if its spec lets it.
    ///
    /// # Errors
    /// [`Full`].
    pub fn set(&self, spec: ServerSpec) -> Result<(), Full> {
        let mut servers = self.servers.lock();
        if servers.ended {
            return Ok(());
        }
        let key = spec.name.to_lowercase();
        if servers.by_name.len() >= MAX_SERVERS && !servers.by_name.contains_key(&key) {
            return Err(Full);
        }
        let before = servers.by_name.remove(&key).map(|old| {
            old.server.gone_request();
            old.task
        });
        let server = Arc::new(Server::new(spec, self.announce.clone()));
        let task = supervise(server.clone(), self.children.clone(), before);
        let task = self.tasks.spawn(task);
        servers.by_name.insert(key, Entry { server, task });
        Ok(())
    }

    /// Forgets a server, which ends in the background. Returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.servers.lock().by_name.remove(&name.to_lowercase());
        let Some(Entry { server, .. }) = removed else {
            return false;
        };
        server.gone_request();
        let last = ToolServer {
            enabled: false,
            state: ServerState::Disabled,
            problem: None,
            tools: Arc::default(),
            ..(*server.shown()).clone()
        };
        (self.announce)(Arc::new(last));
        true
    }

    /// Starts a server that does not run. Returns whether there is one of this name.
    pub fn start(&self, name: &str) -> bool {
        self.find(name).map(|server| server.run_request()).is_some()
    }

    /// Stops a server, with everything that it started. Returns whether there is one of this name.
    pub fn stop(&self, name: &str) -> bool {
        self.find(name).map(|server| server.stop_request()).is_some()
    }

    /// Returns how the servers are, by name.
    pub fn servers(&self) -> Vec<Arc<ToolServer>> {
        self.all().iter().map(|server| server.shown()).collect()
    }

    /// Returns what there is to read on the servers that run.
    pub fn resources(&self) -> Vec<ServerResource> {
        let servers = self.all();
        servers
            .iter()
            .flat_map(|server| server.extras().resources.to_vec())
            .collect()
    }

    /// Returns the prompts of the servers that run.
    pub fn prompts(&self) -> Vec<ServerPrompt> {
        let servers = self.all();
        servers
            .iter()
            .flat_map(|server| server.extras().prompts.to_vec())
            .collect()
    }

    /// Reads a resource of a server as text.
    ///
    /// # Errors
    /// Why it could not be read: a sentence for the user.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<String, String> {
        let (peer, secrets) = self.peer(server)?;
        extras::read(&peer, &secrets, uri).await
    }

    /// Has a server fill a prompt in.
    ///
    /// # Errors
    /// Why it could not be had: a sentence for the user.
    pub async fn fill_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<String, String> {
        let (peer, secrets) = self.peer(server)?;
        extras::prompt(&peer, &secrets, name, arguments).await
    }

    /// Returns where to call a server that runs, and what is not shown of what it says.
    fn peer(&self, name: &str) -> Result<(Peer<RoleClient>, Vec<Secret>), String> {
        let found = self.find(name);
        let found = found.and_then(|server| Some((server.running()?, server.spec.secrets.clone())));
        found.ok_or_else(|| format!("the MCP server {name} does not run"))
    }

    /// Starts a server that is not one of the list, counts its tools, and ends it again.
    ///
    /// # Errors
    /// Why it could not be started: a sentence for the user.
    pub async fn probe(&self, spec: &ServerSpec) -> Result<usize, String> {
        let connection = connect(spec, &self.children)
            .await
            .map_err(|failure| failure.problem)?;
        let count = connection.tools.tools.len();
        connection.end().await;
        Ok(count)
    }

    /// Ends every server and returns once they are gone. Nothing is started afterwards.
    pub async fn end(&self) {
        let servers = {
            let mut servers = self.servers.lock();
            servers.ended = true;
            std::mem::take(&mut servers.by_name)
        };
        for entry in servers.values() {
            entry.server.gone_request();
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn find(&self, name: &str) -> Option<Arc<Server>> {
        let servers = self.servers.lock();
        let entry = servers.by_name.get(&name.to_lowercase())?;
        Some(entry.server.clone())
    }

    fn all(&self) -> Vec<Arc<Server>> {
        let servers = self.servers.lock();
        servers
            .by_name
            .values()
            .map(|entry| entry.server.clone())
            .collect()
    }
}

impl ToolSource for Host {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for server in self.all() {
            for listed in server.tools().iter() {
                tools.push(Arc::new(HostedTool {
                    server: server.clone(),
                    listed: listed.clone(),
                }));
            }
        }
        tools
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        let servers = self.all();
        async move {
            join_all(servers.iter().map(|server| server.settled())).await;
        }
        .boxed()
    }
}
