//! One connection of a server from its handshake to its end.

use std::sync::Arc;
use std::time::Duration;

use bobbin_acp_wire::{InitializeParams, method};
use bobbin_editor_kit::{Host, OpenRequest};
use bobbin_peer::{
    Batches, CallContext, CancelDialect, EofPolicy, ErrorObject, NotificationContext, OversizeReply,
    PeerOptions, Responder, Transport,
};
use bobbin_session::{Connection, ConnectionOptions, Handler};
use tokio_util::sync::CancellationToken;

use crate::dialect::Acp;
use crate::greeting::greeting;
use crate::methods::{self, Client};
use crate::{errors, files};

/// Most unanswered requests of one connection. A prompt is unanswered as long as its Turn runs.
const MAX_IN_FLIGHT: usize = 256;
/// Time to answer requests that were read before the end.
const DRAIN: Duration = Duration::from_secs(2);
/// Longest time that a write may stall.
const WRITE_STALL: Duration = Duration::from_secs(30);
/// Most bytes in the write queue before the client's input is paused.
const MAX_QUEUE_BYTES: usize = 8 << 20;

/// Serves one connection until it ends.
pub async fn serve(transport: Transport, host: Arc<dyn Host>) {
    let options = ConnectionOptions {
        peer: options(),
        handshake: host.handshake(),
        endpoint: "Acp".to_owned(),
        until: CancellationToken::new(),
    };
    let handler = Arc::new(AcpHandler { host: host.clone() });
    bobbin_session::serve(transport, options, host.ended(), handler).await;
}

fn options() -> PeerOptions {
    PeerOptions {
        batches: Batches::Reject,
        cancel: CancelDialect {
            method: method::CANCEL_REQUEST.to_owned(),
            id_path: vec!["requestId".to_owned()],
        },
        eof_policy: EofPolicy::DrainFirst(DRAIN),
        oversize_reply: OversizeReply::Always,
        max_running_requests: MAX_IN_FLIGHT,
        overload_error: errors::overloaded(),
        max_queue_bytes: MAX_QUEUE_BYTES,
        write_stall_timeout: Some(WRITE_STALL),
        drain_timeout: Some(DRAIN),
        ..PeerOptions::default()
    }
}

struct AcpHandler {
    host: Arc<dyn Host>,
}

impl Handler for AcpHandler {
    type Client = Client;

    async fn request(&self, connection: &Connection<Client>, request: CallContext, responder: Responder) {
        if &*request.method == method::INITIALIZE {
            match self.initialize(connection, &request).await {
                Ok(()) => responder.ok(greeting(self.host.version())),
                Err(error) => responder.err(error),
            }
            return;
        }
        match connection.client() {
            Some(client) => methods::request(&client, &request, responder).await,
            None => responder.err(errors::not_initialized()),
        }
    }

    async fn notification(&self, connection: &Connection<Client>, notification: NotificationContext) {
        if let Some(client) = connection.client() {
            methods::notification(&client, &notification).await;
        }
    }

    async fn left(&self, client: Client) {
        client.acp.sessions.leave();
        let files = client.files.clone();
        files.leave(client.threads().clients());
    }
}

impl AcpHandler {
    /// Opens the client. A client that greets again changes its capabilities.
    async fn initialize(
        &self,
        connection: &Connection<Client>,
        request: &CallContext,
    ) -> Result<(), ErrorObject> {
        let params: InitializeParams = methods::params(request.params.as_deref())?;
        if let Some(client) = connection.client() {
            *client.acp.capabilities.lock() = params.client_capabilities;
            return Ok(());
        }
        let opened = self.host.open(OpenRequest::default()).await;
        let offer = opened.map_err(|failure| errors::failed(failure.0))?;
        let name = params
            .client_info
            .map_or_else(|| "acp".to_owned(), |info| info.name);
        let engines = offer.services.others.get().cloned();
        let acp = Acp::new(name, params.client_capabilities, offer.models.clone(), engines);
        let acp = Arc::new(acp);
        let (threads, peer) = (offer.threads.clone(), connection.peer().clone());
        connection.open(threads, acp.clone(), |session| Client {
            files: files::Files::new(peer.clone(), acp.clone()),
            offer: Arc::new(offer),
            acp,
            session,
            peer,
            tasks: connection.tasks().clone(),
        });
        Ok(())
    }
}
