//! The native protocol's JSON shapes and error codes, with their encoding and decoding.
//!
//! The shapes lie in the folders of their groups; this module exports all of them. AppServer protocol 01 to 05 defines
//! the shapes. Additions to it are marked "extension".
//!
//! * [`decode::params`] reads messages of clients, as leniently as AppServer protocol 01 §1.1 requires.
//! * [`encode::encode_notification`] encodes notifications of the server.
//! * [`error::RpcError`] has one constructor for every row of the error table.

pub mod decode;
pub mod encode;
pub mod error;
pub mod nullable;
pub mod timestamp;

// Types of the model that the protocol shows unchanged.
pub use bobbin_model::{
    ApprovalKind, ApprovalPolicy, CommandStatus, Decision, DeliveryMode, EdgeStatus, ExecutionStatus,
    HistoryMode, ItemStatus, Json, ModelListErrorCode, Plan, QueueStatus, RevertAction, RevertedFile,
    Runtime, ServerState, TerminalStatus, ThreadStatus, Todo, TodoPriority, TodoStatus, TurnStatus,
};

pub use decode::DecodeError;
pub use encode::{EncodeError, encode_notification};
pub use error::{ErrorCode, ErrorData, RpcError};
pub use nullable::Nullable;
pub use timestamp::Timestamp;

pub use crate::groups::command::types::*;
pub use crate::groups::config::types::*;
pub use crate::groups::doctor::types::*;
pub use crate::groups::file::types::*;
pub use crate::groups::forward::types::*;
pub use crate::groups::handshake::capabilities::*;
pub use crate::groups::handshake::types::*;
pub(crate) use crate::groups::handshake::{INITIALIZE, INITIALIZED};
pub use crate::groups::history::types::*;
pub use crate::groups::item::approval::*;
pub use crate::groups::item::content::*;
pub use crate::groups::item::delta::*;
pub use crate::groups::item::payload::*;
pub use crate::groups::item::tool_payload::*;
pub use crate::groups::item::types::*;
pub use crate::groups::item::usage::*;
pub use crate::groups::item::user_input_types::*;
pub(crate) use crate::groups::item::{
    ITEM_AGENT_MESSAGE_DELTA, ITEM_APPROVAL_REQUEST, ITEM_APPROVAL_RESOLVED,
    ITEM_COMMAND_EXECUTION_OUTPUT_DELTA, ITEM_COMPLETED, ITEM_REASONING_DELTA, ITEM_STARTED, ITEM_TOOL_CALL,
    ITEM_TOOL_CALL_ARGUMENTS_DELTA, ITEM_TOOL_REQUEST_USER_INPUT, ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED,
    ITEM_USAGE_DELTA,
};
pub use crate::groups::mcp::types::*;
pub use crate::groups::models::types::*;
pub use crate::groups::policy::types::*;
pub use crate::groups::serving::types::*;
pub(crate) use crate::groups::serving::{
    EXT_ACP_FS_READ_TEXT_FILE, EXT_ACP_FS_WRITE_TEXT_FILE, EXT_ACP_TERMINAL_CREATE,
    EXT_ACP_TERMINAL_GET_OUTPUT, EXT_ACP_TERMINAL_KILL, EXT_ACP_TERMINAL_RELEASE,
    EXT_ACP_TERMINAL_WAIT_FOR_EXIT,
};
pub use crate::groups::skills::types::*;
pub use crate::groups::stats::types::*;
pub use crate::groups::subagent::types::*;
pub(crate) use crate::groups::subagent::{SUBAGENT_GRAPH_CHANGED, SUBAGENT_PROGRESS};
pub use crate::groups::suggest::types::*;
pub(crate) use crate::groups::system::SYSTEM_EVENT;
pub use crate::groups::system::types::*;
pub use crate::groups::terminal::types::*;
pub use crate::groups::thread::config::*;
pub use crate::groups::thread::notifications::*;
pub use crate::groups::thread::params::*;
pub use crate::groups::thread::types::*;
pub(crate) use crate::groups::thread::{
    THREAD_CONFIGURED, THREAD_DELETED, THREAD_QUEUE_UPDATED, THREAD_RENAMED, THREAD_RESUMED,
    THREAD_ROLLED_BACK, THREAD_RUNTIME_CHANGED, THREAD_STARTED, THREAD_STATUS_CHANGED, THREAD_SYNCED,
};
pub use crate::groups::trust::types::*;
pub use crate::groups::turn::diff::*;
pub use crate::groups::turn::input_types::*;
pub use crate::groups::turn::notifications::*;
pub use crate::groups::turn::params::*;
pub use crate::groups::turn::plan::*;
pub use crate::groups::turn::queue_types::*;
pub use crate::groups::turn::revert_types::*;
pub use crate::groups::turn::types::*;
pub(crate) use crate::groups::turn::{
    PLAN_UPDATED, TURN_CANCELLED, TURN_COMPLETED, TURN_DIFF_UPDATED, TURN_FAILED, TURN_REVERTED,
    TURN_STARTED, TURN_WAITING,
};
