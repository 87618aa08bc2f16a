//! The messages of the native protocol and its error codes: values alone, for a server and for its clients.
//!
//! The shapes lie in a module for each method group. AppServer protocol 01 to 05 defines them. Additions to it are marked
//! "extension". Features of other crates bring the shapes of their own groups.
//!
//! * [`lenient::params`] reads messages of clients, as leniently as AppServer protocol 01 §1.1 requires.
//! * [`encode::encode_notification`] encodes notifications of the server.
//! * [`error::RpcError`] has one constructor for every row of the error table.

pub mod audit;
pub mod command;
pub mod config;
pub mod encode;
pub mod error;
pub mod file;
pub mod forward;
pub mod handshake;
pub mod history;
pub mod item;
pub mod lenient;
pub mod mcp;
pub mod mcp_runtime;
pub mod models;
pub mod nullable;
pub mod policy;
pub mod provider;
pub mod serving;
pub mod skills;
pub mod stats;
pub mod subagent;
pub mod suggest;
pub mod system;
pub mod terminal;
pub mod thread;
pub mod timestamp;
pub mod tool;
pub mod trust;
pub mod turn;

pub use encode::{EncodeError, encode_notification};
pub use error::{ErrorCode, ErrorData, RpcError};
pub use lenient::DecodeError;
pub use nullable::Nullable;
pub use timestamp::Timestamp;
