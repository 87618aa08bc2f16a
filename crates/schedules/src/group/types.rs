//! The shapes of `cron/*`, `heartbeat/*` and `automation/*` (AppServer protocol 05 §2, §3, §12). What goes beyond the page is
//! marked "extension".

use bobbin_native_wire::Timestamp;
use bobbin_native_wire::handshake::types::ClientRequestId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use super::today_types::*;
pub use crate::due::MissedRun;

/// When a job runs.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSchedule {
    /// `every`, `at`, `daily`, or as an extension `cron`. `once` stands for no schedule.
    pub kind: String,
    /// Of `every`: milliseconds between two runs, at least 60,000.
    pub every_ms: Option<i64>,
    /// Of `every`: milliseconds before the first run, where they are others.
    pub initial_delay_ms: Option<i64>,
    /// Of `at`: when, in Unix milliseconds.
    pub at_ms: Option<i64>,
    /// Of `daily`: 0 to 23.
    pub daily_hour: Option<u8>,
    /// Of `daily`: 0 to 59.
    pub daily_minute: Option<u8>,
    /// Extension, of `cron`: minute, hour, day, month, weekday.
    pub expr: Option<String>,
    /// Of `daily` and `cron`: an IANA time zone; UTC where there is none.
    pub tz: Option<String>,
}

/// Policy for a time at which the last run still goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OverlappingRun {
    /// The job waits for its next time.
    Skip,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CronRunStatus {
    /// It succeeded.
    Ok,
    /// It failed, or was stopped.
    Error,
}

/// A cron job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronJobInfo {
    /// Eight hex digits.
    pub id: String,
    /// Name to show.
    pub name: String,
    /// When it runs.
    pub schedule: JobSchedule,
    /// Whether it runs by the clock.
    pub enabled: bool,
    /// When it was made.
    pub created_at_ms: i64,
    /// Whether it is removed after a run that succeeded.
    pub delete_after_run: bool,
    /// Extension: the policy for a missed time.
    pub when_missed: MissedRun,
    /// Extension: the policy for a time at which the last run goes on.
    pub when_running: OverlappingRun,
    /// Its state.
    pub state: CronJobState,
}

/// State of a cron job.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronJobState {
    /// When it is due.
    pub next_run_at_ms: Option<i64>,
    /// When its last run ended.
    pub last_run_at_ms: Option<i64>,
    /// How that ended.
    pub last_status: Option<CronRunStatus>,
    /// Why it failed.
    pub last_error: Option<String>,
    /// The Thread of that run.
    pub last_thread_id: Option<String>,
    /// The agent's last message, at most 500 characters.
    pub last_result: Option<String>,
    /// Extension: a run of it goes on.
    pub running: Option<bool>,
    /// Extension: a sentence on a time that was left out, an interruption, or why the job is off.
    pub note: Option<String>,
}

/// Parameters of `cron/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronListParams {
    /// Whether jobs that are off are listed too. Default `false`.
    pub include_disabled: Option<bool>,
}

/// Result of `cron/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronListResult {
    /// The jobs, oldest first.
    pub jobs: Vec<CronJobInfo>,
}

/// Parameters of `cron/remove` and `cron/run`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronJobParams {
    /// The job.
    pub job_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `cron/remove`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronRemoveResult {
    /// Always `true`.
    pub removed: bool,
}

/// Parameters of `cron/enable`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronEnableParams {
    /// The job.
    pub job_id: String,
    /// Whether it is to run by the clock.
    pub enabled: bool,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `cron/enable`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronEnableResult {
    /// The job.
    pub job: CronJobInfo,
}

/// Result of `cron/run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronRunResult {
    /// Whether it runs as soon as there is room; `false` while a run of it goes on.
    pub queued: bool,
    /// The job.
    pub job: CronJobInfo,
}

/// Params of `cron/stateChanged`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronStateChangedNotification {
    /// The job.
    pub job: CronJobInfo,
    /// Whether it is gone.
    pub removed: bool,
}

/// Parameters of `heartbeat/trigger`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatTriggerParams {
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `heartbeat/trigger`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatTriggerResult {
    /// The agent's last message; absent if there was nothing to do.
    pub result: Option<String>,
    /// Why the run failed.
    pub error: Option<String>,
}

/// Status of an automation task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AutomationTaskStatus {
    /// It waits for its time.
    Pending,
    /// It runs, or starts as soon as there is room.
    Running,
    /// It has succeeded and does not run again by itself.
    Completed,
    /// Its last run failed. One with a time runs again.
    Failed,
}

/// The Thread that a task runs in.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationThreadBinding {
    /// The Thread.
    pub thread_id: String,
    /// Always `run-in-thread`.
    pub mode: Option<String>,
}

/// An automation task.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTask {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its state.
    pub status: AutomationTaskStatus,
    /// The Thread of its last run.
    pub thread_id: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// The agent's last message, or the reason of a failure.
    pub agent_summary: Option<String>,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    pub updated_at: Option<Timestamp>,
    /// `workspaceScope`, `fullAuto` or `default`.
    pub approval_policy: Option<String>,
    /// When it runs; without one, once.
    pub schedule: Option<JobSchedule>,
    /// The Thread that it runs in, in place of its own.
    pub thread_binding: Option<AutomationThreadBinding>,
    /// When it is due.
    pub next_run_at: Option<Timestamp>,
    /// Extension: a sentence on a time that was left out, an interruption, or why the task is off.
    pub note: Option<String>,
}

