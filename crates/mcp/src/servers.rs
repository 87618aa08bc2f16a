//! The MCP servers of the open workspace: their current configuration, and the host that runs them.
//!
//! Owns the host. Changes of the configuration run one at a time. Each is written, then answered, then takes effect
//! and is broadcast.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bobbin_agent_api::ConfigNews;
use bobbin_agent_api::picture::PictureFiles;
use bobbin_agent_api::tool::{Tool, ToolSource};
use bobbin_agent_api::tool_server::{
    ConfiguredServer, LoginNews, LoginWishes, NoTool, ServerDetails, ServerPrompt, ServerReply,
    ServerResource, ToolServerConfig, ToolServerError, ToolServerNews, ToolServers,
};
use bobbin_agent_api::workspace_config::ConfigOwner;
use bobbin_children::Children;
use bobbin_core::Broadcasts;
use bobbin_model::{Json, ServerOrigin, ServerState, ToolServer};
use bobbin_settings::FILE;
use bobbin_supervise::Confine;
use bobbin_workspace::{TrustFile, TrustRecord};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::logins::{Logins, over_http};
use crate::resolve::{ServerPlaces, is_sandboxed, resolve};
use crate::session_servers::SessionServers;
use crate::settings::{self, DeclaredServer, ServerFile, of_server};
use crate::{Host, ServerSpec};

/// The region of the configuration that changes here.
const REGIONS: &[&str] = &["mcp"];

/// Reads the servers of the configuration files again, those of plugins included. Blocks.
pub type ReadServers = Arc<dyn Fn() -> anyhow::Result<Vec<DeclaredServer>> + Send + Sync>;

/// The servers of a workspace.
pub struct Servers {
    places: ServerPlaces,
    /// Confines the servers of the folder.
    sandbox: Arc<dyn Confine>,
    /// The workspace's configuration file.
    file: PathBuf,
    /// The user's own configuration file, if clients may change it.
    own_file: Mutex<Option<PathBuf>>,
    trust: TrustFile,
    /// Reads the files again.
    read: OnceLock<ReadServers>,
    /// Our own environment.
    variables: Vec<(OsString, OsString)>,
    host: Arc<Host>,
    /// Those that clients bring along with their sessions.
    sessions: SessionServers,
    logins: Logins,
    broadcasts: Broadcasts,
    state: Mutex<State>,
    /// Locked while the configuration changes.
    changing: tokio::sync::Mutex<()>,
}

struct State {
    declared: Vec<DeclaredServer>,
    /// Servers of plugins.
    of_plugins: Vec<DeclaredServer>,
    /// Fingerprints of servers that a client has started without trust. They count until this process ends.
    this_run: HashSet<String>,
}

