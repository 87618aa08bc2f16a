//! Engine.
mod agent;
mod diff;
mod tools;
pub use agent::*;
pub use tools::ToolSet;
