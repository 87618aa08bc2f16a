//! Runs one Turn: asks the model, puts what it says into Items, runs the calls it makes, and asks again until it makes
//! none.
//!
//! [`AgentEngine`] is the [`Engine`](bobbin_core::engine::Engine) of every model. What it does follows from what is recorded of
//! the Turn, so that a Turn that was open at a crash continues (`restart`). One `TurnRun` owns one run of one
//! Turn and the conversation, bounded by `MAX_HISTORY_BYTES` and by [`TurnLimits`]. [`Helpers`] asks a model for
//! small things outside of any Turn.
//!
//! Nothing here knows a model's wire, a client or SQL; no state outlives a run.

mod below;
mod call;
mod compaction;
mod conversation;
mod engine;
mod execution;
mod guides;
mod helper;
mod history;
mod inquiry;
mod instructions;
mod limits;
mod listener;
mod one_item;
mod past;
mod pictures;
mod recording;
mod restart;
mod settings;
mod summarize;
mod together;
mod tokens;
mod turn;

pub use engine::AgentEngine;
pub use guides::project_instructions;
pub use helper::Helpers;
pub use limits::TurnLimits;
pub use settings::AgentSettings;
