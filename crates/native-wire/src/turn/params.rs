//! Params and results of `turn/*`.
//!
//! AppServer protocol 03 §2.

use bobbin_model::{Effort, Json, QueueStatus, SandboxProfile, Sender};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::handshake::types::ClientRequestId;
use crate::turn::input_types::InputPart;
use crate::turn::queue_types::QueuedTurnInput;
use crate::turn::types::Turn;

/// Params of `turn/start`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartParams {
    /// An active Thread without a running Turn.
    pub thread_id: String,
    /// At least one part that the server knows.
    pub input: Vec<InputPart>,
    /// Who says it.
    pub sender: Option<Sender>,
    /// The client's own id of the input, which comes back in the message and in the queue; at most 128 characters.
    #[schemars(length(max = 128))]
    pub client_user_message_id: Option<String>,
    /// How much the model reasons in this Turn; as the Thread's configuration says when left out.
    pub reasoning_effort: Option<Effort>,
    /// Extension: rules that allow in this Turn alone, and in the Turns of its subagents: `tool:NAME`, `path:PATTERN` or a
    /// pattern of commands; at most 64. Rules that ask or refuse go on counting. Taken over the socket of the workspace only.
    #[schemars(length(max = 64))]
    pub allow: Option<Vec<String>>,
    /// Extension: what commands of this Turn and of its subagents may reach, in the place of what is configured. Taken over
    /// the socket of the workspace only.
    pub sandbox: Option<SandboxProfile>,
    /// The model's whole history; required in the history mode `client`, forbidden in `server`.
    pub messages: Option<Vec<Json>>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `thread/shellCommand`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadShellCommandParams {
    /// An active Thread without a running Turn.
    pub thread_id: String,
    /// The command line that the user typed; at most 65,536 bytes.
    #[schemars(length(min = 1, max = 65_536))]
    pub command: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `turn/start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartResult {
    /// The Turn, running, with an empty list of Items.
    pub turn: Turn,
}

/// Params of `turn/enqueue`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnqueueParams {
    /// An active Thread.
    pub thread_id: String,
    /// At least one part that the server knows.
    pub input: Vec<InputPart>,
    /// Who says it.
    pub sender: Option<Sender>,
    /// The client's own id of the input, which comes back in the message and in the queue; at most 128 characters.
    #[schemars(length(max = 128))]
    pub client_user_message_id: Option<String>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `turn/enqueue`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnqueueResult {
    /// The new entry.
    pub queued_input: QueuedTurnInput,
    /// The whole queue.
    pub queued_inputs: Vec<QueuedTurnInput>,
}

/// Params of `turn/interrupt`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnInterruptParams {
    /// The Thread.
    pub thread_id: String,
    /// The Turn; empty for the one that runs.
    pub turn_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `turn/queue/remove`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueRemoveParams {
    /// The Thread.
    pub thread_id: String,
    /// The entry to take out.
    pub queued_input_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `turn/queue/reorder`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueReorderParams {
    /// The Thread.
    pub thread_id: String,
    /// The new order: each entry of the queue once.
    pub ordered_queued_input_ids: Vec<String>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `turn/queue/update`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueUpdateParams {
    /// The Thread.
    pub thread_id: String,
    /// The running Turn; for `queued`, the Turn that the entry is bound to.
    pub expected_turn_id: String,
    /// The entry.
    pub queued_input_id: String,
    /// `guidancePending` gives the entry to the running Turn, `queued` takes it back.
    pub status: QueueStatus,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `turn/queue/remove`, `turn/queue/reorder` and `turn/queue/update`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnQueueResult {
    /// The whole queue.
    pub queued_inputs: Vec<QueuedTurnInput>,
}

/// Params of `turn/steer`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerParams {
    /// The Thread.
    pub thread_id: String,
    /// Must be the running Turn.
    pub expected_turn_id: String,
    /// An entry with the status `queued`. Either this or `input` is required.
    pub queued_input_id: Option<String>,
    /// A new input. If the Turn ends first, it waits in the queue.
    pub input: Option<Vec<InputPart>>,
    /// The sender; replaces the stored sender of an entry.
    pub sender: Option<Sender>,
    /// The client's own id of a new input, which comes back in the message and in the queue; at most 128 characters.
    #[schemars(length(max = 128))]
    pub client_user_message_id: Option<String>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `turn/steer`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnSteerResult {
    /// The running Turn.
    pub turn_id: String,
    /// The whole queue.
    pub queued_inputs: Vec<QueuedTurnInput>,
}
