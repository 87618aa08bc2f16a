//! Serves the workspace's socket: every dialect, and requests about the server itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bobbin_local::{
    CONTROL_LEAVE, CONTROL_LISTEN, CONTROL_WAIT, Dialect, Hello, Leave, Left, ListenRequest, Opened, Relayed,
};
use bobbin_native::{Endpoint, LocalClient};
use bobbin_peer::{ErrorObject, Handlers, Mode, Peer, PeerOptions, Transport, code};
use bobbin_transport::{Caller, Connections};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::eca::Editors;
use crate::listen::{Listen, TlsOptions};
use crate::listeners::{Listeners, OpenListener};

/// Longest time that a leaving process may take to end its other connections.
const LEAVING: Duration = Duration::from_secs(2);
/// Longest wait of a new server for its first client.
const FIRST_CLIENT: Duration = Duration::from_secs(10);
/// Interval in which a server without clients checks whether its work is done.
const LOOK: Duration = Duration::from_millis(250);

/// The clients of the socket.
pub(crate) struct Local {
    editors: Arc<Editors>,
    listeners: Arc<Listeners>,
    usage: Arc<Usage>,
    /// Locked while a listener is open, so that there is one at a time.
    one_listener: Arc<tokio::sync::Mutex<()>>,
}

/// Counts the users of a server, and ends it when there are none.
pub(crate) struct Usage {
    /// Number of connections of the socket by process id.
    processes: watch::Sender<HashMap<u32, usize>>,
    /// Whether the server ends as soon as nothing uses it.
    ends_at_once: bool,
    /// Whether a node serves the workspace. Its jobs run with or without a client.
    has_node: AtomicBool,
    /// Ends the server.
    stop: CancellationToken,
}

/// One connection of a process.
struct OneOf {
    usage: Arc<Usage>,
    pid: u32,
}

impl Usage {
    pub(crate) fn new(ends_at_once: bool, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            processes: watch::Sender::default(),
            ends_at_once,
            has_node: AtomicBool::new(false),
            stop,
        })
    }

    fn count(self: &Arc<Self>, pid: u32) -> OneOf {
        self.processes
            .send_modify(|processes| *processes.entry(pid).or_default() += 1);
        OneOf {
            usage: self.clone(),
            pid,
        }
    }

    /// Waits until a process has only connections about the server itself, at most [`LEAVING`].
    async fn has_left(&self, pid: u32) {
        let mut processes = self.processes.subscribe();
        let left = processes.wait_for(|processes| !processes.contains_key(&pid));
        drop(tokio::time::timeout(LEAVING, left).await);
    }
}

impl Drop for OneOf {
    fn drop(&mut self) {
        self.usage.processes.send_modify(|processes| {
            if let Some(count) = processes.get_mut(&self.pid) {
                *count -= 1;
                if *count == 0 {
                    processes.remove(&self.pid);
                }
            }
        });
    }
}

/// Returns once nothing has used a server for the time `idle`: no client, no listener, no working Turn, no terminal, and at a
/// node no job that is due later.
pub(crate) async fn unused(listeners: &Listeners, usage: &Usage, idle: Duration) {
    let mut connections = listeners.opened.process.watch_connections();
    let first = connections.wait_for(|open| *open > 0);
    // A first client that never comes does not delay the end for longer.
    drop(tokio::time::timeout(FIRST_CLIENT, first).await);
    loop {
        if connections.wait_for(|open| *open == 0).await.is_err() {
            return;
        }
        let mut since = Instant::now();
        while *connections.borrow() == 0 {
            let has_jobs = usage.has_node.load(Ordering::Relaxed) && listeners.opened.has_jobs();
            if listeners.opened.is_working() || listeners.is_open() || has_jobs {
                since = Instant::now();
            } else if since.elapsed() >= idle {
                return;
            }
            tokio::select! {
                _ = connections.changed() => {}
                () = sleep(LOOK.min(idle.saturating_sub(since.elapsed()).max(Duration::from_millis(1)))) => {}
            }
        }
    }
}

impl Local {
    pub(crate) fn new(listeners: Arc<Listeners>, usage: Arc<Usage>) -> Self {
        let editors = Editors::new(listeners.workspace(), &listeners.config, &listeners.opened);
        Self {
            editors: Arc::new(editors),
            listeners,
            usage,
            one_listener: Arc::default(),
        }
    }
}

