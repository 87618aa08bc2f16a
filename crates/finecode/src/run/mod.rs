//! Running an action: what a caller asks for, what comes of it, and limits.

mod call;
mod orchestrate;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_finecode_wire::Json;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

pub(crate) use call::failed;

use crate::conn::SMALL;
use crate::edits::ClientId;
use crate::error::RunError;
use crate::files::Action;
use crate::host::{Host, Inner};
use crate::progress::{Combined, Progress};
use crate::project::Project;
use crate::wire::{DevEnv, Format, Trigger};

/// The run that a caller requests.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The name or import path of the action.
    pub action: String,
    /// The directories of the projects, one after the other as they are given; `None` for all that have the action.
    pub projects: Option<Vec<PathBuf>>,
    /// Whether several projects run side by side.
    pub concurrently: bool,
    /// The payload.
    pub payload: Json,
    /// The formats of the result; JSON if it is empty.
    pub formats: Vec<Format>,
    /// Whether the sink gets partial results.
    pub partial_results: bool,
    /// The starter of the run.
    pub trigger: Trigger,
    /// The kind of program that started the run.
    pub dev_env: DevEnv,
    /// The client on whose behalf it runs.
    pub client: Option<ClientId>,
}

/// A partial result, or progress, of a run.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// A part of a result, to be merged by who knows its type.
    Partial {
        /// The directory of its project.
        project: PathBuf,
        /// The part.
        json: Option<Json>,
        /// The part as text.
        text: Option<String>,
    },
    /// How far the run is.
    Progress(Progress),
}

/// Receives what happens during a run, in order and before the run returns. Must not wait.
pub type Sink = Arc<dyn Fn(RunEvent) + Send + Sync>;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is complete.
    Success,
    /// It is complete, and its partial results are the result.
    Streamed,
    /// A handler ended it early.
    Stopped,
    /// The action has no handlers.
    NoHandlers,
}

impl Status {
    /// Returns its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Streamed => "streamed",
            Self::Stopped => "stopped",
            Self::NoHandlers => "no_handlers",
        }
    }
}

/// The result of a run in one project.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Its result.
    pub json: Option<Json>,
    /// Its result as text.
    pub text: Option<String>,
    /// 0 if all is well; `None` where the runner's code says nothing, since only partial results came.
    pub return_code: Option<i64>,
}

/// One run with all runs that it starts in other projects; a run that one of its handlers asks for is another.
pub(crate) struct Context {
    pub(crate) id: String,
    /// As it is sent: a client's run has 1.
    pub(crate) depth: u32,
    pub(crate) trigger: Trigger,
    pub(crate) dev_env: DevEnv,
    pub(crate) formats: Vec<Format>,
    pub(crate) client: Option<ClientId>,
    pub(crate) cancel: CancellationToken,
    pub(crate) caller_kwargs: Option<Json>,
    pub(crate) traceparent: Option<String>,
    pub(crate) partial_results: bool,
    pub(crate) sink: Option<Sink>,
    pub(crate) progress: Arc<Combined>,
}

/// Delivers partial results and progress of a run in one project to its caller.
pub(crate) struct Delivery<'a> {
    pub(crate) context: &'a Context,
    project: PathBuf,
    any: Arc<AtomicBool>,
}

impl Delivery<'_> {
    fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Sends a result to a caller who asked for partial ones and got none.
    fn whole(&self, outcome: &Outcome) {
        if !self.context.partial_results || self.any() {
            return;
        }
        if let Some(sink) = &self.context.sink
            && (outcome.json.is_some() || outcome.text.is_some())
        {
            sink(RunEvent::Partial {
                project: self.project.clone(),
                json: outcome.json.clone(),
                text: outcome.text.clone(),
            });
        }
    }
}

impl Context {
    fn end_progress(&self) {
        if let Some(sink) = &self.sink {
            self.progress.end(|event| sink(RunEvent::Progress(event)));
        }
    }
}

impl Host {
    /// Runs an action. Returns what came of it in each project, in their order. `sink` gets progress, and partial
    /// results if they are asked for.
    ///
    /// # Errors
    /// Why nothing was run at all.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the run in all projects, and what its handlers have started where that is known.
    pub async fn run(
        &self,
        request: &RunRequest,
        sink: Option<Sink>,
    ) -> Result<Vec<(PathBuf, Result<Outcome, RunError>)>, RunError> {
        let inner = &self.inner;
        let formats = match request.formats.as_slice() {
            [] => vec![Format::Json],
            formats => formats.to_vec(),
        };
        let cancel = CancellationToken::new();
        let _cancelled = cancel.clone().drop_guard();
        let context = Context {
            id: uuid::Uuid::new_v4().to_string(),
            depth: 1,
            trigger: request.trigger,
            dev_env: request.dev_env,
            formats,
            client: request.client,
            cancel,
            caller_kwargs: None,
            traceparent: None,
            partial_results: request.partial_results,
            sink,
            progress: Arc::default(),
        };
        let selected = inner.select(request).await?;
        let outcomes = inner
            .run_all(&context, selected, &request.payload, request.concurrently)
            .await;
        context.end_progress();
        Ok(outcomes)
    }
}

