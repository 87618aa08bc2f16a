//! Forwarded ports: listeners on the machine's loopback whose connections are relayed to a port in a Thread's network.
//!
//! One task for each forward owns its listener and its connections. It ends with the forward: when a client asks for it, when
//! its Thread is archived or deleted, and with the server. A connection has two buffers of [`BUFFER`] bytes, so that neither
//! side reads more than the other takes.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bobbin_agent_api::forward::{Forward, ForwardEnded, ForwardError, Forwards};
use bobbin_model::ThreadId;
use bobbin_transport::bind_loopbacks;
use bobbin_workspace::PagePorts;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::first_request::admit;
use crate::networks::Shared;
use crate::terminals::{Inner, Terminals};

/// Most forwards of a Thread (guess: an application has a few servers).
const PER_THREAD: usize = 8;
/// Most connections of a forward; more wait in the listener's queue (guess: a browser opens six to one server).
const CONNECTIONS: usize = 64;
/// Bytes of each direction of a connection between its two sides.
const BUFFER: usize = 16 << 10;
/// How often a free port is taken that is not one of a page (guess: few of the system's 28,000 are).
const ATTEMPTS: usize = 16;
/// Time after which the listener is asked again when the system has no descriptor for a connection.
const AGAIN: Duration = Duration::from_millis(100);

/// The running forwards of a workspace.
#[derive(Default)]
pub(crate) struct RunningForwards(Mutex<BTreeMap<String, RunningForward>>);

struct RunningForward {
    forward: Forward,
    stop: CancellationToken,
    /// Cancelled once the listener is closed.
    ended: CancellationToken,
}

impl RunningForwards {
    fn check(entries: &BTreeMap<String, RunningForward>, thread: &ThreadId) -> Result<(), ForwardError> {
        let own = entries.values().filter(|entry| entry.forward.thread == *thread);
        if own.count() >= PER_THREAD {
            return Err(ForwardError::ThreadFull(PER_THREAD));
        }
        Ok(())
    }

    /// Ends the forwards of a Thread.
    pub(crate) fn stop_those_of(&self, thread: &ThreadId) {
        let entries = self.0.lock();
        for entry in entries.values().filter(|entry| entry.forward.thread == *thread) {
            entry.stop.cancel();
        }
    }
}

impl Forwards for Terminals {
    fn list(&self, thread: Option<&ThreadId>) -> Vec<Forward> {
        let inner = self.inner();
        let entries = inner.forwards.0.lock();
        let forwards = entries.values().map(|entry| &entry.forward);
        forwards
            .filter(|forward| thread.is_none_or(|thread| forward.thread == *thread))
            .cloned()
            .collect()
    }

    fn start(
        &self,
        thread: ThreadId,
        port: u16,
        to: Option<u16>,
    ) -> BoxFuture<'static, Result<Forward, ForwardError>> {
        let inner = self.inner();
        async move {
            let network = inner.networks.existing(&thread).ok_or(ForwardError::NoNetwork)?;
            RunningForwards::check(&inner.forwards.0.lock(), &thread)?;
            let (address, listeners) = listen(port, to, inner.page_ports.get()).await?;
            let forward = Forward {
                id: format!("forward_{}", &uuid::Uuid::new_v4().simple().to_string()[..8]),
                thread,
                port,
                address,
            };
            inner.serve(forward.clone(), network, listeners)?;
            Ok(forward)
        }
        .boxed()
    }

    fn stop(&self, id: &str) -> bool {
        let inner = self.inner();
        let entries = inner.forwards.0.lock();
        let entry = entries.get(id);
        if let Some(entry) = entry {
            entry.stop.cancel();
        }
        entry.is_some()
    }

    fn ended(&self, id: &str) -> BoxFuture<'static, ()> {
        let inner = self.inner();
        let ended = inner.forwards.0.lock().get(id).map(|entry| entry.ended.clone());
        async move {
            if let Some(ended) = ended {
                ended.cancelled().await;
            }
        }
        .boxed()
    }
}

