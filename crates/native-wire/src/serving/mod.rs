//! `ext/*` and the server's other requests to a client (AppServer protocol 04 §7 to §9).

pub mod types;
