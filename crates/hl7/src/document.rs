//! A document: the text that is being edited, its version, what can be undone, and how its file is encoded.
//!
//! The text may be anything while a user types; only what needs a message asks for one. A document does no IO and
//! has no clock: its owner reads and writes the file, and notifies the subscribers.

use crate::encoding::{EncodeError, Encoding, decode};
use crate::error::Error;
use crate::format::{self, Format};
use crate::history::History;
use crate::message::Message;
use crate::patch::{Patch, PatchReport};
use crate::rebuild::{RebuildError, rebuild};
use crate::separators::NotAMessage;
use crate::structure::{self, Shape};

/// The bounds of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a text, in UTF-8.
    pub max_text_bytes: usize,
    /// The most patches, or edits of the text, of one call.
    pub max_changes: usize,
    /// The most bytes of undo and redo; the newest step is always there.
    pub max_undo_bytes: usize,
}

impl Default for Limits {
    /// Returns 8 MiB of text, so that a message with scanned pages fits, 10,000 changes a call and 32 MiB of undo.
    fn default() -> Self {
        Self {
            max_text_bytes: 8 << 20,
            max_changes: 10_000,
            max_undo_bytes: 32 << 20,
        }
    }
}

/// How many times longer than the longest message a structured text may be. Indented JSON of a message with short
/// fields is four to five times as long as the message.
const STRUCTURED_TIMES: usize = 4;

/// A replacement of a part of the text.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "HermesEdit")
)]
pub struct TextEdit {
    /// Start of the part, in bytes of UTF-8.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub start: usize,
    /// End of the part, in bytes of UTF-8.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub end: usize,
    /// The text that replaces it.
    pub text: String,
}

/// A document without its undo, to be made again later.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct Snapshot {
    text: String,
    /// As the WHATWG names it.
    encoding: String,
    mark: bool,
    version: u64,
    dirty: bool,
}

/// A document that is being edited.
///
/// ```
/// use bobbin_hl7::{Document, Format, Patch, Shape};
///
/// let mut document = Document::open(b"MSH|^~\\&|LAB\r\nPID|1||4711\r\n", Default::default())?;
/// let report = document.patch(&[Patch::set("PID.5.2", "Zo\u{eb}")])?;
/// assert!(report.success);
/// assert_eq!(document.text(), "MSH|^~\\&|LAB\r\nPID|1||4711||^Zo\u{eb}\r\n");
///
/// let json = document.get(Format::Json, Shape::Segments)?;
/// assert!(!document.set(&json, Format::Json)?, "nothing has changed");
/// assert!(document.undo());
/// assert!(!document.is_dirty());
/// # Ok::<(), bobbin_hl7::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Document {
    text: String,
    encoding: Encoding,
    limits: Limits,
    history: History,
    version: u64,
    /// Numbers of states of the text: the present one, the one in the file, the newest. Undo goes back to a state.
    state: u64,
    saved: u64,
    newest: u64,
}

