//! The store on PostgreSQL, for conversations that outlive their machine: one batching writer for each opened workspace,
//! a bounded pool of connections, migrations.
//!
//! [`PostgresStore`] is a [`Store`](bobbin_store::Store). One database has many workspaces. Each statement names the
//! workspace, so rows of one workspace never meet those of another. A write is acknowledged after its commit, and refused
//! unless this process has the workspace's lease.

mod access;
mod audit;
mod failure;
mod health;
mod index;
mod lease;
mod nodes;
mod open;
mod postgres;
mod project;
mod read;
mod schedule;
mod search;
mod usage;
mod writer;

pub use access::{Access, AccessError};
pub use failure::{COPIED, OpenError};
pub use health::Health;
pub use lease::Holder;
pub use nodes::{Announcement, KnownWorkspace, LeaseRow, NodeRow, Nodes};
pub use open::{Options, ServedFolder};
pub use postgres::PostgresStore;
