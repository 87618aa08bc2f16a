//! The running server: the core over the workspace's database, and the endpoints that were asked for.
//!
//! Ends as AppServer protocol 01 §13 says: stop accepting, end Turns and owners, close the store, close
//! connections, all within five seconds.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bobbin_agent::{AgentEngine, AgentSettings, Helpers, Titles};
use bobbin_agent_api::tool::ToolSource;
use bobbin_agent_api::tool_server::ToolServers;
use bobbin_agent_api::trust::WorkspaceTrust;
use bobbin_agent_api::undo::Undo;
use bobbin_agent_api::{Features, ServerProcess, Services, SystemClock};
use bobbin_channels::Channels;
use bobbin_children::{Children, Environment};
use bobbin_core::{Hub, ListFilter, RandomIds, Settings};
use bobbin_editor_kit::EditorTools;
use bobbin_models::CurrentModels;
use bobbin_native::Endpoint;
use bobbin_peer::Transport;
use bobbin_plugins::Plugins;
use bobbin_policy::{Programs, RulesPolicy};
use bobbin_profiles::{ProfileEngine, Profiles};
use bobbin_prompts::Prompts;
pub use bobbin_schedules::ByClock;
use bobbin_schedules::{Schedules, Surroundings};
use bobbin_subagents::WithSubAgents;
use bobbin_terminals::{Bounds, Terminals};
use bobbin_tools::{Commands, Sandbox, ToolSet};
use bobbin_transport::{Connections, Readiness, Router, web_socket};
use bobbin_undo::FileUndo;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config_files::ConfigFiles;
use crate::eca::Editors;
use crate::finecode::FineCode;
use crate::groups::groups;
use crate::hermes::{self, Hermes};
use crate::listen::{Bound, Listen, Listening};
use crate::shell::shell;
use crate::signals::Signals;
use crate::telemetry::Metrics;
use crate::tool_servers::{self, Servers};
use crate::trust::{Folder, TrustFile};
use crate::{
    console, database, doctor, exit, join, managed, models, plugins, prompts, small_requests, state,
    telemetry, undo,
};
use bobbin_config::Config;
use bobbin_management::doctor::Doctor;
use bobbin_management::file::FileNames;
use bobbin_workspace::{LockedWorkspace, Workspace};

/// Longest message a native client may send on a WebSocket (AppServer protocol 01 §3).
const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Open files that a process usually may have, where the system does not say.
const USUAL_FILES: u64 = 1024;
/// How long the whole end may take.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// The endpoints to open.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// Whether a client speaks to us on stdin and stdout.
    pub stdio: bool,
    /// The listener, if there is one.
    pub listen: Option<Listen>,
}

/// An open workspace: its core, with what its agent has.
#[derive(Clone)]
pub struct Opened {
    pub(crate) hub: Arc<Hub>,
    /// The tools of its agent.
    pub(crate) tools: ToolSet,
    /// The commands that it runs.
    pub(crate) terminals: Terminals,
    /// What suggests small things.
    pub(crate) helpers: Helpers,
    /// What writes titles of Threads.
    pub(crate) titles: Option<Arc<Titles>>,
    /// The commands and skills of its people.
    pub(crate) prompts: Arc<Prompts>,
    /// The servers that some of them come from.
    pub(crate) servers: Arc<Servers>,
    /// Its external channels.
    channels: Arc<Channels>,
    /// What brings further skills, commands and servers.
    plugins: Arc<Plugins>,
    /// The profiles of its subagents.
    profiles: Arc<Profiles>,
    /// The actions of its FineCode projects.
    finecode: FineCode,
    /// What its user says about what the folder brings.
    pub(crate) trust: Arc<Folder>,
    /// What connected editors answer for.
    pub(crate) editor_tools: Arc<EditorTools>,
    /// Its Hermes extensions.
    hermes: Hermes,
    /// What runs by the clock.
    jobs: Schedules,
    /// What files were before Turns changed them.
    undo: Option<Arc<FileUndo>>,
    /// The checks of what is missing.
    doctor: Doctor,
    /// The configuration files.
    pub(crate) config_files: Arc<ConfigFiles>,
    pub(crate) models: CurrentModels,
    /// The figures of this process.
    pub(crate) process: Arc<ServerProcess>,
    /// What is wrong with the configuration of models, or missing.
    pub complaints: Vec<String>,
}

