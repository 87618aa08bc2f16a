//! The only room that knows SQL: one batching writer, a reader pool, migrations.
//!
//! [`Store`] is what the rest of the server sees and has nothing of SQLite in it; [`SqliteStore`] is the
//! implementation. A write is acknowledged after its commit. Reads see committed state and never a whole
//! Thread at once, except for the one open Turn.

mod copy;
mod error;
mod filter;
mod import;
mod index;
mod open;
mod presence;
mod project;
mod read;
mod row;
mod script;
mod search;
mod sqlite;
pub mod step;
mod store;
mod write;
mod writer;

pub use copy::{CopyError, copy};
pub use error::StoreError;
pub use filter::ListFilter;
pub use import::{ImportError, Imported, import};
pub use open::{Durability, Options, ServedFolder};
pub use search::{SearchFilter, SearchHit, SearchPage, SearchWords};
pub use sqlite::SqliteStore;
pub use store::{Closed, LoadedThread, Receipt, Store, StoreStats, ThreadSummary};
pub use write::{KnownRequest, NamedRequest, StoredEvent, Summary, TextPart, Write};
