//! `system/*`: what the server did by itself (AppServer protocol 03 §11).

pub mod types;

use crate::group::{Group, Method};
use crate::wire;

pub(crate) const SYSTEM_EVENT: &str = "system/event";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::notification::<wire::SystemEventNotification>(
            SYSTEM_EVENT,
            "The server did something to a conversation.",
        ),
        Method::notification::<wire::JobResultNotification>(
            "system/jobResult",
            "A job that the server ran has ended.",
        )
        .later(),
    ],
    ..Group::EMPTY
};
