//! A program or a service that offers tools, as people are shown it. Values only; nothing of it is stored.
//!
//! What it takes to reach one (variables, headers: secrets) is not in here, so that everything here may be shown
//! to every client.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Json;

/// A tool server at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolServer {
    /// Its name, unique without regard to case.
    pub name: String,
    /// Whether its configuration lets it run.
    pub enabled: bool,
    /// How it is reached.
    pub reach: Reach,
    /// Whose configuration it comes from.
    pub origin: ServerOrigin,
    /// Whether clients may not change its configuration.
    pub read_only: bool,
    /// How far it is.
    pub state: ServerState,
    /// Why it is not as far as it should be: a sentence for the user, free of secrets.
    pub problem: Option<String>,
    /// What it offers while it is ready.
    pub tools: Arc<[OfferedTool]>,
}

/// How a tool server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// It is a child of ours that speaks on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// It listens on this address.
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
    /// The workspace's, which may have come with somebody else's repository.
    Workspace,
}

/// How far a tool server is (AppServer protocol 05 §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "McpStartupState")
)]
pub enum ServerState {
    /// It does not run, and nothing is under way: it was stopped, or nobody has allowed it yet.
    Idle,
    /// It is being started, or is to be started again after a pause.
    Starting,
    /// Its tools can be called.
    Ready,
    /// It does not run although it should.
    Error,
    /// Its configuration says that it must not run.
    Disabled,
}

/// A tool that a server offers.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// The server's own name for it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Json,
}
