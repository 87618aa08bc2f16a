//! Messages to bytes. Pure; what cannot be serialized fails here, before anything is queued.

use std::cell::Cell;
use std::fmt::Write as _;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{ErrorObject, SendError};
use crate::id::{WireId, push_int};

const HEAD: &[u8] = br#"{"jsonrpc":"2.0""#;

/// Whether text beyond ASCII is written as itself or as escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    Utf8,
    Ascii,
}

impl Charset {
    /// Turns a finished message into the bytes to send.
    pub(crate) fn finish(self, message: Vec<u8>) -> Bytes {
        match self {
            Self::Utf8 => settled(message),
            Self::Ascii => self.convert(message.into()),
        }
    }

    /// Turns a message someone else encoded into the bytes to send.
    pub(crate) fn convert(self, message: Bytes) -> Bytes {
        if self == Self::Utf8 || message.is_ascii() {
            return message;
        }
        // In JSON, characters beyond ASCII stand in strings only, where an escape means the same.
        let Ok(text) = std::str::from_utf8(&message) else {
            return message;
        };
        let mut out = String::with_capacity(text.len() * 2);
        for character in text.chars() {
            if character.is_ascii() {
                out.push(character);
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
        out.into()
    }
}

thread_local! {
    /// Room to write a message in whose length is not known yet, between two such messages.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Longest message that is copied out of its room rather than sent in it.
const COPIED: usize = 1 << 10;

/// A message in as many bytes as it takes.
fn settled(message: Vec<u8>) -> Bytes {
    if message.len() == message.capacity() || message.len() > COPIED {
        return message.into();
    }
    let bytes = Bytes::copy_from_slice(&message);
    spent(message);
    bytes
}

/// Takes back the room of what has been copied out of it.
pub(crate) fn spent(mut room: Vec<u8>) {
    if room.capacity() <= 2 * COPIED {
        room.clear();
        ROOM.set(room);
    }
}

fn answer_head(id: &WireId, body: usize) -> Vec<u8> {
    let mut out = ROOM.take();
    out.reserve(body + 64);
    out.extend_from_slice(HEAD);
    out.extend_from_slice(br#","id":"#);
    id.write(&mut out);
    out
}

/// An answer whose result is JSON text already.
pub(crate) fn answer_raw(id: &WireId, result: &[u8]) -> Vec<u8> {
    let mut out = answer_head(id, result.len());
    out.extend_from_slice(br#","result":"#);
    out.extend_from_slice(result);
    out.push(b'}');
    out
}

/// An answer with any result.
pub(crate) fn answer(id: &WireId, result: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = answer_head(id, 128);
    out.extend_from_slice(br#","result":"#);
    serde_json::to_writer(&mut out, result)?;
    out.push(b'}');
    Ok(out)
}

/// An error answer.
pub(crate) fn error(id: &WireId, error: &ErrorObject) -> Vec<u8> {
    let mut out = answer_head(id, 128);
    out.extend_from_slice(br#","error":"#);
    // Numbers, a string and raw JSON: none of them can fail, nor does a vector.
    let _infallible = serde_json::to_writer(&mut out, error);
    out.push(b'}');
    out
}

/// Answers gathered into one array.
pub(crate) fn array(messages: &[Vec<u8>]) -> Vec<u8> {
    let size = messages.iter().map(|message| message.len() + 1).sum::<usize>();
    let mut out = Vec::with_capacity(size + 1);
    for message in messages {
        out.push(if out.is_empty() { b'[' } else { b',' });
        out.extend_from_slice(message);
    }
    out.push(b']');
    out
}

/// Serializes params; `None` when they are absent, which is how `null` is written.
pub(crate) fn params(params: &impl Serialize) -> Result<Option<Vec<u8>>, SendError> {
    let mut text = ROOM.take();
    text.reserve(128);
    serde_json::to_writer(&mut text, params)?;
    match text.first() {
        Some(b'{' | b'[') => Ok(Some(text)),
        Some(b'n') => {
            spent(text);
            Ok(None)
        }
        _ => Err(SendError::NotStructured),
    }
}

/// A request (with id) or notification (without).
pub(crate) fn message(id: Option<u64>, method: &str, params: Option<&[u8]>) -> Vec<u8> {
    const ID: &[u8] = br#","id":"#;
    const METHOD: &[u8] = br#","method":"#;
    const PARAMS: &[u8] = br#","params":"#;
    // To the byte, for a method without escapes: bytes that fill their room are passed on as they are.
    let room = HEAD.len()
        + id.map_or(0, |id| {
            ID.len() + id.checked_ilog10().map_or(1, |log| log as usize + 1)
        })
        + METHOD.len()
        + method.len()
        + 2
        + params.map_or(0, |params| PARAMS.len() + params.len())
        + 1;
    let mut out = Vec::with_capacity(room);
    out.extend_from_slice(HEAD);
    if let Some(id) = id {
        out.extend_from_slice(ID);
        push_int(&mut out, i64::try_from(id).unwrap_or(i64::MAX));
    }
    out.extend_from_slice(METHOD);
    // A string into a vector: neither fails.
    let _infallible = serde_json::to_writer(&mut out, method);
    if let Some(params) = params {
        out.extend_from_slice(PARAMS);
        out.extend_from_slice(params);
    }
    out.push(b'}');
    out
}

/// JSON text from wherever it was made.
pub trait RawJson {
    /// Returns the text; trusted to be one JSON value.
    fn json(&self) -> &[u8];
}

impl RawJson for Bytes {
    fn json(&self) -> &[u8] {
        self
    }
}

impl RawJson for RawValue {
    fn json(&self) -> &[u8] {
        self.get().as_bytes()
    }
}

impl RawJson for str {
    fn json(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl RawJson for Vec<u8> {
    fn json(&self) -> &[u8] {
        self
    }
}

impl RawJson for String {
    fn json(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<T: RawJson + ?Sized> RawJson for &T {
    fn json(&self) -> &[u8] {
        (**self).json()
    }
}

impl<T: RawJson + ?Sized> RawJson for Box<T> {
    fn json(&self) -> &[u8] {
        (**self).json()
    }
}
