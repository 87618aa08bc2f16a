//! One extension as a service: its process, connection, handshake and log.
//!
//! Owns the process. An extension that crashes is reported and not restarted; a user starts it again. The server's log
//! contains nothing that an extension writes, since it may be data of patients.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bobbin_children::Exit;
use bobbin_framing::{Limits, Transport};
use bobbin_model::{Lines, visible};
use bobbin_peer::{Batches, CallError, LogEntry, ParseErrorReply, Peer, PeerHandle, PeerOptions};
use bobbin_supervise::{Child, Failure, Line, Restart, Service, Status, Streams, causes};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use crate::logs::{self, Level, LogRecord, Ring};
use crate::manifest::Manifest;
use crate::news::News;
use crate::requests;
use crate::shared::{Shared, window_closed};
use crate::spec::{API_VERSION, ExtensionId, ExtensionSpec};

/// The largest message of an extension.
const MAX_BODY: usize = 10 << 20;
/// Time limit for the answer to `initialize`.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Time limit for the answer to `shutdown` and the exit together.
const SHUTDOWN: Duration = Duration::from_secs(5);
/// Least time for the exit of an extension that has answered `shutdown`.
const LAST_MOMENT: Duration = Duration::from_secs(1);
/// Time limit for the exit after the connection has ended, to learn the exit status.
const EXIT: Duration = Duration::from_millis(500);
/// Longest text of a failure, in bytes.
const MAX_PROBLEM: usize = 500;

/// An extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "HermesExtension")]
pub struct ExtensionStatus {
    /// Its id.
    #[schemars(with = "String")]
    pub id: ExtensionId,
    /// Its program, as configured.
    pub path: String,
    /// Its configured label, or its own name.
    pub name: String,
    /// Its version, once it has run.
    pub version: String,
    /// Its state.
    pub state: ExtensionState,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// State of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "HermesExtensionState")]
pub enum ExtensionState {
    /// Its process is being started.
    Starting,
    /// The handshake is under way.
    Initializing,
    /// It is ready.
    Running,
    /// It was asked to shut down.
    ShuttingDown,
    /// It does not run.
    Stopped,
    /// It does not run because of an error.
    Failed,
}

/// Reason for a shutdown, as it is sent to the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reason {
    Closing,
    Disabled,
    Reload,
}

/// Handle of a running extension.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) peer: PeerHandle,
    pub(crate) manifest: Arc<Manifest>,
}

/// Resources of the task that runs an extension.
pub(crate) struct Connection {
    child: Child,
    peer: Peer,
    lost: bool,
}

/// An extension of the configuration.
pub(crate) struct Extension {
    pub(crate) spec: ExtensionSpec,
    shared: Arc<Shared>,
    status: Mutex<ExtensionStatus>,
    reason: Mutex<Reason>,
    log: Arc<Log>,
}

/// The log of an extension. Announces each new entry.
pub(crate) struct Log {
    id: ExtensionId,
    shared: Arc<Shared>,
    ring: Mutex<Ring>,
}

impl Log {
    pub(crate) fn write(&self, level: Level, message: impl Into<String>) {
        let mut ring = self.ring.lock();
        let record = ring.push(self.shared.clock.now(), level, message.into());
        self.shared.announce(News::Log(self.id.clone(), record));
    }

    fn line(&self, line: Line<'_>) {
        match line {
            Line::Text(text) => {
                let (level, text) = logs::level(text);
                self.write(level, visible(text, Lines::Keep));
            }
            Line::Lost(lines) => {
                self.write(Level::Warn, format!("{lines} lines are lost: they came too fast"));
            }
        }
    }
}

impl Extension {
    pub(crate) fn new(spec: ExtensionSpec, shared: Arc<Shared>) -> Self {
        let name = spec.entry.name.clone();
        let status = ExtensionStatus {
            id: spec.id.clone(),
            path: spec.entry.path.clone(),
            name: name.unwrap_or_else(|| "Unknown".to_owned()),
            version: "0.0.0".to_owned(),
            state: if spec.entry.enabled {
                ExtensionState::Starting
            } else {
                ExtensionState::Stopped
            },
            enabled: spec.entry.enabled,
            error: None,
        };
        let log = Log {
            id: spec.id.clone(),
            shared: shared.clone(),
            ring: Mutex::default(),
        };
        Self {
            spec,
            shared,
            status: Mutex::new(status),
            reason: Mutex::new(Reason::Closing),
            log: Arc::new(log),
        }
    }

    pub(crate) fn status(&self) -> ExtensionStatus {
        self.status.lock().clone()
    }

    pub(crate) fn records(&self, after: Option<u64>, limit: usize) -> Vec<LogRecord> {
        self.log.ring.lock().read(after, limit)
    }

