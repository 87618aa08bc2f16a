//! What providers want back with a reply and no record holds: reasoning, its signatures, what belongs to a call.
//!
//! Some models that think refuse the results of their calls unless the reply that made them comes back as they wrote
//! it. What they wrote beside text and calls is kept here, opaque, and found again by the conversation in front of the
//! reply: nothing else could be meant by it. It goes to the model that wrote it and to no other.
//!
//! Bounded: [`MAX_REPLIES`] and [`MAX_BYTES`] of each provider, the oldest go first; a larger reply is not kept. Lost with
//! the process; what is sent then is a matter of each wire.

use std::collections::{HashSet, VecDeque};
use std::fmt::{self, Write as _};
use std::hash::{BuildHasher as _, DefaultHasher, Hasher as _, RandomState};
use std::sync::Arc;

use bobbin_engine::Message;
use parking_lot::Mutex;
use serde_json::{Map, Value};

/// Most replies of one provider (a Turn has 50 at most).
const MAX_REPLIES: usize = 1024;
/// Most bytes of them.
const MAX_BYTES: usize = 16 << 20;
/// Most models of one provider that are known to send their reasoning in a form they want back.
const MAX_THINKERS: usize = 1000;

/// A reply's part that its wire alone understands.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Kept {
    /// Members of the message.
    pub(crate) members: Map<String, Value>,
    /// Members of each call, in order.
    pub(crate) calls: Vec<Map<String, Value>>,
    /// The blocks of the message, in order; those of calls say no more than that there is one.
    pub(crate) blocks: Vec<Value>,
}

/// What is known of the replies in one conversation.
#[derive(Debug, Default)]
pub(crate) struct Recalled {
    /// For each message.
    pub(crate) kept: Vec<Option<Arc<Kept>>>,
    /// Whether the model has sent its reasoning as `reasoning_content`.
    pub(crate) thinks: bool,
    /// Where the reply to come is found again.
    pub(crate) next: u64,
}

/// One provider's memory.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    hasher: RandomState,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    replies: VecDeque<Reply>,
    bytes: usize,
    thinkers: HashSet<String>,
}

#[derive(Debug)]
struct Reply {
    place: u64,
    bytes: usize,
    kept: Arc<Kept>,
}

impl Kept {
    /// Whether it belongs to a message with this many calls.
    pub(crate) fn fits(&self, calls: usize) -> bool {
        self.calls.len() == calls
    }

    fn bytes(&self) -> usize {
        let members = self.calls.iter().chain([&self.members]);
        let members = members.flatten().map(|(name, value)| name.len() + weight(value));
        members.chain(self.blocks.iter().map(weight)).sum()
    }
}

/// Returns about as many bytes as a value takes.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + weight(value))
            .sum(),
        _ => 0,
    }
    .saturating_add(size_of::<Value>())
}

impl Memory {
    /// Looks up the replies of a conversation with a model.
    pub(crate) fn recall(&self, model: &str, messages: &[Message]) -> Recalled {
        let mut trail = Trail(self.hasher.build_hasher());
        trail.0.write(model.as_bytes());
        let inner = self.inner.lock();
        let mut recalled = Recalled {
            thinks: inner.thinkers.contains(model),
            ..Recalled::default()
        };
        for message in messages {
            let found = match message {
                Message::Agent { calls, .. } if !calls.is_empty() => {
                    let place = trail.0.finish();
                    let mut newest = inner.replies.iter().rev();
                    newest
                        .find(|reply| reply.place == place && reply.kept.fits(calls.len()))
                        .map(|reply| reply.kept.clone())
                }
                _ => None,
            };
            recalled.kept.push(found);
            // A trail takes everything.
            let _ = write!(trail, "{message:?}");
        }
        recalled.next = trail.0.finish();
        recalled
    }

    /// Keeps a reply.
    pub(crate) fn keep(&self, model: &str, place: u64, kept: Kept) {
        let bytes = kept.bytes();
        let mut inner = self.inner.lock();
        if kept.members.contains_key("reasoning_content") && inner.thinkers.len() < MAX_THINKERS {
            inner.thinkers.insert(model.to_owned());
        }
        if bytes > MAX_BYTES / 4 {
            return;
        }
        inner.bytes += bytes;
        inner.replies.push_back(Reply {
            place,
            bytes,
            kept: Arc::new(kept),
        });
        while inner.replies.len() > MAX_REPLIES || inner.bytes > MAX_BYTES {
            let Some(oldest) = inner.replies.pop_front() else {
                return;
            };
            inner.bytes -= oldest.bytes;
        }
    }
}

/// A conversation up to some message, as a number.
struct Trail(DefaultHasher);

impl fmt::Write for Trail {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bobbin_engine::Call;
    use bobbin_model::InputPart;
    use serde_json::json;

    use super::*;

    fn user(text: &str) -> Message {
        Message::User {
            parts: vec![InputPart::Text { text: text.into() }],
        }
    }

    fn agent(calls: usize) -> Message {
        let call = |n: usize| Call {
            id: n.to_string(),
            tool: "t".into(),
            arguments: None,
        };
        Message::Agent {
            text: "a".into(),
            calls: (0..calls).map(call).collect(),
        }
    }

    fn kept(text: &str, calls: usize) -> Kept {
        let members = json!({ "x": text });
        Kept {
            members: members.as_object().cloned().unwrap(),
            calls: vec![Map::new(); calls],
            ..Kept::default()
        }
    }

    #[test]
    fn a_reply_is_found_by_the_conversation_in_front_of_it() {
        let memory = Memory::default();
        let first = [user("u")];
        let next = memory.recall("m", &first).next;
        memory.keep("m", next, kept("one", 1));
        let later = [user("u"), agent(1), user("v"), agent(1)];
        let recalled = memory.recall("m", &later);
        assert_eq!(recalled.kept[1].as_deref(), Some(&kept("one", 1)));
        assert_eq!(recalled.kept[3], None);
        assert!(!recalled.thinks);
        // Another model, another conversation, another reply to it.
        for (model, messages) in [
            ("n", [user("u"), agent(1)]),
            ("m", [user("w"), agent(1)]),
            ("m", [user("u"), agent(2)]),
        ] {
            assert_eq!(memory.recall(model, &messages).kept[1], None);
        }
        // The same words, answered again.
        memory.keep("m", next, kept("two", 1));
        assert_eq!(
            memory.recall("m", &later).kept[1].as_deref(),
            Some(&kept("two", 1))
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let memory = Memory::default();
        memory.keep("m", 0, kept(&"x".repeat(MAX_BYTES / 4), 1));
        assert_eq!(memory.inner.lock().replies.len(), 0, "too large");
        for place in 0..20 {
            memory.keep("m", place, kept(&"x".repeat(MAX_BYTES / 5), 1));
        }
        let bytes = |inner: &Inner| inner.replies.iter().map(|reply| reply.bytes).sum::<usize>();
        {
            let inner = memory.inner.lock();
            assert_eq!((inner.replies.len(), inner.bytes), (4, bytes(&inner)));
            assert_eq!(inner.replies[0].place, 16, "the oldest go first");
        }
        for place in 0..2000 {
            memory.keep("m", place, kept("", 0));
        }
        let inner = memory.inner.lock();
        assert_eq!((inner.replies.len(), inner.bytes), (MAX_REPLIES, bytes(&inner)));
    }
}
