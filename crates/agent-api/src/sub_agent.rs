//! Subagents: the contract between the agent's tools and the crate that runs subagents.
//!
//! A subagent is a Thread that the agent of another Thread starts, gives work to and waits for (AppServer protocol 02 §2.5,
//! 03 §12, 05 §10.2).

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

pub use bobbin_model::sub_agent::{EXPLORER, WORKER};
use bobbin_model::{SubAgentProfile, ThreadId, TokenUsage};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Request for a new subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// Its task.
    pub prompt: String,
    /// Its nickname.
    pub nickname: Option<String>,
    /// Its role: [`WORKER`] or [`EXPLORER`].
    pub role: Option<String>,
    /// Name of its profile; `None` means the default profile.
    pub profile: Option<String>,
    /// The call that requests it.
    pub call: String,
}

/// The profiles of subagents that a server has.
pub trait SubAgentProfiles: Send + Sync + 'static {
    /// Returns the name and the purpose of each available profile, without the default.
    fn offered(&self) -> Vec<(String, String)>;

    /// Returns a profile for a new subagent by its name; `None` names the default. The result is `None` if the default
    /// profile changes nothing.
    ///
    /// # Errors
    /// No available profile has that name; the text is for the agent.
    fn resolve(&self, name: Option<&str>) -> Result<Option<SubAgentProfile>, String>;
}

/// Profiles of a server that has only the default.
pub struct NoProfiles;

impl SubAgentProfiles for NoProfiles {
    fn offered(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn resolve(&self, name: Option<&str>) -> Result<Option<SubAgentProfile>, String> {
        match name {
            None => Ok(None),
            Some(name) => Err(format!("there is no profile {name:?}; leave it out")),
        }
    }
}

/// Status of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubAgentStatus {
    /// It works.
    Running,
    /// It waits for a user's answer.
    Asking,
    /// It has finished its task; this is its last message, cut at `MAX_ANSWER`.
    Finished(String),
    /// It failed; the reason.
    Failed(String),
    /// It was stopped.
    Cancelled,
    /// It has not started yet, or its status is unknown.
    Idle,
    /// It was deleted.
    Gone,
}

/// A subagent, as its parent sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its Thread.
    pub id: ThreadId,
    /// Its nickname.
    pub nickname: Option<String>,
    /// Its status.
    pub status: SubAgentStatus,
    /// Whether it is closed to input.
    pub closed: bool,
}

/// Error of an operation on subagents. The texts are for the agent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubAgentError {
    /// A limit is reached; the text names the limit and the next step.
    #[error("{0}")]
    Full(String),
    /// This agent may not have subagents.
    #[error("this thread cannot have subagents: {0}")]
    NotHere(&'static str),
    /// No subagent has this name.
    #[error("there is no subagent {name:?}; there are: {known}")]
    Unknown {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
    /// The subagent is closed.
    #[error("subagent {0} is closed; open it again with ResumeAgent first")]
    Closed(String),
    /// A change was refused or could not be stored; the text is the reason.
    #[error("{0}")]
    Failed(String),
}

/// Result of a method of [`SubAgents`].
pub type Answer<'a, T> = BoxFuture<'a, Result<T, SubAgentError>>;

/// The subagents of a Turn, for its engine. A name is a Thread's id or a nickname.
pub trait SubAgents: Send + Sync {
    /// Whether the Turn may have subagents at all.
    fn may_spawn(&self) -> bool;

    /// Returns the name and the purpose of each profile for new subagents.
    fn profiles(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Returns their usage so far: tokens, and the cost in millionths of the currency of the prices.
    fn used(&self) -> (TokenUsage, u64);

    /// Returns a counter that changes with their usage and with their waiting.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Whether the Turn only waits for subagents that all wait for a user.
    fn all_wait_for_users(&self) -> bool;

    /// Starts a subagent, which runs when this returns.
    fn spawn(&self, request: Spawn) -> Answer<'_, Report>;

    /// Waits until all named subagents are idle, up to `limit` or until `cancel`. Without names, waits for those that worked
    /// in this Turn.
    fn wait<'a>(
        &'a self,
        names: &'a [String],
        limit: Option<Duration>,
        cancel: &'a CancellationToken,
    ) -> Answer<'a, Vec<Report>>;

    /// Sends a subagent new work, or a message while it works.
    fn send<'a>(&'a self, name: &'a str, input: String) -> Answer<'a, Report>;

    /// Closes a subagent and stops its work.
    fn close<'a>(&'a self, name: &'a str) -> Answer<'a, Report>;

    /// Opens a closed subagent. Gives it no work.
    fn resume<'a>(&'a self, name: &'a str) -> Answer<'a, Report>;

    /// Returns the subagents that a call of this Turn started.
    fn of_call<'a>(&'a self, call: &'a str) -> Answer<'a, Vec<Report>>;

    /// Returns all open subagents.
    fn open(&self) -> Answer<'_, Vec<Report>>;
}

/// The implementation without subagents.
pub struct NoSubAgents;

impl NoSubAgents {
    fn no<T: Send + 'static>() -> Answer<'static, T> {
        ready(Err(SubAgentError::NotHere("no turn runs"))).boxed()
    }
}

/// A counter that never changes.
static NO_CHANGES: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::Sender::new(0));

impl SubAgents for NoSubAgents {
    fn may_spawn(&self) -> bool {
        false
    }

    fn used(&self) -> (TokenUsage, u64) {
        (TokenUsage::default(), 0)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        NO_CHANGES.subscribe()
    }

    fn all_wait_for_users(&self) -> bool {
        false
    }

    fn spawn(&self, _: Spawn) -> Answer<'_, Report> {
        Self::no()
    }

    fn wait<'a>(
        &'a self,
        _: &'a [String],
        _: Option<Duration>,
        _: &'a CancellationToken,
    ) -> Answer<'a, Vec<Report>> {
        Self::no()
    }

    fn send<'a>(&'a self, _: &'a str, _: String) -> Answer<'a, Report> {
        Self::no()
    }

    fn close<'a>(&'a self, _: &'a str) -> Answer<'a, Report> {
        Self::no()
    }

    fn resume<'a>(&'a self, _: &'a str) -> Answer<'a, Report> {
        Self::no()
    }

    fn of_call<'a>(&'a self, _: &'a str) -> Answer<'a, Vec<Report>> {
        Self::no()
    }

    fn open(&self) -> Answer<'_, Vec<Report>> {
        Self::no()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.nickname {
            Some(nickname) => write!(f, "{nickname} ({})", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}
