//! Params and results of `thread/*` and `channel/list`.
//!
//! AppServer protocol 02 §5; extensions are marked.

use bobbin_model::{ApprovalKind, HistoryMode, Json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::handshake::types::ClientRequestId;
use crate::thread::config::ThreadConfiguration;
use crate::thread::types::{SessionIdentity, Thread, ThreadSummary};

/// Params of `thread/start`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadStartParams {
    /// The starter; `channelName` must not be blank.
    pub identity: SessionIdentity,
    /// Its first configuration.
    pub config: Option<ThreadConfiguration>,
    /// The supplier of the model's history. Default `server`.
    pub history_mode: Option<HistoryMode>,
    /// Its title; blank means none.
    pub display_name: Option<String>,
    /// Tools that this connection serves.
    pub dynamic_tools: Option<Vec<DynamicToolSpec>>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `thread/resume`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResumeParams {
    /// The Thread.
    pub thread_id: String,
    /// Tools that this connection serves instead of the earlier ones. Absent: it serves the earlier ones.
    pub dynamic_tools: Option<Vec<DynamicToolSpec>>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// A tool that the client serves through `item/tool/call`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolSpec {
    /// A legal function name of at most 64 characters.
    pub name: String,
    /// A description of the tool for the model.
    pub description: String,
    /// JSON Schema of the arguments, with `"type": "object"`.
    pub input_schema: Json,
    /// Groups tools; same alphabet as `name`.
    pub namespace: Option<String>,
    /// A hint that the tool need not be offered at once.
    pub defer_loading: Option<bool>,
    /// The question to the user before the tool is called.
    pub approval: Option<DynamicToolApproval>,
}

/// The question to the user before a tool is called.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DynamicToolApproval {
    /// The kind of resource that the tool uses.
    pub kind: ApprovalKind,
    /// The argument that names the resource.
    pub target_argument: String,
    /// The operation on the resource; exactly one of this and `operationArgument`.
    pub operation: Option<String>,
    /// The argument that names the operation.
    pub operation_argument: Option<String>,
}

/// Result of `thread/start`, `thread/resume` and `thread/fork`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadResult {
    /// The Thread.
    pub thread: Thread,
    /// Absolute paths of the files whose text the model gets as instructions, outermost first.
    pub instruction_sources: Vec<String>,
}

/// Result of `thread/rollback`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollbackResult {
    /// The Thread with the Turns that are left.
    pub thread: Thread,
    /// Extension, if this answer lacks some of them: the page with which `thread/read` continues.
    pub turn_page: Option<TurnPage>,
}