/// An action in a project.
pub(crate) type Selected = Vec<(Arc<Project>, Action)>;

impl Inner {
    pub(crate) fn next(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Finds the action in the projects of a client's request.
    async fn select(self: &Arc<Self>, request: &RunRequest) -> Result<Selected, RunError> {
        let mut selected = Vec::new();
        if let Some(paths) = &request.projects {
            self.check_width(paths.len())?;
            for path in paths {
                let project = self.current(path).await?;
                self.load(&project).await?;
                let action = self.resolve(&project, &request.action).await?;
                selected.push((project, action));
            }
            return Ok(selected);
        }
        self.refresh().await;
        let mut failed = None;
        for project in self.all() {
            if project.check().is_err() {
                continue;
            }
            match self.load(&project).await {
                Ok(()) => selected.extend(project.find(&request.action).map(|action| (project, action))),
                Err(error) => {
                    tracing::warn!(project = %project.dir().display(), %error, "a project is left out of a run");
                    failed = failed.or(Some(error));
                }
            }
        }
        self.check_width(selected.len())?;
        if selected.is_empty() {
            return Err(failed.unwrap_or_else(|| RunError::NoActionAnywhere(request.action.clone())));
        }
        Ok(selected)
    }

    pub(crate) fn check_width(&self, projects: usize) -> Result<(), RunError> {
        let limit = self.settings.limits.projects;
        if projects > limit {
            return Err(RunError::TooWide { projects, limit });
        }
        Ok(())
    }

    /// Returns the action of this name or import path. Runners are asked about a path that is not known.
    pub(crate) async fn resolve(&self, project: &Arc<Project>, asked: &str) -> Result<Action, RunError> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Source {
            canonical_source: String,
        }
        if let Some(action) = project.find(asked) {
            return Ok(action);
        }
        if asked.contains('.') {
            for conn in self.running(project.dir()) {
                let params = serde_json::json!({ "source": asked });
                let answer = conn
                    .peer
                    .call_with_timeout::<Source>("actions/resolveSource", params, SMALL);
                if let Ok(Source { canonical_source }) = answer.await
                    && let Some(action) = project.find_canonical(&canonical_source)
                {
                    return Ok(action);
                }
            }
        }
        Err(RunError::NoAction {
            project: project.definition.name.clone(),
            action: asked.to_owned(),
        })
    }

    /// Runs an action in projects, side by side or one after the other.
    pub(crate) async fn run_all(
        self: &Arc<Self>,
        context: &Context,
        selected: Selected,
        payload: &RawValue,
        concurrently: bool,
    ) -> Vec<(PathBuf, Result<Outcome, RunError>)> {
        let one = |(project, action): (Arc<Project>, Action)| async move {
            let outcome = self.run_one(context, &project, &action, payload).await;
            (project.dir().to_owned(), outcome)
        };
        if concurrently {
            return join_all(selected.into_iter().map(one)).await;
        }
        let mut outcomes = Vec::new();
        for next in selected {
            outcomes.push(one(next).await);
        }
        outcomes
    }

    /// Runs an action in one project.
    pub(crate) async fn run_one(
        self: &Arc<Self>,
        context: &Context,
        project: &Arc<Project>,
        action: &Action,
        payload: &RawValue,
    ) -> Result<Outcome, RunError> {
        let delivery = Delivery {
            context,
            project: project.dir().to_owned(),
            any: Arc::default(),
        };
        let ran = tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(RunError::Cancelled),
            ran = self.orchestrate(&delivery, project, action, payload) => ran,
        };
        let outcome = ran?;
        delivery.whole(&outcome);
        Ok(outcome)
    }
}

/// Waits for all parts of a run, and returns what they return in their order. The first that fails ends the others; those that were cancelled by
/// themselves count as one cancellation only if all of them were.
pub(crate) async fn all_parts<T>(
    parts: impl IntoIterator<Item = impl Future<Output = Result<T, RunError>>>,
) -> Result<Vec<T>, RunError> {
    let mut waiting: FuturesUnordered<_> = parts
        .into_iter()
        .enumerate()
        .map(|(at, part)| async move { (at, part.await) })
        .collect();
    let mut done = Vec::new();
    let mut cancelled = 0;
    while let Some((at, part)) = waiting.next().await {
        match part {
            Ok(part) => done.push((at, part)),
            Err(RunError::Cancelled) => cancelled += 1,
            Err(error) => return Err(error),
        }
    }
    done.sort_by_key(|(at, _)| *at);
    let done: Vec<_> = done.into_iter().map(|(_, part)| part).collect();
    match (cancelled, done.len()) {
        (0, _) => Ok(done),
        (_, 0) => Err(RunError::Cancelled),
        (cancelled, rest) => {
            let all = cancelled + rest;
            let text = format!("{cancelled} of {all} parts of the run were cancelled");
            Err(RunError::Several(vec![text]))
        }
    }
}