impl Servers {
    /// Returns the servers of a workspace; none is started before [`Servers::start_all`]. `sandbox` confines the servers
    /// of the folder.
    pub fn new(
        places: ServerPlaces,
        trust: TrustFile,
        declared: Vec<DeclaredServer>,
        variables: Vec<(OsString, OsString)>,
        (children, sandbox): (Children, Arc<dyn Confine>),
        pictures: Arc<dyn PictureFiles>,
        broadcasts: &Broadcasts,
    ) -> Self {
        let news = broadcasts.clone();
        let announce = move |server: Arc<ToolServer>| news.send(ToolServerNews(server), 0);
        if let Err(error) = std::fs::create_dir_all(&places.own) {
            tracing::warn!(%error, "the directory in which MCP servers start cannot be made");
        }
        let sessions = SessionServers::new(
            places.clone(),
            variables.clone(),
            children.clone(),
            pictures.clone(),
        );
        Self {
            sessions,
            sandbox,
            file: places.root.join(FILE),
            own_file: Mutex::new(None),
            trust,
            read: OnceLock::new(),
            variables,
            host: Arc::new(
                Host::new(children, Arc::new(announce))
                    .with_pictures(pictures)
                    .with_root(&places.root),
            ),
            logins: Logins::default(),
            places,
            broadcasts: broadcasts.clone(),
            state: Mutex::new(State {
                declared,
                of_plugins: Vec::new(),
                this_run: HashSet::new(),
            }),
            changing: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the servers that clients bring along with their sessions.
    pub fn sessions(&self) -> &SessionServers {
        &self.sessions
    }

    /// Sets the user's own configuration file that clients may change; `None` for none.
    pub fn let_change(&self, own_file: Option<PathBuf>) {
        *self.own_file.lock() = own_file;
    }

    /// Sets the function that reads the files again.
    pub fn let_reload(&self, read: ReadServers) {
        // Called once.
        drop(self.read.set(read));
    }

    /// Whether clients may not change a server's file.
    fn is_read_only(&self, declared: &DeclaredServer) -> bool {
        let is_own = declared.origin == ServerOrigin::User && declared.file == ServerFile::Config;
        declared.is_read_only() && !(is_own && self.own_file.lock().is_some())
    }

    fn configured(&self, declared: &DeclaredServer) -> ConfiguredServer {
        ConfiguredServer {
            read_only: self.is_read_only(declared),
            ..declared.configured()
        }
    }

    /// Returns the servers' tools.
    pub fn source(&self) -> Arc<dyn ToolSource> {
        self.host.clone()
    }

    /// Starts the trusted servers in the background.
    pub fn start_all(&self) {
        for declared in self.in_effect() {
            self.set(&declared);
        }
    }

    /// Takes the current servers of the files, and starts or ends those that changed.
    /// Returns whether anything has changed.
    pub fn refresh(&self, declared: Vec<DeclaredServer>) -> bool {
        self.change(|state| state.declared = declared)
    }

    /// Replaces the servers of plugins. Returns whether anything has changed.
    pub fn set_plugins(&self, declared: Vec<DeclaredServer>) -> bool {
        self.change(|state| state.of_plugins = declared)
    }

    /// Whether the configuration has a server of this name.
    pub fn is_configured(&self, name: &str) -> bool {
        let state = self.state.lock();
        state.declared.iter().any(|one| is_same(&one.config.name, name))
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> bool {
        let before = self.in_effect();
        change(&mut self.state.lock());
        let after = self.in_effect();
        for one in after.iter().filter(|one| !before.contains(one)) {
            self.set(one);
        }
        let is_different = before != after;
        for gone in before {
            let name = &gone.config.name;
            if !after.iter().any(|one| is_same(&one.config.name, name)) {
                self.host.remove(name);
            }
        }
        is_different
    }

    /// Returns the servers that count. Of two with one name the workspace's counts only if it is trusted, so a
    /// repository cannot replace a server of the user. A plugin's counts if no other has its name.
    fn in_effect(&self) -> Vec<DeclaredServer> {
        let state = self.state.lock();
        let mut servers: BTreeMap<String, DeclaredServer> = BTreeMap::new();
        for one in state.declared.iter().chain(&state.of_plugins) {
            let key = one.config.name.to_lowercase();
            let mut one = one.clone();
            one.trusted |= one
                .fingerprint
                .as_ref()
                .is_some_and(|own| state.this_run.contains(own));
            let counts = one.origin == ServerOrigin::Workspace && one.trusted;
            if counts || !servers.contains_key(&key) {
                servers.insert(key, one);
            }
        }
        servers.into_values().collect()
    }

    fn find(&self, name: &str) -> Result<DeclaredServer, ToolServerError> {
        let same = |declared: &DeclaredServer| is_same(&declared.config.name, name);
        let found = self.in_effect().into_iter().find(same);
        found.ok_or_else(|| ToolServerError::NotFound(name.to_owned()))
    }

    fn spec(&self, declared: &DeclaredServer) -> ServerSpec {
        let spec = resolve(declared, &self.places, &self.variables);
        ServerSpec {
            sandbox: is_sandboxed(declared).then(|| self.sandbox.clone()),
            ..spec
        }
    }

    fn set(&self, declared: &DeclaredServer) {
        let spec = self.spec(declared);
        if let Err(full) = self.host.set(spec) {
            tracing::warn!(server = declared.config.name, %full, "an MCP server is left out");
        }
    }

    fn notify(&self, source: &'static str) {
        let regions = REGIONS.to_vec();
        self.broadcasts.send(ConfigNews { source, regions }, 0);
    }

    /// Checks that a client may put a server of this name into a file, and returns the file.
    fn writable(&self, name: &str, file: Option<ConfigOwner>) -> Result<PathBuf, ToolServerError> {
        let read_only = || ToolServerError::ReadOnly(name.to_owned());
        match file {
            Some(ConfigOwner::User) => self.own_file.lock().clone().ok_or_else(read_only),
            // It hides one of the user's own.
            Some(ConfigOwner::Workspace) => {
                let known = self.find(name).ok();
                let hides = |known: &DeclaredServer| known.origin == ServerOrigin::User;
                match known.filter(|known| known.is_read_only() && !hides(known)) {
                    Some(_) => Err(read_only()),
                    None => Ok(self.file.clone()),
                }
            }
            None if self.find(name).is_ok_and(|found| found.is_read_only()) => Err(read_only()),
            None => Ok(self.file.clone()),
        }
    }

    /// Runs one change of a file.
    async fn write<T: Send + 'static>(
        file: PathBuf,
        change: impl FnOnce(&Path) -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, ToolServerError> {
        let written = tokio::task::spawn_blocking(move || change(&file)).await;
        let written = written.unwrap_or_else(|error| Err(error.into()));
        written.map_err(|error| ToolServerError::Unwritable(format!("{error:#}")))
    }

    /// Writes a server. Returns it, and the server of its name that counts then.
    async fn try_upsert(
        &self,
        config: &ToolServerConfig,
        file: Option<ConfigOwner>,
    ) -> Result<[DeclaredServer; 2], ToolServerError> {
        settings::check(config)
            .map_err(|why| ToolServerError::Invalid(format!("The server cannot be used: {why}.")))?;
        let path = self.writable(&config.name, file)?;
        let owner = file.unwrap_or(ConfigOwner::Workspace);
        let (written, trust, root) = (config.clone(), self.trust.clone(), self.places.root.clone());
        let declared = Self::write(path, move |file| {
            if owner == ConfigOwner::User {
                settings::put(file, &written)?;
                return Ok(DeclaredServer::own(written, ServerOrigin::User));
            }
            // A client that manages the configuration acts for the user, so the definition is trusted.
            let fingerprint = of_server(&written, &root);
            trust.change(|record| record.add(&fingerprint))?;
            settings::put(file, &written)?;
            let mut record = TrustRecord::default();
            record.add(&fingerprint);
            Ok(DeclaredServer::of_folder(
                written,
                ServerFile::Config,
                &root,
                &record,
            ))
        })
        .await?;
        let mut state = self.state.lock();
        state.declared.retain(|known| !is_of(known, owner, &config.name));
        state.declared.push(declared.clone());
        drop(state);
        let counts = self.find(&config.name)?;
        Ok([declared, counts])
    }

    async fn try_remove(&self, name: &str, file: Option<ConfigOwner>) -> Result<(), ToolServerError> {
        let owner = file.unwrap_or(ConfigOwner::Workspace);
        let is_known = self
            .state
            .lock()
            .declared
            .iter()
            .any(|known| is_of(known, owner, name));
        if !is_known {
            return Err(match self.find(name) {
                Ok(_) => ToolServerError::ReadOnly(name.to_owned()),
                Err(error) => error,
            });
        }
        let path = match owner {
            ConfigOwner::User => self.writable(name, file)?,
            ConfigOwner::Workspace => self.file.clone(),
        };
        let removed = name.to_owned();
        Self::write(path, move |file| settings::remove(file, &removed)).await?;
        self.state
            .lock()
            .declared
            .retain(|known| !is_of(known, owner, name));
        Ok(())
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Whether a server is in the configuration file of an owner.
fn is_of(declared: &DeclaredServer, owner: ConfigOwner, name: &str) -> bool {
    let origin = match owner {
        ConfigOwner::User => ServerOrigin::User,
        ConfigOwner::Workspace => ServerOrigin::Workspace,
    };
    declared.file == ServerFile::Config && declared.origin == origin && is_same(&declared.config.name, name)
}

impl ToolServers for Servers {
    fn servers(&self) -> Vec<Arc<ToolServer>> {
        self.host.servers()
    }

    fn configured(&self) -> Vec<ConfiguredServer> {
        let servers = self.in_effect();
        servers.iter().map(|declared| self.configured(declared)).collect()
    }

    fn start(&self, name: &str) -> Result<(), ToolServerError> {
        let mut declared = self.find(name)?;
        if !declared.config.enabled {
            return Err(ToolServerError::Invalid(format!(
                "{name} is disabled in the configuration"
            )));
        }
        if !declared.trusted {
            // The user who presses that button sees the command. It counts until this process ends.
            self.state.lock().this_run.extend(declared.fingerprint.clone());
            declared.trusted = true;
        }
        let withheld =
            |server: &Arc<ToolServer>| server.state == ServerState::Idle && server.problem.is_some();
        let known = self
            .host
            .servers()
            .into_iter()
            .find(|server| is_same(&server.name, name));
        if known.as_ref().is_none_or(withheld) {
            self.set(&declared);
        } else {
            self.host.start(name);
        }
        Ok(())
    }

    fn stop(&self, name: &str) -> Result<(), ToolServerError> {
        if self.host.stop(name) {
            Ok(())
        } else {
            Err(ToolServerError::NotFound(name.to_owned()))
        }
    }

    fn upsert(
        &self,
        config: ToolServerConfig,
        file: Option<ConfigOwner>,
        reply: ServerReply<ConfiguredServer>,
    ) -> BoxFuture<'_, ()> {
        async move {
            let _changing = self.changing.lock().await;
            match self.try_upsert(&config, file).await {
                Ok([written, counts]) => {
                    reply(Ok(self.configured(&written)));
                    self.notify("mcp/upsert");
                    self.set(&counts);
                }
                Err(error) => reply(Err(error)),
            }
        }
        .boxed()
    }

    fn remove(&self, name: String, file: Option<ConfigOwner>, reply: ServerReply<()>) -> BoxFuture<'_, ()> {
        async move {
            let _changing = self.changing.lock().await;
            match self.try_remove(&name, file).await {
                Ok(()) => {
                    reply(Ok(()));
                    self.notify("mcp/remove");
                    match self.find(&name) {
                        // A server of the user with this name counts again.
                        Ok(declared) => self.set(&declared),
                        Err(_) => drop(self.host.remove(&name)),
                    }
                }
                Err(error) => reply(Err(error)),
            }
        }
        .boxed()
    }

    fn test(
        &self,
        config: ToolServerConfig,
    ) -> BoxFuture<'_, Result<Result<usize, String>, ToolServerError>> {
        async move {
            settings::check(&config)
                .map_err(|why| ToolServerError::Invalid(format!("The server cannot be used: {why}.")))?;
            let declared = DeclaredServer {
                config: ToolServerConfig {
                    enabled: true,
                    ..config
                },
                // The client's user defines it in the request.
                fingerprint: None,
                trusted: true,
                origin: ServerOrigin::Workspace,
                file: ServerFile::Config,
                plugin: None,
            };
            let spec = self.spec(&declared);
            Ok(self.host.probe(&spec).await)
        }
        .boxed()
    }

    fn resources(&self) -> Vec<ServerResource> {
        self.host.resources()
    }

    fn prompts(&self) -> Vec<ServerPrompt> {
        self.host.prompts()
    }

    fn read_resource<'a>(
        &'a self,
        server: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<String, ToolServerError>> {
        let read = self.host.read_resource(server, uri);
        read.map(|text| text.map_err(ToolServerError::Invalid)).boxed()
    }

    fn fill_prompt<'a>(
        &'a self,
        server: &'a str,
        name: &'a str,
        arguments: BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<String, ToolServerError>> {
        let filled = self.host.fill_prompt(server, name, arguments);
        filled.map(|text| text.map_err(ToolServerError::Invalid)).boxed()
    }

    fn details(&self) -> BoxFuture<'_, Vec<ServerDetails>> {
        self.host.details()
    }

    fn tool(&self, server: &str, tool: &str) -> Result<Arc<dyn Tool>, NoTool> {
        self.host.tool(server, tool)
    }

    fn read_whole_resource<'a>(
        &'a self,
        server: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Json, ToolServerError>> {
        let read = self.host.read_whole_resource(server, uri);
        read.map(|whole| whole.map_err(ToolServerError::Invalid)).boxed()
    }

    fn reload(&self) -> BoxFuture<'_, Result<(), ToolServerError>> {
        async move {
            let Some(read) = self.read.get().cloned() else {
                return Ok(());
            };
            let _changing = self.changing.lock().await;
            let before = self.in_effect();
            let declared = tokio::task::spawn_blocking(move || read()).await;
            let declared = declared.unwrap_or_else(|error| Err(error.into()));
            let declared = declared.map_err(|error| ToolServerError::Unwritable(format!("{error:#}")))?;
            self.refresh(declared);
            if before != self.in_effect() {
                self.notify("config/mcpServer/reload");
            }
            Ok(())
        }
        .boxed()
    }

