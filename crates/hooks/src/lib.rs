//! Runs hooks: programs of users that are asked at moments of a Turn, with JSON on their standard streams.
//!
//! [`HookRunner`] knows which hooks count and runs those of a moment at the same time; `answer` reads what they say;
//! `names` has the names of other agents for our tools. [`ManagedHooks`] lists all hooks for their user, who trusts and
//! switches them by `group`. What becomes of an answer is the agent's business.
//!
//! A hook of the user's own configuration runs as the user's programs do. Hooks of a workspace and of plugins run in the
//! sandbox of commands. All get the environment of commands, and end with the server. Bounds: [`MAX_AT_ONCE`] processes, the
//! time of each hook, and the constants of `process`.

mod answer;
pub mod group;
mod managed;
mod names;
mod process;
mod runner;
mod settings;

pub use group::GROUPS;
pub use managed::{HookError, HookSources, ManagedHooks, Place, PluginHooks, plugin_key};
pub use runner::{HookRunner, MAX_AT_ONCE};
pub use settings::{Hook, HookOrigin, of_file, read};
