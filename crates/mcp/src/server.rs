//! One server as everybody but its own task sees it: how it is, what it offers, how to call it.
//!
//! Its task writes, others read; the host writes what is requested. One short mutex, held while a change is
//! announced so that changes are told in order.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{ServerState, ToolServer};
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::service::Peer;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::extras::Extras;
use crate::listing::{self, Listed, Listing};
use crate::permission::Traits;
use crate::text::told;
use crate::{Announce, Launch, ServerSpec};

/// How long a Turn that begins waits for a server that is just starting. (Guess: most have started by then, and
/// nobody minds it once.)
const SETTLE: Duration = Duration::from_secs(5);

/// Longest sentence about what of a server's list is left out.
const MAX_LEFT_OUT: usize = 500;

/// What is requested of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// That it runs; another number asks for a fresh start.
    Run(u64),
    /// That it does not.
    Stop,
    /// That it does not, and is forgotten.
    Gone,
}

/// How a server can be called.
#[derive(Debug, Clone)]
pub(crate) enum Link {
    /// Not now, and not by waiting.
    Off,
    /// Not now; it is being started.
    Coming,
    /// Not now; it failed and is being started again, or will be.
    ComingAgain,
    /// Now.
    Up(Peer<RoleClient>),
}

/// One server.
pub(crate) struct Server {
    pub(crate) spec: ServerSpec,
    announce: Announce,
    seen: Mutex<Seen>,
    link: watch::Sender<Link>,
    request: watch::Sender<Request>,
}

struct Seen {
    shown: Arc<ToolServer>,
    /// What can be called, also while it is being started again.
    tools: Arc<[Arc<Listed>]>,
    /// What was believed of each tool of the first list, which is at most what one list may have.
    first: Option<HashMap<String, Traits>>,
    extras: Extras,
    requested_at: Instant,
    gone: bool,
}

impl Server {
    /// Returns a server that its task has yet to take up.
    pub(crate) fn new(spec: ServerSpec, announce: Announce) -> Self {
        let request = match spec.launch {
            Launch::Child(_) | Launch::Http(_) => Request::Run(0),
            Launch::Disabled | Launch::Withheld(_) => Request::Stop,
        };
        let link = match request {
            Request::Run(_) => Link::Coming,
            Request::Stop | Request::Gone => Link::Off,
        };
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
            tools: Arc::default(),
        });
        announce(shown.clone());
        Self {
            spec,
            announce,
            seen: Mutex::new(Seen {
                shown,
                tools: Arc::default(),
                first: None,
                extras: Extras::default(),
                requested_at: Instant::now(),
                gone: false,
            }),
            link: watch::Sender::new(link),
            request: watch::Sender::new(request),
        }
    }

    /// Returns how it is.
    pub(crate) fn shown(&self) -> Arc<ToolServer> {
        self.seen.lock().shown.clone()
    }

    /// Returns what can be called.
    pub(crate) fn tools(&self) -> Arc<[Arc<Listed>]> {
        self.seen.lock().tools.clone()
    }

    /// Returns what it has besides, while it can be called.
    pub(crate) fn extras(&self) -> Extras {
        let seen = self.seen.lock();
        match *self.link.borrow() {
            Link::Up(_) => seen.extras.clone(),
            Link::Off | Link::Coming | Link::ComingAgain => Extras::default(),
        }
    }

    /// Takes note of what it has besides tools.
    pub(crate) fn has(&self, extras: Extras) {
        self.seen.lock().extras = extras;
    }

    /// Follows what is requested of it.
    pub(crate) fn requests(&self) -> watch::Receiver<Request> {
        self.request.subscribe()
    }

    /// Requests that it runs. Nothing happens where it runs or is being started.
    pub(crate) fn run_request(&self) {
        let mut seen = self.seen.lock();
        self.request.send_if_modified(|request| {
            let next = match *request {
                Request::Run(_) if !matches!(*self.link.borrow(), Link::Off) => return false,
                Request::Gone => return false,
                Request::Run(number) => number + 1,
                Request::Stop => 0,
            };
            *request = Request::Run(next);
            true
        });
        seen.requested_at = Instant::now();
        drop(seen);
    }

    /// Requests that it does not run.
    pub(crate) fn stop_request(&self) {
        self.request.send_if_modified(|request| {
            let change = matches!(request, Request::Run(_));
            if change {
                *request = Request::Stop;
            }
            change
        });
    }

    /// Requests that it is forgotten: nothing more is told of it.
    pub(crate) fn gone_request(&self) {
        let mut seen = self.seen.lock();
        seen.gone = true;
        seen.tools = Arc::default();
        self.link.send_replace(Link::Off);
        self.request.send_replace(Request::Gone);
        drop(seen);
    }

    /// Takes note that it is being started, after so many failures.
    pub(crate) fn starting(&self, failures: u32) {
        let link = if failures == 0 {
            Link::Coming
        } else {
            Link::ComingAgain
        };
        self.change(link, ServerState::Starting, None, None);
    }

    /// Takes note that it can be called; people are told what of its list is left out.
    pub(crate) fn up(&self, peer: Peer<RoleClient>, listing: &Listing) {
        let left_out = told(&listing.left_out, &self.spec.secrets, MAX_LEFT_OUT);
        let left_out = (!left_out.is_empty()).then_some(left_out);
        self.change(Link::Up(peer), ServerState::Ready, left_out, Some(&listing.tools));
    }

    /// Takes note that it does not run and will be started again.
    pub(crate) fn down(&self, problem: String) {
        self.change(Link::ComingAgain, ServerState::Error, Some(problem), None);
    }

    /// Takes note that it is given up.
    pub(crate) fn failed(&self, problem: String) {
        self.change(Link::Off, ServerState::Error, Some(problem), Some(&[]));
    }

    /// Takes note that it was stopped.
    pub(crate) fn stopped(&self) {
        self.change(Link::Off, ServerState::Idle, None, Some(&[]));
    }

    /// `tools` are kept where they are `None`.
    fn change(&self, link: Link, state: ServerState, problem: Option<String>, tools: Option<&[Listed]>) {
        let mut seen = self.seen.lock();
        if seen.gone {
            return;
        }
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
        self.link.send_replace(link);
    }

    /// Returns where to call it now.
    pub(crate) fn running(&self) -> Option<Peer<RoleClient>> {
        match &*self.link.borrow() {
            Link::Up(peer) => Some(peer.clone()),
            Link::Off | Link::Coming | Link::ComingAgain => None,
        }
    }

    /// Returns where to call it, waiting while it is being started. `None` when it does not run.
    pub(crate) async fn peer(&self) -> Option<Peer<RoleClient>> {
        let mut link = self.link.subscribe();
        let there = link.wait_for(|link| match link {
            Link::Off => true,
            Link::Coming | Link::ComingAgain => false,
            // A dead one is put away by its task in a moment.
            Link::Up(peer) => !peer.is_transport_closed(),
        });
        let there = there.await;
        match there.as_deref() {
            Ok(Link::Up(peer)) => Some(peer.clone()),
            Ok(Link::Coming | Link::ComingAgain | Link::Off) | Err(_) => None,
        }
    }

    /// Returns once it is not just starting any more, or has had its time.
    pub(crate) async fn settled(&self) {
        let deadline = self.seen.lock().requested_at + SETTLE;
        let mut link = self.link.subscribe();
        let outcome = link.wait_for(|link| !matches!(link, Link::Coming));
        // Either way the wait is over.
        drop(timeout_at(deadline, outcome).await);
    }
}
