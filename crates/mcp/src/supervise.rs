//! The task of one server: runs it while that is requested, and starts it again when it fails.
//!
//! Pauses double from [`FIRST_PAUSE`]; after [`MAX_FAILURES`] in a row it is given up until somebody asks again. A run
//! of [`STABLE`] makes up for the failures before it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::Children;
use rmcp::service::ServiceError;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::connect::{CLOSE, Child, Connection, Failure, connect};
use crate::extras::{self, Extras};
use crate::listing::{self, Listing};
use crate::server::{Request, Server};
use crate::text::told;

/// Pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Failures in a row after which it is given up: half a minute of pauses.
const MAX_FAILURES: u32 = 5;
/// How long it must have run to be thought healthy.
const STABLE: Duration = Duration::from_mins(1);
/// Pause before changed tools are listed: changes come in bursts.
const GATHER: Duration = Duration::from_millis(100);
/// Shortest time between two lists of one server, whatever it says.
const BETWEEN: Duration = Duration::from_secs(2);
/// Longest sentence about what went wrong.
const MAX_PROBLEM: usize = 500;

/// Runs a server until it is forgotten. `before` is the task of the one it replaces.
pub(crate) async fn supervise(server: Arc<Server>, children: Children, before: Option<JoinHandle<()>>) {
    if let Some(before) = before
        && let Err(error) = before.await
    {
        tracing::error!(%error, "the task of an MCP server ended badly");
    }
    let mut requests = server.requests();
    // The sender lives in `server`.
    let mut now = *requests.borrow_and_update();
    loop {
        match now {
            Request::Gone => return,
            Request::Stop => {}
            Request::Run(_) => {
                keep_running(&server, &children, &mut requests).await;
                if *requests.borrow() == Request::Stop {
                    server.stopped();
                }
            }
        }
        // What was requested is done, or is to be done anew.
        if *requests.borrow() == now && requests.changed().await.is_err() {
            return;
        }
        now = *requests.borrow_and_update();
    }
}

/// Runs a server until something else is requested or it is given up.
async fn keep_running(server: &Server, children: &Children, requests: &mut watch::Receiver<Request>) {
    let mut failures = 0;
    loop {
        server.starting(failures);
        let connected = tokio::select! {
            biased;
            _ = requests.changed() => return,
            connected = connect(&server.spec, children) => connected,
        };
        let failure = match connected {
            Ok(connection) => {
                let begun = Instant::now();
                let Some(failure) = serve(server, connection, requests).await else {
                    return;
                };
                if begun.elapsed() >= STABLE {
                    failures = 0;
                }
                failure
            }
            Err(failure) => failure,
        };
        failures += 1;
        let name = &server.spec.name;
        let problem = failure.problem;
        tracing::warn!(server = name, problem, failures, "an MCP server does not run");
        if failure.lasting || failures > MAX_FAILURES {
            server.failed(problem);
            return;
        }
        let pause = FIRST_PAUSE * 2_u32.pow(failures - 1);
        server.down(format!("{problem}; it is started again in {} s", pause.as_secs()));
        tokio::select! {
            biased;
            _ = requests.changed() => return,
            () = sleep(pause) => {}
        }
    }
}

/// What a server has told of itself.
enum Heard {
    Extras(Extras),
    Tools(Result<Result<Listing, ServiceError>, Elapsed>),
}

/// Lets a server be called until its connection is lost (why) or something else is requested (`None`).
async fn serve(
    server: &Server,
    connection: Connection,
    requests: &mut watch::Receiver<Request>,
) -> Option<Failure> {
    let Connection {
        service,
        tools,
        mut child,
    } = connection;
    let peer = service.peer().clone();
    let changed = service.service().changed.clone();
    let close = service.cancellation_token();
    let mut closed = pin!(service.waiting());
    server.up(peer.clone(), &tools);
    // Nobody waits for what a server has besides tools.
    let mut extras_due = extras::are_there(&peer);
    // The first change is taken up at once.
    let mut listed_at = Instant::now().checked_sub(BETWEEN).unwrap_or_else(Instant::now);
    let lost = loop {
        let listed = async {
            if extras_due {
                return Heard::Extras(extras::list(&peer, &server.spec.name).await);
            }
            changed.notified().await;
            sleep(GATHER).await;
            sleep_until(listed_at + BETWEEN).await;
            let tools = listing::tools(&peer, &server.spec.name);
            Heard::Tools(timeout(server.spec.start_timeout, tools).await)
        };
        let listed = tokio::select! {
            biased;
            _ = requests.changed() => break false,
            () = exited(child.as_mut()) => break true,
            _ = &mut closed => break true,
            listed = listed => listed,
        };
        match listed {
            Heard::Extras(extras) => {
                extras_due = false;
                server.has(extras);
                continue;
            }
            Heard::Tools(Ok(Ok(tools))) => server.up(peer.clone(), &tools),
            // What is known stays; a dead connection shows by itself.
            Heard::Tools(Ok(Err(error))) => {
                tracing::warn!(server = server.spec.name, %error, "tools were not listed");
            }
            Heard::Tools(Err(_)) => {
                tracing::warn!(server = server.spec.name, "tools were not listed in time");
            }
        }
        listed_at = Instant::now();
        extras_due = extras::are_there(&peer);
    };
    // Closing its input is the polite way to end a server; whoever does not listen is killed below.
    close.cancel();
    if !peer.is_transport_closed() {
        drop(timeout(CLOSE, closed).await);
    }
    let (said, flood) = match child {
        Some(child) => {
            let ended = child.end().await;
            (ended.said, ended.flood)
        }
        None => (String::new(), None),
    };
    let lasting = flood.is_some();
    let problem = match flood {
        Some(flood) => flood,
        None if said.is_empty() => "it ended by itself".to_owned(),
        None => format!("it ended by itself: {said}"),
    };
    lost.then(|| Failure {
        problem: told(&problem, &server.spec.secrets, MAX_PROBLEM),
        lasting,
    })
}

/// Returns once a server's process has exited; never for one that is none of ours.
async fn exited(child: Option<&mut Child>) {
    match child {
        Some(child) => child.exited().await,
        None => std::future::pending().await,
    }
}
