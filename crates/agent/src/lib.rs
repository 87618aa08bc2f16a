//! Runs one Turn: asks the model, records its reply as Items, runs its calls, and repeats until a reply has no call.
//!
//! [`AgentEngine`] is the [`Engine`](bobbin_core::engine::Engine) of every model. Each step follows from the Turn's
//! record, so a Turn that was open at a crash continues (`restart`). One `TurnRun` owns one run of one Turn and the
//! conversation, bounded by `MAX_HISTORY_BYTES` and by [`TurnLimits`]. [`Helpers`] asks a model for suggestions outside
//! of any Turn.
//!
//! This crate knows no model provider's format, no client and no SQL; no state outlives a run.

mod call;
mod checks;
mod compaction;
mod conversation;
mod engine;
mod execution;
mod fit;
mod git;
mod git_states;
mod guides;
mod helper;
mod history;
mod hooks;
mod inquiry;
mod instructions;
mod limits;
mod listener;
mod offered;
mod one_item;
mod outside;
mod past;
mod pictures;
mod recording;
mod refused;
mod restart;
mod seen;
pub mod settings;
mod subagent_limits;
mod summarize;
mod titles;
mod together;
mod tokens;
mod turn;
mod user_command;
mod web_search;

pub use engine::AgentEngine;
pub use guides::{instruction_files, project_instructions};
pub use helper::Helpers;
pub use limits::TurnLimits;
pub use outside::CallsOutside;
pub use settings::AgentSettings;
pub use titles::Titles;
pub use user_command::UserCommands;
