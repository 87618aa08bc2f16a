//! An open workspace: the core over its database, with all parts for its agent and its clients. It has no listener.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use bobbin_agent::{AgentEngine, AgentSettings, CallsOutside, Helpers, Titles, UserCommands};
use bobbin_agent_api::engines::{EngineCommands, EngineList};
use bobbin_agent_api::model_providers::ModelProviders;
use bobbin_agent_api::outside::OutsideCalls;
use bobbin_agent_api::policy::Policy;
use bobbin_agent_api::session_servers::SessionToolServers;
use bobbin_agent_api::tool::ToolSource;
use bobbin_agent_api::tool_server::ToolServers;
use bobbin_agent_api::undo::Undo;
use bobbin_agent_api::{Features, InstructionFiles, ServerProcess, Services, SystemClock};
use bobbin_alerts::Alerts;
use bobbin_browse::Browse;
use bobbin_channels::Channels;
use bobbin_children::{Children, Environment};
use bobbin_core::{Broadcasts, Confines, Deletions, LeftOpen, Limits, RandomIds, Settings, Threads};
use bobbin_editor_kit::EditorTools;
use bobbin_engine_acp::{AcpEngine, Surroundings as AgentSurroundings};
use bobbin_git::Repositories;
use bobbin_hooks::{HookRunner, ManagedHooks};
use bobbin_mcp::{ServerPlaces, Servers, logins};
use bobbin_model::{Actor, Need};
use bobbin_models::CurrentModels;
use bobbin_plugins::Plugins;
use bobbin_policy::{Programs, RulesPolicy};
use bobbin_profiles::{ProfileEngine, Profiles};
use bobbin_prompts::Prompts;
use bobbin_retention::settings::RetentionSettings;
pub use bobbin_schedules::ByClock;
use bobbin_schedules::{Schedules, Surroundings};
use bobbin_shells::Shells;
use bobbin_subagents::WithSubAgents;
use bobbin_terminals::{Bounds, Terminals};
use bobbin_tools::{Commands, Git, ProgramSandbox, Sandbox, ToolSet};
use bobbin_undo::FileUndo;
use bobbin_worktrees::Worktrees;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::alerts::PageAddress;
use crate::config_files::ConfigFiles;
use crate::environment::{children, own_environment, programs, with_search_path};
use crate::finecode::FineCode;
use crate::hermes::{self, Hermes};
use crate::shell::{shell, users_own};
use crate::trust::{Folder, TrustFile};
use crate::{
    confine, database, doctor, hooks, lease, managed, models, plugins, profiles, prompts, small_requests,
    state, telemetry, undo,
};
use bobbin_config::Config;
use bobbin_native::groups::doctor::Doctor;
use bobbin_workspace::{LockedWorkspace, PagePorts, Workspace};

