//! `/metrics`: counters of all crates and current values, in the format of Prometheus.
//!
//! Labels have fixed sets of values: outcomes, kinds and reasons. They contain no name of a Thread, a tool or a
//! model.

use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use bobbin_agent_api::ServerProcess;
use bobbin_core::Threads;
use bobbin_transport::WebSockets;
use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// The counters of this process.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Starts counting; possible once in a process.
    ///
    /// # Errors
    /// Counting has already started.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let metrics = Self::of_process()?;
        describe_counter!("bobbin_turns_total", "Turns that ended.");
        describe_counter!("bobbin_model_requests_total", "Requests to models that ended.");
        describe_counter!("bobbin_model_tokens_total", "Tokens of requests to models.");
        describe_counter!("bobbin_tool_calls_total", "Calls of tools that ended.");
        describe_counter!(
            "bobbin_events_written_total",
            "Events that the store has written."
        );
        describe_counter!("bobbin_transactions_total", "Transactions of the store.");
        describe_counter!(
            "bobbin_fenced_transactions_total",
            "Transactions that the database refused without the workspace's lease."
        );
        describe_gauge!(
            "bobbin_uptime_seconds",
            Unit::Seconds,
            "Time since the server started."
        );
        describe_gauge!(
            "bobbin_memory_bytes",
            Unit::Bytes,
            "Memory that the server occupies."
        );
        describe_gauge!("bobbin_connections", "Clients that are connected.");
        describe_gauge!("bobbin_live_threads", "Threads in memory.");
        describe_gauge!("bobbin_subscriptions", "Cursors on live Threads.");
        describe_gauge!("bobbin_log_bytes", Unit::Bytes, "Logs of live Threads.");
        describe_gauge!(
            "bobbin_store_queue_length",
            "Batches that wait for the store's writer."
        );
        Ok(metrics)
    }

    /// Starts counting in a node; possible once in a process.
    ///
    /// # Errors
    /// Counting has already started.
    pub fn start_in_node() -> anyhow::Result<Self> {
        let metrics = Self::of_process()?;
        describe_counter!(
            "bobbin_takeovers_total",
            "Workspaces that the node went on with by itself after their machine was gone."
        );
        describe_gauge!(
            "bobbin_leases",
            "Leases of its database that servers of this node have."
        );
        describe_gauge!("bobbin_relayed_connections", "Clients that are passed on.");
        Ok(metrics)
    }

    fn of_process() -> anyhow::Result<Self> {
        let metrics = Self(PrometheusBuilder::new().install_recorder()?);
        describe_counter!("bobbin_refused_clients_total", "Connections that were refused.");
        describe_gauge!("bobbin_build_info", "Always 1; the label is the version.");
        gauge!("bobbin_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
        Ok(metrics)
    }

    /// Returns the route.
    pub(crate) fn route(
        self,
        threads: Arc<Threads>,
        process: Arc<ServerProcess>,
    ) -> MethodRouter<WebSockets> {
        self.route_after(move || set(&threads, &process))
    }

    /// Returns the route of a process that sets its current values in `set`.
    pub fn route_after(self, set: impl Fn() + Clone + Send + Sync + 'static) -> MethodRouter<WebSockets> {
        get(move || {
            set();
            let text = self.0.render();
            async move { ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response() }
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "gauges are floating-point numbers")]
fn set(threads: &Threads, process: &ServerProcess) {
    let stats = threads.stats();
    gauge!("bobbin_uptime_seconds").set(process.uptime().as_secs_f64());
    gauge!("bobbin_connections").set(process.connections() as f64);
    if let Some(bytes) = process.memory_bytes() {
        gauge!("bobbin_memory_bytes").set(bytes as f64);
    }
    gauge!("bobbin_live_threads").set(stats.live_threads as f64);
    gauge!("bobbin_subscriptions").set(stats.watchers as f64);
    gauge!("bobbin_log_bytes").set(stats.log_bytes as f64);
    gauge!("bobbin_store_queue_length").set(stats.store.queued_writes as f64);
    counter!("bobbin_events_written_total").absolute(stats.store.events);
    counter!("bobbin_transactions_total").absolute(stats.store.commits);
    counter!("bobbin_fenced_transactions_total").absolute(stats.store.fenced);
}

/// Returns the bytes of memory that this process uses, if the system reports it.
pub(crate) fn memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}
