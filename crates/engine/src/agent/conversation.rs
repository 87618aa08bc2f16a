//! Recorded Items as the conversation that a model gets.
//!
//! What only people see (approvals, terminal views, error notes) stays out, and so does reasoning: it belongs
//! to the reply it came with. Pure.

use std::collections::HashSet;

use bobbin_model::{InputPart, Item, ItemBody, Json, Turn};

/// Most bytes of earlier Turns given to a model; the oldest Turns are left out first (guess: about what the
/// smaller windows of today hold beside the Turn at hand).
pub(super) const MAX_HISTORY_BYTES: usize = 256 << 10;

/// What a call without a result says in a later Turn's conversation.
const NO_RESULT: &str = "no result: the turn ended before this call did";

/// One step of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the user said.
    User {
        /// The parts, as a model gets them.
        parts: Vec<InputPart>,
    },
    /// What the agent said and the calls it made then.
    Agent {
        /// The text; may be empty beside calls.
        text: String,
        /// The calls.
        calls: Vec<Call>,
    },
    /// What a call gave.
    Result {
        /// The call.
        call_id: String,
        /// Text for the model.
        text: String,
        /// Whether it went well.
        success: bool,
    },
}

/// A call that a model made.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its id, unique in the Turn.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Its arguments, an object; `None` when the model wrote none that can be read.
    pub arguments: Option<Json>,
}

impl Message {
    /// Returns the bytes of text in it.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::User { parts } => parts
                .iter()
                .map(|part| match part {
                    InputPart::Context { label, text } => label.len() + text.len(),
                    other => other.display().len(),
                })
                .sum(),
            Self::Agent { text, calls } => {
                let call = |call: &Call| {
                    call.tool.len() + call.arguments.as_ref().map_or(0, |json| json.get().len())
                };
                text.len() + calls.iter().map(call).sum::<usize>()
            }
            Self::Result { text, .. } => text.len(),
        }
    }
}

/// Returns the messages of a Turn's Items, without results for calls that have none.
pub(super) fn messages<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut reply = Reply::default();
    for item in items {
        match &item.body {
            ItemBody::UserMessage(said) => {
                reply.end(&mut messages);
                let parts = said.native.iter().map(InputPart::materialized).collect();
                messages.push(Message::User { parts });
            }
            ItemBody::AgentMessage { text } => reply.say(text),
            ItemBody::ToolCall {
                tool_name,
                call_id,
                arguments,
                ..
            } => reply.calls.push(Call {
                id: call_id.clone(),
                tool: tool_name.clone(),
                arguments: arguments.clone(),
            }),
            ItemBody::ToolResult {
                call_id,
                result,
                success,
                ..
            } => {
                reply.end(&mut messages);
                messages.push(Message::Result {
                    call_id: call_id.clone(),
                    text: result.clone(),
                    success: *success,
                });
            }
            ItemBody::Reasoning { .. }
            | ItemBody::CommandExecution(_)
            | ItemBody::ToolExecution { .. }
            | ItemBody::ApprovalRequest { .. }
            | ItemBody::ApprovalResponse { .. }
            | ItemBody::Error { .. } => {}
        }
    }
    reply.end(&mut messages);
    messages
}

/// The parts of one reply, collected from its Items.
#[derive(Default)]
struct Reply {
    text: String,
    calls: Vec<Call>,
}

