//! `server/stats`: figures of this connection and of the server.

pub(crate) mod handlers;

use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::stats::types::ServerStatsResult;

use crate::group::page::Page;
use crate::group::{Group, rows};

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
