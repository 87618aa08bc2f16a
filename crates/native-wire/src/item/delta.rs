//! Pieces of Items while these are being made. They are previews: `item/completed` has the final text.
//!
//! AppServer protocol 03 §6. Empty deltas are never sent; joined in order, they are the final text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What kind of text a delta carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DeltaKind {
    /// The agent's answer.
    AgentMessage,
    /// The agent's reasoning.
    ReasoningContent,
    /// JSON text of a tool's arguments.
    ToolCallArguments,
}

macro_rules! text_delta {
    ($(#[$doc:meta])* $name:ident, $kind:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// The Thread.
            pub thread_id: String,
            /// The Turn.
            pub turn_id: String,
            /// The Item.
            pub item_id: String,
            /// Always the same in this notification.
            pub delta_kind: DeltaKind,
            /// The text to append.
            pub delta: String,
            /// Extension: the number of the event, for clients that declared `eventCursors`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub seq: Option<u64>,
        }

        impl $name {
            /// A piece of one Item's text.
            pub fn new(
                thread_id: impl Into<String>,
                turn_id: impl Into<String>,
                item_id: impl Into<String>,
                delta: impl Into<String>,
            ) -> Self {
                Self {
                    thread_id: thread_id.into(),
                    turn_id: turn_id.into(),
                    item_id: item_id.into(),
                    delta_kind: DeltaKind::$kind,
                    delta: delta.into(),
                    seq: None,
                }
            }
        }
    };
}

text_delta! {
    /// Params of `item/agentMessage/delta`.
    AgentMessageDeltaNotification, AgentMessage
}

text_delta! {
    /// Params of `item/reasoning/delta`.
    ReasoningDeltaNotification, ReasoningContent
}

/// Params of `item/toolCall/argumentsDelta`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallArgumentsDeltaNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The Item.
    pub item_id: String,
    /// Always `toolCallArguments`.
    pub delta_kind: DeltaKind,
    /// The tool; sent every time, though the protocol does not ask for it.
    pub tool_name: Option<String>,
    /// The call; sent every time, since some clients match by nothing else.
    pub call_id: Option<String>,
    /// The JSON text to append; not parseable before the end.
    pub delta: String,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `item/commandExecution/outputDelta`. Has no `deltaKind`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandOutputDeltaNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The Item.
    pub item_id: String,
    /// The output to append.
    pub delta: String,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}