impl Opened {
    /// Starts what runs beside Turns, and resumes the Turns that were open.
    async fn start(&self, by_clock: ByClock) -> anyhow::Result<()> {
        // Before the Turns that may need them.
        self.servers.begin(&self.hub);
        self.trust.begin(&self.hub);
        self.channels.begin(&self.hub);
        self.plugins.begin(&self.hub);
        let plugins = self.plugins.clone();
        tokio::task::spawn_blocking(move || plugins.refresh()).await?;
        self.profiles.begin(&self.hub);
        self.finecode.begin(&self.hub);
        self.terminals.begin(&self.hub);
        self.hermes.begin()?;
        let services = services(self);
        self.jobs
            .begin(Surroundings::of(self.hub.clone(), &services, by_clock))
            .await?;
        let resumed = self.hub.recover().await?;
        if resumed > 0 {
            tracing::info!(turns = resumed, "took up the turns that were open");
        }
        Ok(())
    }

    /// Ends everything in it.
    pub async fn end(&self) {
        // As long as there is somebody to tell.
        self.terminals.stop_all().await;
        if let Some(titles) = &self.titles {
            titles.close().await;
        }
        // Calls end with their Turns, so the servers come second.
        self.hub.stop().await;
        self.terminals.end().await;
        tokio::join!(
            self.servers.end(),
            self.hermes.end(),
            self.finecode.end(),
            self.channels.host().end()
        );
        if let Some(undo) = &self.undo {
            undo.end().await;
        }
    }
}

/// Returns where commands find their programs, and which of those places the agent may write.
fn programs(environment: &Environment, root: &Path, temporary: &Path, sandbox: &Sandbox) -> Programs {
    // With bubblewrap, `/tmp` is the commands' own.
    let writable = [root, temporary, Path::new("/tmp")].map(Path::to_path_buf);
    let writable = writable.into_iter();
    let writable = writable.chain(sandbox.write.iter().cloned());
    Programs::new(environment.get("PATH"), writable)
}

/// Returns the variables of what the server starts for itself. The sandbox does not confine that, so its search path has no
/// place that the agent may write.
fn own_environment(environment: &Environment, programs: &Programs, root: &Path) -> Environment {
    let mut own = environment.clone();
    if let Some(search) = programs.search_path(root) {
        own.set("PATH", search);
    }
    own
}

/// Returns variables with the search path of what the server starts for itself.
fn with_search_path(
    mut variables: Vec<(OsString, OsString)>,
    own: &Environment,
) -> Vec<(OsString, OsString)> {
    if let Some(search) = own.get("PATH") {
        let paths = variables.iter_mut().filter(|(name, _)| name == "PATH");
        paths.for_each(|(_, value)| search.clone_into(value));
    }
    variables
}

/// Returns what starts processes, each with a parent that ends it when the server is killed.
pub fn children() -> Children {
    #[cfg(target_os = "linux")]
    let helper = Some(bobbin_children::Helper {
        program: "/proc/self/exe".into(),
        arguments: vec![bobbin_children::RUN_CHILD_ARGUMENT.into()],
    });
    #[cfg(not(target_os = "linux"))]
    let helper = None;
    Children::new(helper)
}

/// Opens the core of a held workspace and resumes what was open.
///
/// `removed` is cancelled once the database is no longer at its path. Then nothing can be stored any more, and the caller
/// ends what was opened.
///
/// # Errors
/// The database cannot be opened, or a part of the configuration cannot be used.
pub async fn open(
    held: &LockedWorkspace,
    config: &Config,
    removed: &CancellationToken,
    by_clock: ByClock,
) -> anyhow::Result<Opened> {
    let opened = prepare(held, config, removed).await?;
    opened.start(by_clock).await?;
    Ok(opened)
}

