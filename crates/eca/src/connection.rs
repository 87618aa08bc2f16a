//! One connection from its handshake to its end (section 4).
//!
//! `initialize` opens the core, because the client names the workspace there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bobbin_editor_kit::Host;
use bobbin_model::Mode;
use bobbin_peer::{
    CallContext, EofPolicy, ErrorObject, NotificationContext, OversizeReply, PeerOptions, Responder,
    Transport,
};
use bobbin_session::{Connection, ConnectionOptions, Handler};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::diagnostics::PeerDiagnostics;
use crate::dialect::Eca;
use crate::methods::{self, Client};
use crate::wire::lifecycle::{InitializeParams, InitializeResult, ServerInfo};
use crate::wire::{self, behavior};
use crate::{errors, handshake};

/// Most unanswered requests of one connection.
const MAX_IN_FLIGHT: usize = 32;
/// Time to answer requests that were read before the end (4.5).
const DRAIN: Duration = Duration::from_secs(2);
/// Longest time that a write may stall.
const WRITE_STALL: Duration = Duration::from_secs(30);
/// Most bytes in the write queue before the client's input is paused.
const MAX_QUEUE_BYTES: usize = 8 << 20;
/// Bytes of messages in one write. With headers they are less than the 32 KiB that some clients read at once (2.3).
const FLUSH_BYTES: usize = 24 << 10;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client sent `exit`.
    Exited {
        /// Whether it came after an answered `shutdown`, as it should.
        after_shutdown: bool,
    },
    /// Its input ended, or the server closed it.
    Closed,
    /// The workspace could not be opened. The client got the reason.
    Refused,
}

/// Serves one connection until it ends.
pub async fn serve(transport: Transport, host: Arc<dyn Host>) -> End {
    let options = ConnectionOptions {
        peer: options(),
        handshake: host.handshake(),
        endpoint: "Eca".to_owned(),
        until: CancellationToken::new(),
    };
    let handler = Arc::new(EcaHandler {
        host: host.clone(),
        end: Mutex::new(None),
        is_ready: AtomicBool::new(false),
    });
    bobbin_session::serve(transport, options, host.ended(), handler.clone()).await;
    let end = handler.end.lock().take();
    end.unwrap_or(End::Closed)
}

fn options() -> PeerOptions {
    PeerOptions {
        eof_policy: EofPolicy::DrainFirst(DRAIN),
        oversize_reply: OversizeReply::Always,
        max_running_requests: MAX_IN_FLIGHT,
        overload_error: errors::overloaded(),
        max_queue_bytes: MAX_QUEUE_BYTES,
        flush_bytes: FLUSH_BYTES,
        write_stall_timeout: Some(WRITE_STALL),
        drain_timeout: Some(DRAIN),
        ..PeerOptions::default()
    }
}

/// The state of one connection (4.1). Before its client is open it accepts `initialize` and `exit` only.
struct EcaHandler {
    host: Arc<dyn Host>,
    end: Mutex<Option<End>>,
    /// Whether `initialized` has come. Nothing is pushed before it.
    is_ready: AtomicBool,
}

impl Handler for EcaHandler {
    type Client = Client;

    async fn request(&self, connection: &Connection<Client>, request: CallContext, responder: Responder) {
        if &*request.method == "initialize" {
            self.initialize(connection, &request, responder).await;
            return;
        }
        let Some(client) = connection.client() else {
            return responder.err(errors::not_initialized());
        };
        if client.eca.shutting_down.load(Ordering::Acquire) {
            return responder.err(errors::invalid_request("The server has been shut down"));
        }
        if &*request.method == "shutdown" {
            // The server belongs to the workspace, so it goes on with the client's Turns. The connection stays for
            // `exit`.
            client.eca.shutting_down.store(true, Ordering::Release);
            return responder.ok(());
        }
        methods::request(&client, &request, responder).await;
    }

    async fn notification(&self, connection: &Connection<Client>, notification: NotificationContext) {
        let client = connection.client();
        if &*notification.method == "exit" {
            let shut = |client: &Client| client.eca.shutting_down.load(Ordering::Acquire);
            let after_shutdown = client.as_ref().is_some_and(shut);
            self.end(connection, End::Exited { after_shutdown });
            return;
        }
        let Some(client) = client else { return };
        if client.eca.shutting_down.load(Ordering::Acquire) {
            return;
        }
        if &*notification.method == "initialized" {
            if !self.is_ready.swap(true, Ordering::AcqRel) {
                methods::greet(&client).await;
            }
        } else {
            methods::notification(&client, &notification).await;
        }
    }
}

impl EcaHandler {
    /// Ends the connection. The first reason counts.
    fn end(&self, connection: &Connection<Client>, end: End) {
        self.end.lock().get_or_insert(end);
        connection.end();
    }

    async fn initialize(&self, connection: &Connection<Client>, request: &CallContext, responder: Responder) {
        if connection.client().is_some() {
            return responder.err(errors::invalid_request("Already initialized"));
        }
        match self.open(connection, request).await {
            Ok(client) => {
                let (mode, model) = client.chosen();
                let models = client.offer.models.known();
                client.eca.known_models.lock().clone_from(&models);
                responder.ok(InitializeResult {
                    chat_welcome_message: methods::WELCOME,
                    models: &models,
                    chat_default_model: &model,
                    chat_behaviors: [behavior(Mode::Agent), behavior(Mode::Plan)],
                    chat_default_behavior: behavior(mode),
                    server_info: ServerInfo {
                        name: "bobbin",
                        version: self.host.version(),
                    },
                });
            }
            Err(error) => responder.err(error),
        }
    }

    async fn open(
        &self,
        connection: &Connection<Client>,
        request: &CallContext,
    ) -> Result<Client, ErrorObject> {
        let params: InitializeParams = wire::params(request.params.as_deref())?;
        let wanted = handshake::wanted(&params);
        let mut offer = self.host.open(wanted).await.map_err(|failure| {
            // The connection is useless, so it ends after the answer.
            self.end(connection, End::Refused);
            errors::failed(failure.0)
        })?;
        offer.notices.extend(handshake::notices(&params));
        let folders = params.workspace_folders.as_deref().unwrap_or_default();
        let further = handshake::roots(folders)
            .skip(1)
            .take(methods::MAX_FOLDERS)
            .collect();
        let options = params.initialization_options.unwrap_or_default();
        let capabilities = params.capabilities.unwrap_or_default();
        let is_current = capabilities.are_current() || options.chat_agent.is_some();
        let chosen = handshake::chosen(options, &offer);
        let name = params
            .client_info
            .and_then(|info| info.name)
            .unwrap_or_else(|| "eca".to_owned());
        let eca = Arc::new(Eca::new(name, chosen, capabilities.asks_questions()));
        if is_current {
            eca.speaks_currently();
        }
        *eca.further_folders.lock() = further;
        let peer = connection.peer();
        let editor = capabilities
            .has_diagnostics()
            .then(|| Arc::new(PeerDiagnostics(peer.clone())))
            .map(|editor| Arc::new(offer.editor_tools.clone().connect(editor)));
        let threads = offer.threads.clone();
        Ok(connection.open(threads, eca.clone(), |session| Client {
            editor,
            offer: Arc::new(offer),
            eca,
            session,
            peer: peer.clone(),
            tasks: connection.tasks().clone(),
        }))
    }
}
