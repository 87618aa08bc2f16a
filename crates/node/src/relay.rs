//! A client of the node, joined to the server of its workspace: whole messages from one to the other, unread.
//!
//! Has one batch in memory each way. A side that does not read stops the other one.

use std::sync::Arc;

use bobbin_editor_kit::frames::{flush, next};
use bobbin_framing::{CloseReason, FrameReader, FrameWriter, Transport};
use bobbin_local::{Dialect, Hello, join};
use bobbin_session::NO_LONGER_ADMITTED;
use bobbin_transport::{Caller, Connections};
use bobbin_workspace::{NamedWorkspace, Workspace};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::node::Shared;
use crate::other;

/// Bytes after which a batch is written.
const BATCH_BYTES: usize = 64 << 10;

/// The WebSocket's code for a client that may not be connected.
const NOT_ALLOWED: u16 = 1008;

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
            Ok(mut server) => {
                let reason = tokio::select! {
                    reason = pass(&mut client, &mut server) => reason,
                    () = until.cancelled() => CloseReason::new(NOT_ALLOWED, NO_LONGER_ADMITTED),
                };
                close(server, &CloseReason::default()).await;
                reason
            }
            Err(error) => {
                tracing::info!(?wanted, "a client was not joined: {error:#}");
                CloseReason::new(CloseReason::INTERNAL, format!("{error:#}"))
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

/// Joins the server of a workspace, and starts it if none runs. A workspace that another machine serves is joined through
/// that machine's node, unless it was that one that passed the client on.
async fn server(
    shared: &Arc<Shared>,
    wanted: &Wanted,
    dialect: Dialect,
    caller: Caller,
) -> anyhow::Result<Transport> {
    let (workspace, id) = find(shared.clone(), wanted.clone()).await?;
    if let (Wanted::Name(_), Some(id), Some(member)) = (wanted, id, &shared.settings.member)
        && workspace.holder().is_none()
        && let Some(address) = member.other(&id).await?
    {
        return other::connect(shared, &address, &id, (dialect, &caller)).await;
    }
    let hello = Hello {
        actor: caller.actor,
        relayed: Some(shared.relayed(caller.is_private)),
        ..Hello::new(dialect, &workspace.root)
    };
    let launch = (shared.settings.launch)(&workspace)?;
    let joined = join(&workspace, &hello, Some(&launch)).await?;
    shared.supervisors.supervise(shared, &workspace);
    Ok(joined.transport)
}

/// Returns the workspace that a client wants, and its id in a database that several machines use.
async fn find(shared: Arc<Shared>, wanted: Wanted) -> anyhow::Result<(Workspace, Option<String>)> {
    let find = move || {
        let is_wanted = |named: &NamedWorkspace| match &wanted {
            Wanted::Name(name) => named.name == *name,
            Wanted::Id(id) => named.id.as_ref() == Some(id),
        };
        let named = shared.settings.state.named()?.into_iter().find(is_wanted);
        let named = named.ok_or_else(|| match &wanted {
            Wanted::Name(name) => anyhow::anyhow!("no workspace has the name {name}"),
            Wanted::Id(id) => anyhow::anyhow!("this node does not serve the workspace {id}"),
        })?;
        Ok((shared.workspace(&named)?, named.id))
    };
    tokio::task::spawn_blocking(find).await?
}

/// Passes messages on until one side has ended. Returns the close reason for the client.
async fn pass(client: &mut Transport, server: &mut Transport) -> CloseReason {
    tokio::select! {
        () = copy(&mut *client.reader, &mut *server.writer) => CloseReason::default(),
        () = copy(&mut *server.reader, &mut *client.writer) => {
            CloseReason::new(CloseReason::RESTART, "the server of this workspace has closed the connection")
        }
    }
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

pub(crate) async fn close(mut transport: Transport, reason: &CloseReason) {
    if let Err(error) = transport.close(reason).await {
        tracing::debug!(%error, "a connection was not closed well");
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
}
