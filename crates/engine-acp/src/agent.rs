//! The process of an agent, and the connection to it.
//!
//! The process runs in the sandbox of commands. It may write the Thread's folder and a home of its own, which all Threads
//! of its user share, since its login lies there. Its messages are read one by one into a bounded queue; a full queue
//! makes the agent wait.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_acp_wire::{
    AuthMethod, ClientCapabilities, CreateTerminalParams, ElicitationAction, ElicitationCapabilities,
    ElicitationParams, ElicitationResult, FileCapabilities, Implementation, InitializeParams,
    InitializeResult, OpenedSession, ReadTextFileParams, RequestPermissionParams, SessionNotification,
    SessionParams, SessionUpdate, Supported, TerminalParams, VERSION, WriteTextFileParams, method,
};
use bobbin_agent_api::engines::EngineCommand;
use bobbin_children::{Children, Environment, ProcessSpec};
use bobbin_framing::{Limits, Transport};
use bobbin_peer::{
    CallContext, CallError, CancelDialect, ErrorObject, Handlers, Mode, NotificationContext, Peer,
    PeerHandle, PeerOptions, Responder, VersionCheck,
};
use bobbin_supervise::{Child, Ended, causes};
use bobbin_tools::{ProgramBounds, ProgramNeeds, ProgramNetwork, ProgramSandbox};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::choices::Named;
use crate::hosts::{self, Proxy};
use crate::idle::Idle;
use crate::requests::cancel_permission;
use crate::settings::{EngineConfig, EngineNetwork};
use crate::{choices, commands};

/// How long an agent may take to answer the greeting.
const GREETING: Duration = Duration::from_secs(10);
/// How long an agent may take to open a session. It may load a long conversation and start servers.
pub(crate) const OPENING: Duration = Duration::from_mins(2);
/// How long an agent may take to end when its input ends, and again when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Messages that wait to be recorded.
const QUEUE: usize = 256;
/// Longest message, in bytes.
const MAX_MESSAGE: usize = 16 << 20;
/// The lane of messages whose order counts.
const LANE: &str = "session";

/// The parts that all agents of a workspace start with.
#[derive(Debug, Clone)]
pub(crate) struct AgentStart {
    pub(crate) children: Children,
    pub(crate) sandbox: ProgramSandbox,
    pub(crate) environment: Environment,
    pub(crate) variables: std::sync::Arc<[(OsString, OsString)]>,
    /// The directory with one home per engine.
    pub(crate) homes: PathBuf,
}

/// A message of the agent.
pub(crate) enum Event {
    Update(Box<SessionNotification>),
    Permission(Box<RequestPermissionParams>, Responder),
    Read(ReadTextFileParams, Responder),
    Write(WriteTextFileParams, Responder),
    Run(Box<CreateTerminalParams>, Responder),
    Terminal(TerminalRequest, TerminalParams, Responder),
    Form(Box<ElicitationParams>, Responder),
}

/// A request about a terminal that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalRequest {
    Output,
    WaitForExit,
    Kill,
    Release,
}

/// A running agent that was greeted.
pub(crate) struct Agent {
    pub(crate) child: Child,
    pub(crate) peer: Peer,
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) info: InitializeResult,
    /// Its session, once one is open.
    pub(crate) session: Session,
    /// Its slash commands, once it has sent them.
    pub(crate) commands: Option<Vec<EngineCommand>>,
    /// The proxy to its hosts, if it has some.
    pub(crate) proxy: Option<Proxy>,
    /// The choices that its Thread has named to it.
    pub(crate) named: Named,
    /// The bounds of its confinement, as of its start.
    bounds: ProgramBounds,
    config: EngineConfig,
    root: PathBuf,
}

/// The open session of an agent. The id of none is empty.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) id: String,
    /// Its options, as they are now.
    pub(crate) opened: OpenedSession,
}

impl AgentStart {
    /// Returns the home of an engine.
    fn home(&self, config: &EngineConfig) -> PathBuf {
        self.homes.join(&config.name).join("home")
    }

