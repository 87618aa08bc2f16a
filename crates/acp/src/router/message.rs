//! The parts of messages that a router looks at, and the messages that it writes itself.

use std::borrow::Cow;

use bobbin_acp_wire::method;
use bobbin_peer::{ErrorObject, code};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::MAX_SERVERS;

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
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place<'a> {
    #[serde(borrow, default)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    cwd: Option<Cow<'a, str>>,
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

    fn place(&self) -> Option<Place<'a>> {
        serde_json::from_str(self.params?.get()).ok()
    }

    /// Returns the session that the message is about.
    pub(super) fn session(&self) -> Option<String> {
        self.place()?.session_id.map(Cow::into_owned)
    }

    /// Returns the directory that the message names.
    pub(super) fn cwd(&self) -> Option<String> {
        self.place()?.cwd.map(Cow::into_owned)
    }

    /// Returns the id of the request that the message cancels.
    pub(super) fn cancelled(&self) -> Option<&'a RawValue> {
        self.place()?.request_id
    }

    /// Returns the server that a client's answer is for, and the answer with the server's own id.
    pub(super) fn answer_to_server(&self) -> Option<(usize, Bytes)> {
        let ours: u64 = self.id?.get().parse().ok()?;
        let (server, theirs) = (ours % MAX_SERVERS as u64, ours / MAX_SERVERS as u64);
        let answer = self.with_id(&theirs.to_string())?;
        Some((usize::try_from(server).ok()?, answer))
    }

    /// Returns a server's message for the client. `None`: it can be passed on as it is.
    pub(super) fn for_client(&self, server: usize) -> Option<Bytes> {
        let method = self.method.as_deref()?;
        if let Some(id) = self.id {
            return self.with_id(&ours(id, server)?);
        }
        if method != method::CANCEL_REQUEST {
            return None;
        }
        let id = ours(self.cancelled()?, server)?;
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":{id}}}}}"#);
        Some(text.into())
    }

    fn with_id(&self, id: &str) -> Option<Bytes> {
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

/// Returns the id for the client of a server's request. Servers number their requests from 0.
fn ours(theirs: &RawValue, server: usize) -> Option<String> {
    let theirs: u64 = theirs.get().parse().ok()?;
    let ours = theirs
        .checked_mul(MAX_SERVERS as u64)?
        .checked_add(server as u64)?;
    Some(ours.to_string())
}

/// Returns an answer; `id` is JSON.
pub(super) fn result(id: &str, result: &impl Serialize) -> Bytes {
    let result = serde_json::to_string(result).unwrap_or_else(|_| "{}".to_owned());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into()
}

/// Returns an answer that is an error; `id` is JSON.
pub(super) fn error(id: Option<&str>, error: &ErrorObject) -> Bytes {
    let error = serde_json::to_string(error).unwrap_or_else(|_| "null".to_owned());
    let id = id.unwrap_or("null");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into()
}

/// Returns a request of the router's own; `params` is JSON.
pub(super) fn request(id: &str, method: &str, params: &str) -> Bytes {
    let id = serde_json::Value::from(id);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Option<Bytes>) -> String {
        String::from_utf8(bytes.unwrap().to_vec()).unwrap()
    }

    #[test]
    fn requests_of_several_servers_have_different_ids_and_their_answers_find_back() {
        let asked = br#"{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"path":"/a"}}"#;
        let asked = Message::read(asked).unwrap();
        let (one, other) = (text(asked.for_client(0)), text(asked.for_client(3)));
        assert!(
            one.contains(r#""id":0,"#) && other.contains(r#""id":3,"#),
            "{one} {other}"
        );
        let answer = Message::read(br#"{"jsonrpc":"2.0","id":67,"result":null}"#).unwrap();
        let (server, answer) = answer.answer_to_server().unwrap();
        assert_eq!(
            (server, text(Some(answer))),
            (3, r#"{"jsonrpc":"2.0","id":1,"result":null}"#.to_owned())
        );
        let cancel = br#"{"method":"$/cancel_request","params":{"requestId":2}}"#;
        let cancel = text(Message::read(cancel).unwrap().for_client(1));
        assert!(cancel.contains(r#""requestId":129"#), "{cancel}");
    }

    #[test]
    fn other_messages_pass_as_they_are() {
        for message in [
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}"#,
            r#"{"jsonrpc":"2.0","id":"a","result":{}}"#,
        ] {
            assert!(Message::read(message.as_bytes()).unwrap().for_client(5).is_none());
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
