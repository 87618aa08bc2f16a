//! The payloads of Items, type by type.
//!
//! AppServer protocol 03 §5. A new type is one row in the table at the end. Payloads about tools are in `tool_payload`.

use bobbin_model::{ApprovalKind, Decision, DeliveryMode, Json, Person};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};
use serde_with::skip_serializing_none;

use crate::item::tool_payload::{
    CommandExecutionPayload, DynamicToolCallPayload, FileChangePayload, PluginFunctionCallPayload,
    ToolCallPayload, ToolExecutionPayload, ToolResultPayload,
};
use crate::item::user_input_types::{UserInputRequestPayload, UserInputResponsePayload};
use crate::turn::input_types::InputPart;
use crate::{DecodeError, lenient};

/// Payload of `userMessage`: the input of a user, or of a trigger.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserMessagePayload {
    /// The whole input as one text to show.
    pub text: String,
    /// As the user gave it.
    pub native_input_parts: Option<Vec<InputPart>>,
    /// As the model got it.
    pub materialized_input_parts: Option<Vec<InputPart>>,
    /// How it got into the Turn.
    pub delivery_mode: Option<DeliveryMode>,
    /// The client's own id of it.
    pub client_user_message_id: Option<String>,
    /// Id of the user.
    pub sender_id: Option<String>,
    /// Name of the user.
    pub sender_name: Option<String>,
    /// Role of the user.
    pub sender_role: Option<String>,
    /// The group it was said in.
    pub group_id: Option<String>,
    /// Extension: the person who sent it, as the server has authenticated them. Absent for the user of the server.
    pub actor: Option<Person>,
    /// The channel it came through.
    pub channel_name: Option<String>,
    /// The scope it came from.
    pub channel_context: Option<String>,
    /// Pictures that came with it.
    pub images: Option<Vec<MessageImage>>,
    /// The trigger, if the input came from no user.
    pub trigger_kind: Option<TriggerKind>,
    /// The name of the trigger.
    pub trigger_label: Option<String>,
    /// Id of the job or task.
    pub trigger_ref_id: Option<String>,
}

pub use bobbin_model::TriggerKind;

/// A picture on the server's disk that came with a message.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageImage {
    /// Its path.
    pub path: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// How to show it.
    pub file_name: Option<String>,
}

/// Payload of `agentMessage` and `reasoningContent`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TextPayload {
    /// The text.
    pub text: String,
}

/// Payload of `approvalRequest`: the user is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequestPayload {
    /// The kind of operation.
    pub approval_type: ApprovalKind,
    /// The command line, or what is done to the target.
    pub operation: String,
    /// Working directory, absolute path, or id of the resource.
    pub target: String,
    /// Distinguishes approvals across Items.
    pub request_id: String,
    /// The scope of `acceptForSession`.
    pub scope_key: String,
    /// A sentence for the user.
    pub reason: String,
    /// Extension: the tool call that waits for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

/// Payload of `approvalResponse`: the answer.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalResponsePayload {
    /// The question.
    pub request_id: String,
    /// Whether the operation may go ahead.
    pub approved: bool,
    /// The answer.
    pub decision: Decision,
    /// Extension: the person who answered. Absent for the user of the server, and where nobody answered.
    pub actor: Option<Person>,
}

/// Payload of `error`: something went wrong in the Turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorPayload {
    /// What went wrong, as a sentence for the user.
    pub message: String,
    /// A stable word: `agent_error`, `timeout`, `hook_blocked`, `approval_timeout`, `subagent_error`, ….
    pub code: String,
    /// Whether the Turn ends with it.
    pub fatal: bool,
}

/// Payload of `systemNotice`: the server did something to the conversation.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SystemNoticePayload {
    /// The action.
    pub kind: SystemNoticeKind,
    /// The cause.
    pub trigger: NoticeTrigger,
    /// How it compacted.
    pub mode: Option<CompactionMode>,
    /// Tokens in the window before.
    pub tokens_before: Option<u64>,
    /// Tokens in the window after.
    pub tokens_after: Option<u64>,
    /// Free part of the window after, 0.0 to 1.0.
    pub percent_left_after: Option<f64>,
    /// How many tool results were emptied.
    pub cleared_tool_results: Option<u64>,
    /// The Thread that was copied, for `forked`.
    pub source_thread_id: Option<String>,
}

