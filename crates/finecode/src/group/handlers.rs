//! Serves `finecode/*`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{
    DevEnv, Format, Outcome, Presets, Progress, ProjectStatus, RunError, RunEvent, RunRequest, RunnerInfo,
    RunnerState, Sink, Trigger, UserMessage,
};
use bobbin_native::client::{Client, refuse};
use bobbin_native_wire::RpcError;
use bobbin_peer::{PeerHandle, Responder};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::group::changes::FilesBefore;
use crate::group::runs::{FineCode, Runs};
use crate::group::types::{
    ActionJson, FineCodeAction, FineCodeActionCancelParams, FineCodeActionCancelResult,
    FineCodeActionListParams, FineCodeActionListResult, FineCodeActionRunParams, FineCodeActionRunResult,
    FineCodeMessageNotification, FineCodePartialResultNotification, FineCodeProgressNotification,
    FineCodeProject, FineCodeProjectListResult, FineCodeRunResult, FineCodeRunner, FineCodeRunnerListResult,
    FineCodeRunnerLogsResult, FineCodeRunnerParams, FineCodeRunnerResult,
};
use crate::group::{PARTIAL_RESULT, PROGRESS, editor};
use bobbin_native::call::NoParams;

fn shown(path: &Path) -> String {
    path.display().to_string()
}

pub(crate) async fn projects(_: &Client, finecode: &FineCode, _: NoParams, responder: Responder) {
    let projects = finecode.host.projects().await;
    let projects = projects.into_iter().map(|project| FineCodeProject {
        path: shown(&project.path),
        name: project.name,
        status: match project.status {
            ProjectStatus::Valid => "valid",
            ProjectStatus::NoConfig => "noConfig",
            ProjectStatus::Invalid => "invalid",
            ProjectStatus::Untrusted => "untrusted",
        }
        .to_owned(),
        problems: project.problems,
    });
    responder.ok(FineCodeProjectListResult {
        projects: projects.collect(),
    });
}

pub(crate) fn actions(
    client: &Client,
    finecode: &FineCode,
    params: FineCodeActionListParams,
    responder: Responder,
) {
    let (peer, host) = (client.peer().clone(), finecode.host.clone());
    client.spawn(async move {
        let presets = match params.load_presets {
            Some(true) => Presets::Load,
            Some(false) | None => Presets::Known,
        };
        let project = params.project_path.map(PathBuf::from);
        let actions = tokio::select! {
            () = peer.closed() => return,
            actions = host.actions(project.as_deref(), presets) => actions,
        };
        let actions = actions.into_iter().map(|action| FineCodeAction {
            project_path: shown(&action.project),
            name: action.name,
            source: action.source,
            canonical_source: action.canonical_source,
            envs: action.envs,
            handlers: action.handlers,
        });
        responder.ok(FineCodeActionListResult {
            actions: actions.collect(),
        });
    });
}

/// Returns the request of a run.
fn request(params: &FineCodeActionRunParams) -> Result<RunRequest, String> {
    let format = |name: &String| match name.as_str() {
        "json" => Ok(Format::Json),
        "string" => Ok(Format::String),
        _ => Err("'formats' knows 'json' and 'string'.".to_owned()),
    };
    let formats = params.formats.as_deref().unwrap_or_default();
    let formats: Vec<_> = formats.iter().map(format).collect::<Result<_, _>>()?;
    let payload = match &params.payload {
        Some(payload) => payload.0.clone(),
        None => RawValue::from_string("{}".to_owned()).map_err(|error| error.to_string())?,
    };
    let paths = params.project_paths.as_ref();
    let partial_results = params.partial_results == Some(true);
    if partial_results && params.run_id.is_none() {
        return Err("'partialResults' needs a 'runId'.".to_owned());
    }
    Ok(RunRequest {
        action: params.action.clone(),
        projects: paths.map(|paths| paths.iter().map(PathBuf::from).collect()),
        concurrently: params.concurrently.unwrap_or(true),
        payload,
        formats: if formats.is_empty() {
            vec![Format::Json, Format::String]
        } else {
            formats
        },
        partial_results,
        trigger: Trigger::User,
        dev_env: DevEnv::Ide,
        client: None,
    })
}

pub(crate) fn run(
    client: &Client,
    finecode: &FineCode,
    params: FineCodeActionRunParams,
    responder: Responder,
) {
    let mut request = match request(&params) {
        Ok(request) => request,
        Err(detail) => return refuse(responder, RpcError::invalid_params(detail)),
    };
    request.client = editor::client_id(client);
    let sink = params
        .run_id
        .as_ref()
        .map(|id| sink(client.peer().clone(), id.clone()));
    let name = params.run_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let entered = match Runs::of(client).enter(&name) {
        Ok(entered) => entered,
        Err(detail) => return refuse(responder, RpcError::invalid_params(detail)),
    };
    let (peer, host) = (client.peer().clone(), finecode.host.clone());
    let root = client.threads().settings().workspace.clone();
    client.spawn(async move {
        let cancelled = responder.token().clone();
        let (projects, payload) = (request.projects.clone(), request.payload.clone());
        let read = move || FilesBefore::read(&root, &projects.unwrap_or_default(), payload.get());
        let before = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        let ran = tokio::select! {
            biased;
            // Nobody waits for the answer any more; dropping the run cancels it.
            () = peer.closed() => return,
            () = entered.token.cancelled() => Err(RunError::Cancelled),
            () = cancelled.cancelled() => Err(RunError::Cancelled),
            ran = host.run(&request, sink) => ran,
        };
        match ran {
            Ok(outcomes) => {
                let results = move || {
                    outcomes
                        .into_iter()
                        .map(|outcome| result(outcome, &before))
                        .collect()
                };
                match tokio::task::spawn_blocking(results).await {
                    Ok(results) => responder.ok(FineCodeActionRunResult { results }),
                    Err(error) => {
                        tracing::error!(%error, "the results of a run could not be read");
                        refuse(
                            responder,
                            RpcError::internal_error("The results could not be read."),
                        );
                    }
                }
            }
            Err(RunError::Cancelled) => responder.err(bobbin_peer::ErrorObject::cancelled()),
            Err(error) => refuse(responder, RpcError::invalid_request(error.to_string())),
        }
    });
}

