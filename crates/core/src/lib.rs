//! One owner for each live Thread: commands in, events out, Approvals settled once.
//!
//! [`Threads`] finds or loads a Thread's owner and returns [`ThreadHandle`]s. Only the owner task has the Thread's state. It
//! assigns Seqs, commits through the store and shows events after their commit. [`engine`] is the contract of running Turns.
//! This crate does not know JSON-RPC, sockets or SQL.

mod answer;
mod asking;
mod broadcasts;
mod command;
mod deletions;
pub mod engine;
mod error;
mod fork;
mod handle;
mod ids;
mod owner;
mod question;
mod replay;
mod settings;
mod threads;

pub use answer::{
    Edged, Enqueued, QueueChanged, Resumed, Reverted, RolledBack, Snapshot, StartedTurn, Steered,
};
pub use bobbin_eventlog::{
    Broadcast, ENCODINGS, Encoded, Ephemeral, Frame, FrameBody, Limits, Log, Part, Read, SubagentQuestion,
    View, Waker, WireMessage, join,
};
pub use bobbin_store::{
    Closed, FoundThread, ListFilter, SearchFilter, SearchHit, SearchPage, SearchWords, StoreError,
    ThreadOrder, ThreadSearch, ThreadSummary, UsageQuery, UsageRow, UsedRow,
};
pub use broadcasts::Broadcasts;
pub use command::{Command, Guidance, Newest, Reply, Retitle};
pub use deletions::{Deletion, Deletions};
pub use error::CoreError;
pub use fork::{FORKED_FROM, ForkPoint, fork_title};
pub use handle::{Ended, ThreadHandle};
pub use ids::{Ids, RandomIds};
pub use owner::weight_of_item;
pub use replay::Backlog;
pub use settings::{Confines, MAX_CHILDREN, Settings, SharedPolicy, SubAgentLimits};
pub use threads::{Beforehand, CoreStats, LeftOpen, Threads};
