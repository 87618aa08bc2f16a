//! The listener of a running server. It opens with the server or later for a program of its user, and can close
//! alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_config::Config;
use bobbin_native::Server as Native;
use bobbin_transport::{Connections, Readiness, Router, web_socket};
use bobbin_workspace::{LockedWorkspace, State, Workspace};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::eca::{CodexClients, Editors};
use crate::groups::groups;
use crate::listen::{Bound, Listen, Listening};
use crate::managed;
use crate::opened::{Opened, services};
use crate::server::{NativeClients, readiness};
use crate::telemetry::Metrics;

/// Longest message that a native client may send on a WebSocket (AppServer protocol 01 §3).
const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Longest message of a Codex client: a prompt with its pictures.
const MAX_CODEX_BYTES: usize = 16 << 20;
/// The path of native clients on the listener.
const NATIVE: &str = "/ws";
/// The path of editors on the listener.
const ECA: &str = "/eca";

/// Opens and closes the listener of one server.
pub(crate) struct Listeners {
    pub(crate) held: Arc<LockedWorkspace>,
    pub(crate) config: Config,
    pub(crate) opened: Opened,
    pub(crate) metrics: Metrics,
    /// The number of files that the process may open.
    pub(crate) files: u64,
    /// The state file's content while the server has no listener.
    pub(crate) state: State,
    /// The dialect of programs on the workspace's socket.
    pub(crate) native: Mutex<Arc<Native>>,
    pub(crate) is_open: AtomicBool,
}

/// A listener that accepts connections.
pub(crate) struct OpenListener {
    /// The properties for its user.
    pub(crate) shown: Listening,
    running: JoinHandle<()>,
    /// Stops accepting connections.
    stop: CancellationToken,
    /// Ends its WebSockets.
    cut: CancellationToken,
    /// The dialect that the socket's clients had before.
    before: Arc<Native>,
}

impl Listeners {
    /// Returns the workspace.
    pub(crate) fn workspace(&self) -> &Workspace {
        self.held.workspace()
    }

    /// Whether the server listens.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Opens the listener. The caller closes it before opening another.
    ///
    /// # Errors
    /// The address is taken, the certificate cannot be used, or the state file cannot be written.
    pub(crate) async fn open(&self, listen: &Listen) -> anyhow::Result<OpenListener> {
        self.serve(Bound::new(listen, &self.config, self.workspace(), self.files).await?)
    }

    /// Accepts connections on a bound listener.
    ///
    /// # Errors
    /// The state file cannot be written.
    pub(crate) fn serve(&self, bound: Bound) -> anyhow::Result<OpenListener> {
        let shown = bound.shown();
        let mut services = services(&self.opened);
        if let Some(devices) = bound.feature() {
            services.others = services.others.with(devices);
        }
        if !bound.address().ip().is_loopback() {
            self.opened.open_to_others();
        }
        let threads = self.opened.threads.clone();
        let native = Arc::new(Native::new(threads.clone(), services, groups()));
        let clients: Arc<dyn Connections> = Arc::new(NativeClients(native.clone()));
        let editors = Editors::new(self.workspace(), &self.config, &self.opened);
        let metrics = self.metrics.clone();
        let router = Router::new()
            .route(NATIVE, web_socket(MAX_MESSAGE_BYTES, clients))
            .route(
                ECA,
                web_socket(bobbin_transport::MAX_BODY_BYTES, Arc::new(editors.clone())),
            )
            .route(
                bobbin_transport::ROOT_WEB_SOCKET,
                web_socket(MAX_CODEX_BYTES, Arc::new(CodexClients(editors))),
            )
            .route(
                "/metrics",
                metrics.route(threads.clone(), self.opened.process.clone()),
            );
        let state = State {
            address: Some(shown.web_socket.clone()),
            ..self.state.clone()
        };
        // Replaced before the announcement, so that a client that finds the address finds its features.
        let before = std::mem::replace(&mut *self.native.lock(), native);
        if let Err(error) = self.held.announce(&state, managed::base_url()) {
            *self.native.lock() = before;
            return Err(error.into());
        }
        let elsewhere = shown.elsewhere.first().cloned();
        self.opened.page.set(elsewhere.or_else(|| shown.page.clone()));
        self.is_open.store(true, Ordering::Release);
        self.opened.start_clock();
        let (stop, cut) = (CancellationToken::new(), CancellationToken::new());
        let is_ready: Readiness = readiness(threads);
        let bound = bound.with_cut(cut.clone());
        let running = tokio::spawn(bound.serve(router, is_ready, stop.clone()));
        Ok(OpenListener {
            shown,
            running,
            stop,
            cut,
            before,
        })
    }

    /// Closes a listener and waits until its connections have ended.
    pub(crate) async fn close(&self, listener: OpenListener) {
        *self.native.lock() = listener.before.clone();
        listener.cut.cancel();
        listener.end().await;
        self.opened.page.set(None);
        self.is_open.store(false, Ordering::Release);
        if let Err(error) = self.held.announce(&self.state, managed::base_url()) {
            tracing::warn!(%error, "clients still find the address of a listener that is closed");
        }
    }
}

impl OpenListener {
    /// Stops accepting. Open connections go on.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the listener's connections have ended.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        if let Err(error) = self.running.await {
            tracing::error!(%error, "a listener ended badly");
        }
    }
}
