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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::state::{NewThread, StartTurn};
    use crate::{
        Event, HistoryMode, Identity, InputPart, QueueStatus, QueuedInputId, SubAgentSource, ThreadSource,
        TurnFeatures, TurnId, UnixMillis,
    };

    const NOW: UnixMillis = UnixMillis(1_000);

    fn parent() -> ThreadId {
        ThreadId::new("thread_20270104_parent")
    }

    pub(in crate::sub_agent) fn subagent() -> ThreadState {
        let request = NewThread {
            id: ThreadId::new("thread_20270104_q9w3k1"),
            identity: Identity {
                channel_name: "subagent".into(),
                ..Identity::default()
            },
            config: None,
            history_mode: HistoryMode::Server,
            display_name: None,
        };
        let Ok(Event::ThreadStarted { mut thread }) = request.decide("/srv/tea", NOW) else {
            panic!("refused")
        };
        let source = SubAgentSource {
            parent: parent(),
            parent_turn: TurnId(1),
            spawn_call: "call_1".into(),
            root: parent(),
            depth: 1,
            nickname: None,
            role: None,
            profile: None,
        };
        thread.source = ThreadSource::SubAgent {
            sub_agent: Box::new(source),
        };
        ThreadState::new(*thread)
    }

    fn user() -> Sender {
        Sender {
            sender_id: "user_1".into(),
            sender_name: "Jo".into(),
            sender_role: None,
            group_id: None,
        }
    }

    fn queued(id: &str, sender: Option<Sender>) -> QueuedInput {
        QueuedInput {
            client_message_id: None,
            id: QueuedInputId::new(id),
            native: Vec::new(),
            sender,
            channel: None,
            features: TurnFeatures::default(),
            status: QueueStatus::Queued,
            lapses: false,
            is_message: false,
            trigger: None,
            follows_any_end: false,
            created_at: NOW,
            ready_after: None,
        }
    }

    #[test]
    fn only_the_parents_agent_speaks_as_the_parents_agent() {
        let state = subagent();
        let agent = parent_agent(&parent());
        assert!(is_from_parent(&state, Some(&agent)));
        let other_parent = parent_agent(&ThreadId::new("thread_20270104_other0"));
        let no_agent = Sender {
            sender_role: None,
            ..agent
        };
        for sender in [Some(user()), Some(other_parent), Some(no_agent), None] {
            assert!(!is_from_parent(&state, sender.as_ref()), "{sender:?}");
        }
    }

    #[test]
    fn a_turn_is_the_parents_when_its_agent_gave_the_first_message() {
        for (sender, expected) in [(parent_agent(&parent()), Some(parent())), (user(), None)] {
            let mut state = subagent();
            assert_eq!(started_by_parent(&state), None, "no Turn is open");
            let request = StartTurn {
                client_message_id: None,
                input: vec![InputPart::Text { text: "look".into() }],
                sender: Some(sender),
                channel: None,
                trigger: None,
                features: TurnFeatures::default(),
            };
            for event in state.decide_start_turn(request, NOW).unwrap() {
                state.apply(&event, NOW);
            }
            assert_eq!(started_by_parent(&state), expected);
        }
    }

    #[test]
    fn the_queue_of_users_is_what_stays_without_the_parents_inputs() {
        let mut state = subagent();
        assert_eq!(queue_of_users(&state), None);
        state.queue = vec![queued("queued_1", Some(user())), queued("queued_2", None)];
        assert_eq!(queue_of_users(&state), None, "nothing of the parent's is in it");
        let of_users = state.queue.clone();
        state
            .queue
            .push(queued("queued_3", Some(parent_agent(&parent()))));
        assert_eq!(queue_of_users(&state), Some(of_users));
    }
}
