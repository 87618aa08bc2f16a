//! FineCode actions as tools of the agent.
//!
//! [`Actions`] offers each action that the settings name, as `finecode__ACTION`. A call needs an approval like that of
//! any tool that changes things; an action that is set to run after edits runs by itself (`Tool::after_edits`). Edits
//! that a runner asks for are made in the workspace's files, and undone with the Turn.
//!
//! The agent may write what a runner loads, so its runners are not those of the user's clients: they are confined as
//! commands are ([`Hosts`]). If that is impossible, a user is asked about each run.
//!
//! Starts no runner by itself, and does not know which folders are trusted: the host asks that.

mod actions;
mod call;
mod edits;
mod tool;

pub use actions::{Actions, Hosts, RunnerSandbox, SandboxNow};
