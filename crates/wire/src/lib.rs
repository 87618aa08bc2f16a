//! The native protocol's JSON shapes, method names and error codes.
//!
//! Values only: nothing here connects, stores or decides anything, and nothing here knows another crate
//! of the workspace. What a shape means and when it is sent is for `native`. The pages that fix the
//! shapes are AppServer protocol 01 to 04; what goes beyond them is marked "extension" where it stands.
//!
//! * [`method::METHODS`] is the one table of methods: the name constants, the coverage tests and
//!   `proto-schema/` are all made from it, so a new method is one row there.
//! * [`decode::params`] reads what a client sent, as leniently as AppServer protocol 01 §1.1 asks.
//! * [`encode::encode_notification`] writes what a server says unasked.
//! * [`error::RpcError`] has one constructor for every row of the error table.

pub mod approval;
pub mod capabilities;
pub mod command;
pub mod config;
pub mod content;
pub mod decode;
pub mod delta;
pub mod diff;
pub mod encode;
pub mod error;
pub mod initialize;
pub mod input;
pub mod item;
pub mod item_payload;
pub mod mcp;
pub mod method;
pub mod models;
pub mod opaque;
pub mod plan;
pub mod policy;
pub mod queue;
pub mod revert;
pub mod search;
pub mod server_requests;
pub mod skill;
pub mod stats;
pub mod subagent;
pub mod suggest;
pub mod system;
pub mod terminal;
pub mod thread;
pub mod thread_methods;
pub mod thread_notifications;
pub mod timestamp;
pub mod tool_payload;
pub mod trust;
pub mod turn;
pub mod turn_methods;
pub mod turn_notifications;
pub mod usage;
pub mod user_input;

#[cfg(test)]
mod examples;

// What the protocol shows as the model has it.
pub use bobbin_model::{
    ApprovalKind, ApprovalPolicy, CommandStatus, Decision, DeliveryMode, EdgeStatus, ExecutionStatus,
    HistoryMode, ItemStatus, ModelListErrorCode, Plan, QueueStatus, RevertAction, RevertedFile, Runtime,
    ServerState, TerminalStatus, ThreadStatus, Todo, TodoPriority, TodoStatus, TurnStatus,
};

pub use approval::*;
pub use capabilities::*;
pub use command::*;
pub use config::*;
pub use content::*;
pub use decode::DecodeError;
pub use delta::*;
pub use diff::*;
pub use encode::{EncodeError, encode_notification};
pub use error::{ErrorCode, ErrorData, RpcError};
pub use initialize::*;
pub use input::*;
pub use item::*;
pub use item_payload::*;
pub use mcp::*;
pub use method::{Availability, Direction, METHODS, Method, Shape};
pub use models::*;
pub use opaque::{Nullable, Opaque};
pub use plan::*;
pub use policy::*;
pub use queue::*;
pub use revert::*;
pub use search::*;
pub use server_requests::*;
pub use skill::*;
pub use stats::*;
pub use subagent::*;
pub use suggest::*;
pub use system::*;
pub use terminal::*;
pub use thread::*;
pub use thread_methods::*;
pub use thread_notifications::*;
pub use timestamp::Timestamp;
pub use tool_payload::*;
pub use trust::*;
pub use turn::*;
pub use turn_methods::*;
pub use turn_notifications::*;
pub use usage::*;
pub use user_input::*;
