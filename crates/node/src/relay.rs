//! A client of the node, joined to the server of its workspace: whole messages from one to the other, unread.
//!
//! Has one batch in memory each way. A side that does not read stops the other one.

use std::sync::Arc;

use bobbin_editor_kit::frames::{flush, next};
use bobbin_framing::{CloseReason, FrameReader, FrameWriter, Transport};
use bobbin_local::{Dialect, Hello, join};
use bobbin_session::NO_LONGER_ADMITTED;
use bobbin_transport::{Caller, Connections};
use bobbin_workspace::Workspace;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::node::Shared;

/// Bytes after which a batch is written.
const BATCH_BYTES: usize = 64 << 10;

/// The WebSocket's code for a client that may not be connected.
const NOT_ALLOWED: u16 = 1008;

/// The clients of one address.
pub(crate) struct Relay {
    pub(crate) shared: Arc<Shared>,
    /// The name of the workspace, as the address has it.
    pub(crate) name: String,
    pub(crate) dialect: Dialect,
}

impl Connections for Relay {
    fn serve(&self, mut client: Transport, caller: Caller) -> BoxFuture<'static, ()> {
        let (shared, name, dialect) = (self.shared.clone(), self.name.clone(), self.dialect);
        let stop = shared.stop.clone();
        let relayed = async move {
            let until = caller.until.clone();
            let reason = match server(&shared, &name, dialect, caller).await {
                Ok(mut server) => {
                    let reason = tokio::select! {
                        reason = pass(&mut client, &mut server) => reason,
                        () = until.cancelled() => CloseReason::new(NOT_ALLOWED, NO_LONGER_ADMITTED),
                    };
                    close(server, &CloseReason::default()).await;
                    reason
                }
                Err(error) => {
                    tracing::info!(name, "a client was not joined: {error:#}");
                    CloseReason::new(CloseReason::INTERNAL, format!("{error:#}"))
                }
            };
            close(client, &reason).await;
        };
        async move {
            tokio::select! {
                () = relayed => {}
                // The node ends. It does not wait for a side that does not read.
                () = stop.cancelled() => {}
            }
        }
        .boxed()
    }
}

/// Joins the server of a workspace, and starts it if none runs.
async fn server(
    shared: &Arc<Shared>,
    name: &str,
    dialect: Dialect,
    caller: Caller,
) -> anyhow::Result<Transport> {
    let workspace = find(shared.clone(), name.to_owned()).await?;
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

/// Returns the workspace of a name.
async fn find(shared: Arc<Shared>, name: String) -> anyhow::Result<Workspace> {
    let find = move || {
        let state = &shared.settings.state;
        let named = state.named()?.into_iter().find(|named| named.name == name);
        let named = named.ok_or_else(|| anyhow::anyhow!("no workspace has the name {name}"))?;
        shared.workspace(&named)
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

async fn close(mut transport: Transport, reason: &CloseReason) {
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
