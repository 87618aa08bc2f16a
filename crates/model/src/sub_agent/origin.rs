//! Who gave a subagent its inputs: the agent of its parent Thread, or a user.

use crate::{ItemBody, QueuedInput, Sender, ThreadId, ThreadState};

/// Name and role of the sender of an input that an agent gave to its subagent.
const BY_AGENT: &str = "agent";

/// Returns the sender of an input that a parent's agent gives to its subagent.
pub fn parent_agent(parent: &ThreadId) -> Sender {
    Sender {
        sender_id: parent.to_string(),
        sender_name: BY_AGENT.to_owned(),
        sender_role: Some(BY_AGENT.to_owned()),
        group_id: None,
    }
}

/// Whether an input of a subagent comes from the agent of its parent, and not from a user.
pub fn is_from_parent(state: &ThreadState, sender: Option<&Sender>) -> bool {
    let source = state.header.source.sub_agent();
    source.zip(sender).is_some_and(|(source, sender)| {
        sender.sender_id == source.parent.as_str() && sender.sender_role.as_deref() == Some(BY_AGENT)
    })
}

/// Returns the parent of a subagent whose open Turn was started by the parent's agent, and not by a user.
pub fn started_by_parent(state: &ThreadState) -> Option<ThreadId> {
    let parent = &state.header.source.sub_agent()?.parent;
    let first = state.live.as_ref()?.turn.items.first()?;
    let ItemBody::UserMessage(said) = &first.body else {
        return None;
    };
    is_from_parent(state, said.sender.as_ref()).then(|| parent.clone())
}

/// Returns the queue of a subagent without the inputs of its parent's agent; `None` when there are none of these.
pub fn queue_of_users(state: &ThreadState) -> Option<Vec<QueuedInput>> {
    let is_parents = |entry: &QueuedInput| is_from_parent(state, entry.sender.as_ref());
    let any = state.queue.iter().any(is_parents);
    any.then(|| {
        let of_users = state.queue.iter().filter(|entry| !is_parents(entry));
        of_users.cloned().collect()
    })
}