/// Returns a sink that sends what happens to the client that asked.
fn sink(peer: PeerHandle, run_id: String) -> Sink {
    Arc::new(move |event| match event {
        RunEvent::Partial { project, json, text } => {
            let part = FineCodePartialResultNotification {
                run_id: run_id.clone(),
                project_path: shown(&project),
                result: json.map(ActionJson),
                text,
            };
            send(&peer, PARTIAL_RESULT, &part);
        }
        RunEvent::Progress(progress) => send(&peer, PROGRESS, &progress_of(&run_id, progress)),
    })
}

fn send(peer: &PeerHandle, method: &str, params: &impl Serialize) {
    // A client that does not read loses these; its connection is closed by others.
    drop(peer.try_notify(method, params));
}

fn progress_of(run_id: &str, progress: Progress) -> FineCodeProgressNotification {
    let (kind, title, message, percentage) = match progress {
        Progress::Begin {
            title,
            message,
            percentage,
            ..
        } => ("begin", Some(title), message, percentage),
        Progress::Report { message, percentage } => ("report", None, message, percentage),
        Progress::End { message } => ("end", None, message, None),
    };
    FineCodeProgressNotification {
        run_id: run_id.to_owned(),
        kind: kind.to_owned(),
        title,
        message,
        percentage,
    }
}

fn result(
    (project, outcome): (PathBuf, Result<Outcome, RunError>),
    before: &FilesBefore,
) -> FineCodeRunResult {
    let failed = |status: &str, error: Option<String>| FineCodeRunResult {
        project_path: shown(&project),
        status: status.to_owned(),
        return_code: None,
        result: None,
        text: None,
        diff: None,
        error,
    };
    match outcome {
        Ok(outcome) => FineCodeRunResult {
            return_code: outcome.return_code,
            diff: outcome
                .json
                .as_ref()
                .and_then(|json| before.diff(&project, json.get())),
            result: outcome.json.map(ActionJson),
            text: outcome.text,
            ..failed(outcome.status.name(), None)
        },
        // Not an error: a client has cancelled the run.
        Err(RunError::Cancelled) => failed("cancelled", None),
        Err(error) => failed("failed", Some(error.to_string())),
    }
}

pub(crate) fn cancel(
    client: &Client,
    _: &FineCode,
    FineCodeActionCancelParams { run_id }: FineCodeActionCancelParams,
    responder: Responder,
) {
    let cancelled = Runs::of(client).cancel(&run_id);
    responder.ok(FineCodeActionCancelResult { cancelled });
}

pub(crate) fn runners(_: &Client, finecode: &FineCode, _: NoParams, responder: Responder) {
    let runners = finecode.hosts().map(|host| host.runners()).concat();
    responder.ok(FineCodeRunnerListResult {
        runners: runners.iter().map(runner).collect(),
    });
}

pub(crate) fn restart(
    _: &Client,
    finecode: &FineCode,
    FineCodeRunnerParams { project_path, env }: FineCodeRunnerParams,
    responder: Responder,
) {
    let restarted = finecode
        .hosts()
        .map(|host| host.restart(project_path.as_ref(), &env));
    let found = restarted.contains(&true);
    responder.ok(FineCodeRunnerResult { found });
}

pub(crate) fn stop(
    _: &Client,
    finecode: &FineCode,
    FineCodeRunnerParams { project_path, env }: FineCodeRunnerParams,
    responder: Responder,
) {
    let stopped = finecode
        .hosts()
        .map(|host| host.stop(project_path.as_ref(), &env));
    let found = stopped.contains(&true);
    responder.ok(FineCodeRunnerResult { found });
}

pub(crate) fn logs(
    _: &Client,
    finecode: &FineCode,
    FineCodeRunnerParams { project_path, env }: FineCodeRunnerParams,
    responder: Responder,
) {
    let lines = finecode
        .hosts()
        .map(|host| host.output(project_path.as_ref(), &env));
    responder.ok(FineCodeRunnerLogsResult {
        lines: lines.into_iter().flatten().flatten().collect(),
    });
}

pub(crate) fn runner(info: &RunnerInfo) -> FineCodeRunner {
    let (status, problem) = match &info.state {
        RunnerState::Stopped => ("STOPPED", None),
        RunnerState::Initializing => ("INITIALIZING", None),
        RunnerState::Running => ("RUNNING", None),
        RunnerState::NoVenv(problem) => ("NO_VENV", Some(problem.clone())),
        RunnerState::Failed(problem) => ("FAILED", Some(problem.clone())),
        RunnerState::Exited(problem) => ("EXITED", Some(problem.clone())),
    };
    FineCodeRunner {
        project_path: shown(&info.project),
        env: info.env.clone(),
        sandboxed: info.sandboxed.then_some(true),
        status: status.to_owned(),
        problem,
        log_file: info.log_file.clone(),
    }
}

pub(crate) fn said(said: &UserMessage) -> FineCodeMessageNotification {
    FineCodeMessageNotification {
        project_path: shown(&said.project),
        env: said.env.clone(),
        level: said.level.to_lowercase(),
        text: said.text.clone(),
        debugger: None,
    }
}