    /// Sets the reason of its next shutdown.
    pub(crate) fn set_reason(&self, reason: Reason) {
        *self.reason.lock() = reason;
    }

    pub(crate) fn set_enabled(&self, enabled: bool) {
        self.change(|status| status.enabled = enabled);
    }

    fn change(&self, change: impl FnOnce(&mut ExtensionStatus)) {
        let mut status = self.status.lock();
        let before = status.clone();
        change(&mut status);
        if *status != before {
            self.shared.announce(News::Extension(status.clone()));
        }
        let running = |status: &ExtensionStatus| status.state == ExtensionState::Running;
        if running(&before) != running(&status) {
            self.shared.announce(News::Toolbar);
        }
    }

    fn enter(&self, state: ExtensionState, error: Option<String>) {
        self.change(|status| {
            status.state = state;
            status.error = error;
        });
    }

    /// Does the handshake: sends `initialize` and reads the manifest.
    async fn greet(&self, peer: &PeerHandle) -> Result<Manifest, String> {
        self.enter(ExtensionState::Initializing, None);
        let params = json!({
            "hermesVersion": self.spec.version,
            "apiVersion": API_VERSION,
            "dataDirectory": self.spec.data,
        });
        let answer = peer
            .call_with_timeout::<Value>("initialize", params, HANDSHAKE)
            .await;
        let answer = answer.map_err(|error| match error {
            CallError::Remote(error) => format!("it refused the handshake: {error}"),
            CallError::TimedOut(limit) => format!("it did not answer initialize within {limit:?}"),
            CallError::ShutDown | CallError::Send(_) => "it closed its output before it was ready".to_owned(),
            CallError::Decode(_) => "its answer to initialize is not usable".to_owned(),
        })?;
        let read = Manifest::read(&answer);
        let (manifest, warnings) = read.map_err(|why| format!("its answer to initialize {why}"))?;
        for warning in warnings {
            self.log.write(Level::Warn, warning);
        }
        Ok(manifest)
    }

    /// Closes the windows of an extension that ends, and sends it `window/closed` if `peer` is there.
    fn close_windows(&self, peer: Option<&PeerHandle>) {
        for window in self.shared.screens.close_windows_of(&self.spec.id) {
            self.shared.close_on_screen(&window);
            if let Some(peer) = peer {
                window_closed(peer, &window.id, "shutdown");
            }
        }
    }

    /// Asks it to shut down, and waits up to the time limits.
    async fn shut_down(&self, connection: &mut Connection) {
        let reason = *self.reason.lock();
        self.enter(ExtensionState::ShuttingDown, None);
        let Connection { child, peer, .. } = connection;
        self.close_windows(Some(&**peer));
        let deadline = Instant::now() + SHUTDOWN;
        let asked = peer.call_raw("shutdown", json!({ "reason": reason }), Some(SHUTDOWN));
        let answer = tokio::select! {
            answer = asked => answer,
            () = child.lost() => return,
        };
        match answer {
            Ok(_) => {
                let last = deadline.max(Instant::now() + LAST_MOMENT);
                if timeout_at(last, child.lost()).await.is_err() {
                    self.log.write(Level::Warn, "it did not exit and was killed");
                }
            }
            Err(error) => self
                .log
                .write(Level::Warn, format!("shutdown: {error}; it was killed")),
        }
    }
}

impl Service for Extension {
    type Handle = Running;
    type Connection = Connection;

    fn name(&self) -> &str {
        self.spec.id.as_str()
    }

    fn restart(&self) -> Restart {
        Restart::Never
    }

