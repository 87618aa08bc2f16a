//! Events that a host announces.

use std::sync::Arc;

use bobbin_model::ThreadId;

use crate::documents::DocumentStatus;
use crate::extension::ExtensionStatus;
use crate::logs::LogRecord;
use crate::spec::ExtensionId;

/// Receives each event, in order for each extension and each document. Must not block.
pub type Announce = Arc<dyn Fn(News) + Send + Sync>;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The status of an extension has changed.
    Extension(ExtensionStatus),
    /// The list of extensions or of buttons has changed.
    Toolbar,
    /// A document was opened, changed or saved.
    Document(DocumentStatus, Origin),
    /// The document of a Thread was closed.
    DocumentClosed(ThreadId),
    /// An extension has a new entry in its log.
    Log(ExtensionId, LogRecord),
}

/// The author of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A user, through a client.
    Client,
    /// An extension.
    Extension(ExtensionId),
    /// The agent of the Thread.
    Agent,
}
