//! `mcp/*`: tool servers (AppServer protocol 05 §8).

pub mod page_types;
pub mod types;
