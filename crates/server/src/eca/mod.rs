//! The editors of this server.

mod choices;
mod editors;

pub(crate) use editors::{CodexClients, Editors};
