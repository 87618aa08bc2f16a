//! `skills/*`: instructions that agents read when they are of use (AppServer protocol 05 §4).

pub mod types;
