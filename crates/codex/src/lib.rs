//! The Codex dialect: the app-server protocol of the Codex terminal client, version 2, over Threads and Items.
//!
//! `codex --remote` works with it unmodified. Served is the part of the protocol that this client needs; every other method is
//! answered with `-32601`, which the client takes.
//!
//! [`serve`] runs one connection from its handshake to its end.

mod connection;
mod dialect;
mod elicitation;
mod errors;
mod history;
mod ids;
mod items;
mod methods;
mod questions;
mod settings;
mod turns;
mod version;
mod view;

pub use connection::serve;
pub use version::untried;
