//! Jobs that run by the clock: cron jobs of agents, the heartbeat, automation tasks of clients (AppServer protocol 05 §2, §3,
//! §12), with their method groups and the agent's tool.
//!
//! One task owns all jobs ([`Schedules`]); the database stores them with their due times. A run is an ordinary Thread and
//! Turn of the core. It has its author's rights, but never more than the workspace allows now. An Approval is declined unless
//! a client has joined the Thread. Knows no agent and no tool but its own.

mod book;
mod due;
#[cfg(test)]
mod due_tests;
mod folder;
pub mod group;
mod heartbeat;
mod job;
mod owner;
mod prompt;
mod run;
mod schedule;
mod slash;
mod task;
mod template;
mod tool;

pub use folder::folder_templates;
pub use group::GROUPS;
pub use owner::{ByClock, Schedules, Surroundings};
