//! The forms of messages: what is sent depends on the dialect, reading takes every form.

mod read;
mod send;

pub(crate) use read::{Meta, Metas, Nested, RunAnswer, Unusable, read_answer, read_partial, read_progress};
pub(crate) use send::{Options, RunParams, SegmentParams, options, workspace_result};

use serde::{Deserialize, Serialize};

/// The starter of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A user.
    User,
    /// A program.
    System,
    /// It is not known.
    #[serde(other)]
    Unknown,
}

/// The kind of program that started a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DevEnv {
    /// An editor.
    Ide,
    /// A command line.
    Cli,
    /// An agent.
    Ai,
    /// A hook of git.
    GitHook,
    /// A build server.
    Ci,
}

/// A format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The result as an object.
    Json,
    /// Text for a user.
    String,
}