/// An open workspace: its core and the parts of its agent.
#[derive(Clone)]
pub struct Opened {
    pub(crate) threads: Arc<Threads>,
    /// The other agents that can run its Threads.
    engines: EngineList,
    engine_commands: Arc<dyn EngineCommands>,
    /// Ends their sessions with the Threads.
    _sessions_end: Arc<AbortOnDropHandle<()>>,
    git: Git,
    worktrees: Worktrees,
    /// The shells that its user has opened.
    shells: Shells,
    /// The tools of its agent.
    pub(crate) tools: ToolSet,
    /// Its running commands.
    pub(crate) terminals: Terminals,
    /// Makes small suggestions.
    pub(crate) helpers: Helpers,
    /// Writes titles of Threads.
    pub(crate) titles: Option<Arc<Titles>>,
    /// Its commands and skills.
    pub(crate) prompts: Arc<Prompts>,
    /// Its MCP servers.
    pub(crate) servers: Arc<Servers>,
    /// Its hooks.
    hooks: Arc<HookRunner>,
    /// Its external channels.
    pub(crate) channels: Arc<Channels>,
    /// Its plugins, with further skills, commands and servers.
    plugins: Arc<Plugins>,
    managed_hooks: Arc<ManagedHooks>,
    /// The profiles of its subagents.
    profiles: Arc<Profiles>,
    /// The actions of its FineCode projects.
    finecode: FineCode,
    /// The user's trust in the folder.
    pub(crate) trust: Arc<Folder>,
    /// Tools that connected editors answer.
    pub(crate) editor_tools: Arc<EditorTools>,
    /// Its Hermes extensions.
    hermes: Hermes,
    /// Its scheduled jobs.
    jobs: Schedules,
    /// Snapshots of files before Turns changed them.
    undo: Option<Arc<FileUndo>>,
    /// Its alerts outside of clients, if its user wants any.
    alerts: Option<Alerts>,
    /// Which old Threads are archived and deleted.
    retention: Option<RetentionSettings>,
    /// The address of its page.
    pub(crate) page: PageAddress,
    /// The checks of `bobbin doctor`.
    doctor: Doctor,
    /// The configuration files.
    pub(crate) config_files: Arc<ConfigFiles>,
    pub(crate) models: CurrentModels,
    /// The figures of this process.
    pub(crate) process: Arc<ServerProcess>,
    /// Confines its commands.
    sandbox: Sandbox,
    /// Cancelled once another machine serves the workspace: then nothing more may be done or shown.
    pub(crate) lost: CancellationToken,
    /// Problems of the configuration of models.
    pub complaints: Vec<String>,
}

impl Opened {
    /// Returns a client's actor with the role that it may have on this machine. A role whose Turns run commands was given where
    /// bubblewrap confines them; where it does not, as perhaps on the machine that has taken over, its people read.
    pub(crate) async fn confined(&self, actor: Actor) -> Actor {
        let Actor::Person(mut person) = actor else {
            return actor;
        };
        if person.role.may(Need::Prompt) && !person.role.may(Need::Own) {
            self.sandbox.settle().await;
            if !self.sandbox.is_bubblewrapped() {
                tracing::warn!("bubblewrap does not confine commands here, so {person} can only read");
                person.role = person.role.unconfined();
            }
        }
        Actor::Person(person)
    }

    /// Starts the parts beside Turns, and resumes the open Turns.
    async fn start(&self, by_clock: ByClock) -> anyhow::Result<()> {
        // Started before the Turns that may need them.
        self.servers.start_all();
        self.trust.begin(&self.threads);
        let trust = self.trust.clone();
        self.threads.own(async move { trust.look().await });
        self.channels.begin(&self.threads);
        let plugins = self.plugins.clone();
        tokio::task::spawn_blocking(move || plugins.refresh()).await?;
        self.terminals.start(&self.threads);
        if let Some(alerts) = &self.alerts {
            alerts.start(&self.threads);
        }
        self.hermes.begin()?;
        let services = services(self);
        self.jobs
            .begin(Surroundings::of(self.threads.clone(), &services, by_clock))
            .await?;
        let resumed = self.threads.recover().await?;
        if resumed > 0 {
            tracing::info!(turns = resumed, "took up the turns that were open");
        }
        if let Some(settings) = self.retention {
            bobbin_retention::start(settings, &self.threads);
        }
        Ok(())
    }

    /// Runs jobs by the clock from now on.
    pub(crate) fn start_clock(&self) {
        self.jobs.start_clock();
    }

    /// Restricts settings, since other machines can reach the server: clients read no keys and change no file of the user.
    pub(crate) fn open_to_others(&self) {
        self.config_files.hide_keys();
        self.servers.let_change(None);
    }

    /// Whether a Turn works, a command runs in a terminal, a shell of the user is open, or an alert is due later. All go on
    /// without a client.
    pub(crate) fn is_working(&self) -> bool {
        let has_alert = self.alerts.as_ref().is_some_and(Alerts::is_pending);
        self.threads.is_working() || self.terminals.is_any_running() || self.shells.is_any_open() || has_alert
    }

