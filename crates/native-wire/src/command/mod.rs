//! `command/*`: slash commands (AppServer protocol 05 §6).

pub mod types;
