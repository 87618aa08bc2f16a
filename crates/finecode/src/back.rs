//! The requests and reports that runners send.
//!
//! Each request is handled on a task of its connection, so a runner may ask while it is asked.

use std::path::Path;
use std::sync::{Arc, Weak};

use bobbin_finecode_wire::{Dialect, Json};
use bobbin_peer::{CallContext, ErrorObject, HandlerError, Handlers, Mode, NoParams, code};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::conn::Conn;
use crate::edits::{Applied, documents_of};
use crate::error::RunError;
use crate::host::{Event, Inner, UserMessage};
use crate::info::ProjectStatus;
use crate::progress::Combined;
use crate::project::Project;
use crate::run::{Context, Outcome, RunEvent, Selected, Sink};
use crate::wire::{DevEnv, Format, Nested, Trigger, workspace_result};

/// One runner as it asks.
#[derive(Clone)]
struct Asking {
    inner: Weak<Inner>,
    conn: Arc<Conn>,
}

pub(crate) fn handlers(inner: &Weak<Inner>, conn: &Arc<Conn>) -> Handlers {
    let asking = || Asking {
        inner: inner.clone(),
        conn: conn.clone(),
    };
    let (config, edit, project, workspace) = (asking(), asking(), asking(), asking());
    let handlers = Handlers::new()
        .on_call("projects/getRawConfig", move |_, params: Value| {
            let answer = config.raw_config(&params);
            async move { answer }
        })
        .on_call_raw("workspace/applyEdit", Mode::Concurrent, move |call| {
            let asking = edit.clone();
            async move { Ok(to_raw_value(&asking.apply_edit(&call).await?)?) }
        })
        .on_call_raw("finecode/runActionInProject", Mode::Concurrent, move |call| {
            let asking = project.clone();
            async move { asking.cancellable(asking.run_in_project(&call)).await }
        })
        .on_call_raw("finecode/runActionInWorkspace", Mode::Concurrent, move |call| {
            let asking = workspace.clone();
            async move { asking.cancellable(asking.run_in_workspace(&call)).await }
        });
    let (paths, children, all, progress, message) = (asking(), asking(), asking(), asking(), asking());
    handlers
        .on_call("workspace/getWorkspaceEditablePackages", |_, _: NoParams| async {
            Ok(json!({ "packages": {} }))
        })
        .on_call("workspace/getProjectPaths", move |_, _: NoParams| {
            let answer = paths.project_paths();
            async move { answer }
        })
        .on_call("finecode/getActionsForParent", move |_, params: Value| {
            let answer = children.actions_for_parent(&params);
            async move { answer }
        })
        .on_call("finecode/listWorkspaceActions", move |_, _: NoParams| {
            let answer = all.workspace_actions();
            async move { answer }
        })
        // Handed on as it is read, so that it precedes the answer that follows it.
        .on_notification_deferred("$/progress", Mode::ordered("progress"), move |call| {
            #[derive(Deserialize)]
            struct Params {
                token: Value,
                value: String,
            }
            match call.decode() {
                Ok(Params { token, value }) => progress.conn.deliver(&token, &value),
                Err(error) => tracing::debug!(%error, "a progress notification cannot be read"),
            }
            async {}
        })
        .on_notification("er/userMessage", move |_, params: Value| {
            message.message(&params);
            async { Ok(()) }
        })
        // Forwarding of log records is never switched on.
        .ignore_notifications("er/logRecords")
        .ignore_notifications("$/")
}

/// A partial result on its way to a runner.
#[derive(Serialize)]
struct ProgressParams<'a> {
    token: &'a RawValue,
    value: &'a str,
}

/// How a nested run answers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NestedAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Json>,
    return_code: i64,
}

fn internal(message: impl Into<String>) -> HandlerError {
    ErrorObject::new(code::INTERNAL_ERROR, message.into()).into()
}