    /// Whether a job is due now or later.
    pub(crate) fn has_jobs(&self) -> bool {
        self.jobs.has_due()
    }

    /// Ends all parts. Returns the Turns and questions that resume when the workspace is opened again.
    pub async fn end(&self) -> LeftOpen {
        // First, while clients can still be notified.
        tokio::join!(self.terminals.stop_all(), self.shells.end());
        if let Some(titles) = &self.titles {
            titles.close().await;
        }
        // Calls end with their engines, so the servers end after them.
        let left = self.threads.stop().await;
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
        left
    }
}

/// Opens the core of a locked workspace and resumes its open Turns.
///
/// `removed` is cancelled once the database is no longer at its path. Nothing can be stored then, so the caller ends
/// the workspace.
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

/// Opens the core of a locked workspace as [`open`] does, but starts nothing.
///
/// # Errors
/// As [`open`].
#[expect(clippy::too_many_lines, reason = "one statement for each part of a server")]
pub async fn prepare(
    held: &LockedWorkspace,
    config: &Config,
    removed: &CancellationToken,
) -> anyhow::Result<Opened> {
    // Has no effect except in builds for tests.
    bobbin_store::step::arm_by(|name| models::variable(name).map(Into::into));
    let workspace = held.workspace();
    let foreign =
        database::named_foreign(workspace, config).or_else(|| database::named_unused(workspace, config));
    let store = database::open(workspace, config, removed).await?;
    let jobs = Schedules::new(store.schedule);
    let broadcasts = Broadcasts::new(Limits::default(), Arc::new(SystemClock));
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
    let environment_of_agents = own_environment(&commands, &programs, &workspace.root);
    sandbox.hide.push(workspace.state_directory().path().to_owned());
    let policy = policy(config, home.as_deref(), (&sandbox, programs), workspace)?;
    let confined = ProgramSandbox::new(sandbox.clone(), policy.clone());
    let terminals = terminals(workspace, &children)?;
    let places = ServerPlaces::of(workspace, logins(state.path()));
    let confining = confine::servers(&confined, &places);
    let servers = Arc::new(Servers::new(
        places,
        trust_file.clone(),
        config.tool_servers.clone(),
        with_search_path(variables, &own),
        (children.clone(), confining),
        Arc::new(terminals.clone()),
        &broadcasts,
    ));
    servers.let_change(home.as_deref().map(bobbin_settings::edit::users_file));
    let (undo, without) = undo::open(workspace, &children, &own).await;
    let prompts = prompts::of(workspace, home.as_deref(), &environment, state);
    let inputs = FeatureInputs {
        workspace,
        config,
        home: home.as_deref(),
        trust: &trust_file,
        children: &children,
        environment: &own,
        programs: &confined,
        broadcasts: &broadcasts,
    };
    let hosted = inputs.features(policy.clone(), &servers, &prompts, &commands);
    let agent = config.agent.clone().with_sandbox(&sandbox);
    let own_commands = Commands::new(terminals.clone(), commands.clone(), shell(), sandbox.clone());
    let editor_tools: Arc<EditorTools> = Arc::default();
    let doctor = doctor::of_server(workspace, &own);
    let (children_of_agents, all_children) = (children.clone(), children.clone());
    let shells = shells(children.clone());
    let page = PageAddress::of(workspace);
    let users = Environment::of_user_shell(with_search_path(managed::own_variables(), &own));
    let alerts = crate::alerts::of(config.alerts.as_ref(), &page, &children, users);
    let git = Git::new(children, own, sandbox.clone());
    let tools = with_sources(
        ToolSet::with_terminals(&terminals, commands, shell(), sandbox.clone()),
        (&servers, &hosted, &jobs),
        editor_tools.clone(),
    );
    let opened = models::open(&config.models, home.as_deref(), config.agent.compact_percent)?;
    let (models, mut complaints) = (CurrentModels::new(opened.models), opened.complaints);
    complaints.extend(without.into_iter().chain(foreign));
    let records = undo::beside(&tools, undo.as_ref());
    let helpers = small_requests::helpers(config, &models, git.clone());
    let titles = small_requests::titles(config, &models);
    let engine = AgentEngine::new(Arc::new(models.clone()), tools.clone())
        .with_git(git.clone())
        .with_prompts(Some(prompts.clone()))
        .with_titles(titles.clone())
        .with_hooks(Some(hosted.hooks.clone()));
    let settings = core_settings(
        workspace,
        config,
        policy,
        records.clone(),
        confines(sandbox.clone()),
    );
    let hosting = agents(
        workspace,
        (&children_of_agents, &confined),
        environment_of_agents,
        records.clone(),
        (tools.clone(), own_commands.clone()),
    );
    let typed = (own_commands.clone(), agent.clone(), records.clone());
    let engine = profiled(engine, hosted.profiles.clone(), own_commands, agent, records);
    let engines = bobbin_engine_acp::settings::listed(&config.engines);
    let engine = AcpEngine::new(engine, config.engines.clone(), hosting);
    let sessions = engine.sessions();
    let engine = UserCommands {
        engine,
        commands: typed.0,
        settings: typed.1,
        undo: typed.2,
    };
    let engine = managed::notifying(engine, &workspace.root);
    let engine = WithSubAgents::with_profiles(engine, settings.sub_agents, hosted.profiles.clone());
    let ids = Arc::new(RandomIds::default());
    let lease = store.threads.lease();
    let threads = Threads::new(settings, store.threads, engine, broadcasts, ids);
    let lost = CancellationToken::new();
    if let Some(lease) = lease {
        lease::follow(&threads, lease, all_children, lost.clone());
    }
    let config_files = ConfigFiles::new(home.as_deref(), trust_file, &threads, (&models, &helpers), config);
    let deletions = Deletions::of(threads.broadcasts());
    let engine_commands = Arc::new(sessions.clone());
    let sessions_end = tokio::spawn(sessions.end_with_threads(deletions));
    Ok(Opened {
        sandbox,
        engines,
        engine_commands,
        _sessions_end: Arc::new(AbortOnDropHandle::new(sessions_end)),
        alerts,
        retention: config.retention,
        page,
        worktrees: Worktrees::new(git.clone(), workspace.root.clone(), workspace.worktrees()),
        git,
        shells,
        config_files: Arc::new(config_files),
        hooks: hosted.hooks,
        hermes: Hermes::new(config, &threads, hosted.hermes),
        threads,
        jobs,
        tools,
        terminals,
        helpers,
        prompts,
        servers,
        channels: hosted.channels,
        plugins: hosted.plugins,
        managed_hooks: hosted.managed_hooks,
        profiles: hosted.profiles,
        finecode: hosted.finecode,
        trust: hosted.trust,
        editor_tools,
        undo,
        doctor,
        models,
        titles,
        process: ServerProcess::start(telemetry::memory_bytes),
        lost,
        complaints,
    })
}