    /// Starts and greets an agent that works in `root`.
    ///
    /// # Errors
    /// A sentence for the user with the next step.
    pub(crate) async fn start(&self, config: &EngineConfig, root: &Path) -> Result<Agent, String> {
        let name = &config.name;
        let process = self.process(config, root).await?;
        let bounds = ProgramBounds::of(&process).await;
        let given = hosts::give(&self.children, config, process).await;
        let (process, proxy) = given.map_err(|why| format!("The agent {name} does not start: {why}."))?;
        let started = Child::start(&self.children, process, name).await;
        let (mut child, streams) = started.map_err(|error| {
            self.sandbox.has_failed(&error);
            format!(
                "The agent {name} does not start: {}. Install it, or mend Engines.{name}.Acp in the configuration.",
                causes(&error)
            )
        })?;
        let limits = Limits {
            max_body_bytes: MAX_MESSAGE,
            ..Limits::default()
        };
        let transport = Transport::lines(streams.output, streams.input, limits);
        let (sender, events) = mpsc::channel(QUEUE);
        let peer = Peer::start(transport, options(), |_| handlers(&sender))
            .map_err(|error| format!("The agent {name} cannot be connected: {error}."))?;
        let params = InitializeParams {
            protocol_version: VERSION,
            client_capabilities: offered(),
            client_info: Some(Implementation {
                name: "bobbin".to_owned(),
                title: Some("Bobbin".to_owned()),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
        };
        let greeting = peer.call_with_timeout(method::INITIALIZE, params, GREETING);
        let greeted: Result<InitializeResult, CallError> = tokio::select! {
            greeted = greeting => greeted,
            () = child.lost() => Err(CallError::ShutDown),
        };
        let why = match greeted {
            Ok(info) if info.protocol_version == VERSION => {
                return Ok(Agent {
                    child,
                    peer,
                    events,
                    info,
                    session: Session::default(),
                    commands: None,
                    proxy,
                    named: Named::default(),
                    bounds,
                    config: config.clone(),
                    root: root.to_owned(),
                });
            }
            Ok(info) => format!("it speaks version {} of the protocol", info.protocol_version),
            Err(CallError::TimedOut(_)) => {
                format!("it did not answer initialize in {} s", GREETING.as_secs())
            }
            Err(CallError::ShutDown) => "it ended".to_owned(),
            Err(error) => error.to_string(),
        };
        drop(peer);
        let ended = child.end(Duration::ZERO).await;
        Err(format!(
            "The agent {name} cannot be used: {why}. Check that Engines.{name}.Acp starts an agent that speaks the Agent \
             Client Protocol, version {VERSION}.{}",
            last_words(&ended)
        ))
    }

    /// Whether an agent is confined as one that starts now. Files that are hidden from it may have been made since.
    pub(crate) async fn still_confines(&self, agent: &Agent) -> bool {
        match self.process(&agent.config, &agent.root).await {
            Ok(process) => agent.bounds.hold(&ProgramBounds::of(&process).await),
            // The start of another one says why.
            Err(_) => false,
        }
    }

    /// Returns the confined process of an agent, without its hosts.
    async fn process(&self, config: &EngineConfig, root: &Path) -> Result<ProcessSpec, String> {
        let name = &config.name;
        let home = self.home(config);
        let made = tokio::fs::create_dir_all(&home).await;
        made.map_err(|error| {
            format!(
                "The agent {name} does not start: its home {} cannot be made: {error}.",
                home.display()
            )
        })?;
        let mut environment = self.environment.clone();
        environment.set("HOME", &home);
        for (variable, folder) in [
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
        ] {
            environment.set(variable, home.join(folder));
        }
        for (variable, value) in self.variables.iter() {
            if config
                .environment
                .iter()
                .any(|wanted| variable == wanted.as_str())
            {
                environment.set(variable, value);
            }
        }
        let process = ProcessSpec::new(&config.program, root, environment).args(&config.arguments);
        let needs = ProgramNeeds {
            network: match config.network {
                EngineNetwork::Everything => ProgramNetwork::Internet,
                EngineNetwork::Hosts(_) => ProgramNetwork::Own,
                EngineNetwork::AsCommands => ProgramNetwork::AsCommands,
            },
            write: vec![home],
            // Agents write there by its name.
            private_tmp: true,
        };
        let confined = self.sandbox.confine(root, process, &needs).await;
        confined.map_err(|not| {
            format!(
                "The agent {name} does not start, since nothing confines it here: {}. Run `bobbin doctor`, or set \
                 Sandbox.Profile to \"full\" to run agents and commands without a sandbox.",
                not.why
            )
        })
    }
}

impl Agent {
    /// Whether all messages that were read are in the queue.
    pub(crate) fn is_read(&self) -> bool {
        let stats = self.peer.stats();
        stats.queued_inbound_count == 0 && stats.running_notification_count == 0
    }

    /// Whether it was started for an engine and a folder.
    pub(crate) fn is_of(&self, config: &EngineConfig, root: &Path) -> bool {
        self.config == *config && self.root == root
    }

    /// Notes the news of its session that outlive a Turn.
    pub(crate) fn note(&mut self, news: &SessionNotification) {
        // They may come before the session is known here.
        if let SessionUpdate::AvailableCommandsUpdate { available_commands } = &news.update {
            self.commands = Some(commands::listed(available_commands));
        }
        if news.session_id == self.session.id {
            choices::note(&mut self.session.opened, &news.update);
        }
    }

    /// Takes a message outside of a prompt: requests are refused, and a replay is in the record already.
    pub(crate) fn dismiss(&mut self, event: Event) {
        match event {
            Event::Update(news) => self.note(&news),
            request => cancel(request),
        }
    }

    /// Has the agent delete its session, if it can, and ends it.
    pub(crate) async fn delete(self) {
        if self.info.agent_capabilities.session_capabilities.delete.is_some() {
            let params = SessionParams {
                session_id: self.session.id.clone(),
            };
            let deleting = self
                .peer
                .call_with_timeout::<Value>(method::SESSION_DELETE, params, GRACE);
            if let Err(error) = deleting.await {
                tracing::info!(%error, "an agent does not delete its session");
            }
        }
        self.end(false).await;
    }

    /// Ends the agent with everything that it started.
    pub(crate) async fn end(self, at_once: bool) -> Ended {
        // Its input ends with the connection.
        drop(self.events);
        drop(self.peer);
        self.child.end(if at_once { Duration::ZERO } else { GRACE }).await
    }
}

impl Idle for Agent {
    fn serve(&mut self) -> BoxFuture<'_, ()> {
        async {
            loop {
                tokio::select! {
                    biased;
                    () = self.child.lost() => return,
                    event = self.events.recv() => match event {
                        Some(event) => self.dismiss(event),
                        None => return,
                    },
                }
            }
        }
        .boxed()
    }

    fn end(self) -> BoxFuture<'static, ()> {
        async { drop(self.end(false).await) }.boxed()
    }
}