impl Connections for Local {
    fn serve(&self, mut transport: Transport, _: Caller) -> BoxFuture<'static, ()> {
        let (editors, listeners, usage) = (self.editors.clone(), self.listeners.clone(), self.usage.clone());
        let one_listener = self.one_listener.clone();
        async move {
            let Some(hello) = Hello::read(&mut transport).await else {
                return tracing::warn!("a connection was closed: its first line cannot be read");
            };
            if hello.folder != listeners.workspace().root {
                return tracing::warn!("a connection was closed: it means another folder");
            }
            if !hello.actor.is_owner() && (hello.relayed.is_none() || hello.dialect != Dialect::Native) {
                return tracing::warn!(
                    "a connection was closed: people with roles speak the native dialect, at a node"
                );
            }
            let _one = (hello.dialect != Dialect::Control).then(|| usage.count(hello.pid));
            if let Some(relayed) = hello.relayed {
                usage.has_node.store(true, Ordering::Relaxed);
                if relayed.is_open {
                    listeners.opened.open_to_others();
                }
            }
            let is_lasting = hello.dialect != Dialect::Control || hello.relayed.is_some();
            if is_lasting && !hello.ends_turns {
                listeners.opened.start_clock();
            }
            let editors = Editors::clone(&editors);
            // A client of the node stores no keys of models, like one of a listener.
            let editors = match hello.relayed {
                None => editors.with_keys(&listeners.opened),
                Some(_) => editors,
            };
            match hello.dialect {
                Dialect::Native => {
                    let native = listeners.native.lock().clone();
                    if let Some(Relayed { is_private, .. }) = hello.relayed {
                        let endpoint = Endpoint::WebSocket {
                            is_private,
                            actor: listeners.opened.confined(hello.actor).await,
                        };
                        return bobbin_native::serve(transport, endpoint, native).await;
                    }
                    let client = LocalClient {
                        ends_turns: hello.ends_turns,
                        keys: hello.keys,
                    };
                    bobbin_native::serve(transport, Endpoint::Local(client), native).await;
                }
                Dialect::Eca => editors.serve_with(transport, hello.keys).await,
                Dialect::Acp => editors.serve_acp(transport, hello.keys).await,
                Dialect::Codex => editors.serve_codex(transport, hello.keys).await,
                Dialect::Control => {
                    let control = Control {
                        listeners,
                        usage,
                        one_listener,
                        open: tokio::sync::Mutex::default(),
                    };
                    control.serve(transport).await;
                }
            }
        }
        .boxed()
    }
}

/// One connection about the server itself.
struct Control {
    listeners: Arc<Listeners>,
    usage: Arc<Usage>,
    one_listener: Arc<tokio::sync::Mutex<()>>,
    /// The listener, which closes with the connection.
    open: tokio::sync::Mutex<Option<(OpenListener, tokio::sync::OwnedMutexGuard<()>)>>,
}

impl Control {
    async fn serve(self, transport: Transport) {
        let control = Arc::new(self);
        let (leaving, listening) = (control.clone(), control.clone());
        let handlers = Handlers::new()
            .on_call_deferred(CONTROL_LEAVE, Mode::ordered("in"), move |cx, responder| {
                let control = leaving.clone();
                async move {
                    match params(cx.params.as_deref()) {
                        Ok(leave) => {
                            let left = control.leave(leave).await;
                            responder.ok(left);
                            if left.ends {
                                control.usage.stop.cancel();
                            }
                        }
                        Err(error) => responder.err(error),
                    }
                }
            })
            .on_call_deferred(CONTROL_LISTEN, Mode::ordered("in"), move |cx, responder| {
                let control = listening.clone();
                async move {
                    let answer = match params(cx.params.as_deref()) {
                        Ok(wanted) => control.listen(wanted).await,
                        Err(error) => Err(error),
                    };
                    match answer {
                        Ok(opened) => responder.ok(opened),
                        Err(error) => responder.err(error),
                    }
                }
            });
        let waiting = control.clone();
        let handlers = handlers.on_call_deferred(CONTROL_WAIT, Mode::Concurrent, move |_, responder| {
            let control = waiting.clone();
            async move {
                control.listeners.opened.threads.ended().await;
                responder.ok(());
            }
        });
        let peer = match Peer::start(transport, PeerOptions::default(), |_| handlers) {
            Ok(peer) => peer,
            Err(error) => return tracing::error!(%error, "a connection cannot be served"),
        };
        tokio::select! {
            () = peer.closed() => {}
            () = control.listeners.opened.threads.ended() => {
                // A client that asked for the end waits until the process has ended.
            }
        }
        let open = control.open.lock().await.take();
        if let Some((listener, _one)) = open {
            control.listeners.close(listener).await;
        }
        peer.shutdown().await;
    }

    /// Returns whether the server ends because a process has left.
    async fn leave(&self, leave: Leave) -> Left {
        if !self.usage.ends_at_once {
            return Left { ends: false };
        }
        self.usage.has_left(leave.pid).await;
        let opened = &self.listeners.opened;
        let is_used = opened.process.connections() > 0 || opened.is_working() || self.listeners.is_open();
        Left { ends: !is_used }
    }

    async fn listen(&self, wanted: ListenRequest) -> Result<Opened, ErrorObject> {
        let failed = |text: String| ErrorObject::new(code::INTERNAL_ERROR, text);
        let Ok(one) = self.one_listener.clone().try_lock_owned() else {
            return Err(failed("the server of this folder listens already".to_owned()));
        };
        if self.listeners.is_open() {
            return Err(failed("the server of this folder listens already".to_owned()));
        }
        let listen = Listen {
            address: wanted.address,
            token: wanted.token,
            may_move: wanted.may_move,
            tls: TlsOptions::of(wanted.tls),
        };
        let opened = self.listeners.open(&listen).await;
        let listener = opened.map_err(|error| failed(format!("{error:#}")))?;
        let answer = listener.shown.opened(wanted.wants_code);
        *self.open.lock().await = Some((listener, one));
        Ok(answer)
    }
}

fn params<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, ErrorObject> {
    let text = params.map_or("null", RawValue::get);
    serde_json::from_str(text)
        .map_err(|error| ErrorObject::new(code::INVALID_PARAMS, format!("Invalid params: {error}")))
}
