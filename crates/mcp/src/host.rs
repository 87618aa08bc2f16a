//! All servers of a workspace, and their tools. At most [`MAX_SERVERS`].

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::picture::PictureFiles;
use bobbin_agent_api::tool::{Tool, ToolSource};
use bobbin_agent_api::tool_name;
use bobbin_agent_api::tool_server::{NoTool, ServerDetails, ServerLogin, ServerPrompt, ServerResource};
use bobbin_children::Children;
use bobbin_model::{Json, ServerState, ToolServer};
use bobbin_supervise::{Group, Start, Supervised};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use rmcp::RoleClient;
use rmcp::service::Peer;

use crate::call::HostedTool;
use crate::connect::connect;
use crate::extras;
use crate::server::{Running, Server};
use crate::{Announce, Launch, Secret, ServerSpec};

/// Most servers of a workspace (guess: several times what a user has).
const MAX_SERVERS: usize = 64;
/// Longest description of a server of itself (guess: several times a name, a version and pictures' addresses).
const MAX_INFO: usize = 16 << 10;
/// How long a search for tools waits for a server that is just starting. (Guess: most have started by then.)
const SETTLE: Duration = Duration::from_secs(5);

/// The workspace has its maximum of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there are {MAX_SERVERS} MCP servers already; remove one first")]
pub struct Full;

/// Runs MCP servers.
pub struct Host {
    children: Children,
    announce: Announce,
    pictures: Option<Arc<dyn PictureFiles>>,
    root: Option<Arc<str>>,
    /// By their names in lower case.
    servers: Group<Server>,
}

impl Host {
    /// Returns a host without servers. Their processes are started through `children`; `announce` receives their
    /// changes.
    pub fn new(children: Children, announce: Announce) -> Self {
        Self {
            children,
            announce,
            pictures: None,
            root: None,
            servers: Group::new(MAX_SERVERS),
        }
    }

    /// Stores the pictures of results in `files`, for models that read pictures.
    #[must_use]
    pub fn with_pictures(self, files: Arc<dyn PictureFiles>) -> Self {
        let pictures = Some(files);
        Self { pictures, ..self }
    }

    /// Sets the folder that servers get when they ask for roots. A path that is not absolute is no root.
    #[must_use]
    pub fn with_root(self, folder: &Path) -> Self {
        let url = reqwest::Url::from_directory_path(folder).ok();
        let root = url.map(|url| url.as_str().trim_end_matches('/').into());
        Self { root, ..self }
    }

    /// Adds a server. It replaces the one of its name, which ends first. Returns at once; the server starts in the
    /// background if its spec allows it.
    ///
    /// # Errors
    /// [`Full`].
    pub fn set(&self, spec: ServerSpec) -> Result<(), Full> {
        let start = match spec.launch {
            Launch::Child(_) | Launch::Http(_) => Start::Now,
            Launch::Disabled | Launch::Withheld(_) => Start::OnRequest,
        };
        let key = spec.name.to_lowercase();
        let server = Server::new(
            spec,
            self.children.clone(),
            self.root.clone(),
            self.announce.clone(),
        );
        self.servers.set(&key, server, start).map_err(|_| Full)
    }