/// Parameters of `automation/task/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskListParams {
    /// The workspace; a server has one.
    pub workspace_path: Option<String>,
}

/// Result of `automation/task/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskListResult {
    /// The tasks, oldest first.
    pub tasks: Vec<AutomationTask>,
}

/// Parameters of `automation/task/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskReadParams {
    /// The task.
    pub task_id: String,
}

/// Result of `automation/task/read`: the task, bare and as `task`, since clients read either.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskReadResult {
    /// The task.
    #[serde(flatten)]
    pub bare: AutomationTask,
    /// The same.
    pub task: AutomationTask,
}

/// Parameters of `automation/task/create`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskCreateParams {
    /// Its title, at most 200 characters.
    pub title: String,
    /// Its description, at most 10,000 characters.
    pub description: Option<String>,
    /// The workflow, Markdown, in place of the template's.
    pub workflow_template: Option<String>,
    /// `workspaceScope` (default), `fullAuto` or `default`.
    pub approval_policy: Option<String>,
    /// `project`; this server has no other.
    pub workspace_mode: Option<String>,
    /// When it runs; without one, once and at once.
    pub schedule: Option<JobSchedule>,
    /// The Thread that it runs in, in place of its own.
    pub thread_binding: Option<AutomationThreadBinding>,
    /// A template whose workflow, description and policy count where the request has none.
    pub template_id: Option<String>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `automation/task/create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskCreateResult {
    /// Its id.
    pub task_id: String,
    /// The place of its files in the workspace, `.craft/tasks/ID`. Nothing is written there.
    pub task_directory: String,
    /// The task.
    pub task: AutomationTask,
}

/// Parameters of `automation/task/run` and `automation/task/delete`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskParams {
    /// The task.
    pub task_id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `automation/task/run` and `automation/task/updateBinding`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskResult {
    /// The task.
    pub task: AutomationTask,
}

/// Parameters of `automation/task/updateBinding`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskUpdateBindingParams {
    /// The task.
    pub task_id: String,
    /// The Thread; `null` for a Thread of its own.
    #[serde(default)]
    pub thread_binding: Option<AutomationThreadBinding>,
    /// Extension: makes a repeated request safe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `automation/task/delete` and `automation/template/delete`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationOkResult {
    /// Always `true`.
    pub ok: bool,
}

/// Params of `automation/task/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTaskUpdatedNotification {
    /// The workspace.
    pub workspace_path: String,
    /// The whole task.
    pub task: AutomationTask,
}

/// A template of tasks.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTemplate {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its purpose.
    pub description: Option<String>,
    /// A picture letter.
    pub icon: Option<String>,
    /// Its category.
    pub category: Option<String>,
    /// The workflow of its tasks.
    pub workflow_markdown: String,
    /// The default schedule of its tasks.
    pub default_schedule: Option<JobSchedule>,
    /// The default workspace mode of its tasks.
    pub default_workspace_mode: Option<String>,
    /// The default approval policy.
    pub default_approval_policy: Option<String>,
    /// Whether its tasks want a Thread to run in.
    pub needs_thread_binding: Option<bool>,
    /// The default title of its tasks.
    pub default_title: Option<String>,
    /// The default description of its tasks.
    pub default_description: Option<String>,
    /// Whether its user wrote it.
    pub is_user: Option<bool>,
    /// When it was written.
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    pub updated_at: Option<Timestamp>,
}

/// Parameters of `automation/template/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTemplateListParams {
    /// Language of the built-in ones. There is English only.
    pub locale: Option<String>,
}

/// Result of `automation/template/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTemplateListResult {
    /// The built-in ones, those that a trusted folder brings, then those that users saved.
    pub templates: Vec<AutomationTemplate>,
}

/// Parameters of `automation/template/save`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTemplateSaveParams {
    /// The template to replace; a new one where there is none.
    pub id: Option<String>,
    /// Its title, at most 200 characters.
    pub title: String,
    /// Its purpose.
    pub description: Option<String>,
    /// A picture letter.
    pub icon: Option<String>,
    /// Its category.
    pub category: Option<String>,
    /// The workflow of its tasks.
    pub workflow_markdown: String,
    /// The default schedule of its tasks.
    pub default_schedule: Option<JobSchedule>,
    /// The default workspace mode of its tasks.
    pub default_workspace_mode: Option<String>,
    /// The default approval policy.
    pub default_approval_policy: Option<String>,
    /// Whether its tasks want a Thread to run in.
    pub needs_thread_binding: Option<bool>,
    /// The default title of its tasks.
    pub default_title: Option<String>,
    /// The default description of its tasks.
    pub default_description: Option<String>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `automation/template/save`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTemplateResult {
    /// The template.
    pub template: AutomationTemplate,
}

/// Parameters of `automation/template/delete`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutomationTemplateDeleteParams {
    /// The template; one that is not there is no error.
    pub id: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}
