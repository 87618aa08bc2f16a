//! Configuration: `~/.craft/config.json`, `.craft/config.json` of the workspace over it, and the `.mcp.json` there.
//!
//! [`mod@file`] joins the sections of all features, whose crates read them. This crate merges both files: all of the
//! user's own file counts. Of a workspace's file, stricter settings count, and others once the user trusts them. A broken
//! workspace's file stops the start only if the user trusts the folder. Otherwise it is reported and ignored as a whole,
//! since any author can put a file into a folder.
//!
//! This crate reads files only. The environment, the command line and the record of trust are arguments.

mod config;
mod database;
mod editor;
mod fields;
pub mod file;
pub mod layers;
mod listener;

pub use config::Config;
pub use database::{DatabaseSettings, PasswordPlace};
pub use fields::sections;
pub use listener::{ListenerSettings, Mode};
