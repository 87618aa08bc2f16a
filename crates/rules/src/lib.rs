//! Which commands and paths an agent may use: rules of people, and a judgement of each command line.
//!
//! A line is read twice, by a parser for all of a shell's language and by a small reader that knows only plain
//! commands. Everything the first one finds, at any depth, is held against the rules that refuse or ask. Only
//! a line that both readers understand, and understand alike, can be allowed. What is not understood is
//! asked about: nothing here guesses.
//!
//! Values and functions without effects, nothing of ours; a clock only to stop a parser that takes too long. Where a path leads is answered by the caller's
//! [`Places`]. Bounds: 64 KiB a line, 256 commands in it, 4 texts inside texts, 1,000 rules.

mod concern;
mod head;
mod judge;
mod judgement;
mod pattern;
mod places;
mod reads;
mod rule;
mod set;
mod shell;
mod stands;
mod work;
mod wrapper;

pub use concern::Concern;
pub use judgement::{Because, Judgement, Part, Verdict};
pub use pattern::RefusedPlace;
pub use places::{LeavesOut, Look, PathUse, Place, Places, Standing};
pub use rule::{Rule, RuleError, RuleText, Subject};
pub use set::RuleSet;