/// The values that features with programs or settings of the folder are made of.
struct FeatureInputs<'a> {
    workspace: &'a Workspace,
    config: &'a Config,
    home: Option<&'a Path>,
    trust: &'a TrustFile,
    children: &'a Children,
    /// The server's own environment.
    environment: &'a Environment,
    /// Confines programs of the folder.
    programs: &'a ProgramSandbox,
    broadcasts: &'a Broadcasts,
}

/// Features with programs or settings of the folder, and the trust in them.
struct HostedFeatures {
    channels: Arc<Channels>,
    hermes: hermes::Parts,
    finecode: FineCode,
    profiles: Arc<Profiles>,
    hooks: Arc<HookRunner>,
    managed_hooks: Arc<ManagedHooks>,
    plugins: Arc<Plugins>,
    trust: Arc<Folder>,
}

impl FeatureInputs<'_> {
    /// Makes the features. `commands` is the environment of the agent's commands.
    fn features(
        &self,
        policy: Arc<dyn Policy>,
        servers: &Arc<Servers>,
        prompts: &Arc<Prompts>,
        commands: &Environment,
    ) -> HostedFeatures {
        let (root, config, home) = (&self.workspace.root, self.config, self.home);
        let (trust, broadcasts) = (self.trust, self.broadcasts);
        let own = (self.children, self.environment);
        let channels = self.channels(policy);
        let search = commands.get("PATH").map(ToOwned::to_owned);
        let profiles = profiles::of(home, trust, search, config, broadcasts.clone());
        let runner = plugins::hooks(root, config, self.children, commands, self.programs);
        let plugins = plugins::of(home, trust, prompts, servers, &runner, broadcasts.clone());
        let brought = (
            servers.clone(),
            channels.clone(),
            runner.clone(),
            plugins.clone(),
            profiles.clone(),
        );
        HostedFeatures {
            hermes: hermes::Parts::new(config, self.workspace, own.1, own.0, self.programs),
            finecode: FineCode::new(root, config, trust, own, self.programs, broadcasts),
            trust: Arc::new(Folder::new(home, trust.clone(), config, brought)),
            managed_hooks: hooks::of(home, trust, runner.clone(), plugins.clone(), broadcasts.clone()),
            channels,
            profiles,
            hooks: runner,
            plugins,
        }
    }

    /// Returns the external channels.
    fn channels(&self, policy: Arc<dyn Policy>) -> Arc<Channels> {
        let place = bobbin_channels::Surroundings {
            root: self.workspace.root.clone(),
            environment: self.environment.clone(),
            temporary: self.workspace.temporary(),
            policy,
            modules: modules(),
        };
        let host = bobbin_channels::Host::new(self.children.clone(), place);
        let declared = self.config.channels.clone();
        Channels::new(host, self.trust.clone(), declared, self.broadcasts.clone())
    }
}

