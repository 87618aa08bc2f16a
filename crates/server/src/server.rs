//! The running server: an open workspace and its endpoints.
//!
//! It ends in this order, within five seconds: stop accepting, end engines and owners, close the store, close
//! connections. Turns and questions stay open, as after a crash, and go on at the next start.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bobbin_agent_api::trust::WorkspaceTrust as _;
use bobbin_core::{LeftOpen, ListFilter, Threads};
use bobbin_native::Endpoint;
use bobbin_peer::Transport;
use bobbin_schedules::ByClock;
use bobbin_transport::{Caller, Connections, LocalListener, Readiness};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::groups::groups;
use crate::listen::{Bound, Listen, Listening};
use crate::listeners::{Listeners, OpenListener};
use crate::local::{Local, Usage, unused};
use crate::opened::{Opened, open, services};
use crate::signals::Signals;
use crate::telemetry::Metrics;
use crate::{console, exit, managed};
use bobbin_config::Config;
use bobbin_workspace::{LockedWorkspace, State, Workspace};

/// Assumed limit of open files if the system does not report it.
const USUAL_FILES: u64 = 1024;
/// Interval in which a server that was started for its clients checks whether its folder still exists.
const PRESENCE: Duration = Duration::from_secs(3);
/// Longest time of the whole shutdown.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// The endpoints to open, beside the socket of the workspace.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    /// Whether a client connects on stdin and stdout.
    pub stdio: bool,
    /// The listener, if there is one.
    pub listen: Option<Listen>,
    /// How long the server runs unused, if it was started for its clients.
    pub idle: Option<Duration>,
}

/// The facts that a server reports once it serves.
pub struct Greeting<'a> {
    /// The listener, if there is one.
    pub listening: Option<&'a Listening>,
    /// A sentence about items of the folder that need the user's trust.
    pub waiting: Option<&'a str>,
    /// Warnings for the user who started it.
    pub warnings: Vec<String>,
}