fn refuse(error: RunError) -> HandlerError {
    match error {
        RunError::Cancelled => HandlerError::Cancelled,
        error => internal(error.to_string()),
    }
}

fn empty() -> Result<Json, serde_json::Error> {
    RawValue::from_string("{}".to_owned())
}

impl Asking {
    fn inner(&self) -> Result<Arc<Inner>, HandlerError> {
        self.inner.upgrade().ok_or_else(|| internal("the server ends"))
    }

    /// Ends a nested run with the run that asks for it, where exactly one is active on this runner.
    async fn cancellable(
        &self,
        nested: impl Future<Output = Result<Json, HandlerError>>,
    ) -> Result<Json, HandlerError> {
        let _owed = self.conn.owes();
        let asking = self.conn.sole_run().unwrap_or_default();
        tokio::select! {
            biased;
            () = asking.cancelled() => Err(HandlerError::Cancelled),
            answer = nested => answer,
        }
    }

    fn raw_config(&self, params: &Value) -> Result<Value, HandlerError> {
        let _owed = self.conn.owes();
        let path = params["projectDefPath"].as_str().unwrap_or_default();
        let project = self.inner()?.project(path.as_ref()).map_err(refuse)?;
        let config = project.raw_config();
        Ok(match self.conn.speech.dialect {
            Dialect::Documented => json!({ "config": config.to_string() }),
            Dialect::Early | Dialect::Current => json!({ "config": config }),
        })
    }

    async fn apply_edit(&self, call: &CallContext) -> Result<Applied, HandlerError> {
        let _owed = self.conn.owes();
        let inner = self.inner()?;
        let params = call.params.as_deref();
        let params = params.ok_or_else(|| ErrorObject::invalid_params("no edit"))?;
        let uris = documents_of(params);
        let owners = uris.iter().filter_map(|uri| inner.documents.client(uri));
        let first: Vec<_> = self.conn.client().into_iter().chain(owners).collect();
        Ok(inner.editors.apply(first, params).await)
    }

    /// Returns a nested run, if it may be.
    fn context(
        &self,
        inner: &Inner,
        nested: &Nested,
        sink: Option<Sink>,
    ) -> Result<(Context, tokio_util::sync::DropGuard), HandlerError> {
        let depth = nested.meta.orchestration_depth;
        let limit = inner.settings.limits.depth;
        if depth >= limit {
            return Err(refuse(RunError::TooDeep { depth, limit }));
        }
        let cancel = CancellationToken::new();
        let guard = cancel.clone().drop_guard();
        let context = Context {
            id: uuid::Uuid::new_v4().to_string(),
            depth: depth + 1,
            trigger: nested.meta.trigger.unwrap_or(Trigger::Unknown),
            dev_env: nested.meta.dev_env.unwrap_or(DevEnv::Ai),
            formats: vec![Format::Json],
            client: self.conn.client(),
            cancel,
            caller_kwargs: nested.caller_kwargs.clone(),
            traceparent: nested.traceparent.clone(),
            partial_results: sink.is_some(),
            sink,
            progress: Arc::new(Combined::default()),
        };
        Ok((context, guard))
    }

    /// Returns a sink that forwards partial results under the runner's own token.
    fn forward(&self, token: &RawValue) -> Sink {
        let (peer, token) = (self.conn.peer.clone(), token.to_owned());
        Arc::new(move |event| {
            let RunEvent::Partial { json: Some(json), .. } = event else {
                return;
            };
            let params = ProgressParams {
                token: &token,
                value: json.get(),
            };
            if let Err(error) = peer.try_notify("$/progress", params) {
                tracing::debug!(%error, "a runner cannot be sent a partial result");
            }
        })
    }

