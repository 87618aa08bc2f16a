//! A request's body while it is put together. Pure.
//!
//! Nearly all of it is a conversation of plain messages, sent as a whole each time: they are written from where they lie
//! and are no tree of values on the way.

use std::borrow::Cow;

use bytes::Bytes;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::conversation::Said;

/// Bytes of a plain message beside its text.
const PLAIN: usize = 36;
/// Bytes of the other members, as they are with our own tools (a guess).
const OTHERS: usize = 32 << 10;

/// A request's body.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    /// The conversation and the member that it is, unless it stands among the others.
    conversation: Option<(&'static str, Vec<Message<'a>>)>,
    pub(super) members: Map<String, Value>,
}

/// A message of a conversation.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Message<'a> {
    /// Text and nothing beside it.
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

    /// Puts a member in the place of the one of that name.
    pub(super) fn replace(&mut self, name: &str, value: Value) {
        self.conversation.take_if(|(known, _)| *known == name);
        self.insert(name, value);
    }

    /// Writes it.
    ///
    /// # Errors
    /// None that is known: all of it can be written.
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
    /// Returns what a user said: text as it is, which every server takes, and parts where there are pictures.
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

    /// Returns about how many bytes it will be; what is no plain text is not looked at.
    fn room(&self) -> usize {
        match self {
            Self::Plain { content, .. } => content.len() + PLAIN,
            Self::Other(_) => 0,
        }
    }

    /// Returns it as something that more can be put into.
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
