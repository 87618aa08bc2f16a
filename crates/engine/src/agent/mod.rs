//! The loop that every model shares: ask the model, put what it says into Items, run the calls it makes, ask
//! again, until it makes none.
//!
//! Everything here follows from what is recorded of the Turn, so that a Turn found open after a crash just
//! goes on ([`restart`]). One [`turn::TurnRun`] owns one run of one Turn; it holds the conversation, bounded by
//! [`history::MAX_HISTORY_BYTES`] and more of earlier Turns and [`limits::TurnLimits`]. It knows
//! no model's wire and no tool's work.

mod below;
mod call;
mod compaction;
mod conversation;
mod engine;
mod execution;
mod guides;
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
pub use limits::TurnLimits;
pub use settings::AgentSettings;
