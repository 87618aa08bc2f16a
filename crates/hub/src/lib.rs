//! The Hub: one process of a user that starts, finds, watches and stops one server for each workspace.
//!
//! Clients ask it over HTTP on loopback for a workspace's server, and then connect to that server. No conversation
//! passes through the Hub. One task owns each workspace (`owner`); the routes send it orders. The servers are children
//! of the Hub: none of them outlives it, not even a `kill -9`. The files are those that existing clients read.
//!
//! Reads neither the environment nor configuration: the binary says in [`Settings`] how a server is started.
//! Wire rules: AppServer protocol 06, part A.

mod client;
mod error;
mod events;
mod http;
mod hub;
mod launch;
mod lock;
mod managed;
mod owner;
mod probe;
mod proxy;
mod record;
mod registry;
mod routes;
mod runtime;
mod wire;

pub use client::{ClientError, Notification, Remote};
pub use hub::{Hub, Settings, StartError, Started};
pub use launch::Launch;
pub use lock::LockContent;
pub use managed::{Managed, ManagedError, is_managed_variable};
pub use wire::AppServer;
