//! `server/stats`: figures of this connection and of the server.

pub(crate) mod handlers;
pub mod types;

use crate::group::page::Page;
use crate::group::{Group, rows};

use crate::groups::handshake::types::EmptyParams;
use crate::groups::stats::types::ServerStatsResult;

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::CONNECTION, Some("serverStats");
        request "server/stats" (EmptyParams => ServerStatsResult) [] now handlers::stats, needs Read:
            "Extension: the server's counters.", test "native/reading: server_stats";
    },
    capabilities: |_, capabilities| {
        capabilities.server_stats = true;
    },
    ..Group::EMPTY
};
