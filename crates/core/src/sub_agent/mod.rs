//! Subagents: Threads that the agent of another Thread starts, gives work and waits for (AppServer protocol 02 §2.5,
//! 03 §12, 05 §10.2).
//!
//! A subagent is a Thread like any: its own owner, log, Turns, Items and Approvals. What is special is here: a
//! `Family` belongs to one run of a Turn, starts and follows the subagents of that Turn, and ends them
//! with it, so that nothing works on for nobody. Engines see it as [`SubAgents`]. What clients may do stands in
//! `tree`. Bounds: [`SubAgentLimits`]; at each the agent is told what is full and what to do about it.

mod family;
mod follow;
mod member;
mod plan;
mod policy;
mod tree;

use std::fmt;
use std::time::Duration;

use bobbin_model::{QueuedInput, Sender, ThreadId, ThreadState};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use tokio_util::sync::CancellationToken;

use crate::CoreError;

pub(crate) use family::Family;
pub(crate) use plan::configuration_below;
pub use plan::{EXPLORER, WORKER};
pub use tree::Beforehand;

/// Most subagents that a Thread may ever have had: more are more than anybody reads.
pub const MAX_CHILDREN: u32 = 1000;
/// What the sender of an input is called that an agent gave to its subagent.
const BY_AGENT: &str = "agent";

/// How many subagents there may be. Start values are guesses at what a person can follow and a provider serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubAgentLimits {
    /// Steps from the top of a tree; 0 is no subagents (05 §10.2: 1).
    pub depth: u32,
    /// Open subagents of one Thread.
    pub open: usize,
    /// At work at a time in one Turn.
    pub running: usize,
    /// At work at a time in the whole workspace.
    pub in_workspace: usize,
}

impl Default for SubAgentLimits {
    fn default() -> Self {
        Self {
            depth: 1,
            open: 16,
            running: 4,
            in_workspace: 16,
        }
    }
}

/// A subagent to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// What it is to do.
    pub prompt: String,
    /// What it is called.
    pub nickname: Option<String>,
    /// What it is for: [`WORKER`] or [`EXPLORER`].
    pub role: Option<String>,
    /// The call that wants it.
    pub call: String,
}

/// How a subagent stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is at work.
    Running,
    /// It waits for a person's word.
    Asking,
    /// It has done what it was given; this is the last that it said, cut at `MAX_ANSWER`.
    Finished(String),
    /// It could not; why.
    Failed(String),
    /// Somebody stopped it.
    Cancelled,
    /// It has done nothing yet, or nobody knows.
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
    /// The core could not.
    #[error("{0}")]
    Core(#[from] CoreError),
}

type Answer<'a, T> = BoxFuture<'a, Result<T, SubAgentError>>;

/// The subagents of a Turn, as its engine sees them. Names are ids of Threads or nicknames.
pub trait SubAgents: Send + Sync {
    /// Starts one; it is at work when this returns.
    fn spawn(&self, wish: Spawn) -> Answer<'_, Report>;

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
pub(crate) struct NoSubAgents;

impl NoSubAgents {
    fn no<T: Send + 'static>() -> Answer<'static, T> {
        ready(Err(SubAgentError::NotHere("no turn runs"))).boxed()
    }
}

impl SubAgents for NoSubAgents {
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

/// Returns who an agent's input to its subagents comes from.
fn sender(parent: &ThreadId) -> Sender {
    Sender {
        sender_id: parent.to_string(),
        sender_name: BY_AGENT.to_owned(),
        sender_role: Some(BY_AGENT.to_owned()),
        group_id: None,
    }
}

/// Whether an input for a subagent comes from the agent above, and not from a person.
pub(crate) fn is_agent_above(state: &ThreadState, sender: Option<&Sender>) -> bool {
    let source = state.header.source.sub_agent();
    source.zip(sender).is_some_and(|(source, sender)| {
        sender.sender_id == source.parent.as_str() && sender.sender_role.as_deref() == Some(BY_AGENT)
    })
}

/// Returns the Thread above where its agent, and not a person, began the open Turn of a subagent.
pub(crate) fn begun_above(state: &ThreadState) -> Option<ThreadId> {
    let parent = &state.header.source.sub_agent()?.parent;
    let first = state.live.as_ref()?.turn.items.first()?;
    let bobbin_model::ItemBody::UserMessage(said) = &first.body else {
        return None;
    };
    is_agent_above(state, said.sender.as_ref()).then(|| parent.clone())
}

/// Returns the queue of a subagent without what the agent above gave it, where it has any of that.
pub(crate) fn queue_of_people(state: &ThreadState) -> Option<Vec<QueuedInput>> {
    let is_given = |entry: &QueuedInput| is_agent_above(state, entry.sender.as_ref());
    let given = state.queue.iter().any(is_given);
    given.then(|| {
        let of_people = state.queue.iter().filter(|entry| !is_given(entry));
        of_people.cloned().collect()
    })
}
