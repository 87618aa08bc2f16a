//! The shapes of `finecode/*`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_with::skip_serializing_none;

/// JSON of an action's own type, passed on unchanged.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActionJson(pub Box<RawValue>);

impl PartialEq for ActionJson {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl JsonSchema for ActionJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ActionJson".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        serde_json::Value::json_schema(generator)
    }
}

/// Result of `finecode/project/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeProjectListResult {
    /// The projects, by path.
    pub projects: Vec<FineCodeProject>,
}

/// A directory with a `pyproject.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeProject {
    /// Its directory.
    pub path: String,
    /// Its name.
    pub name: String,
    /// `valid`, `noConfig`, `invalid` or `untrusted`.
    pub status: String,
    /// Errors of its configuration: sentences with file and line.
    pub problems: Vec<String>,
}

/// Parameters of `finecode/action/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FineCodeActionListParams {
    /// Only of the project in this directory.
    pub project_path: Option<String>,
    /// Whether runners are started to find presets. Without it, actions of presets are there once a run has needed them.
    pub load_presets: Option<bool>,
}

/// Result of `finecode/action/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeActionListResult {
    /// The actions, by project.
    pub actions: Vec<FineCodeAction>,
}

/// An action of a project.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeAction {
    /// The directory of its project.
    pub project_path: String,
    /// Its name.
    pub name: String,
    /// Its import path, as configured.
    pub source: String,
    /// Its import path, once a runner has resolved it.
    pub canonical_source: Option<String>,
    /// The environments of its handlers.
    pub envs: Vec<String>,
    /// Its handlers, in order.
    pub handlers: Vec<String>,
}

/// Parameters of `finecode/action/run`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeActionRunParams {
    /// The name or import path of the action.
    pub action: String,
    /// The payload, of the action's own type; an empty object when left out.
    pub payload: Option<ActionJson>,
    /// The directories of the projects; all that have the action when left out.
    pub project_paths: Option<Vec<String>>,
    /// Whether projects run side by side. Default true.
    pub concurrently: Option<bool>,
    /// `json` and `string`; both when left out.
    pub formats: Option<Vec<String>>,
    /// A name for the run, of this connection: it is cancelled by it, and notifications carry it.
    pub run_id: Option<String>,
    /// Whether partial results are sent. Needs `runId`.
    pub partial_results: Option<bool>,
}

/// Result of `finecode/action/run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeActionRunResult {
    /// The result in each project.
    pub results: Vec<FineCodeRunResult>,
}

/// The result of a run in one project.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeRunResult {
    /// The directory of the project.
    pub project_path: String,
    /// `success`, `streamed`, `stopped`, `no_handlers`, `cancelled` or `failed`.
    pub status: String,
    /// 0 if all is well; absent where it is not known.
    pub return_code: Option<i64>,
    /// The result, of the action's own type.
    pub result: Option<ActionJson>,
    /// The result as text.
    pub text: Option<String>,
    /// The changes of files whose new texts the result has (`code`), as a unified diff: of those that the payload names, from
    /// what they were before the run.
    pub diff: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Parameters of `finecode/action/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeActionCancelParams {
    /// The run's name.
    pub run_id: String,
}

/// Result of `finecode/action/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeActionCancelResult {
    /// Whether there was such a run.
    pub cancelled: bool,
}

/// Result of `finecode/runner/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeRunnerListResult {
    /// The runners, by project and environment.
    pub runners: Vec<FineCodeRunner>,
}

/// The process of a project and an environment.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeRunner {
    /// The directory of its project.
    pub project_path: String,
    /// Its environment.
    pub env: String,
    /// `true` for a runner of the agent, which runs in the sandbox of commands. There may be another one for clients.
    pub sandboxed: Option<bool>,
    /// `STOPPED`, `INITIALIZING`, `RUNNING`, `NO_VENV`, `FAILED` or `EXITED`.
    pub status: String,
    /// Why it does not run.
    pub problem: Option<String>,
    /// The path of its log.
    pub log_file: Option<String>,
}

/// Parameters of `finecode/runner/restart`, `stop` and `logs`: the runner of clients, and the agent's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeRunnerParams {
    /// The directory of its project.
    pub project_path: String,
    /// Its environment.
    pub env: String,
}

/// Result of `finecode/runner/restart` and `stop`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeRunnerResult {
    /// Whether there is such a runner.
    pub found: bool,
}

/// Result of `finecode/runner/logs`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeRunnerLogsResult {
    /// The last lines that it has printed, those of its standard error last.
    pub lines: Vec<String>,
}

/// Parameters of `finecode/action/progress`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeProgressNotification {
    /// The run's name.
    pub run_id: String,
    /// `begin`, `report` or `end`.
    pub kind: String,
    /// The work that is in progress; with `begin`.
    pub title: Option<String>,
    /// The present step of the work.
    pub message: Option<String>,
    /// How much is done.
    pub percentage: Option<f64>,
}

/// Parameters of `finecode/action/partialResult`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodePartialResultNotification {
    /// The run's name.
    pub run_id: String,
    /// The directory of the project.
    pub project_path: String,
    /// The part, of the action's own type.
    pub result: Option<ActionJson>,
    /// The part as text.
    pub text: Option<String>,
}

/// Parameters of `finecode/runner/updated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeRunnerUpdatedNotification {
    /// The runner as it is now.
    pub runner: FineCodeRunner,
}

/// Parameters of `finecode/message`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeMessageNotification {
    /// The directory of the project.
    pub project_path: String,
    /// The environment.
    pub env: String,
    /// `info`, `warning` or `error`.
    pub level: String,
    /// The text of the message.
    pub text: String,
    /// The address at which the runner waits for a debugger.
    pub debugger: Option<String>,
}

/// Params of `finecode/applyEdit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeApplyEditParams {
    /// A `WorkspaceEdit` of the Language Server Protocol, as the runner sent it. A range that ends behind the end of a document
    /// ends there.
    pub edit: ActionJson,
}

/// Result of `finecode/applyEdit`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FineCodeApplyEditResult {
    /// Whether all of it is made.
    pub applied: bool,
    /// Why not.
    pub failure_reason: Option<String>,
}
