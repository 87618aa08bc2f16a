//! The errors of a document, and the code that an extension reads.

use crate::format::Format;
use crate::separators::NotAMessage;

/// Why a document did not do what was asked. Nothing of the document has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such format.
    #[error("format {0:?} is not known; use hl7, json, yaml or toml")]
    UnknownFormat(String),
    /// A patch for a document without a message.
    #[error("there is no message to patch: {0}")]
    NoMessage(NotAMessage),
    /// A structured format of a text that is no message.
    #[error("cannot convert the text: {0}")]
    NotConvertible(NotAMessage),
    /// A text that is not of its format, or says what no message can say.
    #[error("cannot read the text as {format}: {reason}")]
    Unreadable {
        /// The format that was named.
        format: Format,
        /// The error and its place.
        reason: String,
    },
    /// A text that is readable, but no message.
    #[error(transparent)]
    NotAMessage(NotAMessage),
    /// A text longer than documents may be.
    #[error("the text has more than {limit} bytes")]
    TooLarge {
        /// The most bytes of a document.
        limit: usize,
    },
    /// A call with more patches or edits than one call may have.
    #[error("the call has more than {limit} changes; send them in several calls")]
    TooMany {
        /// The most changes of a call.
        limit: usize,
    },
    /// A change that was made on another version of the document.
    #[error("the document is at version {current}, the change was made on version {given}; read it again")]
    Conflict {
        /// The version that the change was made on.
        given: u64,
        /// The version of the document.
        current: u64,
    },
    /// A range that is not in the text, or cuts a character.
    #[error("the edit at bytes {start} to {end} is not a range of the text")]
    Range {
        /// The start of the range.
        start: usize,
        /// The end of the range.
        end: usize,
    },
}

impl Error {
    /// Returns the JSON-RPC code that an extension gets.
    ///
    /// `None` for what is not an error there: [`Error::NotAMessage`] is the answer `{success: false, error}`, and
    /// extensions send no versions.
    pub const fn code(&self) -> Option<i32> {
        match self {
            Self::UnknownFormat(_) | Self::TooMany { .. } | Self::Range { .. } => Some(-32602),
            Self::NotConvertible(_) => Some(-32603),
            Self::NoMessage(_) => Some(-32003),
            Self::Unreadable { .. } | Self::TooLarge { .. } => Some(-32004),
            Self::NotAMessage(_) | Self::Conflict { .. } => None,
        }
    }
}
