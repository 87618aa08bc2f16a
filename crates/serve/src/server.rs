//! The running server: an open workspace, and the endpoints that were asked for.
//!
//! Ends in this order: stop accepting, end engines and owners, close the store, close connections, all within five seconds.
//! Turns and questions stay open, as a crash leaves them, and go on at the next start.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::trust::WorkspaceTrust;
use bobbin_core::{Hub, LeftOpen, ListFilter};
use bobbin_native::Endpoint;
use bobbin_peer::Transport;
use bobbin_schedules::ByClock;
use bobbin_transport::{Connections, Readiness, Router, web_socket};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::eca::Editors;
use crate::groups::groups;
use crate::listen::{Bound, Listen, Listening};
use crate::opened::{Opened, open, services};
use crate::signals::Signals;
use crate::telemetry::Metrics;
use crate::{console, exit, join, managed};
use bobbin_config::Config;
use bobbin_workspace::LockedWorkspace;

/// Longest message a native client may send on a WebSocket (AppServer protocol 01 §3).
const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Open files that a process usually may have, where the system does not say.
const USUAL_FILES: u64 = 1024;
/// How long the whole end may take.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// The endpoints to open.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// Whether a client speaks to us on stdin and stdout.
    pub stdio: bool,
    /// The listener, if there is one.
    pub listen: Option<Listen>,
}

/// Serves until a signal. `greet` is called once the listener is there, if there is one.
///
/// # Errors
/// As [`open`]; the address cannot be listened on; the database was removed meanwhile.
pub async fn run(
    held: LockedWorkspace,
    config: &Config,
    endpoints: Endpoints,
    greet: impl FnOnce(Option<&Listening>),
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let files = bobbin_children::raise_file_limit().unwrap_or_else(|error| {
        tracing::warn!(%error, "the limit of open files stays as it is");
        USUAL_FILES
    });
    let bound = match &endpoints.listen {
        Some(listen) => Some(Bound::new(listen, config, files).await?),
        None => None,
    };
    let shown = bound.as_ref().map(Bound::shown);
    let removed = CancellationToken::new();
    // Before anything that counts.
    let metrics = Metrics::start()?;
    let opened = open(&held, config, &removed, ByClock::Runs).await?;
    let notice = opened.trust.notice().await;
    for line in notice.iter().chain(&config.warnings).chain(&opened.complaints) {
        console::complain(line);
    }
    let mut services = services(&opened);
    if let Some(devices) = bound.as_ref().and_then(Bound::feature) {
        services.others = services.others.with(devices);
    }
    let native = bobbin_native::Server::new(opened.hub.clone(), services, groups());
    let native = Arc::new(native);
    let handler = Arc::new(Native(native.clone()));
    let stop = CancellationToken::new();
    let listening = match bound {
        Some(bound) => {
            if !bound.address().ip().is_loopback() {
                opened.config_files.hide_keys();
            }
            let editors = Arc::new(Editors::new(held.workspace(), config, &opened));
            let router = Router::new()
                .route(
                    join::Endpoint::Native.path(),
                    web_socket(MAX_MESSAGE_BYTES, handler.clone()),
                )
                .route(
                    join::Endpoint::Eca.path(),
                    web_socket(bobbin_transport::MAX_BODY_BYTES, editors),
                )
                .route(
                    "/metrics",
                    metrics.route(opened.hub.clone(), opened.process.clone()),
                );
            let is_ready = readiness(opened.hub.clone());
            Some(tokio::spawn(bound.serve(router, is_ready, stop.clone())))
        }
        None => None,
    };
    let own = endpoints.stdio.then(bobbin_transport::stdio).transpose()?;
    let web_socket = shown.as_ref().map(|shown| shown.web_socket.clone());
    held.announce(web_socket.clone(), managed::base_url())?;
    let address = web_socket.map(|address| with_token(address, &endpoints));
    opened.channels.host().begin(&native, address);
    greet(shown.as_ref());
    let stdio = async {
        match own {
            Some(transport) => handler.through(transport, Endpoint::Stdio).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(stdio);
    let mut stdio_open = endpoints.stdio;
    tokio::select! {
        // End of input: whoever owns this process wants it to end.
        () = &mut stdio => stdio_open = false,
        () = signals.next() => {}
        () = removed.cancelled() => {}
    }
    let ending = async {
        stop.cancel();
        report(opened.end().await);
        if stdio_open {
            stdio.await;
        }
        if let Some(listening) = listening {
            drop(listening.await);
        }
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
fn readiness(hub: Arc<Hub>) -> Readiness {
    Arc::new(move || {
        let hub = hub.clone();
        let nothing = ListFilter {
            limit: Some(1),
            ..ListFilter::default()
        };
        async move { !hub.stats().store.is_stuck && hub.list(nothing).await.is_ok() }.boxed()
    })
}

/// Serves the one native client of this process, over memory.
pub fn serve_in_memory(opened: &Opened) -> (Transport, JoinHandle<()>) {
    let (ours, theirs) = Transport::memory_pair();
    let server = bobbin_native::Server::new(opened.hub.clone(), services(opened), groups());
    let serving = bobbin_native::serve(theirs, Endpoint::Stdio, Arc::new(server));
    (ours, tokio::spawn(serving))
}

struct Native(Arc<bobbin_native::Server>);

impl Native {
    fn through(&self, transport: Transport, endpoint: Endpoint) -> BoxFuture<'static, ()> {
        bobbin_native::serve(transport, endpoint, self.0.clone()).boxed()
    }
}

impl Connections for Native {
    fn serve(&self, transport: Transport) -> BoxFuture<'static, ()> {
        self.through(transport, Endpoint::WebSocket)
    }
}
