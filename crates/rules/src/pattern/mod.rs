//! Patterns of rules: commands by their words, paths by their parts.

mod command;
mod path;
mod wild;

pub(crate) use command::{CommandPattern, Reach};
pub(crate) use path::PathPattern;
