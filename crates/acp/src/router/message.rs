//! The parts of messages that a router looks at, and the messages that it writes itself.

use std::borrow::Cow;

use bobbin_peer::{ErrorObject, code};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::errors;

/// One message, unread as far as possible.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) jsonrpc: Option<Cow<'a, str>>,
    #[serde(
        borrow,
        default,
        deserialize_with = "there",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(
        borrow,
        default,
        deserialize_with = "there",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) params: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "there",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) result: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "there",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) error: Option<&'a RawValue>,
}

/// Reads a member that is there: null is a value, as the answer of a request may be.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The members of params that say where a message belongs.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place<'a> {
    #[serde(borrow, default)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cwd: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_id: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// It is no JSON, or no object.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, ErrorObject> {
        let no_request = || {
            ErrorObject::new(
                code::INVALID_REQUEST,
                "This is no request; batches are not taken.",
            )
        };
        // A list could be read as the members in their order.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(no_request());
        }
        serde_json::from_slice(bytes).map_err(|error| {
            if error.is_data() {
                no_request()
            } else {
                ErrorObject::new(code::PARSE_ERROR, "This is no JSON.")
            }
        })
    }

    fn place(&self) -> Place<'a> {
        // A list could be read as the members in their order.
        let params = self.params.filter(|params| params.get().starts_with('{'));
        let place = params.and_then(|params| serde_json::from_str(params.get()).ok());
        place.unwrap_or_default()
    }

    /// Returns the session that the message is about; `None` if it names none.
    ///
    /// # Errors
    /// The name is no text.
    pub(super) fn session(&self) -> Result<Option<String>, ErrorObject> {
        text("sessionId", self.place().session_id)
    }

    /// Returns the directory that the message names; `None` if it names none.
    ///
    /// # Errors
    /// The name is no text.
    pub(super) fn cwd(&self) -> Result<Option<String>, ErrorObject> {
        text("cwd", self.place().cwd)
    }

    /// Returns the id of the request that the message cancels.
    pub(super) fn cancelled(&self) -> Option<&'a RawValue> {
        self.place().request_id
    }

    /// Returns the message with another id, which is JSON.
    pub(super) fn with_id(&self, id: &str) -> Option<Bytes> {
        let id = RawValue::from_string(id.to_owned()).ok()?;
        let message = Message {
            jsonrpc: self.jsonrpc.clone(),
            id: Some(&id),
            method: self.method.clone(),
            params: self.params,
            result: self.result,
            error: self.error,
        };
        serde_json::to_vec(&message).ok().map(Bytes::from)
    }
}

/// Returns the text of a member that may be left out or null.
fn text(name: &str, value: Option<&RawValue>) -> Result<Option<String>, ErrorObject> {
    let text = value.map_or(Ok(None), |value| serde_json::from_str(value.get()));
    text.map_err(|_| errors::invalid(format!("{name} must be a text.")))
}

/// Returns an answer; `id` is JSON.
pub(super) fn result(id: &str, result: &impl Serialize) -> Bytes {
    let result = serde_json::to_string(result).unwrap_or_else(|_| "{}".to_owned());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into()
}

/// Returns an answer that is an error; `id` is JSON.
pub(super) fn error(id: Option<&str>, error: &impl Serialize) -> Bytes {
    let error = serde_json::to_string(error).unwrap_or_else(|_| "null".to_owned());
    let id = id.unwrap_or("null");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into()
}

/// Returns the withdrawal of a request of the agent's, for the client; `id` is JSON.
pub(super) fn withdrawal(id: &str) -> Bytes {
    let method = bobbin_acp_wire::method::CANCEL_REQUEST;
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":{id}}}}}"#).into()
}

/// Returns a request of the router's own; `params` is JSON.
pub(super) fn request(id: &str, method: &str, params: &str) -> Bytes {
    let id = serde_json::Value::from(id);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_wrong_type_are_errors_and_missing_ones_are_none() {
        let read = |params: &str| {
            let text = format!(r#"{{"method":"session/prompt","params":{params}}}"#);
            let message = Message::read(text.as_bytes()).unwrap();
            (
                message.session().map_err(|error| error.code),
                message.cwd().map_err(|error| error.code),
            )
        };
        let some = |name: &str| Ok(Some(name.to_owned()));
        assert_eq!(read(r#"{"sessionId":"s","cwd":"/a"}"#), (some("s"), some("/a")));
        assert_eq!(read(r#"{"sessionId":42,"cwd":"/a"}"#), (Err(-32602), some("/a")));
        assert_eq!(read(r#"{"sessionId":null,"cwd":[]}"#), (Ok(None), Err(-32602)));
        for params in ["null", "{}", r#"["s","/a"]"#, "7"] {
            assert_eq!(read(params), (Ok(None), Ok(None)), "{params}");
        }
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        for (message, code) in [
            ("tea", -32700),
            ("[]", -32600),
            ("7", -32600),
            (r#"{"id":"#, -32700),
        ] {
            assert_eq!(
                Message::read(message.as_bytes()).unwrap_err().code,
                code,
                "{message}"
            );
        }
    }
}