    async fn start(&self) -> Result<(Running, Connection), Failure> {
        let process = self.spec.launch.clone().map_err(Failure::lasting)?;
        let (check, data) = (self.spec.check.clone(), self.spec.data.clone());
        let prepared = tokio::task::spawn_blocking(move || {
            check.map_or(Ok(()), |check| (check.0)())?;
            let made = std::fs::create_dir_all(&data);
            made.map_err(|error| format!("its data directory {}: {error}", data.display()))
        });
        let prepared = prepared.await.unwrap_or_else(|error| Err(error.to_string()));
        prepared.map_err(Failure::lasting)?;
        let sandbox = self.spec.sandbox.as_ref();
        let process = match sandbox {
            Some(sandbox) => {
                let confined = sandbox.confine(process).await;
                confined.map_err(|why| Failure::lasting(format!("it cannot be confined: {why}")))?
            }
            None => process,
        };

        let log = self.log.clone();
        let sink = Box::new(move |line: Line<'_>| log.line(line));
        let started = Child::start_lossy(&self.shared.children, process, sink).await;
        let (mut child, Streams { input, output }) = started.map_err(|error| {
            if let Some(sandbox) = sandbox {
                sandbox.has_failed(&error);
            }
            Failure::lasting(problem(&causes(&error)))
        })?;
        let transport =
            Transport::content_length(output, input, Limits::default().with_max_body_bytes(MAX_BODY));
        let ready = Arc::new(AtomicBool::new(false));
        let peer = Peer::start(transport, self.peer_options(), |peer| {
            requests::handlers(&self.shared, &self.spec, &self.log, peer, ready.clone())
        });
        let peer = peer.map_err(|error| Failure::lasting(error.to_string()))?;
        let greeted = tokio::select! {
            biased;
            greeted = self.greet(&peer) => greeted,
            () = child.lost() => Err("it ended before it was ready".to_owned()),
        };
        match greeted {
            Ok(manifest) => {
                let running = Running {
                    peer: peer.handle(),
                    manifest: Arc::new(manifest),
                };
                self.change(|status| {
                    status.name.clone_from(&running.manifest.name);
                    status.version.clone_from(&running.manifest.version);
                });
                let connection = Connection {
                    child,
                    peer,
                    lost: false,
                };
                self.log.write(Level::Info, "started");
                ready.store(true, Ordering::Release);
                Ok((running, connection))
            }
            Err(how) => {
                drop(timeout(EXIT, child.lost()).await);
                let exit = child.end(Duration::ZERO).await.exit;
                self.log.write(Level::Error, how.as_str());
                Err(Failure::lasting(problem(&format!("{how}{}", exited(exit)))))
            }
        }
    }

    async fn serve(&self, connection: &mut Connection, _: &(dyn Fn(Running) + Sync)) {
        let Connection { child, peer, lost } = connection;
        tokio::select! {
            () = child.lost() => {}
            () = peer.closed() => {}
        }
        *lost = true;
    }

    async fn end(&self, mut connection: Connection) -> Failure {
        let how = if connection.lost {
            self.close_windows(None);
            drop(timeout(EXIT, connection.child.lost()).await);
            "it ended by itself"
        } else {
            self.shut_down(&mut connection).await;
            "it was ended"
        };
        drop(connection.peer);
        let exit = connection.child.end(Duration::ZERO).await.exit;
        // Closes a window that was opened meanwhile.
        self.close_windows(None);
        self.shared.forget(&self.spec.id);
        self.log.write(Level::Info, format!("{how}{}", exited(exit)));
        if !connection.lost {
            // No other code reports the end of an extension that was removed.
            self.enter(ExtensionState::Stopped, None);
        }
        Failure::lasting(format!("{how}{}", exited(exit)))
    }

    fn changed(&self, status: Status<'_, Running>) {
        match status {
            Status::Added => self.shared.announce(News::Extension(self.status())),
            Status::Starting => self.enter(ExtensionState::Starting, None),
            Status::Running(_) => self.enter(ExtensionState::Running, None),
            // An extension is never restarted automatically, so this state is final.
            Status::Waiting { problem, .. } | Status::Failed(problem) => {
                self.enter(ExtensionState::Failed, Some(problem));
            }
            Status::Stopped => self.enter(ExtensionState::Stopped, None),
            // The extension ends in the background, which `end` reports.
            Status::Removed => self.shared.announce(News::Toolbar),
        }
    }
}

impl Extension {
    fn peer_options(&self) -> PeerOptions {
        let log = self.log.clone();
        PeerOptions {
            // Published extensions count characters although the length counts bytes.
            ascii_json: true,
            batches: Batches::Reject,
            // Extensions cannot use an answer without an id.
            parse_error_reply: ParseErrorReply::Never,
            // Extensions do not know a method to cancel.
            cancel_on_abandon: |_| false,
            max_running_requests: 64,
            // Messages may contain data of patients, so only errors and warnings are logged.
            log: Some(Arc::new(move |entry: LogEntry<'_>| match entry {
                LogEntry::Error(text) => log.write(Level::Error, cut(text)),
                LogEntry::Warn(text) => log.write(Level::Warn, cut(text)),
                LogEntry::Read(_) | LogEntry::Write(_) | LogEntry::Debug(_) => {}
            })),
            ..PeerOptions::default()
        }
    }
}

fn exited(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Exited(code)) => format!(" (exit status {code})"),
        Some(Exit::Signaled(signal)) => format!(" (signal {signal})"),
        Some(Exit::OverMemory(_) | Exit::TimedOut | Exit::Cancelled) | None => String::new(),
    }
}

fn problem(text: &str) -> String {
    cut(&visible(text, Lines::One)).to_owned()
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_PROBLEM)]
}
