//! Decides which commands and paths an agent may use: the rules of users, and a judgement of each command line.
//!
//! Two readers read a line: a parser for all of a shell's language, and a small reader that knows only plain
//! commands. Everything that the parser finds, at any depth, is compared with the rules that refuse or ask. A line
//! can be allowed only if both readers understand it in the same way. Any other line is asked about.
//!
//! Values and pure functions. A clock is used only to stop a parser that takes too long. The caller's [`Places`]
//! resolves paths. Limits: 64 KiB a line, 256 commands in it, 4 texts inside texts, 1,000 rules.

mod ambiguity;
mod cwd;
mod git_settings;
mod head;
mod judge;
mod judgement;
mod loses;
mod pattern;
mod places;
mod project;
mod reads;
mod rule;
mod set;
mod shell;
mod single_program;
mod work;
mod wrapper;

pub use ambiguity::Ambiguity;
pub use judgement::{Because, Judgement, Part, Verdict};
pub use pattern::RefusedPlace;
pub use places::{LeavesOut, Look, PathStatus, PathUse, Places, ResolvedPath};
pub use rule::{Rule, RuleError, RuleText, Subject};
pub use set::RuleSet;