/// Params of `thread/pause`, `thread/archive`, `thread/unarchive` and `thread/delete`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadTargetParams {
    /// The Thread.
    pub thread_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `thread/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadListParams {
    /// Whose Threads: same workspace, same `channelContext`, same `userId` when there is one. Absent or empty: all Threads
    /// of the server's workspace.
    pub identity: Option<ListIdentity>,
    /// `workspace`: all Threads of the identity's workspace. Default `identity`.
    pub scope: Option<ListScope>,
    /// Archived ones too. Default `false`.
    #[serde(default)]
    pub include_archived: bool,
    /// Threads of subagents too. Default `false`.
    #[serde(default)]
    pub include_sub_agents: bool,
    /// Also every Thread of the workspace from these channels.
    pub cross_channel_origins: Option<Vec<String>>,
    /// Only Threads from this channel, without regard to case.
    pub channel_name: Option<String>,
    /// Extension: only Threads whose title contains this text.
    pub query: Option<String>,
    /// Extension: at most so many, 1 to 100. Absent: all, up to 5,000 an answer.
    pub limit: Option<u32>,
    /// Extension: go on after an earlier answer's `nextCursor`.
    pub cursor: Option<String>,
}

/// Whose Threads are listed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListIdentity {
    /// The channel; must not be blank unless the whole identity is empty.
    pub channel_name: Option<String>,
    /// The owner inside that channel.
    pub user_id: Option<String>,
    /// A free text that distinguishes scopes, as in `group:77`.
    pub channel_context: Option<String>,
    /// Absolute path; absent or blank means the workspace the server runs in.
    pub workspace_path: Option<String>,
}

impl From<ListIdentity> for SessionIdentity {
    fn from(identity: ListIdentity) -> Self {
        Self {
            channel_name: identity.channel_name.unwrap_or_default(),
            user_id: identity.user_id,
            channel_context: identity.channel_context,
            workspace_path: identity.workspace_path,
        }
    }
}

/// The Threads that a list is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ListScope {
    /// Those of the identity.
    Identity,
    /// All of its workspace.
    Workspace,
}

/// Result of `thread/list`: latest activity first.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadListResult {
    /// The Threads.
    pub data: Vec<ThreadSummary>,
    /// Given when there are more, which without `limit` are those beyond 5,000.
    pub next_cursor: Option<String>,
    /// How many Threads match, if they are all in this answer.
    pub total_matched: Option<u64>,
}

/// Params of `thread/read`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadParams {
    /// The Thread.
    pub thread_id: String,
    /// With its Turns and their Items. Default `false`.
    #[serde(default)]
    pub include_turns: bool,
    /// Extension: at most so many Turns, the latest ones. Absent: all that fit into an answer.
    pub turn_limit: Option<u32>,
    /// Extension: the Turns before an earlier answer's `turnPage`.
    pub cursor: Option<String>,
}

/// Result of `thread/read`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadReadResult {
    /// The Thread as it is now.
    pub thread: Thread,
    /// Extension: the next page. Given with `turnLimit` or `cursor`, and without them if the Turns do not fit into one
    /// answer.
    pub turn_page: Option<TurnPage>,
    /// Extension, for clients that declared `eventCursors`: the last event that this answer contains.
    pub seq: Option<u64>,
}

/// The continuation of a list of Turns.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPage {
    /// The `cursor` for the Turns before these; absent when these are the first.
    pub next_cursor: Option<String>,
}

/// Params of `thread/subscribe`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSubscribeParams {
    /// The Thread.
    pub thread_id: String,
    /// First the newest Turn again, from its start. Default `false`.
    #[serde(default)]
    pub replay_recent: bool,
    /// Extension: first everything after this event, 0 for everything there is.
    pub after_seq: Option<u64>,
}

/// Result of `thread/subscribe`: empty unless the client declared `eventCursors`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadSubscribeResult {
    /// Extension: the last event there is; everything up to it comes before `thread/synced`.
    pub seq: Option<u64>,
    /// Extension: how the gap from `afterSeq` is closed.
    pub mode: Option<SubscribeMode>,
}

/// How a subscriber gets from where it stopped to the present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SubscribeMode {
    /// It is sent every event that it missed.
    Replay,
    /// Too much was missed: it should read the Thread and go on from that answer's `seq`.
    Snapshot,
}

/// Params of `thread/unsubscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUnsubscribeParams {
    /// The Thread.
    pub thread_id: String,
}

/// Params of `thread/rename`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRenameParams {
    /// The Thread.
    pub thread_id: String,
    /// The new title; must not be blank.
    pub display_name: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `thread/mode/set`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadModeSetParams {
    /// The Thread.
    pub thread_id: String,
    /// `agent` or `plan`.
    pub mode: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `thread/config/update`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadConfigUpdateParams {
    /// The Thread.
    pub thread_id: String,
    /// Replaces the whole configuration.
    pub config: ThreadConfiguration,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `thread/rollback`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRollbackParams {
    /// The Thread.
    pub thread_id: String,
    /// How many Turns to drop from the end, at least 1.
    pub num_turns: i64,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `channel/list`: by category, then by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelListResult {
    /// The channels that may appear as `originChannel`.
    pub channels: Vec<ChannelInfo>,
}

/// A channel that Threads may come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelInfo {
    /// Its name.
    pub name: String,
    /// What sort of channel it is.
    pub category: ChannelCategory,
}

/// What sort of channel it is, in the order of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChannelCategory {
    /// Part of the server.
    Builtin,
    /// A chat service.
    Social,
    /// The server itself: cron, heartbeat, automations.
    System,
    /// A configured adapter.
    External,
}
