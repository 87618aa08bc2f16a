//! One connection from its handshake to its end.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::elicitation::ElicitingClient;
use bobbin_editor_kit::{Host, OpenRequest};
use bobbin_peer::{
    Batches, CallContext, EofPolicy, ErrorObject, NotificationContext, OversizeReply, PeerOptions, Responder,
    Transport, VersionCheck,
};
use bobbin_session::{Connection, ConnectionOptions, Handler};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::dialect::Codex;
use crate::elicitation::Elicits;
use crate::errors;
use crate::methods::{self, Client};

/// Most unanswered requests of one connection.
const MAX_IN_FLIGHT: usize = 128;
/// Time to answer requests that were read before the end.
const DRAIN: Duration = Duration::from_secs(2);
/// Longest time that a write may stall.
const WRITE_STALL: Duration = Duration::from_secs(30);
/// Most bytes in the write queue before the client's input is paused.
const MAX_QUEUE_BYTES: usize = 8 << 20;
/// Most notifications that a client can do without.
const MAX_UNWANTED: usize = 256;

/// Serves one connection until it ends.
pub async fn serve(transport: Transport, host: Arc<dyn Host>) {
    let options = ConnectionOptions {
        peer: options(),
        handshake: host.handshake(),
        endpoint: "Codex".to_owned(),
        until: CancellationToken::new(),
    };
    let handler = Arc::new(CodexHandler { host: host.clone() });
    bobbin_session::serve(transport, options, host.ended(), handler).await;
}

fn options() -> PeerOptions {
    PeerOptions {
        version_check: VersionCheck::Lenient,
        batches: Batches::Reject,
        eof_policy: EofPolicy::DrainFirst(DRAIN),
        oversize_reply: OversizeReply::Always,
        max_running_requests: MAX_IN_FLIGHT,
        overload_error: errors::overloaded(),
        max_queue_bytes: MAX_QUEUE_BYTES,
        write_stall_timeout: Some(WRITE_STALL),
        drain_timeout: Some(DRAIN),
        // The end of a question is a notification of its own.
        cancel_on_abandon: |_| false,
        ..PeerOptions::default()
    }
}

/// Params of `initialize`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    client_info: ClientInfo,
    capabilities: Option<Capabilities>,
}

#[derive(Deserialize)]
struct ClientInfo {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities {
    opt_out_notification_methods: Option<Vec<String>>,
}

struct CodexHandler {
    host: Arc<dyn Host>,
}

impl Handler for CodexHandler {
    type Client = Client;

    async fn request(&self, connection: &Connection<Client>, request: CallContext, responder: Responder) {
        let client = connection.client();
        if &*request.method == "initialize" {
            if client.is_some() {
                return responder.err(errors::invalid("Already initialized"));
            }
            return match self.initialize(connection, &request).await {
                // Without a version, which the client would compare with its own.
                Ok(()) => responder.ok(json!({
                    "userAgent": "bobbin",
                    "codexHome": "/",
                    "platformFamily": "unix",
                    "platformOs": std::env::consts::OS,
                })),
                Err(error) => responder.err(error),
            };
        }
        match client {
            Some(client) => methods::request(&client, &request, responder).await,
            None => responder.err(errors::invalid("Not initialized")),
        }
    }

    async fn notification(&self, _: &Connection<Client>, notification: NotificationContext) {
        tracing::debug!(method = &*notification.method, "a notification needs nothing");
    }

    async fn left(&self, client: Client) {
        client.offer.threads.elicitors().leave(&client.asked);
    }
}

impl CodexHandler {
    async fn initialize(
        &self,
        connection: &Connection<Client>,
        request: &CallContext,
    ) -> Result<(), ErrorObject> {
        let params: InitializeParams = methods::params(request)?;
        let opened = self.host.open(OpenRequest::default()).await;
        let offer = opened.map_err(|failure| errors::invalid(failure.0))?;
        let unwanted = params
            .capabilities
            .and_then(|all| all.opt_out_notification_methods);
        let unwanted: HashSet<String> = unwanted
            .unwrap_or_default()
            .into_iter()
            .take(MAX_UNWANTED)
            .collect();
        let root = offer.threads.settings().workspace.to_string_lossy().into_owned();
        let codex = Arc::new(Codex::new(
            params.client_info.name,
            unwanted,
            root,
            offer.models.clone(),
        ));
        let (threads, peer) = (offer.threads.clone(), connection.peer().clone());
        connection.open(threads.clone(), codex.clone(), |session| {
            let asked: Arc<dyn ElicitingClient> = Arc::new(Elicits {
                codex: codex.clone(),
                session: session.clone(),
                peer: peer.clone(),
            });
            threads.elicitors().join(asked.clone());
            Client {
                offer: Arc::new(offer),
                codex,
                session,
                peer,
                tasks: connection.tasks().clone(),
                asked,
            }
        });
        Ok(())
    }
}