    async fn run_in_project(&self, call: &CallContext) -> Result<Json, HandlerError> {
        let inner = self.inner()?;
        let nested: Nested = call.decode()?;
        let sink = nested
            .partial_result_token
            .as_deref()
            .map(|token| self.forward(token));
        let streams = sink.is_some();
        let (context, _guard) = self.context(&inner, &nested, sink)?;
        let project = inner.project(&self.conn.project).map_err(refuse)?;
        let mut action = project.find_canonical(&nested.action_source);
        if action.is_none() {
            inner.start_unresolved(&project).await;
            action = project.find_canonical(&nested.action_source);
        }
        let action = action.ok_or_else(|| unknown(&project.definition.name, &nested.action_source))?;
        let payload = nested.payload.map_or_else(empty, Ok)?;
        let ran = inner.run_one(&context, &project, &action, &payload).await;
        let Outcome {
            json, return_code, ..
        } = ran.map_err(refuse)?;
        let whole = (!streams).then(|| json.map_or_else(empty, Ok));
        let result = whole.transpose()?;
        let answer = NestedAnswer {
            result,
            return_code: verdict(return_code),
        };
        Ok(to_raw_value(&answer)?)
    }

    async fn run_in_workspace(&self, call: &CallContext) -> Result<Json, HandlerError> {
        let inner = self.inner()?;
        let nested: Nested = call.decode()?;
        let sink = nested
            .partial_result_token
            .as_deref()
            .map(|token| self.forward(token));
        let (context, _guard) = self.context(&inner, &nested, sink)?;
        let selected = select(&inner, &self.conn.project, &nested)
            .await
            .map_err(refuse)?;
        let names: Vec<_> = selected.iter().map(|(_, action)| action.name.clone()).collect();
        let payload = nested.payload.map_or_else(empty, Ok)?;
        let concurrently = nested.concurrently.unwrap_or(true);
        let ran = inner.run_all(&context, selected, &payload, concurrently).await;
        let mut results = Vec::new();
        for ((path, outcome), name) in ran.into_iter().zip(names) {
            let outcome = outcome.map_err(|error| match error {
                RunError::Cancelled => HandlerError::Cancelled,
                error => refuse(RunError::InProject {
                    project: path.clone(),
                    error: Box::new(error),
                }),
            })?;
            let result = outcome.json.map_or_else(empty, Ok)?;
            let form = self.conn.speech.workspace_answer;
            let value = workspace_result(form, &name, &result, outcome.status.name())?;
            let path = serde_json::to_string(&path.to_string_lossy())?;
            results.push(format!("{path}:{value}"));
        }
        let answer = format!("{{\"resultsByProject\":{{{}}}}}", results.join(","));
        Ok(RawValue::from_string(answer)?)
    }

    fn project_paths(&self) -> Result<Value, HandlerError> {
        let inner = self.inner()?;
        let projects = inner.all();
        let projects: Vec<_> = projects
            .iter()
            .map(|project| {
                let status = match inner.info(project).status {
                    ProjectStatus::Valid | ProjectStatus::Untrusted => "valid",
                    ProjectStatus::NoConfig => "no_config",
                    ProjectStatus::Invalid => "invalid",
                };
                json!({ "path": project.dir(), "configStatus": status })
            })
            .collect();
        Ok(json!({ "projects": projects }))
    }

    fn actions_for_parent(&self, params: &Value) -> Result<Value, HandlerError> {
        let project = self.inner()?.project(&self.conn.project).map_err(refuse)?;
        let parent = params["parentActionSource"].as_str().unwrap_or_default();
        let catalog = project.catalog();
        let metas = catalog
            .actions
            .iter()
            .filter_map(|action| Some((action, project.meta(action)?)));
        let found: Vec<_> = metas
            .filter(|(_, meta)| meta.parent.as_deref() == Some(parent))
            .map(|(action, meta)| {
                json!({ "source": action.source, "canonicalSource": meta.canonical_source, "language": meta.language })
            })
            .collect();
        Ok(json!({ "subactions": found }))
    }

