//! Messages to bytes. Pure; serialization errors appear here, before anything is queued.

use std::cell::Cell;
use std::fmt::Write as _;
use std::ops::Deref;
use std::thread::LocalKey;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{ErrorObject, SendError};
use crate::id::{WireId, push_int};

const HEAD: &[u8] = br#"{"jsonrpc":"2.0""#;

/// Whether text beyond ASCII is written as it is or as escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    Utf8,
    Ascii,
}

impl Charset {
    /// Turns a finished message into the text to send.
    pub(crate) fn finish(self, message: Vec<u8>) -> Text {
        match self {
            Self::Utf8 if message.len() <= SHORT => Text::Short(message),
            Self::Utf8 => Text::Long(message.into()),
            Self::Ascii => Text::Long(self.convert(message.into())),
        }
    }

    /// Converts an already encoded message into the bytes to send.
    pub(crate) fn convert(self, message: Bytes) -> Bytes {
        if self == Self::Utf8 || message.is_ascii() {
            return message;
        }
        // In JSON, characters beyond ASCII occur only in strings, where an escape means the same.
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

/// A message ready to be written.
#[derive(Debug)]
pub(crate) enum Text {
    /// A short message, whose buffer is reused after writing.
    Short(Vec<u8>),
    Long(Bytes),
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Short(text) => text,
            Self::Long(text) => text,
        }
    }
}

impl From<Bytes> for Text {
    fn from(text: Bytes) -> Self {
        Self::Long(text)
    }
}

thread_local! {
    /// A reusable buffer for a message.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// A reusable buffer for params, which become part of a message.
    static PARAMS: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Longest message whose buffer is reused.
const SHORT: usize = 1 << 10;

/// Returns the buffer of a message for reuse.
pub(crate) fn spent(room: Vec<u8>) {
    recycle(&ROOM, room);
}

/// Returns the buffer of params for reuse.
pub(crate) fn spent_params(room: Vec<u8>) {
    recycle(&PARAMS, room);
}

fn recycle(place: &'static LocalKey<Cell<Vec<u8>>>, mut room: Vec<u8>) {
    if room.capacity() <= 2 * SHORT {
        room.clear();
        place.set(room);
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
    // Numbers, a string and raw JSON into a vector cannot fail.
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

/// Serializes params; `None` for `null`, which is left out.
pub(crate) fn params(params: &impl Serialize) -> Result<Option<Vec<u8>>, SendError> {
    let mut text = PARAMS.take();
    text.reserve(128);
    serde_json::to_writer(&mut text, params)?;
    match text.first() {
        Some(b'{' | b'[') => Ok(Some(text)),
        Some(b'n') => {
            spent_params(text);
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
    // The exact size for a method without escapes, so long messages need no copy.
    let room = HEAD.len()
        + id.map_or(0, |id| {
            ID.len() + id.checked_ilog10().map_or(1, |log| log as usize + 1)
        })
        + METHOD.len()
        + method.len()
        + 2
        + params.map_or(0, |params| PARAMS.len() + params.len())
        + 1;
    let mut out = if room <= SHORT { ROOM.take() } else { Vec::new() };
    out.reserve_exact(room);
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

/// JSON text of any origin.
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