impl Document {
    /// Returns an empty document.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Returns a document with the contents of a file, in any encoding.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn open(bytes: &[u8], limits: Limits) -> Result<Self, Error> {
        let limit = limits.max_text_bytes;
        if bytes.len() > limit {
            return Err(Error::TooLarge { limit });
        }
        let (text, encoding) = decode(bytes);
        if text.len() > limit {
            return Err(Error::TooLarge { limit });
        }
        Ok(Self {
            text,
            encoding,
            ..Self::new(limits)
        })
    }

    /// Returns what it takes to make the document again, without its undo.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            text: self.text.clone(),
            encoding: self.encoding.name().to_owned(),
            mark: self.encoding.has_mark(),
            version: self.version,
            dirty: self.is_dirty(),
        }
    }

    /// Returns the document of a snapshot: the same text, encoding and version, and nothing to undo.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn restore(snapshot: Snapshot, limits: Limits) -> Result<Self, Error> {
        let limit = limits.max_text_bytes;
        if snapshot.text.len() > limit {
            return Err(Error::TooLarge { limit });
        }
        let state = u64::from(snapshot.dirty);
        Ok(Self {
            text: snapshot.text,
            encoding: Encoding::named(&snapshot.encoding, snapshot.mark),
            version: snapshot.version,
            state,
            newest: state,
            ..Self::new(limits)
        })
    }

    /// Returns the text as it is.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of accepted changes; undo and redo are changes too.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Returns whether the text differs from what was opened or saved last.
    pub const fn is_dirty(&self) -> bool {
        self.state != self.saved
    }

    /// Returns how many steps can be undone and how many redone.
    pub fn undo_depth(&self) -> (usize, usize) {
        self.history.depth()
    }

    /// Returns the bytes that undo and redo take.
    pub const fn undo_bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Returns the encoding that the document is saved in.
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Sets the encoding that the document is saved in.
    pub fn set_encoding(&mut self, encoding: Encoding) {
        if self.encoding != encoding {
            self.encoding = encoding;
            // The file has other bytes than the document would have now.
            self.saved = u64::MAX;
        }
    }

    /// Returns the bytes for the file. Call [`Document::mark_saved`] once they are there.
    ///
    /// # Errors
    /// [`EncodeError`] if a character is not in the encoding.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        self.encoding.encode(&self.text)
    }

    /// Records that the file has the text as it is now.
    pub const fn mark_saved(&mut self) {
        self.saved = self.state;
    }

    /// Returns the message.
    ///
    /// # Errors
    /// [`NotAMessage`] if the text is none.
    pub fn message(&self) -> Result<Message, NotAMessage> {
        Message::parse(&self.text)
    }

    /// Returns the text in a format. An empty document is empty in each of them; HL7 has CR between segments.
    ///
    /// # Errors
    /// [`Error::NotConvertible`] if a structured format is wanted and the text is no message.
    pub fn get(&self, format: Format, shape: Shape) -> Result<String, Error> {
        if format == Format::Hl7 {
            return Ok(with_cr(&self.text));
        }
        if self.text.is_empty() {
            return Ok(String::new());
        }
        let message = self.message().map_err(Error::NotConvertible)?;
        Ok(format::write(&structure::view(&message, shape), format))
    }

    /// Returns the text in a format, or as HL7 if it cannot be converted, and the format that it is in.
    pub fn get_or_raw(&self, format: Format, shape: Shape) -> (Format, String) {
        match self.get(format, shape) {
            Ok(text) => (format, text),
            Err(_) => (Format::Hl7, with_cr(&self.text)),
        }
    }

    /// Replaces the message. Returns whether that changed anything.
    ///
    /// A text of HL7 gets CR as line ends and loses a wrapping of MLLP. Structured text of either shape is laid over
    /// the message that is there: the bytes of a place with the same value do not change.
    ///
    /// # Errors
    /// [`Error::Unreadable`], [`Error::NotAMessage`] and [`Error::TooLarge`].
    pub fn set(&mut self, text: &str, format: Format) -> Result<bool, Error> {
        let limit = self.limits.max_text_bytes;
        let unreadable = |reason| Error::Unreadable { format, reason };
        let new = if format == Format::Hl7 {
            let text = with_cr(unwrapped(text));
            Message::parse(&text).map_err(Error::NotAMessage)?;
            text
        } else {
            if text.len() / STRUCTURED_TIMES > limit {
                return Err(Error::TooLarge { limit });
            }
            let data = format::parse(text, format).map_err(unreadable)?;
            let message =
                rebuild(data, self.message().ok().as_ref(), limit).map_err(|error| match error {
                    RebuildError::NotAMessage(error) => Error::NotAMessage(error),
                    RebuildError::TooLarge => Error::TooLarge { limit },
                    error => unreadable(error.to_string()),
                })?;
            message.to_string()
        };
        self.commit(new)
    }

    /// Applies patches as one step of undo. Patches that fail are in the report, and the others are applied.
    ///
    /// # Errors
    /// [`Error::NoMessage`] if the text is no message, [`Error::TooMany`].
    pub fn patch(&mut self, patches: &[Patch]) -> Result<PatchReport, Error> {
        let Limits {
            max_changes: limit,
            max_text_bytes,
            ..
        } = self.limits;
        if patches.len() > limit {
            return Err(Error::TooMany { limit });
        }
        let mut message = self.message().map_err(Error::NoMessage)?;
        let report = message.patch(patches, max_text_bytes);
        self.commit(message.to_string())?;
        Ok(report)
    }

    /// Applies edits of the text that a client made on a version, one after the other, all or none.
    /// Returns whether they changed anything.
    ///
    /// # Errors
    /// [`Error::Conflict`], [`Error::Range`], [`Error::TooMany`] and [`Error::TooLarge`].
    pub fn edit(&mut self, version: u64, edits: &[TextEdit]) -> Result<bool, Error> {
        self.expect_version(version)?;
        let Limits {
            max_text_bytes: limit,
            max_changes,
            ..
        } = self.limits;
        if edits.len() > max_changes {
            return Err(Error::TooMany { limit: max_changes });
        }
        let mut new = self.text.clone();
        for &TextEdit { start, end, ref text } in edits {
            if new.get(start..end).is_none() {
                return Err(Error::Range { start, end });
            }
            if new.len() - (end - start) + text.len() > limit {
                return Err(Error::TooLarge { limit });
            }
            new.replace_range(start..end, text);
        }
        self.commit(new)
    }

    /// Checks that a change was made on the version that the document has.
    ///
    /// # Errors
    /// [`Error::Conflict`] if it was not.
    pub const fn expect_version(&self, version: u64) -> Result<(), Error> {
        if version == self.version {
            Ok(())
        } else {
            Err(Error::Conflict {
                given: version,
                current: self.version,
            })
        }
    }

    /// Takes the last change back. Returns whether there was one.
    pub fn undo(&mut self) -> bool {
        let state = self.history.undo(&mut self.text);
        self.moved(state)
    }

    /// Makes the change again that was taken back last. Returns whether there was one.
    pub fn redo(&mut self) -> bool {
        let state = self.history.redo(&mut self.text);
        self.moved(state)
    }

    fn moved(&mut self, state: Option<u64>) -> bool {
        let Some(state) = state else { return false };
        self.state = state;
        self.version += 1;
        true
    }

    fn commit(&mut self, new: String) -> Result<bool, Error> {
        let limit = self.limits.max_text_bytes;
        if new.len() > limit && new.len() > self.text.len() {
            return Err(Error::TooLarge { limit });
        }
        if new == self.text {
            return Ok(false);
        }
        self.newest += 1;
        let states = (self.state, self.newest);
        self.history
            .record(&self.text, &new, states, self.limits.max_undo_bytes);
        self.text = new;
        Ok(self.moved(Some(self.newest)))
    }
}

fn with_cr(text: &str) -> String {
    text.replace("\r\n", "\r").replace('\n', "\r")
}

/// Takes off the bytes that MLLP puts around a message: VT before it, FS and CR behind it.
fn unwrapped(text: &str) -> &str {
    let Some(text) = text.strip_prefix('\u{b}') else {
        return text;
    };
    let end = text.trim_end_matches(['\r', '\n']);
    end.strip_suffix('\u{1c}').unwrap_or(text)
}