/// Returns the built-in adapters that the variables of this process name.
fn modules() -> Option<bobbin_channels::Modules> {
    let folder = models::variable("DOTCRAFT_MODULES_DIR").map(std::path::PathBuf::from)?;
    Some(bobbin_channels::Modules {
        folder,
        node: models::variable("DOTCRAFT_NODE_BIN").unwrap_or_else(|| "node".to_owned()),
        run_as_node: models::variable("DOTCRAFT_NODE_RUN_AS_NODE")
            .is_some_and(|text| text == "1" || text == "true"),
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
    let engine = engine.with_settings(settings.clone()).with_undo(undo.clone());
    ProfileEngine {
        engine,
        profiles,
        commands,
        variables: managed::own_variables().into(),
        settings,
        undo,
    }
}

/// Returns the parts that other agents need. Their homes belong to the user, their sessions to the workspace.
fn agents(
    workspace: &Workspace,
    (children, sandbox): (&Children, &ProgramSandbox),
    environment: Environment,
    undo: Option<Arc<dyn Undo>>,
    (tools, commands): (ToolSet, Commands),
) -> AgentSurroundings {
    AgentSurroundings {
        children: children.clone(),
        sandbox: sandbox.clone(),
        environment,
        variables: managed::own_variables(),
        homes: workspace.state_directory().path().join("engines"),
        sessions: workspace.folder().join("engines"),
        undo,
        tools,
        commands,
    }
}

/// Returns the tools together with those of the server's other parts.
fn with_sources(
    tools: ToolSet,
    (servers, hosted, jobs): (&Servers, &HostedFeatures, &Schedules),
    editor_tools: Arc<EditorTools>,
) -> ToolSet {
    let sources: [Arc<dyn ToolSource>; 7] = [
        // Of two servers with one name, that of the session counts in it.
        Arc::new(servers.sessions().clone()),
        servers.source(),
        hosted.finecode.source(),
        jobs.tools(),
        hosted.hermes.tools.clone(),
        editor_tools,
        hosted.channels.host().clone(),
    ];
    sources.into_iter().fold(tools, ToolSet::with_source)
}

/// Returns the shells that the user opens.
fn shells(children: Children) -> Shells {
    Shells::new(
        children,
        users_own(),
        Environment::of_user_shell(managed::own_variables()),
    )
}

/// Returns the terminals of a workspace, which run its commands.
fn terminals(workspace: &Workspace, children: &Children) -> anyhow::Result<Terminals> {
    let clock = Arc::new(SystemClock);
    let terminals = Terminals::open(children.clone(), &workspace.outputs(), clock, Bounds::default())
        .context("there is no place for the output of commands")?;
    Ok(terminals.avoiding(PagePorts::of(workspace.state_directory().path())))
}

/// Returns the policy for the agent's calls.
fn policy(
    config: &Config,
    home: Option<&Path>,
    (sandbox, programs): (&Sandbox, Programs),
    workspace: &Workspace,
) -> anyhow::Result<Arc<dyn Policy>> {
    let guarded = [sandbox.hide.clone(), sandbox.hidden_by_folder.clone()].concat();
    let policy = RulesPolicy::new(config.permissions.compile(home)?).guarding(guarded);
    let policy = policy
        .showing(workspace.outputs())
        .working_in(workspace.worktrees(), workspace.root.clone());
    let policy = policy.finding(programs);
    Ok(Arc::new(policy))
}

/// Returns the check whether bubblewrap confines commands.
fn confines(sandbox: Sandbox) -> Confines {
    Arc::new(move || sandbox.is_bubblewrapped())
}

fn core_settings(
    workspace: &Workspace,
    config: &Config,
    policy: Arc<dyn Policy>,
    undo: Option<Arc<dyn Undo>>,
    confines: Confines,
) -> Settings {
    let mut settings = Settings::new(workspace.root.clone());
    settings.undo = undo;
    settings.worktrees = Some(workspace.worktrees());
    settings.approval_policy.set(
        config.permissions.approval_policy,
        config.permissions.is_policy_set,
    );
    settings.approval_policy.set_confines(confines);
    settings.policy = policy;
    if let Some(wait) = config.permissions.approval_max_wait {
        settings.approval_max_wait = wait;
    }
    settings
}

/// Returns the services that the dialects offer beside the Threads.
pub fn services(opened: &Opened) -> Services {
    let hooks = Some(opened.hooks.clone() as _);
    let mut features = Features::default().with(opened.finecode.feature());
    // Nothing ends what a shell leaves behind on other systems.
    if cfg!(target_os = "linux") {
        features = features.with(opened.shells.clone());
    }
    if let Some(alerts) = &opened.alerts {
        features = features.with(alerts.clone());
    }
    let calls = CallsOutside::new(opened.threads.clone(), opened.servers.clone(), hooks);
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
        engine_commands: Some(opened.engine_commands.clone()),
        others: opened
            .hermes
            .offer(opened.jobs.offer(features))
            .with(opened.channels.clone())
            .with(opened.plugins.clone())
            .with(opened.managed_hooks.clone())
            .with(opened.profiles.clone())
            .with(opened.doctor.clone())
            .with(opened.engines.clone())
            .with(Repositories::new(opened.git.clone()))
            .with(opened.worktrees.clone())
            .with(opened.git.clone())
            .with(Arc::new(opened.tools.listed()))
            .with::<Arc<dyn OutsideCalls>>(Arc::new(calls))
            .with::<Arc<dyn ModelProviders>>(opened.config_files.clone())
            .with(InstructionFiles {
                find: bobbin_agent::instruction_files,
            })
            .with::<Arc<dyn SessionToolServers>>(Arc::new(opened.servers.sessions().clone()))
            .with(Browse::default()),
    }
}
