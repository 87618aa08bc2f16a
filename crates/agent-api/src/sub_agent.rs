//! Subagents as an agent uses them: the seam between the tools for subagents and the crate that runs these.
//!
//! A subagent is a Thread that the agent of another Thread starts, gives work and waits for (AppServer protocol 02 §2.5,
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

/// A subagent to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// What it is to do.
    pub prompt: String,
    /// What it is called.
    pub nickname: Option<String>,
    /// What it is for: [`WORKER`] or [`EXPLORER`].
    pub role: Option<String>,
    /// Name of its profile, if it is to have another than the usual one.
    pub profile: Option<String>,
    /// The call that wants it.
    pub call: String,
}

/// The profiles of subagents that a server has.
pub trait SubAgentProfiles: Send + Sync + 'static {
    /// Returns the name of each profile that can be named now, and what it is for. The usual one is not among them.
    fn offered(&self) -> Vec<(String, String)>;

    /// Returns a profile for a new subagent, by its name; `None` is the usual one. That is `None` while it changes nothing.
    ///
    /// # Errors
    /// There is none of that name that counts now: a text for the agent.
    fn resolve(&self, name: Option<&str>) -> Result<Option<SubAgentProfile>, String>;
}

/// Where there is no profile but the usual one.
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

/// How a subagent stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is at work.
    Running,
    /// It waits for a user's answer.
    Asking,
    /// It has done what it was given; this is the last that it said, cut at `MAX_ANSWER`.
    Finished(String),
    /// It could not; why.
    Failed(String),
    /// It was stopped.
    Cancelled,
    /// It has done nothing yet, or its status is not known.
    Idle,
    /// It is gone.
    Gone,
}

/// A subagent as the agent above sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its Thread.
    pub id: ThreadId,
    /// What it is called.
    pub nickname: Option<String>,
    /// How it stands.
    pub standing: Standing,
    /// Whether it takes nothing more.
    pub closed: bool,
}

/// Why something could not be done with subagents. The texts are for the agent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubAgentError {
    /// There are as many as there may be; the text says of what, and what to do.
    #[error("{0}")]
    Full(String),
    /// The agent may have none.
    #[error("this thread cannot have subagents: {0}")]
    NotHere(&'static str),
    /// None is called so.
    #[error("there is no subagent {name:?}; there are: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// It takes nothing more.
    #[error("subagent {0} is closed; open it again with ResumeAgent first")]
    Closed(String),
    /// A change was refused or could not be stored; the text says why.
    #[error("{0}")]
    Failed(String),
}

/// What a method of [`SubAgents`] returns.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, SubAgentError>>;

/// The subagents of a Turn, as its engine sees them. Names are ids of Threads or nicknames.
pub trait SubAgents: Send + Sync {
    /// Whether the Turn may have subagents at all.
    fn may_spawn(&self) -> bool;

    /// Returns the name of each profile that a new one can have, and what it is for.
    fn profiles(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Returns what they have used so far: tokens, and the cost in millionths of the currency of the prices.
    fn used(&self) -> (TokenUsage, u64);

    /// Returns a count that changes with what they have used and with what they wait for.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Whether the Turn does nothing but wait for subagents that all wait for a user.
    fn all_wait_for_users(&self) -> bool;

    /// Starts one; it is at work when this returns.
    fn spawn(&self, request: Spawn) -> Answer<'_, Report>;

    /// Waits until all of these have nothing to do, at most so long, or until `cancel`. Without names: those that were
    /// at work in this Turn.
    fn wait<'a>(
        &'a self,
        names: &'a [String],
        limit: Option<Duration>,
        cancel: &'a CancellationToken,
    ) -> Answer<'a, Vec<Report>>;

    /// Gives one more to do, or to know while it is at work.
    fn send<'a>(&'a self, name: &'a str, input: String) -> Answer<'a, Report>;

    /// Closes one; what it does is stopped.
    fn close<'a>(&'a self, name: &'a str) -> Answer<'a, Report>;

    /// Opens one again. Nothing is given to it.
    fn resume<'a>(&'a self, name: &'a str) -> Answer<'a, Report>;

    /// Returns those that a call of this Turn started.
    fn of_call<'a>(&'a self, call: &'a str) -> Answer<'a, Vec<Report>>;

    /// Returns all that are open.
    fn open(&self) -> Answer<'_, Vec<Report>>;
}

/// Where there are no subagents.
pub struct NoSubAgents;

impl NoSubAgents {
    fn no<T: Send + 'static>() -> Answer<'static, T> {
        ready(Err(SubAgentError::NotHere("no turn runs"))).boxed()
    }
}

/// A count that never changes.
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
