//! Runs Hermes extensions unchanged: programs that edit HL7 v2 messages and speak JSON-RPC on their standard streams.
//!
//! For an extension, this crate is the editor Hermes. [`Host`] runs the extensions of a workspace as services of `supervise`
//! and owns the document of each Thread. It asks the connected clients ([`Screen`]) to show windows and dialogs. Only
//! [`group`] knows the clients' protocol.
//!
//! A running extension is trusted: it may read and change the document without asking. Its messages are not trusted: every
//! size is bounded, icons are cleaned, and URLs of windows are `http` or `https`. No log of the server and no error contains
//! text of a message.

mod agent;
mod dialogs;
mod documents;
mod editing;
mod error;
mod events;
mod extension;
mod file;
pub mod group;
mod host;
mod icon;
mod logs;
mod manifest;
mod news;
mod requests;
mod screens;
pub mod settings;
mod shared;
mod spec;
pub mod ui;
mod unsaved;

pub use agent::{AgentTools, AgentValues};
pub use documents::{DocumentStatus, Source};
pub use editing::{Change, SaveTo};
pub use error::{CommandError, DocumentError, ScreenError, UnknownExtension};
pub use extension::{ExtensionState, ExtensionStatus};
pub use host::{Host, MAX_EXTENSIONS, ToolbarButton};
pub use logs::{Level, LogRecord};
pub use manifest::Button;
pub use news::{Announce, News, Origin};
pub use screens::{ClientId, Screen, Shows};
pub use spec::{Entry, ExtensionId, ExtensionSpec, StartCheck, Surroundings};
