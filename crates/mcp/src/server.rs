//! One server: its start, its run, its end, and its state for clients.
//!
//! The server's task writes the state and others read it, behind one short mutex. The traits of tools at the first start
//! still count after a restart.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::Children;
use bobbin_model::{ServerState, ToolServer};
use bobbin_supervise::{Failure, Service, Status};
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::service::Peer;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::changes;
use crate::connect::{Connection, connect};
use crate::elicit::OpenCalls;
use crate::extras::{self, Extras};
use crate::listing::{self, Listed, Listing};
use crate::permission::Traits;
use crate::raw::RawResults;
use crate::text::{head, shown};
use crate::{Announce, Launch, ServerSpec};

/// Pause before changed tools are listed: changes come in bursts.
const GATHER: Duration = Duration::from_millis(100);
/// Shortest time between two listings of a server, however often it reports changes.
const BETWEEN: Duration = Duration::from_secs(2);
/// Longest sentence about left-out tools of a server.
const MAX_LEFT_OUT: usize = 500;
/// Most bytes of a server's instructions for models (guess: a page).
const MAX_INSTRUCTIONS: usize = 4 << 10;

/// One server.
pub(crate) struct Server {
    pub(crate) spec: ServerSpec,
    children: Children,
    /// The address of the workspace.
    pub(crate) root: Option<Arc<str>>,
    announce: Announce,
    seen: Mutex<Seen>,
}

/// A server that runs.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) calls: Arc<OpenCalls>,
    /// Results as the server writes them.
    pub(crate) raw: Arc<RawResults>,
    /// The server's instructions for models; may be empty.
    pub(crate) instructions: Arc<str>,
    listing: Arc<Listing>,
    pub(crate) extras: Extras,
}

struct Seen {
    shown: Arc<ToolServer>,
    /// Whether the last start has failed because its user has to log in.
    wants_login: bool,
    /// The tools that can be called, also during a restart.
    tools: Arc<[Arc<Listed>]>,
    /// The traits of the tools of the first list, by name. Bounded by the limit of a list.
    first: Option<HashMap<String, Traits>>,
}

impl Server {
    pub(crate) fn new(
        spec: ServerSpec,
        children: Children,
        root: Option<Arc<str>>,
        announce: Announce,
    ) -> Self {
        let (state, problem) = match &spec.launch {
            Launch::Child(_) | Launch::Http(_) => (ServerState::Starting, None),
            Launch::Disabled => (ServerState::Disabled, None),
            Launch::Withheld(why) => (ServerState::Idle, Some(why.clone())),
        };
        let shown = Arc::new(ToolServer {
            name: spec.name.clone(),
            enabled: !matches!(spec.launch, Launch::Disabled),
            reach: spec.reach.clone(),
            origin: spec.origin,
            read_only: spec.read_only,
            state,
            problem,
            wants_login: false,
            tools: Arc::default(),
        });
        Self {
            spec,
            children,
            root,
            announce,
            seen: Mutex::new(Seen {
                shown,
                wants_login: false,
                tools: Arc::default(),
                first: None,
            }),
        }
    }

    /// Returns how clients see it.
    pub(crate) fn shown(&self) -> Arc<ToolServer> {
        self.seen.lock().shown.clone()
    }

    /// Returns its tools.
    pub(crate) fn tools(&self) -> Arc<[Arc<Listed>]> {
        self.seen.lock().tools.clone()
    }

    /// Changes the state and announces it. `None` for `tools` leaves the tools as they are.
    fn change(&self, state: ServerState, problem: Option<String>, tools: Option<&[Listed]>) {
        let mut seen = self.seen.lock();
        let ready = state == ServerState::Ready;
        if let Some(tools) = tools {
            if ready {
                let traits = || tools.iter().map(|tool| (tool.name.clone(), tool.traits));
                seen.first.get_or_insert_with(|| traits().collect());
            }
            let believed = |tool: &Listed| {
                let first = seen.first.as_ref();
                let first = first.and_then(|first| first.get(&tool.name)).copied();
                Arc::new(tool.clone().believed(tool.traits.no_better_than(first)))
            };
            seen.tools = tools.iter().map(believed).collect();
        }
        let next = ToolServer {
            state,
            problem,
            wants_login: seen.wants_login && state == ServerState::Error,
            tools: match tools {
                Some(tools) if ready => listing::offered(tools),
                _ => Arc::default(),
            },
            ..(*seen.shown).clone()
        };
        if *seen.shown != next {
            seen.shown = Arc::new(next);
            (self.announce)(seen.shown.clone());
        }
    }

