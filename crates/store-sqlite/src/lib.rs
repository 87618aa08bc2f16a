//! The store on SQLite, the only crate that knows SQL: one batching writer, a pool of readers, migrations.
//!
//! [`SqliteStore`] is a [`Store`](bobbin_store::Store). A write is acknowledged after its commit. Reads see
//! committed state and never a whole Thread at once, except for its open Turn.

mod audit;
mod copy;
mod failure;
mod import;
mod index;
mod open;
mod opencode;
mod overview;
mod presence;
mod project;
mod read;
mod schedule;
mod script;
mod search;
mod sqlite;
mod usage;
mod writer;

pub use copy::{CopyError, copy};
pub use failure::OpenError;
pub use import::{ImportError, Imported, import};
pub use open::{Durability, Options, ServedFolder};
pub use opencode::{Opencode, OpencodeError, OpencodeMessage, OpencodeSession};
pub use overview::{LatestThread, Overview, OverviewReader};
pub use sqlite::SqliteStore;
