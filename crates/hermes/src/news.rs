//! What a host announces.

use std::sync::Arc;

use bobbin_model::ThreadId;

use crate::documents::DocumentStatus;
use crate::extension::ExtensionStatus;
use crate::logs::LogRecord;
use crate::spec::ExtensionId;

/// Receives each piece of news, in order for each extension and for each document. Must not wait.
pub type Announce = Arc<dyn Fn(News) + Send + Sync>;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// An extension is in another state.
    Extension(ExtensionStatus),
    /// There are other extensions, or other buttons.
    Toolbar,
    /// A document was opened, changed or saved.
    Document(DocumentStatus, Origin),
    /// The document of a Thread was closed.
    DocumentClosed(ThreadId),
    /// An extension has a new entry in its log.
    Log(ExtensionId, LogRecord),
}

/// Who changed a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A user, through a client.
    Client,
    /// An extension.
    Extension(ExtensionId),
    /// The agent of the Thread.
    Agent,
}