/// Answers a request that is not served, and drops an update.
pub(crate) fn cancel(event: Event) {
    match event {
        Event::Update(_) => {}
        Event::Permission(_, responder) => cancel_permission(responder),
        Event::Form(_, responder) => responder.ok(ElicitationResult {
            action: ElicitationAction::Cancel,
            content: None,
        }),
        Event::Read(_, responder)
        | Event::Write(_, responder)
        | Event::Run(_, responder)
        | Event::Terminal(_, _, responder) => {
            responder.err(ErrorObject::invalid_params("No prompt of this session runs."));
        }
    }
}

/// Returns the last lines of an agent, as a further sentence.
pub(crate) fn last_words(ended: &Ended) -> String {
    let lines = &ended.errors[ended.errors.len().saturating_sub(5)..];
    if lines.is_empty() {
        String::new()
    } else {
        format!(" Its last words: {}", lines.join(" | "))
    }
}

/// Returns the sentence for an agent that wants a login.
pub(crate) fn login(config: &EngineConfig, methods: &[AuthMethod], homes: &Path) -> String {
    let name = &config.name;
    let offered: Vec<&str> = methods
        .iter()
        .map(|method| {
            if method.name.is_empty() {
                method.id.as_str()
            } else {
                method.name.as_str()
            }
        })
        .collect();
    let offered = if offered.is_empty() {
        String::new()
    } else {
        format!(" It offers: {}.", offered.join(", "))
    };
    let home = homes.join(name).join("home");
    format!(
        "The agent {name} wants a login.{offered} Run `HOME={} {}` in a terminal and log in there, or name the variable \
         with its key in Engines.{name}.Environment.",
        home.display(),
        config.program
    )
}

