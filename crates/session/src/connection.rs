//! One connection from its first message to its end, the same for every dialect.
//!
//! The connection owns the Peer, the Session, and the tasks of slow requests, and joins them. A dialect implements
//! [`Handler`]. Its handshake takes as many messages as it needs; the message that completes it calls
//! [`Connection::open`]. The Session sends nothing before that.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::Threads;
use bobbin_peer::{
    CallContext, Handlers, Mode, NotificationContext, Peer, PeerHandle, PeerOptions, Responder, Transport,
};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{Dialect, Session};

/// The one lane of a connection: its requests and notifications are served in the order they came.
const LANE: &str = "connection";

/// The reason that a client is given whose right to be connected has ended or is another one.
pub const NO_LONGER_ADMITTED: &str =
    "your access to this server has ended or has changed; ask the owner of the server, or connect again";

/// Serves the messages of one connection in one dialect. Messages are served one at a time, in the order they came.
pub trait Handler: Send + Sync + 'static {
    /// One client that has finished its handshake.
    type Client: Clone + Send + Sync + 'static;

    /// Serves a request. Returns once the connection's next message may be served.
    fn request(
        &self,
        connection: &Connection<Self::Client>,
        request: CallContext,
        responder: Responder,
    ) -> impl Future<Output = ()> + Send;

    /// Serves a notification of the client.
    fn notification(
        &self,
        connection: &Connection<Self::Client>,
        notification: NotificationContext,
    ) -> impl Future<Output = ()> + Send;

    /// Cleans up after a client whose connection and tasks have ended.
    fn left(&self, _client: Self::Client) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// The settings of one connection.
#[derive(Debug)]
pub struct ConnectionOptions {
    /// The limits and the habits of the Peer.
    pub peer: PeerOptions,
    /// Time that the client has for its handshake. `None` if it has as long as it wants.
    pub handshake: Option<Duration>,
    /// The endpoint through which the client came, for the log.
    pub endpoint: String,
    /// Cancelled when the client may no longer be connected.
    pub until: CancellationToken,
}

/// One connection as its [`Handler`] sees it.
pub struct Connection<C> {
    peer: PeerHandle,
    shared: Arc<Shared<C>>,
}

/// The state that outlives the service of the Peer. The Peer's handlers own a [`PeerHandle`], so they cannot own the Peer.
struct Shared<C> {
    /// The client and its pump, after the handshake.
    open: Mutex<Option<(C, JoinHandle<()>)>>,
    tasks: TaskTracker,
    ending: CancellationToken,
}

impl<C> Shared<C> {
    fn is_open(&self) -> bool {
        self.open.lock().is_some()
    }
}

impl<C: Clone> Connection<C> {
    /// Returns the Peer.
    pub fn peer(&self) -> &PeerHandle {
        &self.peer
    }

    /// Returns the tasks that the connection waits for when it ends. Each must end soon after the Peer closes.
    pub fn tasks(&self) -> &TaskTracker {
        &self.shared.tasks
    }

    /// Returns the client, if it has finished its handshake.
    pub fn client(&self) -> Option<C> {
        self.shared.open.lock().as_ref().map(|(client, _)| client.clone())
    }

    /// Completes the handshake: starts the client's Session, and returns the client that `client` makes of it. Call it
    /// once on a connection.
    pub fn open(
        &self,
        threads: Arc<Threads>,
        dialect: Arc<dyn Dialect>,
        client: impl FnOnce(Arc<Session>) -> C,
    ) -> C {
        let (session, pump) = Session::start(self.peer.clone(), threads, dialect);
        let client = client(session);
        *self.shared.open.lock() = Some((client.clone(), pump));
        client
    }

    /// Closes the connection after the answers that are queued.
    pub fn end(&self) {
        self.shared.ending.cancel();
    }
}

/// Serves one connection until it ends. If `server_ended` resolves, a client in the middle of its handshake is
/// disconnected; any other is disconnected by its Session.
pub async fn serve<H: Handler>(
    transport: Transport,
    options: ConnectionOptions,
    server_ended: impl Future<Output = ()>,
    handler: Arc<H>,
) {
    let shared = Arc::new(Shared {
        open: Mutex::new(None),
        tasks: TaskTracker::new(),
        ending: CancellationToken::new(),
    });
    let started = Peer::start(transport, options.peer, |peer| {
        handlers(peer, shared.clone(), handler.clone())
    });
    let peer = match started {
        Ok(peer) => peer,
        Err(error) => return tracing::error!(%error, "a connection cannot be served"),
    };
    let handshake = async {
        if let Some(limit) = options.handshake {
            tokio::time::sleep(limit).await;
        }
        if options.handshake.is_none() || shared.is_open() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = peer.closed() => {}
        () = handshake => {
            peer.close_with(1008, "the handshake did not come in time");
            peer.closed().await;
        }
        () = options.until.cancelled() => {
            peer.close_with(1008, NO_LONGER_ADMITTED);
            peer.closed().await;
        }
        () = shared.ending.cancelled() => {
            peer.close_with(1000, "");
            peer.closed().await;
        }
        () = server_ended => {
            if !shared.is_open() {
                peer.close_with(1000, "Server shutting down");
            }
            peer.closed().await;
        }
    }
    let stats = peer.stats();
    tracing::info!(
        endpoint = options.endpoint,
        ms = stats.uptime_ms,
        messages_read = stats.messages_read,
        messages_written = stats.messages_written,
        "connection ended"
    );
    shared.tasks.close();
    shared.tasks.wait().await;
    let open = shared.open.lock().take();
    if let Some((client, pump)) = open {
        // The client leaves first: requests to it end, which the pump may wait for.
        handler.left(client).await;
        if let Err(error) = pump.await {
            tracing::error!(%error, "a pump ended badly");
        }
    }
}

fn handlers<H: Handler>(peer: PeerHandle, shared: Arc<Shared<H::Client>>, handler: Arc<H>) -> Handlers {
    let calls = Arc::new((Connection { peer, shared }, handler));
    let notifications = calls.clone();
    Handlers::new()
        .fallback_call_deferred(Mode::ordered(LANE), move |request, responder| {
            let served = calls.clone();
            async move { served.1.request(&served.0, request, responder).await }
        })
        .fallback_notification_deferred(Mode::ordered(LANE), move |notification| {
            let served = notifications.clone();
            async move { served.1.notification(&served.0, notification).await }
        })
}
