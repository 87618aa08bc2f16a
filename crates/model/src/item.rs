//! Items: the units a Turn is made of. The bodies follow AppServer protocol 03 §5.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::input::display_text;
use crate::{
    ApprovalId, ApprovalKind, BackgroundReason, CallPreview, Decision, DynamicToolCall, InputPart, Inquiry,
    ItemId, Json, Person, Sender, ThreadId, TurnId, UnixMillis,
};

/// The start of the id of a call whose command a user has typed.
pub const USER_COMMAND_CALL: &str = "user_command_";

/// How far an Item is. A completed Item never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ItemStatus {
    /// Opened, nothing streamed yet.
    Started,
    /// Text has arrived. Only reads of a running Turn show this status.
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
    /// Its content.
    pub body: ItemBody,
}

impl Item {
    /// Returns an Item that is opened and completed at the same moment.
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

/// What sends an input in a user's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TriggerKind {
    /// The heartbeat.
    Heartbeat,
    /// A cron job.
    Cron,
    /// An automation task.
    Automation,
    /// A client that gives a subagent another task.
    SubagentFollowupTask,
}

/// Which job or task sent an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// What kind of job.
    pub kind: TriggerKind,
    /// Its name to show.
    pub label: Option<String>,
    /// Its id.
    pub ref_id: Option<String>,
}

/// A message from the user, or from a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// The parts as sent.
    pub native: Vec<InputPart>,
    /// How it came into the Turn.
    pub delivery: DeliveryMode,
    /// The client's own id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<Sender>,
    /// The person who sent it, unless that is the user whose server it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Person>,
    /// What sent it, where no user did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Box<Trigger>>,
    /// Channel it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_name: Option<String>,
    /// Scope inside the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_context: Option<String>,
}

impl UserMessage {
    /// Returns the text that a history shows.
    pub fn text(&self) -> Cow<'_, str> {
        match self.native.as_slice() {
            [InputPart::Text { text }] => Cow::Borrowed(text),
            parts => Cow::Owned(display_text(parts)),
        }
    }
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
    /// All output so far, or the retained part.
    pub aggregated_output: String,
    /// Exit code, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it ran, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The tool call it belongs to.
    pub call_id: String,
    /// Characters of output before it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_output_chars: Option<u64>,
    /// Whether output was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Whether the kernel confines the command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandboxed: bool,
    /// Names of what confines it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<String>,
    /// Id of the background terminal in which it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// File with more output than this Item has.
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

/// Why the server compacted a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompactionTrigger {
    /// The window passed a threshold.
    Auto,
    /// A model refused the conversation as too long.
    Reactive,
    /// A user asked for it.
    Manual,
}

/// A conversation was compacted: from now on the model is given the summary in place of the Items it covers.
///
/// These Items stay unchanged. A Turn that is rolled back takes its summaries with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// Why the server did it.
    pub trigger: CompactionTrigger,
    /// Tokens in the window before; an estimate where the provider gave no figure.
    pub tokens_before: u64,
    /// Tokens in the window after, an estimate.
    pub tokens_after: u64,
    /// Free share of the window after, from 0 to 1.
    pub left_after: f64,
    /// Call results that the model is no longer given.
    pub cleared_results: u64,
    /// The summary.
    pub summary: String,
    /// The first Item that the model is still given unchanged. The summary covers everything before it.
    pub kept_from: (TurnId, ItemId),
}

/// A question of the model to the user, as its Item records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserInputRequest {
    /// Its id.
    pub request_id: ApprovalId,
    /// The call that asks.
    pub call_id: String,
    /// Whether the Thread is in plan mode.
    pub blocking: bool,
    /// The question with its choices.
    pub inquiry: Inquiry,
}

/// A file as a call left or found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// Absolute path, free of links.
    pub path: String,
    /// Its size and the time of its last change: another value is another content.
    pub fingerprint: String,
}

