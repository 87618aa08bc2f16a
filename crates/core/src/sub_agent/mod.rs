//! Subagents: Threads that the agent of another Thread starts, gives work and waits for (AppServer protocol 02 §2.5,
//! 03 §12, 05 §10.2).
//!
//! A subagent is a Thread like any: its own owner, log, Turns, Items and Approvals. What is special is here: a
//! `Family` belongs to one run of a Turn, starts and follows the subagents of that Turn, and ends them
//! with it, so that nothing works on for nobody. Engines see it as [`SubAgents`](bobbin_agent_api::sub_agent::SubAgents). What clients may do stands in
//! `tree`. Bounds: [`SubAgentLimits`]; at each the agent is told what is full and what to do about it.

mod family;
mod follow;
mod member;
mod plan;
mod policy;
mod tree;

use bobbin_agent_api::sub_agent::SubAgentError;
use bobbin_model::{QueuedInput, Sender, ThreadId, ThreadState};

use crate::CoreError;

pub(crate) use family::Family;
pub(crate) use plan::configuration_below;
pub use tree::Beforehand;

/// Most subagents that a Thread may ever have had: more are more than anybody reads.
pub(crate) const MAX_CHILDREN: u32 = 1000;
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

impl From<CoreError> for SubAgentError {
    fn from(error: CoreError) -> Self {
        Self::Failed(error.to_string())
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
