//! A client of the node, joined to the server of its workspace: whole messages from one to the other, unread.
//!
//! Has one batch in memory each way. A side that does not read stops the other one.

use std::sync::Arc;
use std::time::Duration;

use bobbin_editor_kit::frames::{flush, next};
use bobbin_framing::{CloseReason, FrameReader, FrameWriter, Transport};
use bobbin_local::{Dialect, Hello, join};
use bobbin_session::NO_LONGER_ADMITTED;
use bobbin_transport::{Caller, Connections};
use bobbin_workspace::{NamedWorkspace, Workspace};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use crate::cluster::Elsewhere;
use crate::node::Shared;
use crate::other;
use crate::supervisor::is_elsewhere;

/// Bytes after which a batch is written.
const BATCH_BYTES: usize = 64 << 10;

/// How long the other side may take to read what was written before a close.
const CLOSING: Duration = Duration::from_secs(5);
/// Close reasons: the client may connect again.
const ENDED: &str = "the server of this workspace has closed the connection";
const MOVED: &str = "the machine that served this workspace does not serve it any more";

/// Which workspace a client wants.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// The one of this name.
    Name(String),
    /// The one of this id: another node has passed the client on.
    Id(String),
}

/// The clients of one address.
pub(crate) struct Relay {
    pub(crate) shared: Arc<Shared>,
    /// The name of the workspace, as the address has it.
    pub(crate) name: String,
    pub(crate) dialect: Dialect,
}

impl Connections for Relay {
    fn serve(&self, client: Transport, caller: Caller) -> BoxFuture<'static, ()> {
        let wanted = Wanted::Name(self.name.clone());
        serve(self.shared.clone(), wanted, self.dialect, client, caller).boxed()
    }
}

/// A client that is passed on, as `/metrics` counts them.
struct Relayed(metrics::Gauge);

