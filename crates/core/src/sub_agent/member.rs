//! One subagent as it is followed: what the frames of its log say of how far it is. Values only.

use bobbin_agent_api::sub_agent::Standing;
use bobbin_model::{
    Event, ItemBody, Outcome, SubAgentProgress, ThreadId, ThreadState, TokenUsage, Turn, TurnId,
};
use tokio::sync::OwnedSemaphorePermit;

use crate::{Frame, FrameBody, Notice, View};

/// Most bytes of what a subagent said that are given to the agent above.
pub(super) const MAX_ANSWER: usize = 32 << 10;

/// A subagent of a Turn.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: ThreadId,
    pub(super) nickname: Option<String>,
    pub(super) standing: Standing,
    /// How it stands is remembered; else it is read from the store.
    pub(super) remembered: bool,
    /// Calls that are giving it something, which keeps it followed.
    pub(super) held: usize,
    /// Somebody follows it; it may have more to do even if it has just ended something.
    pub(super) followed: bool,
    tool: Option<String>,
    /// Its open Turn, as far as its frames tell.
    turn: Option<TurnId>,
    /// Of its Turns that have ended in this Turn of the Thread above.
    before: Used,
    /// Of its open one.
    now: Used,
    /// Its place among those at work.
    pub(super) place: Option<OwnedSemaphorePermit>,
}

/// What a Turn of a subagent used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Used {
    pub(super) usage: TokenUsage,
    pub(super) cost_micros: u64,
}

impl Used {
    pub(super) fn add(&mut self, other: Self) {
        self.usage.add(other.usage);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}

impl Member {
    pub(super) fn new(id: ThreadId, nickname: Option<String>) -> Self {
        Self {
            id,
            nickname,
            standing: Standing::Running,
            remembered: true,
            held: 0,
            followed: true,
            tool: None,
            turn: None,
            before: Used::default(),
            now: Used::default(),
            place: None,
        }
    }

    /// Gives its place to others.
    pub(super) fn let_go(&mut self) {
        self.followed = false;
        self.place = None;
    }

    /// Leaves to the store what it said.
    pub(super) fn forget(&mut self) {
        self.remembered = false;
        self.standing = Standing::Idle;
    }

    /// Whether it is at work, as far as is known.
    pub(super) fn runs(&self) -> bool {
        matches!(self.standing, Standing::Running | Standing::Asking)
    }

    /// Returns what it has used in this Turn of the Thread above.
    pub(super) fn used(&self) -> Used {
        let mut used = self.before;
        used.add(self.now);
        used
    }

    pub(super) fn progress(&self) -> SubAgentProgress {
        SubAgentProgress {
            label: self.nickname.clone().unwrap_or_else(|| self.id.to_string()),
            current_tool: self.tool.clone(),
            usage: self.used().usage,
            is_completed: !self.followed,
        }
    }

    /// Takes note of a frame. Returns what a Turn used that has ended with it.
    pub(super) fn note(&mut self, frame: &Frame) -> Option<Used> {
        match &frame.body {
            FrameBody::Notice(Notice::RuntimeChanged(runtime)) if self.runs() => {
                self.standing = if runtime.waiting_on_approval {
                    Standing::Asking
                } else {
                    Standing::Running
                };
            }
            FrameBody::Delta(_) | FrameBody::Notice(_) => {}
            FrameBody::Recorded(event) => return self.event(event, &frame.view),
        }
        None
    }

    fn event(&mut self, event: &Event, view: &View) -> Option<Used> {
        match event {
            Event::TurnStarted { turn, .. } => {
                self.turn = Some(*turn);
                self.standing = Standing::Running;
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
                self.standing = match view {
                    View::Turn(turn) => ended(outcome, turn),
                    View::None | View::Thread(_) => Standing::Idle,
                };
                let used = Used {
                    usage: *usage,
                    ..std::mem::take(&mut self.now)
                };
                self.before.add(used);
                return Some(used);
            }
            Event::ThreadDeleted => self.standing = Standing::Gone,
            _ => {}
        }
        None
    }

    /// Takes note of how it stands as a whole, where its frames are not known. Returns what a Turn used whose end was
    /// missed with them.
    pub(super) fn stands(&mut self, state: &ThreadState, last: Option<&Turn>) -> Option<Used> {
        self.tool = None;
        let open = self.turn.take();
        let Some(live) = &state.live else {
            let turn = last?;
            self.standing = standing_of(turn);
            if open != Some(turn.id) {
                return None;
            }
            // What it cost is known as far as its frames were.
            let used = Used {
                usage: turn.usage,
                ..std::mem::take(&mut self.now)
            };
            self.before.add(used);
            return Some(used);
        };
        self.turn = Some(live.turn.id);
        self.standing = if live.approvals.is_empty() {
            Standing::Running
        } else {
            Standing::Asking
        };
        self.now = Used {
            usage: live.turn.usage,
            cost_micros: live.cost_micros,
        };
        None
    }
}

fn ended(outcome: &Outcome, turn: &Turn) -> Standing {
    match outcome {
        Outcome::Completed => Standing::Finished(last_words(turn)),
        Outcome::Failed { error } => Standing::Failed(error.clone()),
        Outcome::Cancelled { .. } => Standing::Cancelled,
    }
}

/// Returns how a Thread stands whose newest Turn is this one.
pub(super) fn standing_of(turn: &Turn) -> Standing {
    use bobbin_model::TurnStatus::{Cancelled, Completed, Failed, Running, WaitingApproval};
    match turn.status {
        Running => Standing::Running,
        WaitingApproval => Standing::Asking,
        Completed => Standing::Finished(last_words(turn)),
        Failed => Standing::Failed(turn.error.clone().unwrap_or_default()),
        Cancelled => Standing::Cancelled,
    }
}

/// Returns the last message of a Turn's agent.
fn last_words(turn: &Turn) -> String {
    let said = turn.items.iter().rev().find_map(|item| match &item.body {
        ItemBody::AgentMessage { text } => Some(text.as_str()),
        _ => None,
    });
    let said = said.unwrap_or_default();
    let kept = said.floor_char_boundary(MAX_ANSWER);
    if kept == said.len() {
        return said.to_owned();
    }
    format!(
        "{}\n[cut: the whole answer has {} bytes]",
        &said[..kept],
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
        let wish = NewThread {
            id: ThreadId::new("thread_a"),
            identity: Identity {
                channel_name: "test".to_owned(),
                ..Identity::default()
            },
            config: None,
            history_mode: HistoryMode::Server,
            display_name: None,
        };
        let Ok(Event::ThreadStarted { thread }) = wish.decide("/w", UnixMillis(1)) else {
            panic!("it can be started");
        };
        let mut state = ThreadState::new(*thread);
        let live = LiveTurn::new(TurnId(1), UnixMillis(1), None, TurnFeatures::default());
        let mut ended = live.turn.clone();
        ended.status = TurnStatus::Completed;
        ended.usage.output_tokens = 7;
        let mut member = Member::new(ThreadId::new("thread_a"), None);
        // Of a Turn that had ended before it was followed nothing is known here.
        assert_eq!(member.stands(&state, Some(&ended)), None);
        state.live = Some(live);
        assert_eq!(member.stands(&state, None), None);
        state.live = None;
        let used = member.stands(&state, Some(&ended)).unwrap();
        assert_eq!(used.usage.output_tokens, 7);
        assert_eq!(member.stands(&state, Some(&ended)), None);
        assert_eq!(member.used(), used);
        assert!(matches!(member.standing, Standing::Finished(_)));
    }
}
