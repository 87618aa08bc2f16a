//! `server/stats`: figures of this connection and of the server.

pub mod types;
