//! `server/stats`: figures of this connection and of the server.

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{EmptyParams, ServerStatsResult};

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "server/stats" (EmptyParams => ServerStatsResult) [] now handlers::stats:
            "Extension: the server's counters.";
    },
    capabilities: |_, capabilities| {
        capabilities.server_stats = true;
    },
    ..Group::EMPTY
};
