//! The method groups. A group is one folder: its types, handlers, notifications, capability and tests; and one line here.

pub mod command;
pub mod handshake;
pub mod item;
pub mod mcp;
pub mod models;
pub mod policy;
pub mod serving;
pub mod skills;
pub mod stats;
pub mod subagent;
pub mod suggest;
pub mod system;
pub mod terminal;
pub mod thread;
pub mod trust;
pub mod turn;

use crate::group::Group;

/// Every group, in the order of the protocol's pages.
pub(crate) static GROUPS: &[&Group] = &[
    &handshake::GROUP,
    &thread::GROUP,
    &turn::GROUP,
    &item::GROUP,
    &system::GROUP,
    &subagent::GROUP,
    &terminal::GROUP,
    &mcp::GROUP,
    &skills::GROUP,
    &command::GROUP,
    &suggest::GROUP,
    &models::GROUP,
    &stats::GROUP,
    &policy::GROUP,
    &trust::GROUP,
    &serving::GROUP,
];
