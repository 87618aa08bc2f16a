//! The shapes on the wire, by section of the specification.
//!
//! Messages of clients are read leniently (section 2.2): `null` members count as absent, `[]` as an empty object, and
//! unknown members are ignored. We never send `null` for an optional member (2.3).

pub(crate) mod chat;
pub(crate) mod config;
pub(crate) mod content;
pub(crate) mod lifecycle;
pub(crate) mod provider;

use bobbin_core::WireMessage;
use bobbin_model::Mode;
use bobbin_peer::ErrorObject;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A chat's id as its client writes it (6.1): texts today, tab numbers in some early clients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum ChatId {
    /// A text.
    Text(String),
    /// A number, with a meaning in this connection only.
    Number(i64),
}

impl ChatId {
    /// Returns the id as text.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Returns the mode of a word (section 5). Unknown words mean `agent`.
pub(crate) fn mode_of(word: &str) -> Mode {
    match word {
        "plan" => Mode::Plan,
        "agent" | "code" | "build" => Mode::Agent,
        other => {
            tracing::info!(behavior = other, "unknown behavior; taken as agent");
            Mode::Agent
        }
    }
}

/// Returns the name of a mode as a behavior.
pub(crate) fn behavior(mode: Mode) -> &'static str {
    match mode {
        Mode::Agent => "agent",
        Mode::Plan => "plan",
    }
}

/// Returns the name of a mode as an agent, the later vocabulary (section 16).
pub(crate) fn agent(mode: Mode) -> &'static str {
    match mode {
        Mode::Agent => "code",
        Mode::Plan => "plan",
    }
}

/// Decodes params; absent ones and an empty array are an empty object (2.2).
///
/// # Errors
/// `-32602` with the reason.
pub(crate) fn params<T: DeserializeOwned>(raw: Option<&RawValue>) -> Result<T, ErrorObject> {
    let text = raw.map_or("{}", RawValue::get).trim();
    let text = match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inside) if inside.trim().is_empty() => "{}",
        Some(_) => return Err(ErrorObject::invalid_params("params are no object")),
        None => text,
    };
    serde_json::from_str(text).map_err(|error| ErrorObject::invalid_params(error.to_string()))
}

/// A notification with encoded params, without its envelope.
#[derive(Debug)]
pub(crate) struct Notification {
    pub(crate) method: &'static str,
    pub(crate) params: Box<RawValue>,
}

impl Notification {
    /// Encodes a notification; `None` if the params cannot be encoded, which would be a bug.
    pub(crate) fn new(method: &'static str, params: &impl Serialize) -> Option<Self> {
        match serde_json::value::to_raw_value(params) {
            Ok(params) => Some(Self { method, params }),
            Err(error) => {
                tracing::error!(%error, method, "a notification was left out");
                None
            }
        }
    }

    /// Returns the complete message.
    pub(crate) fn into_message(self) -> WireMessage {
        // Method names are ours and have nothing to escape.
        let json = format!(
            r#"{{"jsonrpc":"2.0","method":"{}","params":{}}}"#,
            self.method,
            self.params.get()
        );
        WireMessage {
            method: self.method,
            json: json.into(),
        }
    }
}

/// Encodes a complete notification.
pub(crate) fn message(method: &'static str, params: &impl Serialize) -> Option<WireMessage> {
    Notification::new(method, params).map(Notification::into_message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Some_ {
        chat_id: Option<ChatId>,
    }

    #[test]
    fn what_clients_send_for_no_params_is_no_params() {
        for text in ["{}", "[]", "[ ]", r#"{"chatId":null}"#] {
            let raw = RawValue::from_string(text.to_owned()).unwrap();
            assert_eq!(
                params::<Some_>(Some(&raw)).unwrap(),
                Some_ { chat_id: None },
                "{text}"
            );
        }
        assert_eq!(params::<Some_>(None).unwrap(), Some_ { chat_id: None });
        let raw = RawValue::from_string("[1]".to_owned()).unwrap();
        assert!(params::<Some_>(Some(&raw)).is_err());
    }

    #[test]
    fn chat_ids_are_texts_or_numbers() {
        for (text, id) in [("7", ChatId::Number(7)), (r#""a""#, ChatId::Text("a".into()))] {
            let read: ChatId = serde_json::from_str(text).unwrap();
            assert_eq!(read, id);
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }

    #[test]
    fn behaviors_follow_the_table() {
        for (word, mode) in [
            ("agent", Mode::Agent),
            ("plan", Mode::Plan),
            ("code", Mode::Agent),
            ("build", Mode::Agent),
            ("teapot", Mode::Agent),
        ] {
            assert_eq!(mode_of(word), mode, "{word}");
        }
    }
}