/// The content of an Item, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ItemBody {
    /// The user's message.
    UserMessage(UserMessage),
    /// The agent's message.
    AgentMessage {
        /// The text so far, or all of it.
        text: String,
    },
    /// The model's reasoning.
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
        /// The raw text of arguments that never became a JSON object: the call was cut off, or the model wrote
        /// something else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments_text: Option<String>,
        /// Opaque data for the model's provider, which wants it back with the reply. Stored with the first call of
        /// that reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Json>,
    },
    /// The result of a call, as the model gets it.
    ToolResult {
        /// The call.
        call_id: String,
        /// Text for the model.
        result: String,
        /// Whether the call succeeded.
        success: bool,
        /// Whether the call did not run because the user or a rule refused.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
        /// Files whose content the model knows from this call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<SeenFile>,
        /// Files with pictures that the model sees beside the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<String>,
        /// What the call was shown to change in a file, for clients that read the Turn later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<CallPreview>>,
        /// Name of the tool. The owner fills it in; earlier records have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_name: Option<String>,
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
        /// Whether it succeeded, once known.
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
    /// A request for a user's permission.
    ApprovalRequest {
        /// Kind of operation.
        approval_type: ApprovalKind,
        /// The operation.
        operation: String,
        /// Its target or working directory.
        target: String,
        /// The Approval.
        request_id: ApprovalId,
        /// What an answer "for this session" covers.
        scope_key: String,
        /// Sentence for the user.
        reason: String,
        /// The tool call that waits for the answer; events of earlier versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
    },
    /// The answer to an Approval.
    ApprovalResponse {
        /// The Approval.
        request_id: ApprovalId,
        /// Whether the operation may go on.
        approved: bool,
        /// The answer.
        decision: Decision,
        /// The person who gave it, unless that is the user whose server it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor: Option<Box<Person>>,
    },
    /// A question of the model to the user.
    UserInputRequest(Box<UserInputRequest>),
    /// The end of such a question.
    UserInputResponse {
        /// The question.
        request_id: ApprovalId,
        /// The user's answer, if there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
    /// The conversation before this Item was compacted.
    Compaction(Box<Compaction>),
    /// The conversation up to here was copied from another Thread.
    Forked {
        /// That Thread.
        source: ThreadId,
    },
    /// Something went wrong inside the Turn.
    Error {
        /// For the user.
        message: String,
        /// Error code, see the protocol's list.
        code: String,
        /// Whether it ended the Turn.
        fatal: bool,
    },
}

/// Returns the name of the tool that a call of these Items calls.
pub fn called_tool<'a>(items: &'a [Item], call: &str) -> Option<&'a str> {
    items.iter().rev().find_map(|item| match &item.body {
        ItemBody::ToolCall {
            tool_name, call_id, ..
        } if call_id == call => Some(tool_name.as_str()),
        _ => None,
    })
}

impl ItemBody {
    /// Returns a call without data for a provider. Arguments that are no JSON object are its raw text.
    pub fn tool_call(tool_name: String, call_id: String, arguments: Result<Json, String>) -> Self {
        let (arguments, arguments_text) = match arguments {
            Ok(arguments) => (Some(arguments), None),
            Err(text) => (None, Some(text)),
        };
        Self::ToolCall {
            tool_name,
            call_id,
            arguments,
            arguments_text,
            kept: None,
        }
    }

    /// Returns the streamed text, for kinds that have one.
    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::AgentMessage { text } | Self::Reasoning { text } => Some(text),
            Self::CommandExecution(run) => Some(&mut run.aggregated_output),
            _ => None,
        }
    }

    /// Returns the streamed text, for kinds that have one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::AgentMessage { text } | Self::Reasoning { text } => Some(text),
            Self::CommandExecution(run) => Some(&run.aggregated_output),
            _ => None,
        }
    }

    /// Whether the Item is of a kind of which at most one is open at a time (03 §7 rule 5).
    pub fn is_prose(&self) -> bool {
        matches!(self, Self::AgentMessage { .. } | Self::Reasoning { .. })
    }
}
