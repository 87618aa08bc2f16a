//! The engine of Threads whose configuration names another agent.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_agent_api::engines::{EngineCommand, EngineCommands};
use bobbin_agent_api::undo::Undo;
use bobbin_children::{Children, Environment};
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_core::{Deletion, Deletions};
use bobbin_model::{ContextWindow, ThreadId};
use bobbin_tools::{Commands, ProgramSandbox, ToolSet};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::agent::{Agent, AgentStart};
use crate::idle::IdleAgents;
use crate::requests::AgentTools;
use crate::settings::{self, DeclaredEngine};
use crate::stored::SessionFile;
use crate::turn::AgentTurn;

/// The parts of a server that agents need.
pub struct Surroundings {
    /// Starts processes.
    pub children: Children,
    /// Confines them.
    pub sandbox: ProgramSandbox,
    /// The variables that every agent gets, except for its home.
    pub environment: Environment,
    /// The variables of the server, of which an engine gets those that its entry names.
    pub variables: Vec<(OsString, OsString)>,
    /// The directory with one home per engine.
    pub homes: PathBuf,
    /// The directory with the agents' sessions of the workspace's Threads.
    pub sessions: PathBuf,
    /// Records the changes of files.
    pub undo: Option<Arc<dyn Undo>>,
    /// The tools of the server's own agent, of which those for files serve the requests of other agents.
    pub tools: ToolSet,
    /// Runs the commands that agents ask for.
    pub commands: Commands,
}

/// Runs the Turns of Threads that name another agent, and all others with another engine.
pub struct AcpEngine<E> {
    engine: E,
    engines: Arc<[DeclaredEngine]>,
    start: AgentStart,
    sessions: PathBuf,
    undo: Option<Arc<dyn Undo>>,
    tools: AgentTools,
    idle: IdleAgents<Agent>,
}

impl<E> AcpEngine<E> {
    /// Returns an engine that runs Turns of other Threads with `engine`.
    pub fn new(engine: E, engines: Vec<DeclaredEngine>, surroundings: Surroundings) -> Self {
        let Surroundings {
            children,
            sandbox,
            environment,
            variables,
            homes,
            sessions,
            undo,
            tools,
            commands,
        } = surroundings;
        Self {
            engine,
            engines: engines.into(),
            start: AgentStart {
                children,
                sandbox,
                environment,
                variables: variables.into(),
                homes,
            },
            sessions,
            undo,
            tools: AgentTools {
                files: tools,
                commands,
            },
            idle: IdleAgents::new(),
        }
    }

    /// Returns the sessions of agents.
    pub fn sessions(&self) -> HostedSessions {
        HostedSessions {
            folder: self.sessions.clone(),
            idle: self.idle.clone(),
        }
    }
}

/// The sessions that other agents have for the Threads of a workspace.
#[derive(Clone)]
pub struct HostedSessions {
    folder: PathBuf,
    idle: IdleAgents<Agent>,
}

impl HostedSessions {
    /// Removes the session of each Thread that is deleted, until the core has stopped. An agent that waits for the Thread
    /// deletes the session, too, if it can; none is started for that.
    pub async fn end_with_threads(self, mut deletions: Deletions) {
        while let Some(deletion) = deletions.next().await {
            // The file of a missed one has the id of a session and nothing of the conversation.
            let Deletion::Of(thread) = deletion else { continue };
            if let Some(agent) = self.idle.take(&thread).await {
                agent.delete().await;
            }
            let file = SessionFile::of(&self.folder, &thread);
            let removed = tokio::task::spawn_blocking(move || file.remove()).await;
            if let Err(error) = removed.map_err(io::Error::from).flatten() {
                tracing::warn!(%error, "the session of a deleted thread is still there");
            }
        }
    }
}

impl EngineCommands for HostedSessions {
    fn of_thread(&self, thread: &ThreadId, engine: &str) -> Vec<EngineCommand> {
        let stored = SessionFile::of(&self.folder, thread).read();
        let stored = stored.filter(|stored| stored.engine.eq_ignore_ascii_case(engine));
        stored.map(|stored| stored.commands).unwrap_or_default()
    }
}

impl<E: Engine> Engine for AcpEngine<E> {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let config = turn.header().config.as_ref();
        let Some(name) = config.and_then(|config| config.engine.clone()) else {
            return self.engine.run(turn);
        };
        let Some(engine) = settings::find(&self.engines, &name) else {
            let text = missing(&self.engines, &name);
            return std::future::ready(Err(EngineFailure::Failed(text))).boxed();
        };
        let run = AgentTurn {
            declared: engine.clone(),
            start: self.start.clone(),
            sessions: self.sessions.clone(),
            undo: self.undo.clone(),
            tools: self.tools.clone(),
            idle: self.idle.clone(),
            turn,
        };
        run.run().boxed()
    }

    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        self.engine.window(model)
    }
}

/// Returns the sentence for a name that no engine has, or whose engine does not count.
fn missing(engines: &[DeclaredEngine], name: &str) -> String {
    let is_untrusted = engines
        .iter()
        .any(|engine| engine.config.name.eq_ignore_ascii_case(name));
    if is_untrusted {
        return format!(
            "The agent {name} does not start: this folder's configuration brings it along, and you have not trusted it. Run \
             `bobbin trust`, which shows it first, and start the server again."
        );
    }
    let known: Vec<&str> = engines.iter().map(|engine| engine.config.name.as_str()).collect();
    let known = if known.is_empty() {
        "none is configured".to_owned()
    } else {
        format!("known are {}", known.join(", "))
    };
    format!("There is no agent {name}: {known}. Add it to Engines in ~/.craft/config.json.")
}
