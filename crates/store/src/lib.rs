//! Durable storage of Threads as the rest of the server sees it: the trait [`Store`], its values and its errors.
//!
//! Nothing here knows how an implementation stores data. A write is acknowledged after its commit. Reads see
//! committed state and never a whole Thread at once, except for its open Turn.

mod audit;
mod copy;
mod error;
mod filter;
mod lease;
mod schedule;
mod search;
pub mod step;
mod store;
mod usage;
mod write;

pub use audit::{AuditCheck, AuditEntry, AuditHead, AuditRow, Broken, Cause, Deed, decoded};
pub use copy::{Copied, copy};
pub use error::StoreError;
pub use filter::ListFilter;
pub use lease::{Holding, Lease};
pub use schedule::{ScheduleChange, ScheduleEntry, ScheduleStore};
pub use search::{FoundThread, SearchFilter, SearchHit, SearchPage, SearchWords, ThreadOrder, ThreadSearch};
pub use store::{Closed, LoadedThread, Receipt, Store, StoreStats, ThreadSummary};
pub use usage::{UsageQuery, UsageRow, UsedRow};
pub use write::{KnownRequest, NamedRequest, StoredEvent, Summary, TextPart, Write, json};
