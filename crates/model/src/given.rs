//! A conversation that a client sends with a Turn when the client stores the Thread's history (AppServer protocol
//! 02 §5.1 `historyMode`, 03 §2.1 `messages`).

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::Json;

/// Most messages that a Turn may be given (a guess: ten times what fits today's windows).
pub const MAX_GIVEN_MESSAGES: usize = 4096;
/// Most bytes of text in all messages together.
pub const MAX_GIVEN_BYTES: usize = 4 << 20;

/// One message of a conversation that a client sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum GivenMessage {
    /// The client's instructions to the model, apart from the conversation.
    System {
        /// The text.
        text: String,
    },
    /// The user's message.
    User {
        /// The text.
        text: String,
    },
    /// The agent's reply with its calls.
    Agent {
        /// The text; may be empty when there are calls.
        text: String,
        /// The calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<GivenCall>,
    },
    /// The result of a call.
    Result {
        /// The call.
        call_id: String,
        /// Text for the model.
        text: String,
    },
}

/// A call in a conversation that a client sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GivenCall {
    /// Its id.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Its arguments, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
}

impl GivenMessage {
    /// Returns the bytes of text in the message.
    pub fn bytes(&self) -> usize {
        match self {
            Self::System { text } | Self::User { text } | Self::Result { text, .. } => text.len(),
            Self::Agent { text, calls } => {
                let arguments = |call: &GivenCall| call.arguments.as_ref().map_or(0, |json| json.get().len());
                text.len()
                    + calls
                        .iter()
                        .map(|call| call.tool.len() + arguments(call))
                        .sum::<usize>()
            }
        }
    }
}

/// Checks a conversation as a whole.
///
/// # Errors
/// The conversation is too large, a result has no call before it, or two calls have the same id. The text names the
/// message and is fit for the user.
pub fn check(messages: &[GivenMessage]) -> Result<(), String> {
    if messages.len() > MAX_GIVEN_MESSAGES {
        return Err(format!("'messages' has more than {MAX_GIVEN_MESSAGES} entries."));
    }
    if messages.iter().map(GivenMessage::bytes).sum::<usize>() > MAX_GIVEN_BYTES {
        return Err(format!(
            "'messages' has more than {MAX_GIVEN_BYTES} bytes of text."
        ));
    }
    let mut known = HashSet::new();
    let mut open: HashSet<&str> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            GivenMessage::Agent { calls, .. } => {
                open.clear();
                for call in calls {
                    if !known.insert(call.id.as_str()) {
                        return Err(format!("'messages[{at}]' has a call whose id was used before."));
                    }
                    open.insert(&call.id);
                }
            }
            GivenMessage::Result { call_id, .. } => {
                if !open.remove(call_id.as_str()) {
                    return Err(format!(
                        "'messages[{at}]' is the result of a call that the agent's last message did not make."
                    ));
                }
            }
            GivenMessage::User { .. } | GivenMessage::System { .. } => open.clear(),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(ids: &[&str]) -> GivenMessage {
        let call = |id: &&str| GivenCall {
            id: (*id).to_owned(),
            tool: "t".to_owned(),
            arguments: None,
        };
        GivenMessage::Agent {
            text: String::new(),
            calls: ids.iter().map(call).collect(),
        }
    }

    fn result(id: &str) -> GivenMessage {
        GivenMessage::Result {
            call_id: id.to_owned(),
            text: String::new(),
        }
    }

    fn user(text: &str) -> GivenMessage {
        GivenMessage::User {
            text: text.to_owned(),
        }
    }

    #[test]
    fn results_belong_to_calls_of_the_message_before() {
        let table = [
            (vec![], true),
            (
                vec![user("u"), agent(&["1", "2"]), result("2"), result("1"), user("v")],
                true,
            ),
            (vec![user("u"), agent(&["1"]), user("v")], true),
            (vec![result("1")], false),
            (vec![agent(&["1"]), result("1"), result("1")], false),
            (vec![agent(&["1"]), user("u"), result("1")], false),
            (vec![agent(&["1"]), result("1"), agent(&["1"])], false),
            (vec![agent(&["1", "1"])], false),
            (vec![agent(&["1"]), agent(&["2"]), result("1")], false),
        ];
        for (messages, sound) in table {
            assert_eq!(check(&messages).is_ok(), sound, "{messages:?}");
        }
    }

    #[test]
    fn a_conversation_has_its_bounds() {
        assert!(check(&vec![user(""); MAX_GIVEN_MESSAGES]).is_ok());
        assert!(check(&vec![user(""); MAX_GIVEN_MESSAGES + 1]).is_err());
        assert!(check(&[user(&"x".repeat(MAX_GIVEN_BYTES))]).is_ok());
        assert!(check(&[user(&"x".repeat(MAX_GIVEN_BYTES)), user("x")]).is_err());
    }
}
