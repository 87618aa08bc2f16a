//! What a handler may ask of the manager.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bobbin_peer::PeerHandle;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::Json;
use crate::action::Failure;

/// How long the manager may take for its configuration.
const RAW_CONFIG: Duration = Duration::from_secs(10);
/// Partial results of a nested run that wait to be read; more are dropped.
const MAX_PARTIALS: usize = 1024;

/// Who started a run, and how deep it is. Managers write it in two spellings.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// `user`, `system` or `unknown`.
    #[serde(default = "unknown")]
    pub trigger: String,
    /// `ide`, `cli`, `ai`, `git_hook` or `ci`.
    #[serde(default = "unknown", alias = "dev_env")]
    pub dev_env: String,
    /// How many runs it is nested in, itself included.
    #[serde(default, alias = "orchestration_depth")]
    pub orchestration_depth: i64,
}

fn unknown() -> String {
    "unknown".to_owned()
}

impl Default for Meta {
    fn default() -> Self {
        Self {
            trigger: unknown(),
            dev_env: unknown(),
            orchestration_depth: 0,
        }
    }
}

/// The partial results of nested runs, by token. Tokens count from 1.
#[derive(Default)]
pub(crate) struct Routes {
    next: AtomicU64,
    open: Mutex<HashMap<u64, mpsc::Sender<String>>>,
}

impl Routes {
    pub(crate) fn deliver(&self, token: &Value, value: String) {
        let open = self.open.lock();
        if let Some(route) = token.as_u64().and_then(|token| open.get(&token)) {
            // A reader that is too slow loses partial results; the manager is not blocked.
            drop(route.try_send(value));
        }
    }
}

/// The manager, as the handlers of one run reach it.
#[derive(Clone)]
pub struct Manager {
    peer: PeerHandle,
    routes: Arc<Routes>,
    meta: Meta,
}

/// How much a message matters to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum MessageLevel {
    /// Good to know.
    Info,
    /// Something may be wrong.
    Warning,
    /// Something went wrong.
    Error,
}

/// The outcome of a nested run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nested {
    /// Its result; absent if it was streamed.
    pub result: Option<Json>,
    /// Its return code.
    pub return_code: i64,
}

impl Manager {
    pub(crate) fn new(peer: PeerHandle, routes: Arc<Routes>, meta: Meta) -> Self {
        Self { peer, routes, meta }
    }

    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Returns the merged configuration of a project.
    ///
    /// # Errors
    /// The manager knows no such project, or does not answer.
    pub async fn raw_config(&self, definition: &str) -> Result<Value, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            config: Value,
        }
        let params = json!({ "projectDefPath": definition });
        let answer = self
            .peer
            .call_with_timeout("projects/getRawConfig", params, RAW_CONFIG);
        let Answer { config } = answer.await?;
        // A string in the documented dialect.
        match config {
            Value::String(text) => Ok(serde_json::from_str(&text)?),
            config => Ok(config),
        }
    }

    /// Has an editor apply an edit. Returns its answer.
    ///
    /// # Errors
    /// The manager does not answer.
    pub async fn apply_edit(&self, edit: &Value) -> Result<Value, Failure> {
        let answer = self.peer.call("workspace/applyEdit", json!({ "edit": edit }));
        Ok(answer.await?)
    }

    /// Shows the user a message, in every editor that is there. It is not an answer: nobody waits for it.
    ///
    /// # Errors
    /// The manager is gone.
    pub async fn show_message(&self, level: MessageLevel, message: &str) -> Result<(), Failure> {
        let params = json!({ "message": message, "type": level });
        Ok(self.peer.notify("er/userMessage", params).await?)
    }

    /// Asks the manager anything.
    ///
    /// # Errors
    /// Its answer is an error.
    pub async fn ask(&self, method: &str, params: Value) -> Result<Value, Failure> {
        Ok(self.peer.call(method, params).await?)
    }

    /// Runs another action of this project, over all its environments. Needs its canonical import path.
    ///
    /// # Errors
    /// The run failed.
    pub async fn run_in_project(&self, source: &str, payload: &RawValue) -> Result<Nested, Failure> {
        let params = NestedParams::new(source, payload, &self.meta);
        Ok(self.peer.call("finecode/runActionInProject", params).await?)
    }

    /// As [`Manager::run_in_project`], with its partial results.
    ///
    /// # Errors
    /// The run failed.
    pub async fn stream_in_project(
        &self,
        source: &str,
        payload: &RawValue,
    ) -> Result<(Nested, Vec<Json>), Failure> {
        let token = self.routes.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (route, mut values) = mpsc::channel(MAX_PARTIALS);
        self.routes.open.lock().insert(token, route);
        let params = NestedParams {
            partial_result_token: Some(token),
            ..NestedParams::new(source, payload, &self.meta)
        };
        let answer = self.peer.call("finecode/runActionInProject", params).await;
        self.routes.open.lock().remove(&token);
        let nested = answer?;
        let mut partials = Vec::new();
        while let Ok(value) = values.try_recv() {
            partials.push(RawValue::from_string(value)?);
        }
        Ok((nested, partials))
    }

    /// Runs another action in several projects: those of these paths, or all that declare it. Returns the results by
    /// path, as the manager's dialect writes them.
    ///
    /// # Errors
    /// The run failed in one of them.
    pub async fn run_in_workspace(
        &self,
        source: &str,
        payload: &RawValue,
        projects: Option<&[String]>,
        concurrently: bool,
    ) -> Result<Value, Failure> {
        let params = NestedParams {
            workspace: Some(WorkspaceParams {
                project_paths: projects,
                concurrently,
            }),
            ..NestedParams::new(source, payload, &self.meta)
        };
        let answer: Value = self.peer.call("finecode/runActionInWorkspace", params).await?;
        Ok(answer["resultsByProject"].clone())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NestedParams<'a> {
    action_source: &'a str,
    payload: &'a RawValue,
    meta: &'a Meta,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial_result_token: Option<u64>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    workspace: Option<WorkspaceParams<'a>>,
}

/// What a run in the workspace has beside.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceParams<'a> {
    project_paths: Option<&'a [String]>,
    concurrently: bool,
}

impl<'a> NestedParams<'a> {
    fn new(action_source: &'a str, payload: &'a RawValue, meta: &'a Meta) -> Self {
        Self {
            action_source,
            payload,
            meta,
            partial_result_token: None,
            workspace: None,
        }
    }
}
