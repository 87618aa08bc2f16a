//! The running server: an open workspace, and the endpoints that were asked for.
//!
//! Ends in this order: stop accepting, end engines and owners, close the store, close connections, all within five seconds.
//! Turns and questions stay open, as a crash leaves them, and go on at the next start.

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
use bobbin_transport::{Connections, LocalListener, Readiness};
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

/// Open files that a process usually may have, where the system does not say.
const USUAL_FILES: u64 = 1024;
/// How often a server that was started for its clients looks whether its folder is still there.
const PRESENCE: Duration = Duration::from_secs(3);
/// How long the whole end may take.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// The endpoints to open, beside the socket of the workspace.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    /// Whether a client speaks to us on stdin and stdout.
    pub stdio: bool,
    /// The listener, if there is one.
    pub listen: Option<Listen>,
    /// How long the server goes on when nothing uses it, if it was started for its clients.
    pub idle: Option<Duration>,
}

/// What a server says of itself once it serves.
pub struct Greeting<'a> {
    /// The listener, if there is one.
    pub listening: Option<&'a Listening>,
    /// What of the folder waits for the user's trust, as a sentence.
    pub waiting: Option<&'a str>,
    /// Other sentences for the user who has started it.
    pub warnings: Vec<String>,
}

/// Serves until a signal. `greet` is called once every endpoint is there.
///
/// # Errors
/// As [`open`]; the address cannot be listened on; the database was removed meanwhile.
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
    let local = LocalListener::bind(&held.workspace().folder(), bobbin_local::SOCKET)?;
    let clients = Local::new(listeners.clone(), usage);
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
    let unused = unused_or_gone(&listeners, endpoints.idle);
    tokio::pin!(stdio);
    let mut stdio_open = endpoints.stdio;
    tokio::select! {
        // End of input: whoever owns this process wants it to end.
        () = &mut stdio => stdio_open = false,
        () = signals.next() => {}
        () = removed.cancelled() => {}
        () = wanted_end.cancelled() => {}
        () = unused => {}
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
        return Err(exit::removed(&held.workspace().database()).into());
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the workspace, and its listener if one is wanted.
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
        Some(listen) => Some(Bound::new(listen, config, files).await?),
        None => None,
    };
    // Before anything that counts.
    let metrics = Metrics::start()?;
    // A server that was started for its clients runs jobs once one is there that stays.
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

/// Returns once a server that was started for its clients is to end by itself; never for another one.
async fn unused_or_gone(listeners: &Listeners, idle: Option<Duration>) {
    let Some(idle) = idle else {
        return std::future::pending().await;
    };
    tokio::select! {
        () = unused(listeners, idle) => {}
        () = gone(listeners.held.workspace()) => {}
    }
}

/// Returns once the folder of a workspace or its database is no longer there: nobody would end such a server by hand.
async fn gone(workspace: &Workspace) {
    let is_there = async |path: &Path| tokio::fs::try_exists(path).await.unwrap_or(true);
    while is_there(&workspace.root).await && is_there(&workspace.database()).await {
        tokio::time::sleep(PRESENCE).await;
    }
}

/// Says what goes on at the next start, if anything does.
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

/// Returns the address of the listener with what clients present there.
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

/// Returns what `/readyz` asks: whether the database answers, and took what was last written. Open Turns were taken up before anybody is let in.
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

/// Serves the one native client of this process, over memory.
pub fn serve_in_memory(opened: &Opened) -> (Transport, JoinHandle<()>) {
    let (ours, theirs) = Transport::memory_pair();
    let server = bobbin_native::Server::new(opened.threads.clone(), services(opened), groups());
    let serving = bobbin_native::serve(theirs, Endpoint::Stdio, Arc::new(server));
    (ours, tokio::spawn(serving))
}

/// The native clients of a listener.
pub(crate) struct NativeClients(pub(crate) Arc<bobbin_native::Server>);

impl Connections for NativeClients {
    fn serve(&self, transport: Transport) -> BoxFuture<'static, ()> {
        bobbin_native::serve(transport, Endpoint::WebSocket, self.0.clone()).boxed()
    }
}
