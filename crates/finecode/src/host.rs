//! The manager of a workspace: its projects, its runners, and what clients may ask of them.
//!
//! Owns the runners' group, which joins their tasks, and the tasks that check runners after cancellations. Each mutex
//! is locked for look-ups only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

use bobbin_children::{Children, Environment};
use bobbin_supervise::{Confine, Group, Start, Supervised};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::conn::{Conn, SMALL, Schemas};
use crate::documents::{Change, DocumentError, Documents};
use crate::edits::{ClientId, Editor, Editors};
use crate::error::RunError;
use crate::files::{Enabled, Problem};
use crate::info::{ActionInfo, ProjectInfo, ProjectStatus, RunnerInfo};
use crate::plan;
use crate::project::Project;
use crate::runner::Runner;
use crate::settings::{RunnerSettings, Settings};

/// Most runners of a workspace.
const MAX_RUNNERS: usize = 64;

/// Says whether a project may run: `Err` is a sentence for the user.
pub type Trust = Arc<dyn Fn(&Path) -> Result<(), String> + Send + Sync>;

/// Receives what happens. Must not wait.
pub type Announce = Arc<dyn Fn(Event) + Send + Sync>;

/// A change beside runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A runner is in another state.
    Runner(RunnerInfo),
    /// A runner waits for a debugger.
    Debugger {
        /// The directory of its project.
        project: PathBuf,
        /// Its environment.
        env: String,
        /// The address at which it waits.
        address: String,
    },
    /// A runner has something to say to users.
    Message(UserMessage),
}

/// A runner's message to users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessage {
    /// The directory of its project.
    pub project: PathBuf,
    /// Its environment.
    pub env: String,
    /// `INFO`, `WARNING` or `ERROR`.
    pub level: String,
    /// The text.
    pub text: String,
}

/// The values that a host is made of.
pub struct Parts {
    /// The workspace.
    pub root: PathBuf,
    /// The user's settings.
    pub settings: Settings,
    /// Starts processes.
    pub children: Children,
    /// The environment of runners.
    pub environment: Environment,
    /// Confines runners; `None` for runners that nothing confines. A runner that cannot be confined does not start.
    pub sandbox: Option<Arc<dyn Confine>>,
    /// Says which projects may run.
    pub trust: Trust,
    /// Receives what happens.
    pub announce: Announce,
    /// The version of the server, which runners get.
    pub version: String,
}

/// Runs FineCode actions in the projects of a workspace.
///
/// A workspace has one host for its user, and one for its agent: the agent may write what a runner loads, so its
/// runners are others, and are confined.
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) children: Children,
    pub(crate) environment: Environment,
    pub(crate) sandbox: Option<Arc<dyn Confine>>,
    trust: Trust,
    announce: Announce,
    pub(crate) version: String,
    pub(crate) runners: Group<Runner>,
    pub(crate) projects: Mutex<BTreeMap<PathBuf, Arc<Project>>>,
    pub(crate) documents: Documents,
    pub(crate) editors: Editors,
    /// Tokens of calls, and numbers of runs.
    pub(crate) numbers: AtomicU64,
    pub(crate) tasks: TaskTracker,
}

impl Host {
    /// Returns a host that has not looked at the workspace yet.
    pub fn new(parts: Parts) -> Self {
        let inner = Arc::new(Inner {
            root: parts.root,
            settings: parts.settings,
            children: parts.children,
            environment: parts.environment,
            sandbox: parts.sandbox,
            trust: parts.trust,
            announce: parts.announce,
            version: parts.version,
            runners: Group::new(MAX_RUNNERS),
            projects: Mutex::default(),
            documents: Documents::default(),
            editors: Editors::default(),
            numbers: AtomicU64::new(1),
            tasks: TaskTracker::new(),
        });
        Self { inner }
    }

    /// Looks for projects, and returns them by path.
    pub async fn projects(&self) -> Vec<ProjectInfo> {
        self.inner.refresh().await;
        let projects = self.inner.all();
        projects.iter().map(|project| self.inner.info(project)).collect()
    }

