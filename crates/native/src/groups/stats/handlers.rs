//! `server/stats`: figures of this connection and of the server.

use bobbin_native_wire::stats::types::{
    ConnectionPhase, ConnectionStats, LogStats, ServerStatsResult, StoreStats,
};
use bobbin_peer::{Phase, Responder};

use crate::call::NoParams;
use crate::client::Client;

pub(super) fn stats(client: &Client, _: NoParams, responder: Responder) {
    let peer = client.peer().stats();
    let threads = client.threads().stats();
    let services = client.services();
    let process = services.process.as_ref();
    responder.ok(ServerStatsResult {
        connection: ConnectionStats {
            phase: match peer.phase {
                Phase::Active => ConnectionPhase::Active,
                Phase::ShuttingDown => ConnectionPhase::ShuttingDown,
                Phase::Stopped => ConnectionPhase::Stopped,
            },
            write_queue_length: peer.write_queue_length as u64,
            write_queue_bytes: peer.write_queue_bytes as u64,
            pending_outbound_call_count: peer.pending_outbound_call_count as u64,
            running_inbound_request_count: peer.running_inbound_request_count as u64,
            timer_armed: peer.timer_armed,
            recently_timed_out_call_count: peer.recently_timed_out_call_count as u64,
            queued_inbound_count: peer.queued_inbound_count as u64,
            bytes_read: peer.bytes_read,
            bytes_written: peer.bytes_written,
            messages_read: peer.messages_read,
            messages_written: peer.messages_written,
            read_errors: peer.read_errors,
            uptime_ms: peer.uptime_ms,
        },
        live_threads: threads.live_threads as u64,
        subscriptions: threads.watchers as u64,
        log: LogStats {
            frames: threads.log_entries as u64,
            bytes: threads.log_bytes as u64,
        },
        store: StoreStats {
            write_queue_length: threads.store.queued_writes as u64,
            transactions: threads.store.commits,
            events_written: threads.store.events,
        },
        version: services.version.to_owned(),
        uptime_ms: process.map(|process| u64::try_from(process.uptime().as_millis()).unwrap_or(u64::MAX)),
        connections: process.map(|process| process.connections() as u64),
        memory_bytes: process.and_then(|process| process.memory_bytes()),
    });
}
