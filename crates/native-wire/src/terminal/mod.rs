//! `terminal/*`: commands in the background (AppServer protocol 03 §13).

pub mod types;