/// Opens the core of a held workspace as [`open`] does. Nothing runs in it yet.
///
/// # Errors
/// As [`open`].
pub async fn prepare(
    held: &LockedWorkspace,
    config: &Config,
    removed: &CancellationToken,
) -> anyhow::Result<Opened> {
    // Nothing, except in builds for tests.
    bobbin_store::step::arm_by(|name| models::variable(name).map(Into::into));
    let workspace = held.workspace();
    let foreign = database::named_foreign(workspace);
    let store = database::open(workspace, config, removed).await?;
    let jobs = Schedules::new(store.clone());
    let children = children();
    let variables = managed::own_variables();
    let environment = Environment::from_base(variables.iter().cloned());
    let (commands, _) = config.variables.environment(variables.iter().cloned());
    let state = state::directory()?;
    let trust_file = TrustFile::of(&state, &workspace.root);
    let home = state::home();
    let mut sandbox = crate::sandbox::of(config, workspace, home.as_deref(), &children);
    let programs = programs(&commands, &workspace.root, &workspace.temporary(), &sandbox);
    let own = own_environment(&environment, &programs, &workspace.root);
    let terminals = terminals(workspace, &children)?;
    let servers = Arc::new(Servers::new(
        &workspace.root,
        trust_file.clone(),
        tool_servers::logins(state.path()),
        config.tool_servers.clone(),
        with_search_path(variables, &own),
        children.clone(),
        Arc::new(terminals.clone()),
    ));
    let channels = channels(workspace, config, &trust_file, &children, &own);
    let hermes = hermes::Parts::new(config, workspace, &own, &children);
    let finecode = FineCode::new(&workspace.root, config, &trust_file, &children, &own);
    let (undo, without) = undo::open(workspace, &children, &own).await;
    sandbox.hide.push(workspace.state_directory().path().to_owned());
    let guarded = [sandbox.hide.clone(), sandbox.hidden_by_folder.clone()].concat();
    let prompts = prompts::of(&workspace.root, home.as_deref(), &environment, state);
    let search = commands.get("PATH").map(ToOwned::to_owned);
    let profiles = Profiles::new(home.as_deref(), trust_file.clone(), search, config);
    let hooks = plugins::hooks(&workspace.root, config, &children, &commands, &sandbox);
    let plugins = plugins::of(home.as_deref(), &trust_file, &prompts, &servers, &hooks);
    let brought = (
        servers.clone(),
        channels.clone(),
        hooks.clone(),
        plugins.clone(),
        profiles.clone(),
    );
    let trust = Arc::new(Folder::new(home.as_deref(), trust_file.clone(), config, brought));
    let agent = config.agent.agent().with_sandbox(&sandbox);
    let own_commands = Commands::new(terminals.clone(), commands.clone(), shell(), sandbox.clone());
    let editor_tools: Arc<EditorTools> = Arc::default();
    let doctor = doctor::of_server(workspace, &own);
    let git = (children, own, sandbox.clone());
    let tools = ToolSet::with_terminals(&terminals, commands, shell(), sandbox);
    let tools = with_sources(
        tools,
        (&servers, &finecode, &jobs, &hermes, &channels),
        editor_tools.clone(),
    );
    let (models, mut complaints) = current_models(config, home.as_deref())?;
    complaints.extend(without.into_iter().chain(foreign));
    let helpers = small_requests::helpers(config, &models, git.clone());
    let titles = small_requests::titles(config, &models);
    let engine = AgentEngine::new(Arc::new(models.clone()), tools.clone())
        .with_settings(agent.clone())
        .with_git(git.0, git.1, git.2)
        .with_undo(undo::beside(&tools, undo.as_ref()))
        .with_prompts(Some(prompts.clone()))
        .with_titles(titles.clone())
        .with_hooks(Some(hooks));
    let policy = policy(config, home.as_deref(), guarded, workspace)?.finding(programs);
    let settings = core_settings(workspace, config, policy, undo::beside(&tools, undo.as_ref()));
    let records = undo::beside(&tools, undo.as_ref());
    let engine = profiled(engine, profiles.clone(), own_commands, agent, records);
    let engine = managed::notifying(engine, &workspace.root);
    let engine = WithSubAgents::with_profiles(engine, settings.sub_agents, profiles.clone());
    let (clock, ids) = (Arc::new(SystemClock), Arc::new(RandomIds::default()));
    let hub = Hub::new(settings, store, engine, clock, ids);
    let config_files = ConfigFiles::new(home.as_deref(), trust_file, &hub, models.clone(), helpers.clone());
    Ok(Opened {
        config_files: Arc::new(config_files),
        hermes: Hermes::new(config, &hub, hermes),
        hub,
        jobs,
        tools,
        terminals,
        helpers,
        prompts,
        servers,
        channels,
        plugins,
        profiles,
        finecode,
        trust,
        editor_tools,
        undo,
        doctor,
        models,
        titles,
        process: ServerProcess::start(telemetry::memory_bytes),
        complaints,
    })
}

/// Returns the engine that also runs the command lines of subagents.
fn profiled(
    engine: AgentEngine,
    profiles: Arc<Profiles>,
    commands: Commands,
    settings: AgentSettings,
    undo: Option<Arc<dyn Undo>>,
) -> ProfileEngine<AgentEngine> {
    ProfileEngine {
        engine,
        profiles,
        commands,
        variables: managed::own_variables().into(),
        settings,
        undo,
    }
}

