//! The deterministic model: no key, no network, and useful nevertheless.
//!
//! It does not guess. A prompt is read as one or several plain instructions (`prompt`); each becomes tool calls
//! like any model's, under the same rules; and what they gave is told in a message. A prompt that is not
//! understood as a whole does nothing and is answered with what can be done.
//!
//! Every reply is a pure function of the conversation (`steps::next_step`), so a Turn that is taken up after
//! a crash goes on where it stood. It never sees earlier Turns.

mod answer;
mod fence;
mod help;
mod instruction;
mod model;
mod phrases;
mod prompt;
mod speech;
mod steps;
mod summary;
mod text;

pub use model::Offline;
