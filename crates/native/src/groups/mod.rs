//! The method groups of conversations. A group is one folder: its types, handlers, notifications, capability and tests; and
//! one line here.

pub mod handshake;
pub mod item;
pub mod serving;
pub mod subagent;
pub mod system;
pub mod thread;
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
];
