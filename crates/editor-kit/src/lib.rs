//! What the dialect of every editor needs, whatever its protocol is called.
//!
//! [`Context`]s of a prompt as bounded text for the model ([`Attached`] reads them), files for menus ([`find`]), what
//! a user types with a slash ([`typed`]), the editor's own diagnostics as a tool ([`EditorTools`]), and a process on an
//! editor's stdio that passes messages on to a running server ([`bridge`]). [`EditorServices`] is what the program around a
//! dialect provides.
//!
//! Knows no method of a protocol; [`bridge`] knows `shutdown` and `exit`, which editors' protocols share.

mod attached;
pub mod bridge;
mod commands;
mod context;
mod diagnostics;
mod error;
pub mod frames;
mod host;
mod ledger;
mod process;
mod uri;

pub use attached::{Attached, Brought, MAX_READERS};
pub use bobbin_files::search::{FoundPath, MAX_FILES, find};
pub use commands::{
    Command, CommandInfo, CommandKind, Named, Typed, config, costs, doctor, matching, money, typed,
};
pub use context::{Context, LinesRange, Place, Position};
pub use diagnostics::{Diagnostic, Diagnostics, Editor, EditorTools, LIMIT};
pub use error::sentence;
pub use host::{
    Early, EditorModels, EditorOptions, EditorServices, Failure, Host, KeyStatus, Limit, NoticeKind,
    OpenRequest, Pages, UserNotice,
};
pub use process::gone;
pub use uri::{path_of, uri_of};