/// Serves until a signal or another reason to end. Calls `greet` once every endpoint is open.
///
/// # Errors
/// As [`open`]; it cannot listen on the address; the database was removed meanwhile.
pub async fn run(
    held: LockedWorkspace,
    config: &Config,
    endpoints: Endpoints,
    greet: impl FnOnce(Greeting<'_>),
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let held = Arc::new(held);
    let removed = CancellationToken::new();
    let (listeners, listener) = assemble(&held, config, &endpoints, &removed).await?;
    let opened = &listeners.opened;
    let notice = opened.trust.notice().await;
    let warnings = config.warnings.iter().chain(&opened.complaints);
    let warnings = warnings.cloned().collect();
    let stop = CancellationToken::new();
    let wanted_end = CancellationToken::new();
    let usage = Usage::new(endpoints.idle == Some(Duration::ZERO), wanted_end.clone());
    let local = LocalListener::bind(&listeners.workspace().folder(), bobbin_local::SOCKET)?;
    let clients = Local::new(listeners.clone(), usage.clone());
    let local = tokio::spawn(local.run(Arc::new(clients), stop.clone()));
    let shown = listener.as_ref().map(|listener| &listener.shown);
    if shown.is_none() {
        held.announce(&listeners.state, managed::base_url())?;
    }
    let native = listeners.native.lock().clone();
    let address = shown.map(|shown| with_token(shown.web_socket.clone(), &endpoints));
    opened.channels.host().begin(&native, address);
    let own = endpoints.stdio.then(bobbin_transport::stdio).transpose()?;
    greet(Greeting {
        listening: shown,
        waiting: notice.as_deref(),
        warnings,
    });
    let stdio = async {
        match own {
            Some(transport) => bobbin_native::serve(transport, Endpoint::Stdio, native).await,
            None => std::future::pending().await,
        }
    };
    let unused = unused_or_gone(&listeners, &usage, endpoints.idle);
    tokio::pin!(stdio);
    let mut stdio_open = endpoints.stdio;
    tokio::select! {
        // The end of input means that the owner of this process wants it to end.
        () = &mut stdio => stdio_open = false,
        () = signals.next() => {}
        () = removed.cancelled() => {}
        () = wanted_end.cancelled() => {}
        () = unused => {}
        // As after `kill -9`: what it could still say or store is another server's.
        () = opened.lost.cancelled() => return Err(exit::taken().into()),
    }
    let ending = async {
        stop.cancel();
        if let Some(listener) = &listener {
            listener.stop();
        }
        report(opened.end().await);
        if stdio_open {
            stdio.await;
        }
        if let Some(listener) = listener {
            listener.end().await;
        }
        drop(local.await);
    };
    tokio::select! {
        ended = tokio::time::timeout(SHUTDOWN, ending) => if ended.is_err() {
            tracing::warn!("the end took too long; leaving anyway");
        },
        () = signals.next() => return Ok(ExitCode::from(exit::INTERRUPTED)),
    }
    if removed.is_cancelled() {
        return Err(exit::removed(&listeners.workspace().database()).into());
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the workspace, and its listener if `endpoints` has one.
async fn assemble(
    held: &Arc<LockedWorkspace>,
    config: &Config,
    endpoints: &Endpoints,
    removed: &CancellationToken,
) -> anyhow::Result<(Arc<Listeners>, Option<OpenListener>)> {
    let files = bobbin_children::raise_file_limit().unwrap_or_else(|error| {
        tracing::warn!(%error, "the limit of open files stays as it is");
        USUAL_FILES
    });
    let bound = match &endpoints.listen {
        Some(listen) => Some(Bound::new(listen, config, held.workspace(), files).await?),
        None => None,
    };
    // Started before anything that is counted.
    let metrics = Metrics::start()?;
    // A server that was started for its clients runs jobs only once a lasting client connects.
    let by_clock = match endpoints.idle {
        Some(_) => ByClock::Waits,
        None => ByClock::Runs,
    };
    let opened = open(held, config, removed, by_clock).await?;
    if let Some(notice) = opened.models.get().default_model().notice() {
        tracing::info!("{notice}");
    }
    let native = bobbin_native::Server::new(opened.threads.clone(), services(&opened), groups());
    let listeners = Arc::new(Listeners {
        state: State {
            socket: true,
            detached: endpoints.idle.is_some(),
            ..State::of_this_process()
        },
        held: held.clone(),
        config: config.clone(),
        opened,
        metrics,
        files,
        native: Mutex::new(Arc::new(native)),
        is_open: AtomicBool::new(false),
    });
    let listener = bound.map(|bound| listeners.serve(bound)).transpose()?;
    Ok((listeners, listener))
}

/// Returns once a server that was started for its clients should end by itself. For other servers it never returns.
async fn unused_or_gone(listeners: &Listeners, usage: &Usage, idle: Option<Duration>) {
    let Some(idle) = idle else {
        return std::future::pending().await;
    };
    tokio::select! {
        () = unused(listeners, usage, idle) => {}
        () = gone(listeners.workspace()) => {}
    }
}

/// Returns once the folder of a workspace or its database's file no longer exists, since no user would end such a server.
async fn gone(workspace: &Workspace) {
    let is_there = async |path: &Path| tokio::fs::try_exists(path).await.unwrap_or(true);
    // The server has opened its database: one without a file is elsewhere.
    let has_file = is_there(&workspace.database()).await;
    while is_there(&workspace.root).await && (!has_file || is_there(&workspace.database()).await) {
        tokio::time::sleep(PRESENCE).await;
    }
}

/// Reports the Turns that go on at the next start, if there are any.
fn report(left: LeftOpen) {
    if left.turns == 0 {
        return;
    }
    let plural = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let questions = match left.questions {
        0 => String::new(),
        count => format!(", with {}", plural(count, "open question")),
    };
    let turns = plural(left.turns, "unfinished turn");
    console::note(&format!(
        "{turns}{questions}: to be continued when this folder is served again"
    ));
}

/// Returns the address of the listener with the token of its clients.
fn with_token(address: String, endpoints: &Endpoints) -> String {
    let listen = endpoints.listen.as_ref();
    match listen.and_then(|listen| listen.token.as_deref()) {
        Some(token) => {
            let query: String = url::form_urlencoded::byte_serialize(token.as_bytes()).collect();
            format!("{address}?token={query}")
        }
        None => address,
    }
}

/// Returns the check of `/readyz`: the database answers, and the last write succeeded. Open Turns resume before
/// clients can connect.
pub(crate) fn readiness(threads: Arc<Threads>) -> Readiness {
    Arc::new(move || {
        let threads = threads.clone();
        let nothing = ListFilter {
            limit: Some(1),
            ..ListFilter::default()
        };
        async move { !threads.stats().store.is_stuck && threads.list(nothing).await.is_ok() }.boxed()
    })
}

/// Serves the single native client of this process, in memory.
pub fn serve_in_memory(opened: &Opened) -> (Transport, JoinHandle<()>) {
    let (ours, theirs) = Transport::memory_pair();
    let server = bobbin_native::Server::new(opened.threads.clone(), services(opened), groups());
    let serving = bobbin_native::serve(theirs, Endpoint::Stdio, Arc::new(server));
    (ours, tokio::spawn(serving))
}

/// The native clients of a listener.
pub(crate) struct NativeClients(pub(crate) Arc<bobbin_native::Server>);

impl Connections for NativeClients {
    fn serve(&self, transport: Transport, caller: Caller) -> BoxFuture<'static, ()> {
        let endpoint = Endpoint::WebSocket {
            is_private: caller.is_private,
            actor: caller.actor,
        };
        bobbin_native::serve_until(transport, endpoint, self.0.clone(), caller.until).boxed()
    }
}
