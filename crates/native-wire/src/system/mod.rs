//! `system/*`: actions of the server itself (AppServer protocol 03 §11).

pub mod types;
