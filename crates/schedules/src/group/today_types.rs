//! The shapes of `automation/*` of today (AppServer protocol 07 §8.4).

use bobbin_native_wire::Timestamp;
use bobbin_native_wire::handshake::types::ClientRequestId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The kind of an automation's schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AutomationScheduleKind {
    /// Once, at `at`.
    At,
    /// At an interval of `everyMs`.
    Every,
    /// Every day at `hour` and `minute`.
    Daily,
    /// From Monday to Friday at `hour` and `minute`.
    Weekdays,
    /// On `days` at `hour` and `minute`.
    Weekly,
}

/// When an automation runs.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationSchedule {
    /// Its kind.
    pub kind: AutomationScheduleKind,
    /// Of `at`: the time.
    pub at: Option<Timestamp>,
    /// Of `every`: milliseconds between two runs, at least 60,000.
    pub every_ms: Option<i64>,
    /// Of `daily`, `weekdays` and `weekly`: 0 to 23.
    pub hour: Option<u8>,
    /// Of `daily`, `weekdays` and `weekly`: 0 to 59. Default 0.
    pub minute: Option<u8>,
    /// Of `daily`, `weekdays` and `weekly`: an IANA time zone. Default UTC.
    pub time_zone: Option<String>,
    /// Of `weekly`: 1 (Monday) to 7 (Sunday).
    pub days: Option<Vec<u8>>,
}

/// Whether an automation runs by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AutomationStatus {
    /// It does.
    Active,
    /// It is switched off.
    Paused,
    /// Its only time is over. It can be run by hand or deleted.
    Completed,
}

/// The Thread of an automation's runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExecutionMode {
    /// Each run goes on in `targetThreadId`.
    Thread,
    /// Each run starts a Thread.
    Independent,
}

/// The rights of an automation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AutomationApprovalPolicy {
    /// It works in the workspace and its sandbox; what reaches out of it is refused.
    WorkspaceScope,
    /// Nothing is asked.
    FullAuto,
}

/// The folder of an automation's runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AutomationWorkspaceMode {
    /// The workspace.
    #[default]
    Project,
    /// A worktree of its own. This server refuses it.
    Worktree,
}

/// The ends of runs of which the user is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NotificationPolicy {
    /// Those that the user should see.
    Important,
    /// All.
    All,
    /// Those that failed.
    Failures,
}

/// The chat from which an automation comes.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationOrigin {
    /// The channel.
    pub channel: String,
    /// The user there.
    pub user_id: String,
    /// The chat that gets the results.
    pub delivery_target: Option<String>,
}

/// A prompt that runs by the clock.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Automation {
    /// Its id; a task or a cron job has the same.
    pub id: String,
    /// Grows with each change of its definition.
    pub version: u32,
    /// Its name.
    pub name: String,
    /// The input of each run.
    pub prompt: String,
    /// Whether it runs by the clock.
    pub status: AutomationStatus,
    /// The Thread of its runs.
    pub execution_mode: ExecutionMode,
    /// Its rights.
    pub approval_policy: AutomationApprovalPolicy,
    /// The folder of its runs.
    pub workspace_mode: AutomationWorkspaceMode,
    /// The ends of runs of which clients notify the user.
    pub notification_policy: NotificationPolicy,
    /// When it runs.
    pub schedule: AutomationSchedule,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Of `thread`: the Thread.
    pub target_thread_id: Option<String>,
    /// As the client gave it; without effect here.
    pub agent_profile_id: Option<String>,
    /// Of a cron job: the chat from which it comes.
    pub origin: Option<AutomationOrigin>,
    /// Its next time.
    pub next_run_at: Option<Timestamp>,
}

