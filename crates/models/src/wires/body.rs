//! A request's body under construction. Pure.
//!
//! Most of a body is a conversation of plain messages, which every request contains as a whole. These messages are
//! written directly from the conversation, without a tree of values.

use std::borrow::Cow;

use bytes::Bytes;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::conversation::Said;

/// Bytes of a plain message besides its text.
const PLAIN: usize = 36;
/// Bytes of the other members with the built-in tools (a guess).
const OTHERS: usize = 32 << 10;

/// A request's body.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    /// The conversation with its member's name; `None` if it is among the other members.
    conversation: Option<(&'static str, Vec<Message<'a>>)>,
    pub(super) members: Map<String, Value>,
}

/// A message of a conversation.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Message<'a> {
    /// A message of text only.
    Plain {
        role: &'static str,
        content: Cow<'a, str>,
    },
    Other(Value),
}

impl<'a> Body<'a> {
    pub(super) fn new(conversation: Option<(&'static str, Vec<Message<'a>>)>, members: Value) -> Self {
        let members = match members {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        Self {
            conversation,
            members,
        }
    }

    pub(super) fn insert(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    /// Sets a member, replacing the member of that name.
    pub(super) fn replace(&mut self, name: &str, value: Value) {
        self.conversation.take_if(|(known, _)| *known == name);
        self.insert(name, value);
    }

    /// Writes the body as JSON.
    ///
    /// # Errors
    /// None in practice: every value can be written.
    pub(crate) fn write(&self) -> serde_json::Result<Bytes> {
        let texts = self.conversation.iter().flat_map(|(_, messages)| messages);
        let room: usize = texts.map(Message::room).sum();
        let mut written = Vec::with_capacity(room + OTHERS);
        serde_json::to_writer(&mut written, self)?;
        Ok(Bytes::from(written))
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.members {
            map.serialize_entry(name, value)?;
        }
        if let Some((name, messages)) = &self.conversation {
            map.serialize_entry(name, messages)?;
        }
        map.end()
    }
}

impl<'a> Message<'a> {
    /// Returns a user's message: plain text, which every server accepts, or a list of parts if there are pictures.
    pub(super) fn users(mut said: Vec<Said<'a>>, part: impl Fn(Said<'a>) -> Value) -> Self {
        if let [Said::Text(text)] = said.as_mut_slice() {
            return Self::Plain {
                role: "user",
                content: std::mem::take(text),
            };
        }
        let content: Value = said.into_iter().map(part).collect();
        Self::Other(json!({ "role": "user", "content": content }))
    }

    /// Returns the approximate size in bytes; 0 for a message that is not plain text.
    fn room(&self) -> usize {
        match self {
            Self::Plain { content, .. } => content.len() + PLAIN,
            Self::Other(_) => 0,
        }
    }

    /// Returns the message as a value that can get more members.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Plain { role, content } => json!({ "role": role, "content": content }),
            Self::Other(value) => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_sets_stands_in_the_place_of_ours() {
        let plain = Message::Plain {
            role: "user",
            content: "say \"a\"".into(),
        };
        let other = Message::Other(json!({ "role": "tool" }));
        let mut body = Body::new(Some(("messages", vec![plain, other])), json!({ "model": "m" }));
        let read = |body: &Body<'_>| serde_json::from_slice::<Value>(&body.write().unwrap()).unwrap();
        let messages = json!([{ "role": "user", "content": "say \"a\"" }, { "role": "tool" }]);
        assert_eq!(read(&body), json!({ "model": "m", "messages": messages }));
        body.replace("model", json!("n"));
        body.replace("messages", json!([]));
        let written = String::from_utf8(body.write().unwrap().to_vec()).unwrap();
        assert_eq!(written, "{\"messages\":[],\"model\":\"n\"}");
    }
}