    /// Returns the actions of all projects, or of this one, as their files say now. With `presets` set to
    /// [`Presets::Load`], runners are started to find presets where the user trusts the folder.
    pub async fn actions(&self, project: Option<&Path>, presets: Presets) -> Vec<ActionInfo> {
        self.inner.refresh().await;
        let mut found = Vec::new();
        for one in self.inner.all() {
            if project.is_some_and(|path| self.inner.root.join(path) != one.dir()) {
                continue;
            }
            if presets == Presets::Load && one.check().is_ok() && (self.inner.trust)(one.dir()).is_ok() {
                // Why it failed is a problem of the project by now.
                drop(self.inner.load(&one).await);
            }
            let catalog = one.catalog();
            found.extend(catalog.actions.iter().map(|action| {
                ActionInfo {
                    project: one.dir().to_owned(),
                    name: action.name.clone(),
                    source: action.source.clone(),
                    canonical_source: one.meta(action).map(|meta| meta.canonical_source),
                    envs: plan::envs(action),
                    handlers: action
                        .handlers
                        .iter()
                        .map(|handler| handler.name.clone())
                        .collect(),
                }
            }));
        }
        found
    }

    /// Returns the schema of an action's payload, as a runner knows it. Starts the runner.
    ///
    /// # Errors
    /// As a run, and the runner does not know the action.
    pub async fn schema(&self, project: &Path, action: &str) -> Result<serde_json::Value, RunError> {
        let project = self.inner.current(project).await?;
        self.inner.load(&project).await?;
        let found = self.inner.resolve(&project, action).await?;
        let env = plan::envs(&found).into_iter().next();
        let missing = || RunError::NoAction {
            project: project.definition.name.clone(),
            action: action.to_owned(),
        };
        let conn = self.inner.runner(&project, &env.ok_or_else(missing)?).await?;
        let schemas =
            conn.peer
                .call_with_timeout::<Schemas>("actions/getPayloadSchemas", serde_json::json!({}), SMALL);
        let schemas = schemas.await.map_err(|error| crate::run::failed(&conn, error))?;
        schemas.get(&found.name).cloned().flatten().ok_or_else(missing)
    }

    /// Returns the runners that have been used, by project and environment.
    pub fn runners(&self) -> Vec<RunnerInfo> {
        let runners = self.inner.runners.all();
        let mut infos: Vec<_> = runners.iter().map(|runner| runner.service().info()).collect();
        infos.sort_by(|a, b| (&a.project, &a.env).cmp(&(&b.project, &b.env)));
        infos
    }

    /// Restarts a runner. Returns whether there is one.
    pub fn restart(&self, project: &Path, env: &str) -> bool {
        let found = self.find(project, env);
        found.map(|runner| runner.restart()).is_some()
    }

    /// Stops a runner. Its next use starts it. Returns whether there is one.
    pub fn stop(&self, project: &Path, env: &str) -> bool {
        let found = self.find(project, env);
        found.map(|runner| runner.stop()).is_some()
    }

    /// Returns the last lines that a runner has printed, those of its standard error last.
    pub fn output(&self, project: &Path, env: &str) -> Option<Vec<String>> {
        let runner = self.find(project, env)?;
        let output = runner.service().output.lock().clone();
        let mut lines = output.stdout.all();
        lines.extend(output.stderr.all());
        Some(lines)
    }

    /// Connects a client that can apply edits.
    pub fn connect(&self, client: ClientId, editor: Arc<dyn Editor>) {
        self.inner.editors.connect(client, editor);
    }

    /// Forgets a client, and closes the documents that it has open.
    pub fn disconnect(&self, client: ClientId) {
        self.inner.editors.disconnect(client);
        self.inner.documents.leave(client);
    }

    /// Opens a document, or replaces it. Runners use this text instead of the file's.
    ///
    /// # Errors
    /// [`DocumentError::Full`].
    pub fn open_document(
        &self,
        client: ClientId,
        uri: &str,
        version: i64,
        text: &str,
    ) -> Result<(), DocumentError> {
        self.inner.editors.active(client);
        self.inner.documents.open(client, uri, version, text)
    }

    /// Changes an open document. A run that starts afterwards sees the change.
    ///
    /// # Errors
    /// It is not open, or a change makes no sense; nothing is changed then.
    pub fn change_document(
        &self,
        client: ClientId,
        uri: &str,
        version: i64,
        changes: &[Change],
    ) -> Result<(), DocumentError> {
        self.inner.editors.active(client);
        self.inner.documents.change(client, uri, version, changes)
    }

    /// Closes a document. Runners use the file from here on.
    pub fn close_document(&self, uri: &str) {
        self.inner.documents.close(uri);
    }

