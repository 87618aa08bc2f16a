//! One owner per live Thread: commands in, events out, Approvals settled once.
//!
//! The [`Hub`] finds or loads a Thread's owner and hands out [`ThreadHandle`]s; the owner task alone holds
//! the Thread's state, gives Seqs, commits through the store and only then shows. [`engine`] and [`tool`]
//! are the seams through which Turns are run. This crate has never heard of JSON-RPC, sockets or SQL.

mod answer;
mod asking;
pub mod client;
mod clock;
mod command;
pub mod dynamic_tool;
pub mod engine;
mod error;
mod fork;
mod handle;
mod hub;
mod once;
mod owner;
pub mod policy;
mod question;
mod replay;
mod settings;
pub mod sub_agent;
pub mod suggest;
pub mod terminal;
pub mod tool;
pub mod tool_name;
pub mod tool_server;
pub mod trust;
pub mod undo;
mod upkeep;

pub use answer::{Edged, Enqueued, Resumed, Reverted, RolledBack, Snapshot, StartedTurn, Steered, Unqueued};
pub use bobbin_eventlog::{
    BelowQuestion, ENCODINGS, Encoded, Frame, FrameBody, Limits, Log, Notice, Part, Read, View, Waker,
    WireMessage, join,
};
pub use bobbin_store::{
    Closed, ListFilter, SearchFilter, SearchHit, SearchPage, SearchWords, StoreError, ThreadSummary,
};
pub use clock::{Clock, Ids, RandomIds, SystemClock};
pub use command::{Command, Newest, Reply};
pub use error::CoreError;
pub use handle::{Ended, ThreadHandle};
pub use hub::{Hub, HubStats};
pub use once::Once;
pub use replay::Backlog;
pub use settings::Settings;