    fn log_in<'a>(
        &'a self,
        name: &'a str,
        LoginWishes { scopes, limit }: LoginWishes,
    ) -> BoxFuture<'a, Result<String, ToolServerError>> {
        async move {
            let declared = self.find(name)?;
            let server = over_http(self.spec(&declared)).map_err(ToolServerError::Invalid)?;
            let name = declared.config.name;
            let (host, broadcasts, for_server) = (self.host.clone(), self.broadcasts.clone(), name.clone());
            let ended = move |outcome: Result<(), String>| {
                if outcome.is_ok() {
                    host.start(&for_server);
                }
                let server = for_server;
                broadcasts.send(LoginNews { server, outcome }, 0);
            };
            if !scopes.is_empty() {
                let lacking = server.tokens.wanted_scope().await.unwrap_or_default();
                let wanted = format!("{lacking} {}", scopes.join(" "));
                let wanted = server.tokens.want_scope(wanted).await;
                wanted.map_err(|error| ToolServerError::Unwritable(error.to_string()))?;
            }
            let started = self.logins.start(&server, limit, ended).await;
            started.map_err(|why| ToolServerError::Invalid(format!("The server {name} {why}.")))
        }
        .boxed()
    }

    fn log_out<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, ToolServerError>> {
        async move {
            let server = over_http(self.spec(&self.find(name)?)).map_err(ToolServerError::Invalid)?;
            let removed = tokio::task::spawn_blocking(move || server.tokens.remove()).await;
            let removed = removed.map_err(std::io::Error::other).flatten();
            removed.map_err(|error| ToolServerError::Unwritable(error.to_string()))
        }
        .boxed()
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        async {
            tokio::join!(self.logins.end(), self.host.end(), self.sessions.end());
        }
        .boxed()
    }
}
