//! `turn/*`: starting and stopping Turns, their queue (AppServer protocol 03).

pub mod diff;
pub mod input_types;
pub mod notifications;
pub mod params;
pub mod plan;
pub mod queue_types;
pub mod revert_types;
pub mod types;