/// The definition of an automation.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationInput {
    /// Its name, at most 200 characters.
    pub name: String,
    /// The input of each run, at most 10,000 characters.
    pub prompt: String,
    /// `active` or `paused`.
    pub status: AutomationStatus,
    /// The Thread of its runs.
    pub execution_mode: ExecutionMode,
    /// Its rights.
    pub approval_policy: AutomationApprovalPolicy,
    /// When it runs.
    pub schedule: AutomationSchedule,
    /// Of `thread`: the Thread. Needed there.
    pub target_thread_id: Option<String>,
    /// Stored and returned.
    pub agent_profile_id: Option<String>,
    /// The folder of its runs. Default `project`.
    pub workspace_mode: Option<AutomationWorkspaceMode>,
    /// Default `important` for `thread`, `all` for `independent`.
    pub notification_policy: Option<NotificationPolicy>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AutomationRunStatus {
    /// It waits for room.
    Queued,
    /// It goes on.
    Running,
    /// It has succeeded.
    Succeeded,
    /// It has failed.
    Failed,
    /// A user has stopped it.
    Cancelled,
    /// The server ended meanwhile. This server goes on with such a run instead.
    Interrupted,
}

/// The delivery of the result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AutomationDeliveryStatus {
    /// The run goes on, or its result is on its way to the chat.
    Pending,
    /// The chat has it.
    Sent,
    /// No chat gets it.
    Skipped,
    /// The chat could not be reached.
    Failed,
}

/// A run of an automation.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationRun {
    /// Its id.
    pub id: String,
    /// The automation.
    pub automation_id: String,
    /// The `version` with which it started.
    pub definition_version: u32,
    /// How far it is.
    pub status: AutomationRunStatus,
    /// When it was requested or due.
    pub created_at: Timestamp,
    /// The delivery of its result.
    pub delivery_status: AutomationDeliveryStatus,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// The time of the schedule at which it started; absent for a run by hand.
    pub scheduled_at: Option<Timestamp>,
    /// Its Thread.
    pub thread_id: Option<String>,
    /// The agent's last message, at most 500 characters.
    pub summary: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// When its user read of it.
    pub read_at: Option<Timestamp>,
}

/// Params of `automation/list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutomationListParams {}

/// Result of `automation/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutomationListResult {
    /// Tasks, then cron jobs, each oldest first.
    pub automations: Vec<Automation>,
}

/// Params of `automation/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationReadParams {
    /// The automation.
    pub automation_id: String,
}

/// Params of `automation/delete` and `automation/run`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationParams {
    /// The automation.
    pub automation_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `automation/read`, `automation/create` and `automation/update`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutomationResult {
    /// The automation.
    pub automation: Automation,
}

/// Params of `automation/create`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationCreateParams {
    /// The definition.
    pub automation: AutomationInput,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `automation/update`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationUpdateParams {
    /// The automation.
    pub automation_id: String,
    /// The `version` that it must have.
    pub expected_version: u32,
    /// The whole definition.
    pub automation: AutomationInput,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `automation/run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutomationRunResult {
    /// The run.
    pub run: AutomationRun,
}

/// Result of `automation/runs/list` and `automation/runs/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutomationRunsResult {
    /// The runs, newest first; the latest 31 that have ended.
    pub runs: Vec<AutomationRun>,
}

/// Params of `automation/runs/read`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationRunsReadParams {
    /// The automation.
    pub automation_id: String,
    /// The runs, at most 31.
    pub run_ids: Vec<String>,
    /// Whether their user has read of them.
    pub read: bool,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `automation/presets/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationPresetsListParams {
    /// The user's language; the presets of this server are English.
    pub locale: Option<String>,
}

/// Result of `automation/presets/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutomationPresetsListResult {
    /// The presets.
    pub presets: Vec<AutomationPreset>,
}

/// A definition to start from.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationPreset {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The input of each run.
    pub prompt: String,
    /// When it runs.
    pub schedule: Option<AutomationSchedule>,
}

/// Params of `automation/updated`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationUpdatedNotification {
    /// The automation.
    pub automation_id: String,
    /// The automation now, unless it is gone.
    pub automation: Option<Automation>,
    /// Whether it is gone.
    pub removed: bool,
}

/// Params of `automation/run/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AutomationRunUpdatedNotification {
    /// The run now.
    pub run: AutomationRun,
}
