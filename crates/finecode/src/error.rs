//! Why a run has no result.

use std::path::PathBuf;
use std::time::Duration;

/// Why a run has no result. Its text is a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It was cancelled, by its caller or by a handler.
    #[error("the run was cancelled")]
    Cancelled,
    /// There is no such project.
    #[error("{0} is not a project of this workspace")]
    NoProject(String),
    /// The project cannot be used as it is configured.
    #[error("{0}")]
    Configuration(String),
    /// There is no such action.
    #[error("{project} has no action {action}")]
    NoAction {
        /// The project.
        project: String,
        /// The requested action.
        action: String,
    },
    /// No project has such an action.
    #[error("no project of this workspace has an action {0}")]
    NoActionAnywhere(String),
    /// The user has not trusted the folder.
    #[error("{0}")]
    Untrusted(String),
    /// The environment is not there.
    #[error("the runner of {env} in {project} cannot start: {problem}")]
    NotStarted {
        /// The project.
        project: String,
        /// The environment.
        env: String,
        /// Why.
        problem: String,
    },
    /// The runner ended before it answered.
    #[error("the runner of {env} in {project} stopped during the run; try again{log}")]
    Stopped {
        /// The project.
        project: String,
        /// The environment.
        env: String,
        /// The path of its log.
        log: LogHint,
    },
    /// The runner gave no sign of life during a run.
    #[error(
        "the runner of {env} in {project} gave no sign for {} s during {action}, so Bobbin ended it{log}; look for a \
         handler that waits for ever, or raise FineCode.Limits.SilentSeconds if the action needs longer",
        silence.as_secs()
    )]
    Silent {
        /// The project.
        project: String,
        /// The environment.
        env: String,
        /// The action.
        action: String,
        /// How long it was silent.
        silence: Duration,
        /// The path of its log.
        log: LogHint,
    },
    /// The runner did not answer a question that needs no handler.
    #[error("the runner of {env} in {project} did not answer within {} s{log}; restart it", limit.as_secs())]
    NoAnswer {
        /// The project.
        project: String,
        /// The environment.
        env: String,
        /// How long Bobbin waited.
        limit: Duration,
        /// The path of its log.
        log: LogHint,
    },
    /// The runner refused the call.
    #[error("the runner of {env} in {project} answered: {message} ({code})")]
    Rpc {
        /// The project.
        project: String,
        /// The environment.
        env: String,
        /// The code of JSON-RPC.
        code: i64,
        /// The runner's error message.
        message: String,
    },
    /// The action failed.
    #[error("{0}")]
    Action(String),
    /// The answer is not one of the protocol.
    #[error("the runner of {env} in {project} broke the protocol: {problem}")]
    Protocol {
        /// The project.
        project: String,
        /// The environment.
        env: String,
        /// The error of the answer.
        problem: String,
    },
    /// Runs are nested too deeply.
    #[error("runs are nested too deeply: depth {depth} has reached the limit of {limit}")]
    TooDeep {
        /// The depth of the asking run.
        depth: u32,
        /// The limit.
        limit: u32,
    },
    /// A run is in too many projects.
    #[error("the run would be in {projects} projects, more than the limit of {limit}")]
    TooWide {
        /// The selected projects.
        projects: usize,
        /// The limit.
        limit: usize,
    },
    /// A run in one of several projects failed.
    #[error("in {}: {error}", project.display())]
    InProject {
        /// The project.
        project: PathBuf,
        /// Why.
        error: Box<RunError>,
    },
    /// Several parts of a run failed.
    #[error("{}", .0.join("; "))]
    Several(Vec<String>),
}

/// The path of a runner's log, for the end of a sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogHint(pub Option<String>);

impl std::fmt::Display for LogHint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(file) => write!(f, " (its log: {file})"),
            None => Ok(()),
        }
    }
}
