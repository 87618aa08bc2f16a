//! A document engine for HL7 v2 messages that loses nothing: text in, edits by path, the same text out.
//!
//! - [`Message`] is a message as its lines. Reading and writing it changes no byte, and an edit changes only the bytes
//!   of the place that its [`Path`] addresses.
//! - [`Document`] is a text that is edited: four [`Format`]s, [`Patch`]es, undo and redo, versions, the encoding of
//!   its file.
//! - [`Schema`] says what fields are and may hold, with [`Overrides`] over it, and finds what is not so.
//!
//! The crate does no IO, has no clock and knows nothing of who asks. Everything has a bound: the text, patches of a
//! call, undo in bytes ([`Limits`]), segments ([`MAX_SEGMENTS`]), indices ([`MAX_INDEX`]), findings
//! ([`MAX_FINDINGS`]). No error shows a value of the message: names of segments, keys and single characters are all
//! that it quotes.

mod common;
mod document;
mod encoding;
mod error;
mod escape;
mod format;
mod history;
mod message;
mod patch;
mod path;
mod place;
mod rebuild;
mod schema;
mod separators;
mod structure;
mod value;

pub use document::{Document, Limits, Snapshot, TextEdit};
pub use encoding::{EncodeError, Encoding};
pub use error::Error;
pub use escape::NoEscape;
pub use format::Format;
pub use message::{Message, Segment};
pub use patch::{Patch, PatchError, PatchFailure, PatchReport};
pub use path::{MAX_INDEX, Path, PathError, SegmentName, SegmentPlace};
pub use place::NoSeparator;
pub use schema::{
    DataType, FieldSchema, Finding, Findings, MAX_FINDINGS, Overrides, Properties, Rule, Schema,
};
pub use separators::{MAX_SEGMENTS, NotAMessage, Separators};
pub use structure::Shape;
pub use value::Value;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