    /// Removes a server, which ends in the background. Returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.servers.remove(&name.to_lowercase())
    }

    /// Starts a server that does not run. Returns whether there is one of this name.
    pub fn start(&self, name: &str) -> bool {
        self.find(name).map(|server| server.start()).is_some()
    }

    /// Stops a server, with everything that it started. Returns whether there is one of this name.
    pub fn stop(&self, name: &str) -> bool {
        self.find(name).map(|server| server.stop()).is_some()
    }

    /// Returns the state of all servers, by name.
    pub fn servers(&self) -> Vec<Arc<ToolServer>> {
        let servers = self.servers.all();
        servers.iter().map(|server| server.service().shown()).collect()
    }

    /// Returns the resources of the servers that run.
    pub fn resources(&self) -> Vec<ServerResource> {
        let running = self
            .servers
            .all()
            .into_iter()
            .filter_map(|server| server.handle());
        running
            .flat_map(|running| running.extras.resources.to_vec())
            .collect()
    }

    /// Returns the prompts of the servers that run.
    pub fn prompts(&self) -> Vec<ServerPrompt> {
        let running = self
            .servers
            .all()
            .into_iter()
            .filter_map(|server| server.handle());
        running
            .flat_map(|running| running.extras.prompts.to_vec())
            .collect()
    }

    /// Reads a resource of a server as text.
    ///
    /// # Errors
    /// Why it could not be read: a sentence for the user.
    pub fn read_resource<'a>(&self, server: &str, uri: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let found = self.peer(server);
        async move {
            let (peer, secrets) = found?;
            extras::read(&peer, &secrets, uri).await
        }
        .boxed()
    }

    /// Reads a resource of a server and returns the server's answer as it is.
    ///
    /// # Errors
    /// Why it could not be read: a sentence for the user.
    pub fn read_whole_resource<'a>(&self, server: &str, uri: &'a str) -> BoxFuture<'a, Result<Json, String>> {
        let found = self.running(server);
        async move {
            let (running, secrets) = found?;
            extras::read_whole(&running, &secrets, uri).await
        }
        .boxed()
    }

    /// Returns the servers with everything that they offer, by name. Reads the disk.
    pub fn details(&self) -> BoxFuture<'_, Vec<ServerDetails>> {
        async move {
            let mut all = Vec::new();
            for server in self.servers.all() {
                let (spec, shown) = (&server.service().spec, server.service().shown());
                let login = login(&spec.launch, &shown).await;
                let running = server.handle().filter(|_| shown.state == ServerState::Ready);
                let info = running.as_ref().and_then(|running| info(&running.peer));
                let extras = running.map(|running| running.extras).unwrap_or_default();
                all.push(ServerDetails {
                    server: shown,
                    login,
                    info,
                    resources: extras.resources,
                    templates: extras.templates,
                });
            }
            all
        }
        .boxed()
    }

    /// Returns a tool of a server that runs, by the server's own name for it.
    ///
    /// # Errors
    /// [`NoTool`].
    pub fn tool(&self, server: &str, tool: &str) -> Result<Arc<dyn Tool>, NoTool> {
        let found = self
            .find(server)
            .ok_or_else(|| NoTool::Server(server.to_owned()))?;
        let shown = found.service().shown();
        if shown.state != ServerState::Ready {
            let why = shown
                .problem
                .as_ref()
                .map_or_else(String::new, |why| format!(": {why}"));
            let name = &shown.name;
            return Err(NoTool::NotConnected(format!(
                "the MCP server {name} does not run{why}"
            )));
        }
        let listed = found.service().tools();
        let listed = listed.iter().find(|listed| listed.name == tool).cloned();
        let listed = listed.ok_or_else(|| NoTool::Tool {
            server: shown.name.clone(),
            tool: tool.to_owned(),
        })?;
        Ok(Arc::new(HostedTool {
            server: found,
            listed,
            pictures: self.pictures.clone(),
        }))
    }

    /// Fills in a prompt of a server.
    ///
    /// # Errors
    /// Why the prompt could not be filled in: a sentence for the user.
    pub fn fill_prompt<'a>(
        &self,
        server: &str,
        name: &'a str,
        arguments: BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<String, String>> {
        let found = self.peer(server);
        async move {
            let (peer, secrets) = found?;
            extras::prompt(&peer, &secrets, name, arguments).await
        }
        .boxed()
    }

    /// Returns the connection to a server that runs, and the secrets to remove from its texts.
    fn peer(&self, name: &str) -> Result<(Peer<RoleClient>, Vec<Secret>), String> {
        self.running(name)
            .map(|(running, secrets)| (running.peer, secrets))
    }

    fn running(&self, name: &str) -> Result<(Running, Vec<Secret>), String> {
        let found = self.find(name);
        let found = found.and_then(|server| {
            let secrets = server.service().spec.secrets.clone();
            Some((server.handle()?, secrets))
        });
        found.ok_or_else(|| format!("the MCP server {name} does not run"))
    }

    /// Starts a server that is not in the list, counts its tools, and ends it.
    ///
    /// # Errors
    /// Why it could not be started: a sentence for the user.
    pub fn probe<'a>(&'a self, spec: &'a ServerSpec) -> BoxFuture<'a, Result<usize, String>> {
        async move {
            let connected = connect(spec, &self.children, self.root.as_ref()).await;
            let (connection, listing) = connected.map_err(|why| why.failure.problem)?;
            connection.end(spec).await;
            Ok(listing.tools.len())
        }
        .boxed()
    }

    /// Ends every server and returns once they have ended. No server starts afterwards.
    pub async fn end(&self) {
        self.servers.end().await;
    }

    fn find(&self, name: &str) -> Option<Arc<Supervised<Server>>> {
        self.servers.get(&name.to_lowercase())
    }
}

/// Returns how the user is known at a server. Reads whether there are tokens of a login.
async fn login(launch: &Launch, shown: &ToolServer) -> ServerLogin {
    let Launch::Http(at) = launch else {
        return ServerLogin::Unsupported;
    };
    let names_user = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    if at.bearer.is_some() || at.headers.iter().any(names_user) {
        return ServerLogin::BearerToken;
    }
    let has_tokens = at.tokens.login().await.is_ok_and(|login| login.is_some());
    match (shown.wants_login, has_tokens) {
        (true, again) => ServerLogin::NotLoggedIn { again },
        (false, true) => ServerLogin::OAuth,
        (false, false) => ServerLogin::Unsupported,
    }
}

/// Returns a server's description of itself, unless it is too long.
fn info(peer: &Peer<RoleClient>) -> Option<Json> {
    let info = peer.peer_info()?;
    let info = Json::of(&info.server_info).ok()?;
    Some(info).filter(|info| info.get().len() <= MAX_INFO)
}

impl ToolSource for Host {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for server in self.servers.all() {
            for listed in server.service().tools().iter() {
                tools.push(Arc::new(HostedTool {
                    server: server.clone(),
                    listed: listed.clone(),
                    pictures: self.pictures.clone(),
                }));
            }
        }
        tools
    }

    fn instructions(&self) -> Vec<(String, Arc<str>)> {
        let servers = self.servers.all().into_iter();
        let said = servers.filter_map(|server| {
            let instructions = server.handle()?.instructions;
            Some((server.service().spec.name.clone(), instructions))
        });
        said.filter(|(_, instructions)| !instructions.is_empty())
            .collect()
    }

    fn starting(&self) -> Vec<String> {
        let servers = self.servers.all().into_iter();
        let starting = servers.filter(|server| server.is_starting());
        starting
            .map(|server| server.service().spec.name.clone())
            .collect()
    }

    fn settled<'a>(&'a self, tool: Option<&'a str>) -> BoxFuture<'a, ()> {
        let servers = self.servers.all();
        async move {
            let waits = servers.iter().map(|server| {
                let spec = &server.service().spec;
                match tool {
                    None => server.settled(SETTLE),
                    // A start that takes longer has failed.
                    Some(tool) if tool_name::could_be_of(&spec.name, tool) => {
                        server.settled(spec.start_timeout)
                    }
                    Some(_) => server.settled(Duration::ZERO),
                }
            });
            join_all(waits).await;
        }
        .boxed()
    }
}