/// Returns the tools together with those of what the server hosts.
fn with_sources(
    tools: ToolSet,
    (servers, finecode, jobs, hermes, channels): (&Servers, &FineCode, &Schedules, &hermes::Parts, &Channels),
    editor_tools: Arc<EditorTools>,
) -> ToolSet {
    let sources: [Arc<dyn ToolSource>; 6] = [
        servers.source(),
        finecode.source(),
        jobs.tools(),
        hermes.tools.clone(),
        editor_tools,
        channels.host().clone(),
    ];
    sources.into_iter().fold(tools, ToolSet::with_source)
}

/// Returns the configured models, and what is wrong with them.
fn current_models(config: &Config, home: Option<&Path>) -> anyhow::Result<(CurrentModels, Vec<String>)> {
    let opened = models::open(&config.models, home, config.agent.compact_percent)?;
    Ok((CurrentModels::new(opened.models), opened.complaints))
}

/// Returns what runs the commands of a workspace.
fn terminals(workspace: &Workspace, children: &Children) -> anyhow::Result<Terminals> {
    let clock = Arc::new(SystemClock);
    Terminals::open(children.clone(), &workspace.outputs(), clock, Bounds::default())
        .context("there is no place for the output of commands")
}

/// Returns the external channels of a workspace.
fn channels(
    workspace: &Workspace,
    config: &Config,
    trust: &TrustFile,
    children: &Children,
    environment: &Environment,
) -> Arc<Channels> {
    let place = bobbin_channels::Surroundings {
        root: workspace.root.clone(),
        environment: environment.clone(),
        temporary: workspace.temporary(),
    };
    let host = bobbin_channels::Host::new(children.clone(), place);
    Channels::new(host, trust.clone(), config.channels.clone())
}

/// Returns what judges the calls of the agent.
fn policy(
    config: &Config,
    home: Option<&Path>,
    guarded: Vec<PathBuf>,
    workspace: &Workspace,
) -> anyhow::Result<RulesPolicy> {
    let policy = RulesPolicy::new(config.rules.compile(home)?);
    Ok(policy.guarding(guarded).showing(workspace.outputs()))
}

fn core_settings(
    workspace: &Workspace,
    config: &Config,
    policy: RulesPolicy,
    undo: Option<Arc<dyn Undo>>,
) -> Settings {
    let mut settings = Settings::new(workspace.root.clone());
    settings.undo = undo;
    settings.approval_policy = config.approval_policy.into();
    settings.policy = Arc::new(policy);
    if let Some(wait) = config.approval_max_wait {
        settings.approval_max_wait = wait;
    }
    settings
}