    /// Returns the tools that the server lists now. `None` if listing failed: the known tools stay, and the loss of a dead
    /// connection is noticed elsewhere.
    async fn list(&self, peer: &Peer<RoleClient>) -> Option<Arc<Listing>> {
        let name = &self.spec.name;
        match timeout(self.spec.start_timeout, listing::tools(peer, name)).await {
            Ok(Ok(listing)) => return Some(Arc::new(listing)),
            Ok(Err(error)) => tracing::warn!(server = name, %error, "tools were not listed"),
            Err(_) => tracing::warn!(server = name, "tools were not listed in time"),
        }
        None
    }
}

fn instructions(peer: &Peer<RoleClient>) -> Arc<str> {
    let info = peer.peer_info();
    let said = info.as_ref().and_then(|info| info.instructions.as_deref());
    head(said.unwrap_or_default().trim(), MAX_INSTRUCTIONS).into()
}

impl Service for Server {
    type Handle = Running;
    type Connection = (Connection, Running);

    fn name(&self) -> &str {
        &self.spec.name
    }

    async fn start(&self) -> Result<(Running, Self::Connection), Failure> {
        let connected = connect(&self.spec, &self.children, self.root.as_ref()).await;
        self.seen.lock().wants_login = connected.as_ref().is_err_and(|why| why.wants_login);
        let (connection, listing) = connected.map_err(|why| why.failure)?;
        let running = Running {
            peer: connection.peer.clone(),
            calls: connection.calls.clone(),
            raw: connection.raw.clone(),
            instructions: instructions(&connection.peer),
            listing: Arc::new(listing),
            extras: Extras::default(),
        };
        Ok((running.clone(), (connection, running)))
    }

    async fn serve(&self, (connection, running): &mut Self::Connection, publish: &(dyn Fn(Running) + Sync)) {
        let peer = connection.peer.clone();
        let changed = connection.changed.clone();
        let listing = async {
            // The first change is listed at once.
            let mut listed_at = Instant::now().checked_sub(BETWEEN).unwrap_or_else(Instant::now);
            loop {
                // No call waits for resources and prompts.
                if extras::are_there(&peer) {
                    running.extras = extras::list(&peer, &self.spec.name).await;
                    publish(running.clone());
                }
                changed.notified().await;
                sleep(GATHER).await;
                sleep_until(listed_at + BETWEEN).await;
                if let Some(listing) = self.list(&peer).await {
                    running.listing = listing;
                    publish(running.clone());
                }
                listed_at = Instant::now();
            }
        };
        tokio::select! {
            biased;
            () = connection.lost() => {}
            () = listing => {}
            () = changes::follow(&peer, &changed) => {}
        }
    }

    async fn end(&self, (connection, _): Self::Connection) -> Failure {
        connection.end(&self.spec).await
    }

    fn changed(&self, status: Status<'_, Running>) {
        match status {
            Status::Added => (self.announce)(self.shown()),
            Status::Starting => self.change(ServerState::Starting, None, None),
            Status::Running(running) => {
                let listing = &running.listing;
                let left_out = shown(&listing.left_out, &self.spec.secrets, MAX_LEFT_OUT);
                let left_out = (!left_out.is_empty()).then_some(left_out);
                self.change(ServerState::Ready, left_out, Some(&listing.tools));
            }
            Status::Waiting { problem, pause } => {
                let problem = format!("{problem}; it is started again in {} s", pause.as_secs());
                self.change(ServerState::Error, Some(problem), None);
            }
            Status::Failed(problem) => self.change(ServerState::Error, Some(problem), Some(&[])),
            Status::Stopped => self.change(ServerState::Idle, None, Some(&[])),
            Status::Removed => (self.announce)(Arc::new(ToolServer {
                enabled: false,
                state: ServerState::Disabled,
                problem: None,
                wants_login: false,
                tools: Arc::default(),
                ..(*self.shown()).clone()
            })),
        }
    }
}
