//! `item/*`: the Items of a Turn, and the questions about it to the user (AppServer protocol 03 and 04).

pub mod approval;
pub mod content;
pub mod delta;
pub mod payload;
pub mod tool_payload;
pub mod types;
pub mod usage;
pub mod user_input_types;