/// An action of the server on a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SystemNoticeKind {
    /// It compacted the conversation to make room.
    Compacted,
    /// The conversation up to here is a copy of another Thread's.
    Forked,
    /// It stored useful facts in memory.
    MemoryConsolidated,
}

/// The cause of such an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NoticeTrigger {
    /// A threshold.
    Auto,
    /// The model refused a prompt as too long.
    Reactive,
    /// A user.
    Manual,
    /// Does not concern this kind of action.
    #[serde(rename = "")]
    None,
}

/// How a conversation was compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionMode {
    /// Old tool results were emptied.
    Micro,
    /// Old Turns were compacted.
    Partial,
    /// Does not concern this kind of action.
    #[serde(rename = "")]
    None,
}

macro_rules! payloads {
    ($($(#[doc = $doc:literal])+ $variant:ident($payload:ty) = $kind:literal;)+) => {
        /// What an Item is, with its payload. Serializes as the payload alone.
        #[derive(Debug, Clone, PartialEq)]
        pub enum ItemPayload {
            $($(#[doc = $doc])+ $variant($payload),)+
            /// An Item of a type that this version does not know.
            Unknown {
                /// Its type.
                kind: String,
                /// Its payload, as it came.
                payload: Json,
            },
        }

        impl ItemPayload {
            /// Every type that this version knows.
            pub const KINDS: &[&str] = &[$($kind),+];

            /// Returns the type, which on the wire is `type` and `payloadKind` of the Item.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                    Self::Unknown { kind, .. } => kind,
                }
            }

            /// Reads the payload of an Item of the given type.
            ///
            /// # Errors
            /// The type is known and the payload does not have its shape.
            pub fn decode(kind: &str, payload: Json) -> Result<Self, DecodeError> {
                match kind {
                    $($kind => lenient::lenient(payload.raw()).map(Self::$variant),)+
                    _ => Ok(Self::Unknown { kind: kind.to_owned(), payload }),
                }
            }

            /// Returns each known type with the schema of its payload.
            pub(crate) fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
                vec![$(($kind, generator.subschema_for::<$payload>()),)+]
            }
        }

        impl Serialize for ItemPayload {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(payload) => payload.serialize(serializer),)+
                    Self::Unknown { payload, .. } => payload.serialize(serializer),
                }
            }
        }
    };
}

payloads! {
    /// What the user said.
    UserMessage(UserMessagePayload) = "userMessage";
    /// What the agent said.
    AgentMessage(TextPayload) = "agentMessage";
    /// What the agent thought.
    ReasoningContent(TextPayload) = "reasoningContent";
    /// The model asks for a tool.
    ToolCall(ToolCallPayload) = "toolCall";
    /// What the model got back.
    ToolResult(ToolResultPayload) = "toolResult";
    /// A command as it runs.
    CommandExecution(CommandExecutionPayload) = "commandExecution";
    /// A tool as it runs.
    ToolExecution(ToolExecutionPayload) = "toolExecution";
    /// A plugin's tool, call and result.
    PluginFunctionCall(PluginFunctionCallPayload) = "pluginFunctionCall";
    /// A client's tool, call and result.
    DynamicToolCall(DynamicToolCallPayload) = "dynamicToolCall";
    /// The user is asked.
    ApprovalRequest(ApprovalRequestPayload) = "approvalRequest";
    /// The user answered.
    ApprovalResponse(ApprovalResponsePayload) = "approvalResponse";
    /// The model asks the user.
    UserInputRequest(UserInputRequestPayload) = "userInputRequest";
    /// The user's answer to the model.
    UserInputResponse(UserInputResponsePayload) = "userInputResponse";
    /// Something went wrong.
    Error(ErrorPayload) = "error";
    /// The server did something to the conversation.
    SystemNotice(SystemNoticePayload) = "systemNotice";
    /// Files as they change.
    FileChange(FileChangePayload) = "fileChange";
}
