//! The method groups of conversations, and of features that a lower crate offers by a trait of `bobbin-agent-api`.
//!
//! A group is one folder with its types, handlers, notifications and capabilities, and one line here.

pub mod audit;
pub mod command;
pub mod config;
pub mod doctor;
pub mod forward;
pub mod handshake;
pub mod history;
pub mod item;
pub mod mcp;
pub mod mcp_runtime;
pub mod models;
pub mod policy;
pub mod provider;
pub mod serving;
pub mod skills;
pub mod stats;
pub mod subagent;
pub mod suggest;
pub mod system;
pub mod terminal;
pub mod thread;
pub mod tool;
pub mod trust;
pub mod turn;

use crate::group::Group;

/// The groups of this crate, in the order of the protocol's pages.
pub static GROUPS: &[&Group] = &[
    &handshake::GROUP,
    &thread::GROUP,
    &turn::GROUP,
    &item::GROUP,
    &system::GROUP,
    &subagent::GROUP,
    &serving::GROUP,
    &history::GROUP,
    &terminal::GROUP,
    &forward::GROUP,
    &mcp::GROUP,
    &mcp_runtime::GROUP,
    &skills::GROUP,
    &command::GROUP,
    &suggest::GROUP,
    &models::GROUP,
    &provider::GROUP,
    &stats::GROUP,
    &policy::GROUP,
    &audit::GROUP,
    &config::GROUP,
    &doctor::GROUP,
    &trust::GROUP,
    &tool::GROUP,
];
