//! Plugins: folders with a manifest that bring skills, commands, MCP servers and hooks (AppServer protocol 05 §5).
//!
//! `manifest` reads one folder, `discovery` finds the plugins of a workspace and its user and says which count,
//! `install` copies and removes folders, and [`Plugins`] puts into effect what the plugins bring, and changes it for
//! clients.
//!
//! A plugin outside of the workspace is its user's own. One in the workspace may have come with it: it counts once its
//! user has installed it or trusts its present content. Nothing of a plugin is run here.

mod checks;
mod discovery;
mod group;
mod install;
mod manifest;
mod plugins;
mod settings;

pub use checks::check;
pub use discovery::{Place, trust_items};
pub use group::{Feature, GROUPS, wire};
pub use plugins::{Effects, Plugins, ReadSettings};
pub use settings::{PluginSettings, Section};
