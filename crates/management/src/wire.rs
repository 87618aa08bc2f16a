//! The shapes of these groups beside those that `native` has, each by its name.

#[cfg(test)]
mod examples;

pub use bobbin_native::wire::*;

pub use crate::command::types::*;
pub use crate::config::types::*;
pub use crate::doctor::types::*;
pub use crate::file::types::*;
pub use crate::forward::types::*;
pub use crate::history::types::*;
pub use crate::mcp::types::*;
pub use crate::models::types::*;
pub use crate::policy::types::*;
pub use crate::skills::types::*;
pub use crate::stats::types::*;
pub use crate::suggest::types::*;
pub use crate::terminal::types::*;
pub use crate::trust::types::*;