    fn workspace_actions(&self) -> Result<Value, HandlerError> {
        let mut actions = Vec::new();
        for project in self.inner()?.all() {
            for action in &project.catalog().actions {
                let meta = project.meta(action);
                let of = |get: fn(&crate::wire::Meta) -> Option<String>| meta.as_ref().and_then(get);
                let handlers: Vec<_> = action
                    .handlers
                    .iter()
                    .map(|handler| {
                        json!({ "name": handler.name, "source": handler.source, "env": handler.env, "fileLoc": null })
                    })
                    .collect();
                let mut entry = Map::new();
                entry.insert("name".to_owned(), json!(action.name));
                entry.insert("source".to_owned(), json!(action.source));
                entry.insert(
                    "canonicalSource".to_owned(),
                    json!(of(|meta| Some(meta.canonical_source.clone()))),
                );
                entry.insert("scope".to_owned(), json!(of(|meta| meta.scope.clone())));
                entry.insert("project".to_owned(), json!(project.dir()));
                entry.insert("language".to_owned(), json!(of(|meta| meta.language.clone())));
                entry.insert(
                    "parentActionSource".to_owned(),
                    json!(of(|meta| meta.parent.clone())),
                );
                entry.insert("fileLoc".to_owned(), json!(of(|meta| meta.location.clone())));
                entry.insert("handlers".to_owned(), json!(handlers));
                actions.push(Value::Object(entry));
            }
        }
        Ok(json!({ "actions": actions }))
    }

    fn message(&self, params: &Value) {
        let _owed = self.conn.owes();
        if let Some(inner) = self.inner.upgrade() {
            inner.announce(Event::Message(UserMessage {
                project: self.conn.project.clone(),
                env: self.conn.env.clone(),
                level: params["type"].as_str().unwrap_or("INFO").to_owned(),
                text: params["message"].as_str().unwrap_or_default().to_owned(),
            }));
        }
    }
}

/// A code is a verdict: nested runs are clean or not.
fn verdict(code: Option<i64>) -> i64 {
    i64::from(code.unwrap_or(0) != 0)
}

fn unknown(project: &str, source: &str) -> HandlerError {
    internal(format!(
        "{project} has no action with the canonical source {source}; an alias is not enough here"
    ))
}

/// Finds a nested run's action in the projects that it names, or in all that declare it.
async fn select(inner: &Arc<Inner>, asking: &Path, nested: &Nested) -> Result<Selected, RunError> {
    let source = &nested.action_source;
    let known = || -> Vec<String> {
        let projects = inner.all();
        projects
            .iter()
            .flat_map(|project| project.sources_of(source))
            .collect()
    };
    let mut projects = declaring(inner, nested, &known())?;
    // Before anything is started.
    inner.check_width(projects.len())?;
    if known().is_empty() {
        inner.start_unresolved(&inner.project(asking)?).await;
        projects = declaring(inner, nested, &known())?;
    }
    inner.check_width(projects.len())?;
    let mut selected = Vec::new();
    for project in projects {
        let mut action = project.find_canonical(source);
        if action.is_none() {
            inner.start_unresolved(&project).await;
            action = project.find_canonical(source);
        }
        let missing = || RunError::NoAction {
            project: project.definition.name.clone(),
            action: source.clone(),
        };
        let action = action.ok_or_else(missing)?;
        selected.push((project, action));
    }
    if selected.is_empty() {
        return Err(RunError::NoActionAnywhere(source.clone()));
    }
    Ok(selected)
}

/// Returns the projects that a nested run names, or all that have an action with one of these import paths.
fn declaring(inner: &Inner, nested: &Nested, known: &[String]) -> Result<Vec<Arc<Project>>, RunError> {
    if let Some(paths) = &nested.project_paths {
        return paths.iter().map(|path| inner.project(Path::new(path))).collect();
    }
    let declares = |source: &String| known.contains(source) || *source == nested.action_source;
    let has = |project: &Arc<Project>| {
        let catalog = project.catalog();
        project.check().is_ok() && catalog.actions.iter().any(|action| declares(&action.source))
    };
    let all = inner.all();
    Ok(all.into_iter().filter(has).collect())
}
