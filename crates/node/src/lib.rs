//! The node: one address for all workspaces of a user.
//!
//! It listens once, checks each client once, and passes messages between a client and the server of the workspace that the
//! address names, unread. Servers are found and started as for every other program of the user, and are not the node's
//! children: the node can end while they go on. Clients of `/node/ws` get the list of workspaces and what goes on in each.
//!
//! Has no state but its record (`bobbin_workspace::NodeRecord`): the names of workspaces and the paired browsers are files of the state directory.

mod cluster;
mod list;
mod methods;
mod node;
mod other;
mod relay;
mod supervisor;
pub mod wire;

pub use bobbin_store_postgres::{LeaseRow, NodeRow};
pub use cluster::Member;
pub use methods::ask;
pub use node::{Settings, run};
