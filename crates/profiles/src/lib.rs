//! Profiles of subagents: what the configuration says of them, how clients manage them, and the runs of those that are
//! another agent's command line (AppServer protocol 05 §10.1).
//!
//! [`Profiles`] owns what counts now. [`ProfileEngine`] runs the Turns of subagents whose profile is a command line: as
//! a Turn of the ordinary agent whose "model" makes one call, so that rules, approvals, sandbox, undo and crashes are
//! those of any command. This crate stores no state of a run: the record of the Turn has it.

mod command;
mod configured;
mod engine;
mod group;
mod one_shot;
mod output;
pub mod settings;

pub use configured::{Profiles, ReadProfiles};
pub use engine::ProfileEngine;
pub use group::{Feature, GROUPS, wire};
pub use settings::ProfileSettings;