impl Reply {
    fn say(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// Puts the reply into the conversation, if there was one.
    fn end(&mut self, messages: &mut Vec<Message>) {
        let Self { text, calls } = std::mem::take(self);
        if !text.is_empty() || !calls.is_empty() {
            messages.push(Message::Agent { text, calls });
        }
    }
}

/// Returns the messages of earlier Turns, as many of the newest as fit. Every call in them has a result.
pub(super) fn history(turns: &[Turn]) -> Vec<Message> {
    let mut kept: Vec<Vec<Message>> = Vec::new();
    let mut bytes = 0;
    for turn in turns.iter().rev() {
        let turn = with_all_results(messages(&turn.items));
        bytes += turn.iter().map(Message::bytes).sum::<usize>();
        if bytes > MAX_HISTORY_BYTES {
            break;
        }
        kept.push(turn);
    }
    kept.into_iter().rev().flatten().collect()
}

fn with_all_results(turn: Vec<Message>) -> Vec<Message> {
    let results: HashSet<String> = turn
        .iter()
        .filter_map(|message| match message {
            Message::Result { call_id, .. } => Some(call_id.clone()),
            _ => None,
        })
        .collect();
    let mut whole = Vec::with_capacity(turn.len());
    for message in turn {
        let missing = match &message {
            Message::Agent { calls, .. } => {
                let ids = calls.iter().map(|call| &call.id);
                ids.filter(|id| !results.contains(*id)).cloned().collect()
            }
            _ => Vec::new(),
        };
        whole.push(message);
        whole.extend(missing.into_iter().map(|call_id| Message::Result {
            call_id,
            text: NO_RESULT.to_owned(),
            success: false,
        }));
    }
    whole
}

#[cfg(test)]
mod tests {
    use bobbin_model::item::UserMessage;
    use bobbin_model::{DeliveryMode, ItemId, TokenUsage, TurnId, TurnStatus, UnixMillis};

    use super::*;

    fn turn(bodies: Vec<ItemBody>) -> Turn {
        let item = |(id, body)| Item::whole(ItemId(id), UnixMillis(0), body);
        Turn {
            id: TurnId(1),
            status: TurnStatus::Cancelled,
            items: (1..).zip(bodies).map(item).collect(),
            started_at: UnixMillis(0),
            completed_at: None,
            usage: TokenUsage::default(),
            error: None,
            origin_channel: None,
        }
    }

    fn user(text: &str) -> ItemBody {
        ItemBody::UserMessage(UserMessage {
            text: text.to_owned(),
            native: vec![InputPart::Text {
                text: text.to_owned(),
            }],
            delivery: DeliveryMode::Normal,
            sender: None,
            channel_name: None,
            channel_context: None,
        })
    }

    fn call(id: &str) -> ItemBody {
        ItemBody::ToolCall {
            tool_name: "t".to_owned(),
            call_id: id.to_owned(),
            arguments: None,
            arguments_text: None,
        }
    }

    fn result(id: &str) -> ItemBody {
        ItemBody::ToolResult {
            call_id: id.to_owned(),
            result: "r".to_owned(),
            success: true,
            refused: false,
        }
    }

    fn agent(text: &str) -> ItemBody {
        ItemBody::AgentMessage {
            text: text.to_owned(),
        }
    }

    fn shape(messages: &[Message]) -> Vec<String> {
        let one = |message: &Message| match message {
            Message::User { .. } => "user".to_owned(),
            Message::Agent { text, calls } => {
                let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
                format!("agent {text} [{}]", ids.join(" "))
            }
            Message::Result { call_id, success, .. } => format!("result {call_id} {success}"),
        };
        messages.iter().map(one).collect()
    }

    #[test]
    fn one_reply_is_one_message_with_its_calls() {
        let reasoning = ItemBody::Reasoning {
            text: "hm".to_owned(),
        };
        let items = turn(vec![
            user("u"),
            reasoning,
            agent("a"),
            call("1"),
            call("2"),
            result("1"),
            result("2"),
            agent("b"),
        ]);
        assert_eq!(
            shape(&messages(&items.items)),
            [
                "user",
                "agent a [1 2]",
                "result 1 true",
                "result 2 true",
                "agent b []"
            ]
        );
    }

    #[test]
    fn calls_of_earlier_turns_always_have_results() {
        let history = history(&[turn(vec![user("u"), call("1"), call("2"), result("1")])]);
        assert_eq!(
            shape(&history),
            ["user", "agent  [1 2]", "result 2 false", "result 1 true"]
        );
    }

    #[test]
    fn the_oldest_turns_are_left_out_first() {
        let long = "x".repeat(MAX_HISTORY_BYTES / 2 + 1);
        let history = history(&[
            turn(vec![user(&long)]),
            turn(vec![user(&long)]),
            turn(vec![user("c")]),
        ]);
        assert_eq!(history.len(), 2);
    }
}
