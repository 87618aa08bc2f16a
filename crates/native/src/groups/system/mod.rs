//! `system/*`: actions of the server itself (AppServer protocol 03 §11).

pub mod types;

use crate::group::{Group, rows};
use crate::wire::{JobResultNotification, SystemEventNotification};

/// The server did something by itself.
pub const SYSTEM_EVENT: &str = "system/event";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        notification SYSTEM_EVENT (SystemEventNotification): "The server did something to a conversation.";
        notification "system/jobResult" (JobResultNotification): "A job that the server ran has ended.";
    },
    ..Group::EMPTY
};
