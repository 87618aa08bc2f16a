//! A program or service that offers tools, as clients see it. Values only; nothing of it is stored.
//!
//! Secrets for reaching a server (variables, headers) are not in these types, so every client may see all of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Json;

/// A tool server at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolServer {
    /// Its name, unique without regard to case.
    pub name: String,
    /// Whether its configuration allows it to run.
    pub enabled: bool,
    /// How it is reached.
    pub reach: Reach,
    /// Whose configuration it comes from.
    pub origin: ServerOrigin,
    /// Whether clients may not change its configuration.
    pub read_only: bool,
    /// Its state.
    pub state: ServerState,
    /// Why it is not in the expected state: a sentence for the user, free of secrets.
    pub problem: Option<String>,
    /// Whether it does not run because its user has to log in.
    pub wants_login: bool,
    /// Its tools while it is ready.
    pub tools: Arc<[OfferedTool]>,
}

/// How a tool server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// As a child process of ours that speaks on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// Over HTTP, at this address.
    Http {
        /// The address.
        url: String,
    },
}

/// Whose configuration a tool server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerOrigin {
    /// The user's own, for all workspaces.
    User,
    /// The workspace's, which may have come with a repository that the user did not write.
    Workspace,
    /// A plugin's, whose id stands before the first colon of the server's name.
    Plugin,
}

/// State of a tool server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "McpStartupState")
)]
pub enum ServerState {
    /// It does not run and will not start by itself: it was stopped, or the user has not allowed it yet.
    Idle,
    /// It is starting, or waits for the next attempt.
    Starting,
    /// Its tools can be called.
    Ready,
    /// It does not run although it should.
    Error,
    /// Its configuration disables it.
    Disabled,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// The server's own name for it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Json,
    /// JSON Schema of its structured result, if the server gives one.
    pub output_schema: Option<Json>,
    /// The name under which models get it.
    pub offered_as: String,
    /// What the server says of it. Nobody has checked that.
    pub hints: ToolHints,
}

/// What a server says of one of its tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolHints {
    /// Its name for users.
    pub title: Option<String>,
    /// Whether it changes nothing.
    pub read_only: Option<bool>,
    /// Whether it may destroy something.
    pub destructive: Option<bool>,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// Whether it reaches beyond what the server owns.
    pub open_world: Option<bool>,
}
