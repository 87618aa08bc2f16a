//! The handshake (AppServer protocol 01 §4), which `connection` serves.

pub mod capabilities;
pub mod types;
