//! A workspace: the folder that is served, and its state, which lies elsewhere.
//!
//! [`StateDirectory`] is the user's; it has one folder per workspace, and no command can reach it. One process has the
//! lock of a [`Workspace`] at a time ([`LockedWorkspace`]); the folder itself gets one small file for clients ([`AppserverLock`]).
//! [`NamedWorkspace`] is one that the node serves. [`TrustFile`] records what the user has said about the folder. Files are private, written through open directories
//! or replaced as a whole, and nothing follows a link that a folder brought along.
//!
//! Reads neither the environment nor configuration, and does not decide what trust is needed for.

mod appserver_lock;
mod error;
mod names;
mod nearest;
mod node;
mod page_ports;
mod state;
mod temporary;
mod trust;
mod workspace;

pub use appserver_lock::AppserverLock;
pub use error::WorkspaceError;
pub use names::NamedWorkspace;
pub use node::{NodeLock, NodeRecord};
pub use page_ports::PagePorts;
pub use state::{StateDirectory, directory_id, open_private, private_directory, write_small};
pub use trust::{TrustFile, TrustRecord, records};
pub use workspace::{LockedWorkspace, State, Workspace};
