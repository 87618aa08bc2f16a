//! One subagent as its log shows it: its status, its running tool, its usage. Values only.

use bobbin_agent_api::sub_agent::SubAgentStatus;
use bobbin_model::{
    Event, ItemBody, Outcome, SubAgentProgress, ThreadId, ThreadState, TokenUsage, Turn, TurnId,
};
use tokio::sync::OwnedSemaphorePermit;

use bobbin_core::{Ephemeral, Frame, FrameBody, View};

/// Most bytes of a subagent's answer that its parent's agent gets.
pub(crate) const MAX_ANSWER: usize = 32 << 10;

/// A subagent of a Turn.
#[derive(Debug)]
pub(crate) struct SubAgent {
    pub(crate) id: ThreadId,
    pub(crate) nickname: Option<String>,
    pub(crate) status: SubAgentStatus,
    /// Its status is in memory; else it is read from the store.
    pub(crate) remembered: bool,
    /// Number of calls that send it an input. It stays followed until they have ended.
    pub(crate) pending_inputs: usize,
    /// A task follows it; it may have more to do even if a Turn has just ended.
    pub(crate) followed: bool,
    tool: Option<String>,
    /// Its open Turn, as far as its frames show.
    turn: Option<TurnId>,
    /// Usage of its Turns that ended in this Turn of the parent.
    before: Used,
    /// Usage of its open Turn.
    now: Used,
    /// Its place among the subagents that run.
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

/// Tokens and cost of a subagent's Turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Used {
    pub(crate) usage: TokenUsage,
    pub(crate) cost_micros: u64,
}

impl Used {
    pub(crate) fn add(&mut self, other: Self) {
        self.usage.add(other.usage);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}

impl SubAgent {
    pub(crate) fn new(id: ThreadId, nickname: Option<String>) -> Self {
        Self {
            id,
            nickname,
            status: SubAgentStatus::Running,
            remembered: true,
            pending_inputs: 0,
            followed: true,
            tool: None,
            turn: None,
            before: Used::default(),
            now: Used::default(),
            place: None,
        }
    }

    /// Marks it as not followed, and frees its place.
    pub(crate) fn unfollow(&mut self) {
        self.followed = false;
        self.place = None;
    }

    /// Drops its answer from memory; the store still has it.
    pub(crate) fn forget(&mut self) {
        self.remembered = false;
        self.status = SubAgentStatus::Idle;
    }

    /// Whether it runs, as far as is known.
    pub(crate) fn runs(&self) -> bool {
        matches!(self.status, SubAgentStatus::Running | SubAgentStatus::Asking)
    }

    /// Returns its usage in this Turn of the parent.
    pub(crate) fn used(&self) -> Used {
        let mut used = self.before;
        used.add(self.now);
        used
    }

    pub(crate) fn progress(&self) -> SubAgentProgress {
        SubAgentProgress {
            label: self.nickname.clone().unwrap_or_else(|| self.id.to_string()),
            current_tool: self.tool.clone(),
            usage: self.used().usage,
            is_completed: !self.followed,
        }
    }

    /// Applies a frame of its log. Returns the usage of the Turn that the frame ends.
    pub(crate) fn note(&mut self, frame: &Frame) -> Option<Used> {
        match &frame.body {
            FrameBody::Ephemeral(Ephemeral::RuntimeChanged(runtime)) if self.runs() => {
                self.status = if runtime.waiting_on_approval {
                    SubAgentStatus::Asking
                } else {
                    SubAgentStatus::Running
                };
            }
            FrameBody::Delta(_) | FrameBody::Ephemeral(_) => {}
            FrameBody::Recorded(event) => return self.event(event, &frame.view),
        }
        None
    }

    fn event(&mut self, event: &Event, view: &View) -> Option<Used> {
        match event {
            Event::TurnStarted { turn, .. } => {
                self.turn = Some(*turn);
                self.status = SubAgentStatus::Running;
                self.now = Used::default();
            }
            Event::ItemStarted { item, .. }
            | Event::ItemCompleted { item, .. }
            | Event::ItemAdded { item, .. } => match &item.body {
                ItemBody::ToolCall { tool_name, .. } => self.tool = Some(tool_name.clone()),
                ItemBody::DynamicToolCall(call) if call.answer.is_none() => {
                    self.tool = Some(call.offered_as.clone());
                }
                ItemBody::ToolResult { .. } | ItemBody::DynamicToolCall(_) => self.tool = None,
                _ => {}
            },
            Event::UsageAdded {
                usage, cost_micros, ..
            }
            | Event::SubAgentUsed {
                usage, cost_micros, ..
            } => {
                self.now.add(Used {
                    usage: *usage,
                    cost_micros: *cost_micros,
                });
            }
            Event::TurnEnded { outcome, usage, .. } => {
                self.tool = None;
                self.turn = None;
                self.status = match view {
                    View::Turn(turn) => ended(outcome, turn),
                    View::None | View::Thread(_) => SubAgentStatus::Idle,
                };
                let used = Used {
                    usage: *usage,
                    ..std::mem::take(&mut self.now)
                };
                self.before.add(used);
                return Some(used);
            }
            Event::ThreadDeleted => self.status = SubAgentStatus::Gone,
            _ => {}
        }
        None
    }

