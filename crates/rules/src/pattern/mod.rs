//! Patterns of rules: commands by their words, paths by their parts.

mod command;
mod mask;
mod path;
mod wild;

pub(crate) use command::{CommandPattern, Reach};
pub(crate) use mask::Mask;
pub(crate) use path::PathPattern;
pub use path::RefusedPlace;
