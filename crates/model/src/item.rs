//! Items: the units a Turn is made of. The bodies follow AppServer protocol 03 §5.

use serde::{Deserialize, Serialize};

use crate::{
    ApprovalId, ApprovalKind, BackgroundReason, Decision, DynamicToolCall, InputPart, ItemId, Json, Sender,
    TurnId, UnixMillis,
};

/// How far an Item is. A completed Item never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ItemStatus {
    /// Opened, nothing streamed yet.
    Started,
    /// Text has arrived; seen only in reads of a running Turn.
    Streaming,
    /// Final.
    Completed,
}

/// One unit of a Turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Number inside the Turn.
    pub id: ItemId,
    /// How far it is.
    pub status: ItemStatus,
    /// When it was opened.
    pub created_at: UnixMillis,
    /// When it was completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<UnixMillis>,
    /// What it is.
    pub body: ItemBody,
}

impl Item {
    /// Returns an Item that was opened and completed at the same moment.
    pub fn whole(id: ItemId, at: UnixMillis, body: ItemBody) -> Self {
        Self {
            id,
            status: ItemStatus::Completed,
            created_at: at,
            completed_at: Some(at),
            body,
        }
    }
}

/// How a user message came into its Turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum DeliveryMode {
    /// It started the Turn.
    Normal,
    /// It started the Turn after waiting in the queue.
    Queued,
    /// It was given to the running Turn.
    Guidance,
}

/// What a message from the user carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// Display text.
    pub text: String,
    /// The parts as sent.
    pub native: Vec<InputPart>,
    /// How it came.
    pub delivery: DeliveryMode,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<Sender>,
    /// Channel it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_name: Option<String>,
    /// Scope inside the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_context: Option<String>,
}

/// State of a command as its terminal view shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CommandStatus {
    /// Runs.
    InProgress,
    /// Ended with exit code 0.
    Completed,
    /// Ended otherwise, or did not start.
    Failed,
    /// Stopped with its Turn.
    Cancelled,
    /// Goes on in a background terminal.
    Backgrounded,
    /// Stopped by its time limit.
    Killed,
    /// The server died while it ran.
    Lost,
}

/// The terminal view of a shell call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecution {
    /// The command line.
    pub command: String,
    /// Where it runs.
    pub working_directory: String,
    /// State.
    pub status: CommandStatus,
    /// All output so far, or what was kept of it.
    pub aggregated_output: String,
    /// Exit code, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it ran, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The tool call it belongs to.
    pub call_id: String,
    /// Characters of output before the bound cut them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_output_chars: Option<u64>,
    /// Whether output was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Whether the kernel held what it might do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandboxed: bool,
    /// What held it, by name, from the outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<String>,
    /// The background terminal it goes on in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// File with more of its output than is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// Why it went into the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_reason: Option<BackgroundReason>,
}

/// State of one call among parallel ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ToolExecutionStatus")
)]
#[serde(rename_all = "camelCase")]
pub enum ExecutionStatus {
    /// Runs.
    InProgress,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Stopped with its Turn.
    Cancelled,
}

/// What made the server compact a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompactionTrigger {
    /// A threshold.
    Auto,
    /// A model refused a conversation as too long.
    Reactive,
}

/// A conversation was summed up: from here on a model is given the summary in place of what it covers.
///
/// The Items it covers stay as they are. A Turn that is taken out of the conversation takes its summaries with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// What made the server do it.
    pub trigger: CompactionTrigger,
    /// Tokens in the window before; an estimate where no provider said.
    pub tokens_before: u64,
    /// Tokens in it after, an estimate.
    pub tokens_after: u64,
    /// Free share of the window after, from 0 to 1.
    pub left_after: f64,
    /// Results of calls that the model is not given any more.
    pub cleared_results: u64,
    /// The summary.
    pub summary: String,
    /// The first Item that a model is still given as it is. Everything before it is in the summary.
    pub kept_from: (TurnId, ItemId),
}

/// What an Item is, with what belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ItemBody {
    /// What the user said.
    UserMessage(UserMessage),
    /// What the agent said.
    AgentMessage {
        /// The text so far, or all of it.
        text: String,
    },
    /// What the model thought aloud.
    Reasoning {
        /// The text so far, or all of it.
        text: String,
    },
    /// A call the model makes.
    ToolCall {
        /// Name of the tool.
        tool_name: String,
        /// Ties call, execution and result together.
        call_id: String,
        /// Complete arguments; absent while they stream in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Json>,
        /// What there is of arguments that never became a JSON object: the call was cut off, or the model wrote
        /// something else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments_text: Option<String>,
        /// What the model's provider wants back with the reply, on the first of its calls: opaque, and for nobody else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Json>,
    },
    /// What the model is told of a call.
    ToolResult {
        /// The call.
        call_id: String,
        /// Text for the model.
        result: String,
        /// Whether it went well.
        success: bool,
        /// Whether it did not run because a person or a rule said no.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
    },
    /// A call of a tool that a client runs, with its result.
    DynamicToolCall(Box<DynamicToolCall>),
    /// Terminal view of a shell call.
    CommandExecution(CommandExecution),
    /// Lifecycle of one call.
    ToolExecution {
        /// The call.
        call_id: String,
        /// Name of the tool.
        tool_name: String,
        /// State.
        status: ExecutionStatus,
        /// Whether it went well, once known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        success: Option<bool>,
        /// How long it took, milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// The beginning of the result, at most 4,096 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_preview: Option<String>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// A question to a person.
    ApprovalRequest {
        /// Kind of thing asked.
        approval_type: ApprovalKind,
        /// What would be done.
        operation: String,
        /// To what, or where.
        target: String,
        /// The Approval.
        request_id: ApprovalId,
        /// What an answer "for this session" covers.
        scope_key: String,
        /// Sentence for the person.
        reason: String,
    },
    /// The answer to it.
    ApprovalResponse {
        /// The Approval.
        request_id: ApprovalId,
        /// Whether the operation may go on.
        approved: bool,
        /// The answer itself.
        decision: Decision,
    },
    /// The conversation before was summed up.
    Compaction(Box<Compaction>),
    /// Something went wrong inside the Turn.
    Error {
        /// For the user.
        message: String,
        /// For machines, see the protocol's list.
        code: String,
        /// Whether it ended the Turn.
        fatal: bool,
    },
}

impl ItemBody {
    /// Returns the streamed text of kinds that have one.
    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::AgentMessage { text } | Self::Reasoning { text } => Some(text),
            Self::CommandExecution(run) => Some(&mut run.aggregated_output),
            _ => None,
        }
    }

    /// Returns the streamed text of kinds that have one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::AgentMessage { text } | Self::Reasoning { text } => Some(text),
            Self::CommandExecution(run) => Some(&run.aggregated_output),
            _ => None,
        }
    }

    /// Whether this is one of the kinds of which at most one is open at a time (03 §7 rule 5).
    pub fn is_prose(&self) -> bool {
        matches!(self, Self::AgentMessage { .. } | Self::Reasoning { .. })
    }
}
