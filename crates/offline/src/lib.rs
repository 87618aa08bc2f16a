//! The deterministic model: it needs no key and no network.
//!
//! The model does not guess. It parses a prompt as one or several plain instructions (`prompt`). Each becomes tool
//! calls under the same rules as any model's, and a message reports their results. If a part of a prompt is not
//! understood, nothing is done, and the reply lists the possible instructions.
//!
//! Every reply is a pure function of the conversation (`steps::next_step`), so a Turn resumed after a crash continues
//! where it was. The model never sees earlier Turns.

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
