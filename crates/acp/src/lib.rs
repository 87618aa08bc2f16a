//! The agent's end of the Agent Client Protocol, version 1: JSON-RPC, one message a line, as editors speak it.
//!
//! [`serve`] runs one connection of a server from its handshake to its end. A session is a Thread, a prompt a Turn, a
//! permission an Approval; updates show Items. [`router`] is the process that a client starts: it passes messages on to
//! the servers of the folders that sessions are in. This crate decides nothing: it sends requests to the core and makes
//! updates of the core's events. The messages themselves are in `acp-wire`, apart from the logic, so that another version
//! of the protocol can have a module beside this one.

mod connection;
mod dialect;
mod errors;
mod files;
mod form;
mod greeting;
mod input;
mod methods;
mod options;
mod permission;
mod replay;
pub mod router;
mod servers;
mod sessions;
mod view;

pub use connection::serve;