/// Serves until a signal. `greet` is called once the listener is there, if there is one.
///
/// # Errors
/// As [`open`]; the address cannot be listened on; the database was removed meanwhile.
pub async fn run(
    held: LockedWorkspace,
    config: &Config,
    endpoints: Endpoints,
    greet: impl FnOnce(Option<&Listening>),
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let files = bobbin_children::raise_file_limit().unwrap_or_else(|error| {
        tracing::warn!(%error, "the limit of open files stays as it is");
        USUAL_FILES
    });
    let bound = match &endpoints.listen {
        Some(listen) => Some(Bound::new(listen, config, files).await?),
        None => None,
    };
    let shown = bound.as_ref().map(Bound::shown);
    let removed = CancellationToken::new();
    // Before anything that counts.
    let metrics = Metrics::start()?;
    let opened = open(&held, config, &removed, ByClock::Runs).await?;
    let notice = opened.trust.notice().await;
    for line in notice.iter().chain(&config.warnings).chain(&opened.complaints) {
        console::complain(line);
    }
    let mut services = services(&opened);
    if let Some(devices) = bound.as_ref().and_then(Bound::feature) {
        services.others = services.others.with(devices);
    }
    let native = bobbin_native::Server::new(opened.hub.clone(), services, groups());
    let native = Arc::new(native);
    let handler = Arc::new(Native(native.clone()));
    let stop = CancellationToken::new();
    let listening = match bound {
        Some(bound) => {
            if !bound.address().ip().is_loopback() {
                opened.config_files.hide_keys();
            }
            let editors = Arc::new(Editors::new(held.workspace(), config, &opened));
            let router = Router::new()
                .route(
                    join::Endpoint::Native.path(),
                    web_socket(MAX_MESSAGE_BYTES, handler.clone()),
                )
                .route(
                    join::Endpoint::Eca.path(),
                    web_socket(bobbin_transport::MAX_BODY_BYTES, editors),
                )
                .route(
                    "/metrics",
                    metrics.route(opened.hub.clone(), opened.process.clone()),
                );
            let is_ready = readiness(opened.hub.clone());
            Some(tokio::spawn(bound.serve(router, is_ready, stop.clone())))
        }
        None => None,
    };
    let own = endpoints.stdio.then(bobbin_transport::stdio).transpose()?;
    let web_socket = shown.as_ref().map(|shown| shown.web_socket.clone());
    held.announce(web_socket.clone(), managed::base_url())?;
    let address = web_socket.map(|address| with_token(address, &endpoints));
    opened.channels.host().begin(&native, address);
    greet(shown.as_ref());
    let stdio = async {
        match own {
            Some(transport) => handler.through(transport, Endpoint::Stdio).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(stdio);
    let mut stdio_open = endpoints.stdio;
    tokio::select! {
        // End of input: whoever owns this process wants it to end.
        () = &mut stdio => stdio_open = false,
        () = signals.next() => {}
        () = removed.cancelled() => {}
    }
    let ending = async {
        stop.cancel();
        opened.end().await;
        if stdio_open {
            stdio.await;
        }
        if let Some(listening) = listening {
            drop(listening.await);
        }
    };
    tokio::select! {
        ended = tokio::time::timeout(SHUTDOWN, ending) => if ended.is_err() {
            tracing::warn!("the end took too long; leaving anyway");
        },
        () = signals.next() => return Ok(ExitCode::from(exit::INTERRUPTED)),
    }
    if removed.is_cancelled() {
        return Err(exit::removed(&held.workspace().database()).into());
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the address of the listener with what clients present there.
fn with_token(address: String, endpoints: &Endpoints) -> String {
    let listen = endpoints.listen.as_ref();
    match listen.and_then(|listen| listen.token.as_deref()) {
        Some(token) => {
            let query: String = url::form_urlencoded::byte_serialize(token.as_bytes()).collect();
            format!("{address}?token={query}")
        }
        None => address,
    }
}

/// Returns what `/readyz` asks: whether the database answers. Open Turns were taken up before anybody is let in.
fn readiness(hub: Arc<Hub>) -> Readiness {
    Arc::new(move || {
        let hub = hub.clone();
        let nothing = ListFilter {
            limit: Some(1),
            ..ListFilter::default()
        };
        async move { hub.list(nothing).await.is_ok() }.boxed()
    })
}

/// Returns what the dialects offer beside the Threads.
pub fn services(opened: &Opened) -> Services {
    Services {
        version: env!("CARGO_PKG_VERSION"),
        process: Some(opened.process.clone()),
        tool_servers: Some(opened.servers.clone()),
        trust: Some(opened.trust.clone()),
        config: Some(opened.config_files.clone()),
        terminals: Some(Arc::new(opened.terminals.clone())),
        forwards: Some(Arc::new(opened.terminals.clone())),
        suggestions: Some(Arc::new(opened.helpers.clone())),
        prompts: Some(opened.prompts.clone()),
        models: Some(Arc::new(models::Catalog(opened.models.clone()))),
        channels: Some(opened.channels.host().clone()),
        pictures: Some(Arc::new(opened.terminals.clone())),
        slash: opened.jobs.slash(),
        others: opened
            .hermes
            .offer(
                opened
                    .jobs
                    .offer(Features::default().with(opened.finecode.feature())),
            )
            .with(opened.channels.clone())
            .with(opened.plugins.clone())
            .with(opened.profiles.clone())
            .with(opened.doctor.clone())
            .with(FileNames::new(opened.hub.settings().workspace.clone())),
    }
}

/// Serves the one native client of this process, over memory.
pub fn serve_in_memory(opened: &Opened) -> (Transport, JoinHandle<()>) {
    let (ours, theirs) = Transport::memory_pair();
    let server = bobbin_native::Server::new(opened.hub.clone(), services(opened), groups());
    let serving = bobbin_native::serve(theirs, Endpoint::Stdio, Arc::new(server));
    (ours, tokio::spawn(serving))
}

struct Native(Arc<bobbin_native::Server>);

impl Native {
    fn through(&self, transport: Transport, endpoint: Endpoint) -> BoxFuture<'static, ()> {
        bobbin_native::serve(transport, endpoint, self.0.clone()).boxed()
    }
}

impl Connections for Native {
    fn serve(&self, transport: Transport) -> BoxFuture<'static, ()> {
        self.through(transport, Endpoint::WebSocket)
    }
}
