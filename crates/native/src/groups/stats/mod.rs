//! `server/stats`: figures of this connection and of the server.

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, Method};
use crate::wire;

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[Method::request::<wire::EmptyParams, wire::ServerStatsResult>(
        "server/stats",
        "Extension: the server's counters.",
        &[],
        |call| call.now(handlers::stats),
    )],
    capabilities: |_, capabilities| {
        capabilities.server_stats = true;
    },
    ..Group::EMPTY
};