impl Relayed {
    fn count(to: &'static str) -> Self {
        let gauge = metrics::gauge!("bobbin_relayed_connections", "to" => to);
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for Relayed {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// Joins a client to the server of its workspace until one of them has ended.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    wanted: Wanted,
    dialect: Dialect,
    mut client: Transport,
    caller: Caller,
) {
    let stop = shared.stop.clone();
    let relayed = async move {
        let until = caller.until.clone();
        let reason = match server(&shared, &wanted, dialect, caller).await {
            Ok(Joined {
                transport: mut server,
                elsewhere,
            }) => {
                let to = if elsewhere.is_some() { "node" } else { "server" };
                let _relayed = Relayed::count(to);
                let moved = async {
                    match elsewhere {
                        Some(mut elsewhere) => elsewhere.ended().await,
                        None => std::future::pending().await,
                    }
                };
                let reason = tokio::select! {
                    reason = pass(&mut client, &mut server) => reason,
                    () = moved => CloseReason::new(CloseReason::RESTART, MOVED),
                    () = until.cancelled() => CloseReason::new(CloseReason::POLICY, NO_LONGER_ADMITTED),
                };
                let end = CloseReason::default();
                tokio::join!(close(server, &end), close(client, &reason));
                return;
            }
            Err(error) => {
                let reason = error.reason();
                tracing::warn!(
                    ?wanted,
                    "a client was not joined: {:#}",
                    anyhow::Error::new(error)
                );
                reason
            }
        };
        close(client, &reason).await;
    };
    tokio::select! {
        () = relayed => {}
        // The node ends. It does not wait for a side that does not read.
        () = stop.cancelled() => {}
    }
}

/// Why a client is not joined to a server, as its user sees it. The sources are for the log of the node.
#[derive(Debug, thiserror::Error)]
enum JoinRefused {
    #[error("no workspace has the name {0}")]
    NoName(String),
    #[error("the node of that machine does not serve the workspace")]
    NotListed,
    #[error("its folder is gone, or is a link to another one: `bobbin workspace list` shows it")]
    Folder(#[source] anyhow::Error),
    #[error("{machine} serves this workspace, and its node cannot be reached from here")]
    Unreachable {
        machine: String,
        #[source]
        why: anyhow::Error,
    },
    #[error("another machine serves this workspace")]
    Elsewhere(#[source] anyhow::Error),
    #[error("the database of the nodes is away")]
    DatabaseAway(#[source] anyhow::Error),
    #[error("the server of this workspace does not start: the log of the node says why")]
    Other(#[from] anyhow::Error),
}

impl JoinRefused {
    /// Returns the reason for the client, which may connect again where another attempt may end otherwise.
    fn reason(&self) -> CloseReason {
        let code = match self {
            Self::Unreachable { .. } | Self::Elsewhere(_) | Self::DatabaseAway(_) => CloseReason::RESTART,
            Self::NoName(_) | Self::NotListed | Self::Folder(_) | Self::Other(_) => CloseReason::INTERNAL,
        };
        CloseReason::new(code, self.to_string())
    }
}

/// A connection to the server of a workspace.
struct Joined {
    transport: Transport,
    /// The lease of the other machine through whose node it leads.
    elsewhere: Option<Elsewhere>,
}

/// Joins the server of a workspace, and starts it if none runs. A workspace that another machine serves is joined through
/// that machine's node, unless it was that one that passed the client on.
async fn server(
    shared: &Arc<Shared>,
    wanted: &Wanted,
    dialect: Dialect,
    caller: Caller,
) -> Result<Joined, JoinRefused> {
    let (workspace, id) = find(shared.clone(), wanted.clone()).await?;
    if let (Wanted::Name(_), Some(id), Some(member)) = (wanted, id, &shared.settings.member) {
        while workspace.holder().is_none() {
            let elsewhere = member.elsewhere(shared, &id).await;
            let Some(mut elsewhere) = elsewhere.map_err(JoinRefused::DatabaseAway)? else {
                break;
            };
            let place = elsewhere.lease.clone();
            tokio::select! {
                connected = other::connect(shared, &place, (dialect, &caller)) => {
                    let machine = place.machine.clone();
                    let transport = connected.map_err(|why| JoinRefused::Unreachable { machine, why })?;
                    return Ok(Joined { transport, elsewhere: Some(elsewhere) });
                }
                // Another one may serve it now, or nobody.
                () = elsewhere.ended() => {}
            }
        }
    }
    let hello = Hello {
        actor: caller.actor,
        relayed: Some(shared.relayed(caller.is_private)),
        ..Hello::new(dialect, &workspace.root)
    };
    let launch = (shared.settings.launch)(&workspace)?;
    let joined = join(&workspace, &hello, Some(&launch)).await;
    let joined = joined.map_err(|error| {
        if is_elsewhere(&error) {
            JoinRefused::Elsewhere(error.into())
        } else {
            JoinRefused::Other(error.into())
        }
    })?;
    shared.supervisors.supervise(shared, &workspace);
    Ok(Joined {
        transport: joined.transport,
        elsewhere: None,
    })
}

/// Returns the workspace that a client wants, and its id in a database that several machines use.
async fn find(shared: Arc<Shared>, wanted: Wanted) -> Result<(Workspace, Option<String>), JoinRefused> {
    let find = move || {
        let is_wanted = |named: &NamedWorkspace| match &wanted {
            Wanted::Name(name) => named.name == *name,
            Wanted::Id(id) => named.id.as_ref() == Some(id),
        };
        let all = shared.settings.state.named().map_err(anyhow::Error::from)?;
        let named = all.into_iter().find(is_wanted);
        let named = named.ok_or_else(|| match &wanted {
            Wanted::Name(name) => JoinRefused::NoName(name.clone()),
            Wanted::Id(_) => JoinRefused::NotListed,
        })?;
        let workspace = shared.workspace(&named).map_err(JoinRefused::Folder)?;
        Ok((workspace, named.id))
    };
    let found = tokio::task::spawn_blocking(find).await;
    found.unwrap_or_else(|error| Err(JoinRefused::Other(error.into())))
}

/// Passes messages on until one side has ended. Returns the close reason for the client: that of another machine's node, if it
/// gave one.
async fn pass(client: &mut Transport, server: &mut Transport) -> CloseReason {
    tokio::select! {
        () = copy(&mut *client.reader, &mut *server.writer) => return CloseReason::default(),
        () = copy(&mut *server.reader, &mut *client.writer) => {}
    }
    let said = server.reader.close_reason();
    said.unwrap_or_else(|| CloseReason::new(CloseReason::RESTART, ENDED))
}

/// Copies whole messages to the end of one side.
async fn copy(from: &mut dyn FrameReader, to: &mut dyn FrameWriter) {
    let mut is_over = false;
    while !is_over && let Some(first) = next(from).await {
        let mut arrived = Some(first);
        let mut bytes = 0;
        while let Some(message) = arrived.take() {
            match message {
                Ok(message) => {
                    bytes += message.len();
                    if to.feed(message).is_err() {
                        return;
                    }
                }
                // The reader goes on with the next message, or has none.
                Err(error) => tracing::debug!(%error, "a message is not passed on"),
            }
            // What has arrived already is written together.
            if bytes < BATCH_BYTES {
                match next(from).now_or_never() {
                    Some(Some(more)) => arrived = Some(more),
                    Some(None) => is_over = true,
                    None => {}
                }
            }
        }
        if flush(to).await.is_err() {
            return;
        }
    }
}

/// Closes a connection, also one whose other side is frozen.
pub(crate) async fn close(mut transport: Transport, reason: &CloseReason) {
    match timeout(CLOSING, transport.close(reason)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection was not closed well"),
        Err(_) => tracing::debug!("a connection was cut: the other side does not read"),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[tokio::test]
    async fn messages_pass_both_ways_unread_and_in_order() {
        let (mut client, mut ours) = Transport::memory_pair();
        let (mut theirs, mut server) = Transport::memory_pair();
        let passing = tokio::spawn(async move { pass(&mut ours, &mut theirs).await });
        for text in ["no JSON", "{", "two\nlines"] {
            client.send(Bytes::from(text)).await.unwrap();
            assert_eq!(server.next().await.unwrap().unwrap(), text);
            server.send(Bytes::from(text)).await.unwrap();
            assert_eq!(client.next().await.unwrap().unwrap(), text);
        }
        drop(server);
        let reason = passing.await.unwrap();
        assert_eq!(reason.code, CloseReason::RESTART);
    }

    #[tokio::test]
    async fn the_reason_of_another_node_reaches_the_client() {
        let (_client, mut ours) = Transport::memory_pair();
        let (mut theirs, server) = Transport::memory_pair();
        let refused = CloseReason::new(CloseReason::INTERNAL, "it does not serve the workspace");
        close(server, &refused).await;
        assert_eq!(pass(&mut ours, &mut theirs).await, refused);
    }

    #[test]
    fn a_close_reason_has_nothing_of_its_cause() {
        let why = || anyhow::anyhow!("postgres://db.example: /home/me");
        for (refused, code) in [
            (JoinRefused::Folder(why()), CloseReason::INTERNAL),
            (JoinRefused::Other(why()), CloseReason::INTERNAL),
            (JoinRefused::Elsewhere(why()), CloseReason::RESTART),
            (JoinRefused::DatabaseAway(why()), CloseReason::RESTART),
            (
                JoinRefused::Unreachable {
                    machine: "kiln".to_owned(),
                    why: why(),
                },
                CloseReason::RESTART,
            ),
        ] {
            let reason = refused.reason();
            assert_eq!(reason.code, code, "{refused:?}");
            assert!(!reason.text.contains('/'), "{reason:?}");
        }
    }
}