    /// Ends all runners and returns once they are gone. Nothing is started afterwards.
    pub async fn end(&self) {
        self.inner.runners.end().await;
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    fn find(&self, project: &Path, env: &str) -> Option<Arc<Supervised<Runner>>> {
        self.inner.runners.get(&key(&self.inner.root.join(project), env))
    }
}

/// Whether runners are started to find presets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presets {
    /// They are.
    Load,
    /// They are not: actions of presets are there only once a run has needed them.
    Known,
}

fn key(project: &Path, env: &str) -> String {
    format!("{env}@{}", project.display())
}

impl Inner {
    pub(crate) fn announce(&self, event: Event) {
        (self.announce)(event);
    }

    pub(crate) fn runner_settings(&self, project: &Path, env: &str) -> RunnerSettings {
        let mut settings = self.settings.runner(&self.root, project, env);
        if self.sandbox.is_some() {
            // No debugger reaches it.
            settings.debug = None;
        }
        settings
    }

    pub(crate) fn all(&self) -> Vec<Arc<Project>> {
        self.projects.lock().values().cloned().collect()
    }

    /// Returns a project by its directory or the file that defines it.
    pub(crate) fn project(&self, path: &Path) -> Result<Arc<Project>, RunError> {
        let path = self.root.join(path);
        let projects = self.projects.lock();
        let found = projects.get(&path);
        let defined = || projects.values().find(|project| project.definition.path == path);
        let found = found.or_else(defined).cloned();
        found.ok_or_else(|| RunError::NoProject(path.display().to_string()))
    }

    pub(crate) fn info(&self, project: &Project) -> ProjectInfo {
        let status = match project.definition.enabled {
            Enabled::No => ProjectStatus::NoConfig,
            Enabled::Invalid => ProjectStatus::Invalid,
            Enabled::Yes if (self.trust)(project.dir()).is_err() => ProjectStatus::Untrusted,
            Enabled::Yes => ProjectStatus::Valid,
        };
        ProjectInfo {
            path: project.dir().to_owned(),
            name: project.definition.name.clone(),
            status,
            problems: project.problems().iter().map(Problem::to_string).collect(),
        }
    }

    /// Returns a runner that can be used, and starts it first if it does not run.
    pub(crate) async fn runner(
        self: &Arc<Self>,
        project: &Project,
        env: &str,
    ) -> Result<Arc<Conn>, RunError> {
        (self.trust)(project.dir()).map_err(RunError::Untrusted)?;
        let not_started = |problem: String| RunError::NotStarted {
            project: project.definition.name.clone(),
            env: env.to_owned(),
            problem,
        };
        let runner = self.service(project.dir(), env).map_err(not_started)?;
        let started = runner.demand(|conn| conn.is_usable()).await;
        started.map_err(|failure| not_started(failure.problem))
    }

    fn service(self: &Arc<Self>, project: &Path, env: &str) -> Result<Arc<Supervised<Runner>>, String> {
        let key = key(project, env);
        // Two callers may both find none; one lock decides which of them adds it.
        let _adding = self.projects.lock();
        if let Some(runner) = self.runners.get(&key) {
            return Ok(runner);
        }
        let weak: Weak<Self> = Arc::downgrade(self);
        let runner = Runner::new(key.clone(), project.to_owned(), env.to_owned(), weak);
        let added = self.runners.set(&key, runner, Start::OnRequest);
        added.map_err(|_| {
            format!("{MAX_RUNNERS} runners are there already; stop the server or use fewer environments")
        })?;
        self.runners.get(&key).ok_or_else(|| "the server ends".to_owned())
    }

    /// Returns the runners of a project that run.
    pub(crate) fn running(&self, project: &Path) -> Vec<Arc<Conn>> {
        let handles = self
            .runners
            .all()
            .into_iter()
            .filter_map(|runner| runner.handle());
        let here = handles.filter(|conn| conn.project == project && conn.is_usable());
        here.collect()
    }

    /// Starts the environments whose actions no runner has resolved. The actions of an environment that cannot start
    /// stay unresolved.
    pub(crate) async fn start_unresolved(self: &Arc<Self>, project: &Arc<Project>) {
        let envs = project.unresolved_envs();
        let starts = envs.iter().map(|env| self.runner(project, env));
        for failed in join_all(starts).await.into_iter().filter_map(Result::err) {
            tracing::debug!(%failed, "a runner cannot resolve actions");
        }
    }
}
