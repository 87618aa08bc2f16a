//! `thread/*` and `channel/list`: the life of a Thread, lists, reads, subscriptions (AppServer protocol 02).

pub mod config;
pub mod history_types;
pub mod notifications;
pub mod params;
pub mod types;
