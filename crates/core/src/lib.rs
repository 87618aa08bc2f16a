//! One owner per live Thread: commands in, events out, Approvals settled once.
//!
//! The [`Threads`] finds or loads a Thread's owner and hands out [`ThreadHandle`]s; the owner task alone holds
//! the Thread's state, gives Seqs, commits through the store and only then shows. [`engine`] is the seam through which
//! Turns are run. This crate has never heard of JSON-RPC, sockets or SQL.

mod answer;
mod asking;
mod command;
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

pub use answer::{Edged, Enqueued, Resumed, Reverted, RolledBack, Snapshot, StartedTurn, Steered, Unqueued};
pub use bobbin_eventlog::{
    Broadcast, ENCODINGS, Encoded, Ephemeral, Frame, FrameBody, Limits, Log, Part, Read, SubagentQuestion,
    View, Waker, WireMessage, join,
};
pub use bobbin_store::{
    Closed, ListFilter, SearchFilter, SearchHit, SearchPage, SearchWords, StoreError, ThreadSummary,
};
pub use command::{Command, Newest, Reply, Retitle};
pub use error::CoreError;
pub use fork::fork_title;
pub use handle::{Ended, ThreadHandle};
pub use ids::{Ids, RandomIds};
pub use replay::Backlog;
pub use settings::{Confines, MAX_CHILDREN, Settings, SharedPolicy, SubAgentLimits};
pub use threads::{Beforehand, HubStats, LeftOpen, Threads};