fn options() -> PeerOptions {
    PeerOptions {
        version_check: VersionCheck::Lenient,
        cancel: CancelDialect {
            method: method::CANCEL_REQUEST.to_owned(),
            id_path: vec!["requestId".to_owned()],
        },
        // The protocol has a message of its own for prompts, and agents need not know this one.
        cancel_on_abandon: |_| false,
        ..PeerOptions::bridge()
    }
}

/// Returns what agents may ask of this client.
fn offered() -> ClientCapabilities {
    ClientCapabilities {
        fs: FileCapabilities {
            read_text_file: true,
            write_text_file: true,
        },
        terminal: true,
        elicitation: Some(ElicitationCapabilities {
            form: Some(Supported {}),
            url: None,
        }),
        ..ClientCapabilities::default()
    }
}

/// Returns the handlers of an agent's messages. What was not offered is answered `-32601`.
fn handlers(events: &mpsc::Sender<Event>) -> Handlers {
    use TerminalRequest::{Kill, Output, Release, WaitForExit};
    let news = events.clone();
    let mut handlers = Handlers::new();
    for (method, request) in [
        (method::TERMINAL_OUTPUT, Output),
        (method::TERMINAL_WAIT_FOR_EXIT, WaitForExit),
        (method::TERMINAL_KILL, Kill),
        (method::TERMINAL_RELEASE, Release),
    ] {
        let asked = asked(events, move |params, responder| {
            Event::Terminal(request, params, responder)
        });
        handlers = handlers.on_call_deferred(method, Mode::ordered(LANE), asked);
    }
    let permission = asked(events, |params, responder| {
        Event::Permission(Box::new(params), responder)
    });
    let run = asked(events, |params, responder| {
        Event::Run(Box::new(params), responder)
    });
    let form = asked(events, |params, responder| {
        Event::Form(Box::new(params), responder)
    });
    handlers
        .on_call_deferred(
            method::SESSION_REQUEST_PERMISSION,
            Mode::ordered(LANE),
            permission,
        )
        .on_call_deferred(
            method::FS_READ_TEXT_FILE,
            Mode::ordered(LANE),
            asked(events, Event::Read),
        )
        .on_call_deferred(
            method::FS_WRITE_TEXT_FILE,
            Mode::ordered(LANE),
            asked(events, Event::Write),
        )
        .on_call_deferred(method::TERMINAL_CREATE, Mode::ordered(LANE), run)
        .on_call_deferred(method::ELICITATION_CREATE, Mode::ordered(LANE), form)
        .on_notification_deferred(
            method::SESSION_UPDATE,
            Mode::ordered(LANE),
            move |context: NotificationContext| {
                let news = news.clone();
                async move {
                    match context.decode::<SessionNotification>() {
                        // The receiver is gone once the Turn is over.
                        Ok(update) => drop(news.send(Event::Update(Box::new(update))).await),
                        Err(error) => tracing::debug!(%error, "an update of an agent cannot be read"),
                    }
                }
            },
        )
        .ignore_notifications("_")
}

/// Returns the handler of a request, which passes it on in its order.
fn asked<P: DeserializeOwned + Send + 'static>(
    events: &mpsc::Sender<Event>,
    event: impl Fn(P, Responder) -> Event + Send + Sync + Copy + 'static,
) -> impl Fn(CallContext, Responder) -> BoxFuture<'static, ()> + Send + Sync + 'static {
    let events = events.clone();
    move |context, responder| {
        let events = events.clone();
        async move {
            match context.decode::<P>() {
                // The receiver is gone once the Turn is over.
                Ok(params) => drop(events.send(event(params, responder)).await),
                Err(error) => responder.err(error),
            }
        }
        .boxed()
    }
}

/// Returns a handle for calls beside the owner of an agent.
pub(crate) fn handle(agent: &Agent) -> PeerHandle {
    agent.peer.handle()
}
