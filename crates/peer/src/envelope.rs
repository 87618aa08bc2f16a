//! Parses one JSON text and determines which kind of message it is.
//!
//! The kind follows from the *presence* of members in the raw object. Params, results and ids stay raw text
//! borrowed from the frame. Pure. Rules: peer spec 4.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::id::WireId;
use crate::members::{Members, Next};
use crate::options::{NullId, VersionCheck};

/// The beginning of most messages.
const HEAD: &str = r#"{"jsonrpc":"2.0""#;
const VERSION_TWO: &str = r#""2.0""#;

/// The known members of a message; of duplicates the last one counts.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Envelope<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// One parsed text.
#[derive(Debug)]
pub(crate) enum Parsed<'a> {
    Object(Envelope<'a>),
    /// Its first elements, up to the requested number.
    Array(Vec<&'a RawValue>),
    Scalar,
}

/// The kind of a message, with its content.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    Request {
        method: Cow<'a, str>,
        id: WireId,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Response {
        id: &'a str,
        result: Option<&'a RawValue>,
        error: Option<&'a RawValue>,
    },
    /// Must be answered with `-32600`.
    Invalid { id: WireId, reason: &'static str },
    /// Must be logged and dropped.
    Ignored { reason: &'static str },
}

/// Parses one message text with at most this many elements of an array; the error is a parse error.
pub(crate) fn parse(text: &str, max_elements: usize) -> Result<Parsed<'_>, serde_json::Error> {
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => match Envelope::read(text) {
            Some(envelope) => Ok(Parsed::Object(envelope)),
            None => Err(refusal(text)),
        },
        Some(b'[') => elements(text, max_elements).map(Parsed::Array),
        _ => serde_json::from_str::<&RawValue>(text).map(|_| Parsed::Scalar),
    }
}

/// Returns the first elements of an array. The rest is checked but not stored, so memory depends on the text's size
/// and not on the number of elements.
fn elements(text: &str, most: usize) -> Result<Vec<&RawValue>, serde_json::Error> {
    struct First(usize);

    impl<'de> Visitor<'de> for First {
        type Value = Vec<&'de RawValue>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while elements.len() < self.0 {
                match array.next_element()? {
                    Some(element) => elements.push(element),
                    None => return Ok(elements),
                }
            }
            while array.next_element::<IgnoredAny>()?.is_some() {}
            Ok(elements)
        }
    }

    impl<'de> DeserializeSeed<'de> for First {
        type Value = Vec<&'de RawValue>;

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_seq(self)
        }
    }

    let mut deserializer = serde_json::Deserializer::from_str(text);
    let elements = First(most).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(elements)
}

/// Returns why a text is no readable object.
fn refusal(text: &str) -> serde_json::Error {
    match serde_json::from_str::<&RawValue>(text) {
        Err(error) => error,
        // Raw text may contain escapes that no string can.
        Ok(_) => serde_json::Error::custom("a member name is not a string"),
    }
}

/// Determines the kind of a message object (peer spec 4.1 and 4.2).
pub(crate) fn classify<'a>(envelope: &Envelope<'a>, version: VersionCheck, null_id: NullId) -> Incoming<'a> {
    let echoed = || envelope.id.and_then(WireId::parse).unwrap_or(WireId::NULL);
    if version == VersionCheck::Strict && !envelope.jsonrpc.is_some_and(is_version_two) {
        let response = envelope.method.is_none() && (envelope.result.is_some() || envelope.error.is_some());
        return match envelope.id {
            Some(_) if !response => Incoming::Invalid {
                id: echoed(),
                reason: "jsonrpc member is missing or not \"2.0\"",
            },
            Some(_) => Incoming::Ignored {
                reason: "response with bad jsonrpc member",
            },
            None => Incoming::Ignored {
                reason: "message with bad jsonrpc member and no id",
            },
        };
    }
    match (envelope.method, envelope.id) {
        (Some(method), id) => match (string(method), id) {
            (Some(method), Some(id)) => match WireId::parse(id) {
                Some(id) if id.is_null() && null_id == NullId::Notification => Incoming::Notification {
                    method,
                    params: envelope.params,
                },
                Some(id) => Incoming::Request {
                    method,
                    id,
                    params: envelope.params,
                },
                None => Incoming::Invalid {
                    id: WireId::NULL,
                    reason: "id is not a string or number",
                },
            },
            (Some(method), None) => Incoming::Notification {
                method,
                params: envelope.params,
            },
            (None, Some(_)) => Incoming::Invalid {
                id: echoed(),
                reason: "method is not a string",
            },
            (None, None) => Incoming::Ignored {
                reason: "method is not a string",
            },
        },
        (None, Some(id)) => Incoming::Response {
            id,
            result: envelope.result,
            error: envelope.error.filter(|raw| !is_null(raw)),
        },
        (None, None) => Incoming::Ignored {
            reason: "message has neither method nor id",
        },
    }
}

impl<'a> Envelope<'a> {
    /// `None` when the text is not one JSON object.
    fn read(text: &'a str) -> Option<Self> {
        let mut envelope = Self::default();
        let mut members = if text.starts_with(HEAD) {
            envelope.jsonrpc = Some(VERSION_TWO);
            Members::behind(text, HEAD)
        } else {
            Members::of(text)?
        };
        loop {
            // The usual form; the general parser after it accepts the others.
            if members.skip(r#","id":"#) {
                envelope.id = Some(members.short()?);
                continue;
            }
            if members.skip(r#","method":"#) {
                envelope.method = Some(members.short()?);
                continue;
            }
            if members.skip(r#","params":"#) {
                envelope.params = Some(members.value()?);
                continue;
            }
            if members.skip(r#","result":"#) {
                envelope.result = Some(members.value()?);
                continue;
            }
            let Next::Member(name) = members.next()? else {
                return Some(envelope);
            };
            match name.as_ref() {
                "jsonrpc" => envelope.jsonrpc = Some(members.short()?),
                "id" => envelope.id = Some(members.short()?),
                "method" => envelope.method = Some(members.short()?),
                "params" => envelope.params = Some(members.value()?),
                "result" => envelope.result = Some(members.value()?),
                "error" => envelope.error = Some(members.value()?),
                _ => {
                    members.value()?;
                }
            }
        }
    }
}

/// Returns whether the raw value is `null`.
pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

fn is_version_two(raw: &str) -> bool {
    raw == VERSION_TWO || string(raw).is_some_and(|version| version == "2.0")
}

/// The content of a raw string; `None` for anything else, unpaired surrogates included.
fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(text).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

#[cfg(test)]
mod tests {
    use super::{Parsed, parse};

    #[test]
    fn of_an_array_no_more_is_kept_than_is_asked_for_and_all_of_it_is_checked() {
        let many = format!("[{}0]", "0,".repeat(100_000));
        for most in [0, 1, 257] {
            let Ok(Parsed::Array(elements)) = parse(&many, most) else {
                panic!("no array")
            };
            assert_eq!((elements.len(), elements.capacity() < 600), (most, true));
        }
        for broken in ["[1,2,x]", "[1,2,3", "[1,2,3] 4", "[1,2,]"] {
            assert!(parse(broken, 2).is_err(), "{broken}");
        }
        assert!(matches!(parse("[1,2] ", 9), Ok(Parsed::Array(elements)) if elements.len() == 2));
    }
}
