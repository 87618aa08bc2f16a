//! The members of projects, actions and runners that clients are shown.

use std::path::PathBuf;

use serde::Serialize;

/// How a project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ProjectStatus {
    /// Its actions can be run.
    Valid,
    /// FineCode is not among what its development needs.
    NoConfig,
    /// Its files cannot be read as configuration.
    Invalid,
    /// Its user has not trusted its folder.
    Untrusted,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectInfo {
    /// Its directory.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// How it is.
    pub status: ProjectStatus,
    /// Errors of its configuration: sentences with file and line.
    pub problems: Vec<String>,
}

/// An action of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionInfo {
    /// The directory of its project.
    pub project: PathBuf,
    /// Its name.
    pub name: String,
    /// Its import path, as configured.
    pub source: String,
    /// Its import path, as a runner resolved it.
    pub canonical_source: Option<String>,
    /// The environments of its handlers, in order.
    pub envs: Vec<String>,
    /// Its handlers, in order.
    pub handlers: Vec<String>,
}

/// How a runner is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerState {
    /// It was never started, or was stopped.
    Stopped,
    /// It is being started.
    Initializing,
    /// It can be used.
    Running,
    /// Its environment is not there.
    NoVenv(String),
    /// It could not be started, for this reason.
    Failed(String),
    /// It ended, for this reason.
    Exited(String),
}

/// A runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerInfo {
    /// The directory of its project.
    pub project: PathBuf,
    /// Its environment.
    pub env: String,
    /// Whether it works for the agent, in the sandbox of commands.
    pub sandboxed: bool,
    /// How it is.
    pub state: RunnerState,
    /// The path of its log.
    pub log_file: Option<String>,
}
