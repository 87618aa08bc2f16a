//! Runs FineCode actions: the workspace manager's side of the protocol, the agent's tools and the clients' methods.
//!
//! A [`Host`] knows the projects of a workspace and their actions, runs one process for each project and environment
//! that an action needs, and answers what those ask. JSON of payloads and results is passed on unchanged.
//!
//! Only [`agent`] and [`group`] know tools and clients. Reads FineCode's files when asked; does not read the
//! environment. Starts nothing for a project that its [`Trust`] does not name. Bounds: [`Limits`] and the constants of
//! each file.

pub mod agent;
mod back;
mod conn;
mod documents;
mod edits;
mod error;
mod files;
mod findings;
pub mod group;
mod host;
mod info;
mod load;
mod plan;
mod progress;
mod project;
mod run;
mod runner;
mod settings;
mod start;
mod wire;

pub use bobbin_finecode_wire::{Dialect, Json};
pub use documents::{Change, DocumentError};
pub use edits::{ClientId, Editor};
pub use error::RunError;
pub use files::Problem;
pub use findings::findings;
pub use host::{Announce, Event, Host, Parts, Presets, Trust, UserMessage};
pub use info::{ActionInfo, ProjectInfo, ProjectStatus, RunnerInfo, RunnerState};
pub use load::projects_of;
pub use progress::Progress;
pub use run::{Outcome, RunEvent, RunRequest, Sink, Status};
pub use settings::{AgentAction, Limits, RunnerSettings, Settings, TransportChoice, WorkspaceAnswer};
pub use wire::{DevEnv, Format, Trigger};
