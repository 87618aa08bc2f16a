//! The user's settings: how runners are started and spoken to, actions of projects, limits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bobbin_finecode_wire::Dialect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Settings of FineCode.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Settings {
    /// How runners are started and spoken to. Of several rules for a runner, the first that sets a member counts.
    pub runners: Vec<RunnerSettings>,
    /// Configuration of projects by their directory in the workspace, as in `[tool.finecode]`. Counts over FineCode's
    /// own files; a directory without such files is a project too.
    pub projects: BTreeMap<PathBuf, Map<String, Value>>,
    /// Actions that the agent may run, by name.
    pub agent: BTreeMap<String, AgentAction>,
    /// Limits on runs.
    pub limits: Limits,
}

/// An action that the agent may run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct AgentAction {
    /// Whether it runs by itself, when a Turn has changed files. If its runners cannot be confined, Bobbin asks first.
    pub after_edits: bool,
    /// The payload of such a run.
    pub payload: Map<String, Value>,
}

/// Limits on runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Limits {
    /// How deep runs may be nested. A run at this depth may start none.
    #[schemars(range(min = 1, max = 64))]
    pub depth: u32,
    /// Most projects that one run may be in.
    #[schemars(range(min = 1, max = 256))]
    pub projects: usize,
    /// Longest silence of a runner during a run, in seconds: without progress, results and questions. The run fails then,
    /// and the runner is ended. A runner that waits for a debugger may be silent for as long as it likes.
    #[schemars(range(min = 1, max = 86400))]
    pub silent_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 8,
            projects: 64,
            silent_seconds: 600,
        }
    }
}

/// How some runners are started and spoken to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct RunnerSettings {
    /// Only for this project: its directory in the workspace.
    pub project: Option<PathBuf>,
    /// Only for this environment.
    pub env: Option<String>,
    /// The program with its first arguments, instead of the environment's Python.
    pub command: Option<Vec<String>>,
    /// How the runner is reached. By default what it does first decides.
    pub transport: Option<TransportChoice>,
    /// How it speaks. By default `documented` over pipes and `current` over a port.
    pub dialect: Option<Dialect>,
    /// How runs in the workspace are answered, if not as its dialect says.
    pub workspace_answer: Option<WorkspaceAnswer>,
    /// Whether it waits for a debugger. A runner of the agent does not: no debugger reaches it in the sandbox.
    pub debug: Option<bool>,
    /// Whether it writes a log of its runs.
    pub wal: Option<bool>,
}

/// How a runner is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TransportChoice {
    /// Over its standard input and output.
    Stdio,
    /// Over a port that it announces.
    Tcp,
    /// The runner's first output decides.
    Auto,
}

/// The shape of the answer to a run in the workspace, for each project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceAnswer {
    /// The result.
    Plain,
    /// The result by the action's name.
    Named,
    /// The result and its status, by the action's name.
    Status,
}

impl Settings {
    /// Returns the settings of one runner. Paths of rules count from `root`.
    pub(crate) fn runner(&self, root: &Path, project: &Path, env: &str) -> RunnerSettings {
        let applies = |rule: &&RunnerSettings| {
            let here = |path: &PathBuf| root.join(path) == project;
            rule.project.as_ref().is_none_or(here) && rule.env.as_deref().is_none_or(|name| name == env)
        };
        let mut all = RunnerSettings::default();
        for rule in self.runners.iter().filter(applies) {
            all.command = all.command.or_else(|| rule.command.clone());
            all.transport = all.transport.or(rule.transport);
            all.dialect = all.dialect.or(rule.dialect);
            all.workspace_answer = all.workspace_answer.or(rule.workspace_answer);
            all.debug = all.debug.or(rule.debug);
            all.wal = all.wal.or(rule.wal);
        }
        all
    }
}

impl Settings {
    /// Whether all runners are reached over their standard input and output, by these settings.
    pub fn all_over_pipes(&self) -> bool {
        let is_for_all = |rule: &RunnerSettings| rule.project.is_none() && rule.env.is_none();
        let mut said = self
            .runners
            .iter()
            .filter_map(|rule| Some((is_for_all(rule), rule.transport?)));
        said.clone()
            .all(|(_, transport)| transport == TransportChoice::Stdio)
            && said.any(|(is_for_all, _)| is_for_all)
    }
}

/// How a connection speaks, fixed when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Speech {
    pub(crate) dialect: Dialect,
    pub(crate) workspace_answer: WorkspaceAnswer,
}

impl Speech {
    pub(crate) fn new(settings: &RunnerSettings, by_transport: Dialect) -> Self {
        let dialect = settings.dialect.unwrap_or(by_transport);
        let usual = match dialect {
            Dialect::Documented => WorkspaceAnswer::Plain,
            Dialect::Early => WorkspaceAnswer::Named,
            Dialect::Current => WorkspaceAnswer::Status,
        };
        Self {
            dialect,
            workspace_answer: settings.workspace_answer.unwrap_or(usual),
        }
    }
}

impl Settings {
    /// Adds what another file says over these settings.
    pub fn add(&mut self, over: Self) {
        let lower = std::mem::replace(&mut self.runners, over.runners);
        self.runners.extend(lower);
        self.projects.extend(over.projects);
        self.agent.extend(over.agent);
        if over.limits != Limits::default() {
            self.limits = over.limits;
        }
    }
}
