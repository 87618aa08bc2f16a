//! Method groups of the native dialect that manage what a server has beside its conversations: models, tool servers,
//! terminals, forwarded ports, commands, skills, suggestions, rules, configuration, the doctor, file names, trust, figures;
//! and what reads their history.
//!
//! A group is one folder: its types, handlers, notifications, capability and tests; and one line here. It knows its feature
//! by the trait in `bobbin-agent-api`, and a connection by [`bobbin_native::client::Client`].

pub mod command;
pub mod config;
pub mod doctor;
pub mod file;
pub mod forward;
pub mod history;
pub mod mcp;
pub mod models;
pub mod policy;
pub mod skills;
pub mod stats;
pub mod suggest;
pub mod terminal;
pub mod trust;
pub mod wire;

use bobbin_native::group::Group;

/// The groups of this crate, in the order of the protocol's pages.
pub static GROUPS: &[&Group] = &[
    &history::GROUP,
    &terminal::GROUP,
    &forward::GROUP,
    &mcp::GROUP,
    &skills::GROUP,
    &command::GROUP,
    &suggest::GROUP,
    &models::GROUP,
    &stats::GROUP,
    &policy::GROUP,
    &config::GROUP,
    &doctor::GROUP,
    &file::GROUP,
    &trust::GROUP,
];
