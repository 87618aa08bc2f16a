//! Errors. None contains text of a message.

use std::io;
use std::path::{Path, PathBuf};

use bobbin_hl7::EncodeError;

/// Reason why an operation on a document failed.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The Thread has no document.
    #[error("no document is open in this thread; open one first")]
    NotOpen,
    /// The document has changes that would be lost.
    #[error("the document has changes that are not saved; save it, or discard them")]
    Unsaved,
    /// The workspace has as many open documents as allowed.
    #[error("{0} documents are open; close one")]
    TooMany(usize),
    /// The engine's error.
    #[error(transparent)]
    Text(bobbin_hl7::Error),
    /// The encoding of the file lacks a character.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The document has no file, and none was named.
    #[error("the document has no file; name one to save it")]
    NoFile,
    /// The path has a file that is not the document's own, and it may not be replaced.
    #[error("{} is there already; replace it, or save the document under another name", .0.display())]
    Exists(PathBuf),
    /// Another program has written the file.
    #[error("{} has changed on disk; replace it, save the document under another name, or open it again", .0.display())]
    ChangedOnDisk(PathBuf),
    /// The file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The change was made but not stored, so the end of the server would lose it.
    #[error(
        "the document is changed, and the change could not be stored in the state directory: {0}; save the document"
    )]
    NotStored(io::Error),
    /// A bug.
    #[error("the document could not be used; please report this")]
    Failed,
}

impl DocumentError {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::File { path, source }
    }
}

/// Reason why no extension got a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No running extension has it.
    #[error("no running extension has the command {0:?}")]
    NotFound(String),
    /// The extension ended meanwhile.
    #[error("the extension ended before it took the command")]
    Ended,
}

/// No extension has this id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no extension has the id {0:?}")]
pub struct UnknownExtension(pub String);

/// Reason why no client has shown a window or a dialog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScreenError {
    /// The client has left.
    #[error("no client is connected that can show this")]
    Gone,
    /// The client answered with an error.
    #[error("the client could not show this: {0}")]
    Refused(String),
}