/// Listens on the machine's loopback, and nowhere else: at `to`, else at `port`, else at a free port. It never takes a port
/// that a page has or had.
async fn listen(
    port: u16,
    to: Option<u16>,
    pages: Option<&PagePorts>,
) -> Result<(SocketAddr, Vec<TcpListener>), ForwardError> {
    let failed = |source| ForwardError::Listen {
        port: to.unwrap_or(0),
        source,
    };
    if let Some(to) = to {
        if is_of_page(pages, to).await.map_err(failed)? {
            return Err(ForwardError::PagePort(to));
        }
        return listen_at(to).await.map_err(failed);
    }
    if !is_of_page(pages, port).await.map_err(failed)?
        && let Ok(listening) = listen_at(port).await
    {
        return Ok(listening);
    }
    for _ in 0..ATTEMPTS {
        let listening = listen_at(0).await.map_err(failed)?;
        if !is_of_page(pages, listening.0.port()).await.map_err(failed)? {
            return Ok(listening);
        }
    }
    Err(failed(io::ErrorKind::AddrInUse.into()))
}

async fn listen_at(port: u16) -> io::Result<(SocketAddr, Vec<TcpListener>)> {
    // Both addresses: a browser takes the name of the forward for either.
    let listeners = bind_loopbacks(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)).await?;
    let first = listeners.first().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok((first.local_addr()?, listeners))
}

async fn is_of_page(pages: Option<&PagePorts>, port: u16) -> io::Result<bool> {
    let Some(pages) = pages.cloned() else {
        return Ok(false);
    };
    tokio::task::spawn_blocking(move || pages.contains(port))
        .await
        .map_err(io::Error::other)?
}

/// Returns the next connection of any listener.
///
/// # Cancel safety
/// Safe.
async fn accept(listeners: &[TcpListener]) -> io::Result<TcpStream> {
    let accepted = poll_fn(|cx| {
        let mut each = listeners.iter().map(|listener| listener.poll_accept(cx));
        each.find(Poll::is_ready).unwrap_or(Poll::Pending)
    });
    accepted.await.map(|(stream, _)| stream)
}

impl Inner {
    /// Starts the task of a forward.
    fn serve(
        self: &Arc<Self>,
        forward: Forward,
        network: Shared,
        listeners: Vec<TcpListener>,
    ) -> Result<(), ForwardError> {
        let entry = RunningForward {
            forward: forward.clone(),
            stop: self.ending.child_token(),
            ended: CancellationToken::new(),
        };
        let (stop, ended) = (entry.stop.clone(), entry.ended.clone().drop_guard());
        let mut entries = self.forwards.0.lock();
        RunningForwards::check(&entries, &forward.thread)?;
        entries.insert(forward.id.clone(), entry);
        drop(entries);
        self.tasks
            .spawn(self.clone().relay_all(forward, network, listeners, stop, ended));
        Ok(())
    }

    /// Accepts and relays connections until the forward ends.
    async fn relay_all(
        self: Arc<Self>,
        forward: Forward,
        network: Shared,
        listeners: Vec<TcpListener>,
        stop: CancellationToken,
        ended: DropGuard,
    ) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next() => {}
                accepted = accept(&listeners), if connections.len() < CONNECTIONS => match accepted {
                    Ok(near) => {
                        let relaying = self.clone().relay(network.clone(), forward.clone(), near);
                        connections.spawn(relaying);
                    }
                    Err(error) => {
                        tracing::debug!(%error, id = forward.id, "a forward cannot take a connection");
                        tokio::select! {
                            () = stop.cancelled() => break,
                            () = tokio::time::sleep(AGAIN) => {}
                        }
                    }
                },
            }
        }
        drop(listeners);
        connections.shutdown().await;
        self.forwards.0.lock().remove(&forward.id);
        drop(ended);
        self.broadcast(ForwardEnded(forward), 0);
    }

    /// Relays one connection to its end.
    async fn relay(self: Arc<Self>, network: Shared, forward: Forward, mut near: TcpStream) {
        let Some(network) = network.get() else { return };
        let relayed = async {
            let connecting = self.children.connect(network, forward.port);
            let mut far = connecting.await.map_err(io::Error::other)?;
            if admit(&mut near, &mut far, &forward.authority()).await? {
                tokio::io::copy_bidirectional_with_sizes(&mut near, &mut far, BUFFER, BUFFER).await?;
            }
            io::Result::Ok(())
        };
        if let Err(error) = relayed.await {
            tracing::debug!(%error, id = forward.id, "a forwarded connection ended early");
        }
    }
}