    /// Sets its whole state when frames are missing. Returns the usage of a Turn whose end was missed.
    pub(crate) fn set_state(&mut self, state: &ThreadState, last: Option<&Turn>) -> Option<Used> {
        self.tool = None;
        let open = self.turn.take();
        let Some(live) = &state.live else {
            let turn = last?;
            self.status = status_of(turn);
            if open != Some(turn.id) {
                return None;
            }
            // The cost is known only from the frames that were read.
            let used = Used {
                usage: turn.usage,
                ..std::mem::take(&mut self.now)
            };
            self.before.add(used);
            return Some(used);
        };
        self.turn = Some(live.turn.id);
        self.status = if live.approvals.is_empty() {
            SubAgentStatus::Running
        } else {
            SubAgentStatus::Asking
        };
        self.now = Used {
            usage: live.turn.usage,
            cost_micros: live.turn.cost_micros,
        };
        None
    }
}

fn ended(outcome: &Outcome, turn: &Turn) -> SubAgentStatus {
    match outcome {
        Outcome::Completed => SubAgentStatus::Finished(last_words(turn)),
        Outcome::Failed { error } => SubAgentStatus::Failed(error.clone()),
        Outcome::Cancelled { .. } => SubAgentStatus::Cancelled,
    }
}

/// Returns the status of a Thread whose newest Turn is this one.
pub(crate) fn status_of(turn: &Turn) -> SubAgentStatus {
    use bobbin_model::TurnStatus::{Cancelled, Completed, Failed, Running, WaitingApproval, WaitingInput};
    match turn.status {
        Running => SubAgentStatus::Running,
        WaitingApproval | WaitingInput => SubAgentStatus::Asking,
        Completed => SubAgentStatus::Finished(last_words(turn)),
        Failed => SubAgentStatus::Failed(turn.error.clone().unwrap_or_default()),
        Cancelled => SubAgentStatus::Cancelled,
    }
}

/// Returns the last message of a Turn's agent.
fn last_words(turn: &Turn) -> String {
    let said = turn.items.iter().rev().find_map(|item| match &item.body {
        ItemBody::AgentMessage { text } => Some(text.as_str()),
        _ => None,
    });
    let said = said.unwrap_or_default();
    let end = said.floor_char_boundary(MAX_ANSWER);
    if end == said.len() {
        return said.to_owned();
    }
    format!(
        "{}\n[cut: the whole answer has {} bytes]",
        &said[..end],
        said.len()
    )
}

#[cfg(test)]
mod tests {
    use bobbin_model::state::NewThread;
    use bobbin_model::{HistoryMode, Identity, LiveTurn, TurnFeatures, TurnStatus, UnixMillis};

    use super::*;

    #[test]
    fn what_a_turn_used_counts_once_even_if_its_end_was_missed() {
        let thread = NewThread {
            id: ThreadId::new("thread_a"),
            identity: Identity {
                channel_name: "test".to_owned(),
                ..Identity::default()
            },
            config: None,
            history_mode: HistoryMode::Server,
            display_name: None,
        };
        let Ok(Event::ThreadStarted { thread }) = thread.decide("/w", UnixMillis(1)) else {
            panic!("it can be started");
        };
        let mut state = ThreadState::new(*thread);
        let live = LiveTurn::new(TurnId(1), UnixMillis(1), None, TurnFeatures::default());
        let mut ended = live.turn.clone();
        ended.status = TurnStatus::Completed;
        ended.usage.output_tokens = 7;
        let mut child = SubAgent::new(ThreadId::new("thread_a"), None);
        // Of a Turn that had ended before it was followed nothing is known here.
        assert_eq!(child.set_state(&state, Some(&ended)), None);
        state.live = Some(live);
        assert_eq!(child.set_state(&state, None), None);
        state.live = None;
        let used = child.set_state(&state, Some(&ended)).unwrap();
        assert_eq!(used.usage.output_tokens, 7);
        assert_eq!(child.set_state(&state, Some(&ended)), None);
        assert_eq!(child.used(), used);
        assert!(matches!(child.status, SubAgentStatus::Finished(_)));
    }
}
