//! The process between a client on stdio and the servers of the folders that its sessions are in.
//!
//! A session belongs to the server of its `cwd`, which is found or started with the session's first request. Messages
//! pass unchanged, in their order, except for the ids of servers' requests: the client sees each id once, whatever server
//! asks and however often it is joined. `initialize` is answered here, and sent to each server that is joined. A list that
//! names no directory is made of those of several servers. A server that goes away answers nothing more: its own requests
//! are withdrawn, the client's are answered with an error, and the next request joins a server anew and resumes the
//! sessions that were open there.
//!
//! One task reads the client, and one serves each server; no server waits for another to start. Bounds:
//! `MAX_SERVERS` servers, `MAX_LISTED` sessions that were only listed, and the bounds of the servers themselves.

mod merge;
mod message;
mod server;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_acp_wire::{ListSessionsResult, method};
use bobbin_editor_kit::frames::{Writer, next, send};
use bobbin_framing::{FrameReader, Transport};
use bobbin_peer::{ErrorObject, code};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::errors;
use crate::greeting::greeting;
use message::{Message, error, result};
use table::{Joining, Pending, Table};

/// Most servers of one client (a guess: more folders than a user works in).
pub(crate) const MAX_SERVERS: usize = 64;
/// Most sessions that are known from lists alone. All of them are forgotten when one more comes.
pub(crate) const MAX_LISTED: usize = 1024;
/// Messages that wait for a server; then the client is not read.
const MAX_WAITING: usize = 64;
/// How long the answers of requests may take at the end.
const END: Duration = Duration::from_secs(2);

/// Joins servers.
pub trait Connect: Send + Sync + 'static {
    /// Joins the server of a folder, and starts it if none runs. The error is a sentence.
    fn connect(&self, folder: PathBuf) -> BoxFuture<'static, Result<Transport, String>>;

    /// Whether a folder was served before, so that it may have sessions. Starts and makes nothing.
    fn knows(&self, folder: &Path) -> bool;

    /// Returns the version said to clients.
    fn version(&self) -> &'static str;
}

/// Passes messages until the client leaves or `stop` resolves. The process's own folder is `here`.
pub async fn run(
    client: Transport,
    connect: Arc<dyn Connect>,
    here: PathBuf,
    stop: impl Future<Output = ()>,
) {
    let Transport { mut reader, writer } = client;
    let shared = Arc::new(Shared {
        client: Writer::new(writer),
        table: Mutex::default(),
        connect,
    });
    let mut up = Up {
        shared: shared.clone(),
        here,
        servers: JoinSet::new(),
    };
    tokio::select! {
        () = up.run(&mut *reader) => shared.settled(END).await,
        () = stop => {}
    }
    shared.table.lock().leave();
    let ended = async { while up.servers.join_next().await.is_some() {} };
    if tokio::time::timeout(END, ended).await.is_err() {
        tracing::warn!("the end took too long; leaving anyway");
    }
}

/// The parts that all tasks share.
pub(crate) struct Shared {
    client: Writer,
    table: Mutex<Table>,
    connect: Arc<dyn Connect>,
}

impl Shared {
    /// Writes a message to the client.
    async fn write(&self, message: Bytes) {
        if let Err(error) = send(&self.client, message).await {
            tracing::debug!(%error, "the client cannot be written to");
        }
    }

    /// Waits until every request but prompts is answered, at most `patience`: Turns go on without their client.
    async fn settled(&self, patience: Duration) {
        let changed = self.table.lock().changes();
        let settled = async {
            loop {
                let notified = changed.notified();
                if self.table.lock().is_settled() {
                    return;
                }
                notified.await;
            }
        };
        drop(tokio::time::timeout(patience, settled).await);
    }
}

/// The task that reads the client.
struct Up {
    shared: Arc<Shared>,
    here: PathBuf,
    servers: JoinSet<()>,
}

impl Up {
    async fn run(&mut self, reader: &mut dyn FrameReader) {
        while let Some(read) = next(reader).await {
            let answer = match read {
                Ok(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => None,
                Ok(bytes) => self.serve(bytes).await,
                Err(why) => Some(refused(&why)),
            };
            if let Some(answer) = answer {
                self.shared.write(answer).await;
            }
            while self.servers.try_join_next().is_some() {}
        }
    }

    /// Serves one message. Returns its answer, if that is given here.
    async fn serve(&mut self, bytes: Bytes) -> Option<Bytes> {
        let message = match Message::read(&bytes) {
            Ok(message) => message,
            Err(why) => return Some(error(None, &why)),
        };
        let id = message.id.map(|id| id.get().to_owned());
        let Some(method) = message.method.as_deref() else {
            self.answer(&message).await;
            return None;
        };
        let served = match (method, &id) {
            (method::INITIALIZE, Some(id)) => return Some(self.initialize(id, &message).await),
            (method::CANCEL_REQUEST, _) => {
                if let Some(server) = self.cancelled(&message) {
                    drop(server.send(bytes).await);
                }
                return None;
            }
            (_, Some(id)) => self.request(method, id, &message, &bytes).await,
            (_, None) => self.notification(&message, &bytes).await,
        };
        let why = served.err()?;
        if id.is_none() {
            tracing::info!(%why, "a notification was not passed on");
        }
        id.map(|id| error(Some(&id), &why))
    }

    async fn initialize(&mut self, id: &str, message: &Message<'_>) -> Bytes {
        let params = message.params.map(|params| params.get().to_owned());
        if let Err(why) = crate::methods::params::<bobbin_acp_wire::InitializeParams>(message.params) {
            return error(Some(id), &why);
        }
        let (hello, joined) = self.shared.table.lock().greeted(params);
        for server in joined {
            drop(server.send(hello.clone()).await);
        }
        result(id, &greeting(self.shared.connect.version()))
    }

    /// Passes the client's answer on to the server that has asked.
    async fn answer(&self, message: &Message<'_>) {
        let id = message.id.and_then(|id| id.get().parse().ok());
        let asked = id.and_then(|id| self.shared.table.lock().answered_by_client(id));
        let Some((server, theirs)) = asked else {
            return tracing::debug!("an answer to no request was dropped");
        };
        if let Some(answer) = message.with_id(&theirs) {
            drop(server.send(answer).await);
        }
    }

    /// Returns the server that has the request of a cancel.
    fn cancelled(&self, message: &Message<'_>) -> Option<mpsc::Sender<Bytes>> {
        let id = message.cancelled()?;
        self.shared.table.lock().server_of_request(id.get())
    }

    async fn notification(&mut self, message: &Message<'_>, bytes: &Bytes) -> Result<(), ErrorObject> {
        let session = message.session()?.unwrap_or_default();
        let folder = self.shared.table.lock().folder_of(&session);
        let folder = folder.ok_or_else(|| errors::no_session(&session))?;
        self.pass(&folder, bytes.clone(), None).await
    }

    async fn request(
        &mut self,
        method: &str,
        id: &str,
        message: &Message<'_>,
        bytes: &Bytes,
    ) -> Result<(), ErrorObject> {
        if !self.shared.table.lock().has_greeted() {
            return Err(errors::not_initialized());
        }
        let (folder, pending) = match method {
            method::SESSION_NEW | method::SESSION_LOAD | method::SESSION_RESUME => {
                let folder = directory(message.cwd()?)?;
                let session = match method {
                    method::SESSION_NEW => None,
                    _ => Some(named(message)?),
                };
                let params = message.params.map(|params| params.get().to_owned());
                (folder, Pending::Opens { session, params })
            }
            method::SESSION_LIST => return self.list(id, message, bytes).await,
            method::AUTHENTICATE => return Err(errors::no_login()),
            method::SESSION_PROMPT
            | method::SESSION_CLOSE
            | method::SESSION_DELETE
            | method::SESSION_SET_MODE
            | method::SESSION_SET_CONFIG_OPTION
            | method::SESSION_SET_MODEL => {
                let session = named(message)?;
                let folder = self.shared.table.lock().folder_of(&session);
                let folder = folder.ok_or_else(|| match method {
                    // A success would leave the session where it is.
                    method::SESSION_DELETE => errors::unplaced_session(&session),
                    _ => errors::no_session(&session),
                })?;
                let pending = match method {
                    method::SESSION_PROMPT => Pending::Prompts,
                    method::SESSION_CLOSE | method::SESSION_DELETE => Pending::Leaves(session),
                    _ => Pending::Other,
                };
                (folder, pending)
            }
            _ => return Err(errors::method_not_found(method)),
        };
        self.pass(&folder, bytes.clone(), Some((id, pending))).await
    }

    /// Serves a list: of the directory that it names, else of the folders that this connection works in and the process's
    /// own. A folder that was never served has no sessions, and no server starts there.
    async fn list(&mut self, id: &str, message: &Message<'_>, bytes: &Bytes) -> Result<(), ErrorObject> {
        let cwd = message.cwd()?;
        // The server of a folder of this connection may just be starting.
        let mut folders = self.shared.table.lock().folders();
        let is_served = |folder: &Path| folders.contains(folder) || self.shared.connect.knows(folder);
        if cwd.is_some() {
            let folder = directory(cwd)?;
            if is_served(&folder) {
                return self
                    .pass(&folder, bytes.clone(), Some((id, Pending::Lists)))
                    .await;
            }
            folders.clear();
        } else if is_served(&self.here) {
            folders.insert(self.here.clone());
        }
        if folders.is_empty() {
            let none = result(id, &ListSessionsResult::default());
            self.shared.write(none).await;
            return Ok(());
        }
        let parts = self.shared.table.lock().merge(id, folders.len())?;
        for (part, folder) in parts.into_iter().zip(folders) {
            let asks = Some((&*part, Pending::Part(id.to_owned())));
            let passed = match message.with_id(&part) {
                Some(request) => self.pass(&folder, request, asks).await,
                None => Err(errors::failed("The list cannot be passed on.")),
            };
            let whole = passed
                .err()
                .and_then(|why| self.shared.table.lock().merged(id, Err(json!(why))));
            if let Some(whole) = whole {
                self.shared.write(whole).await;
            }
        }
        Ok(())
    }

    /// Passes a message on to the server of a folder, which is joined if it is not. `asks` is the id and the purpose of a
    /// request. If the server goes away, its end answers the request.
    async fn pass(
        &mut self,
        folder: &Path,
        bytes: Bytes,
        asks: Option<(&str, Pending)>,
    ) -> Result<(), ErrorObject> {
        let joining = self.shared.table.lock().pass(folder, asks)?;
        let server = match joining {
            Joining::Joined(server) => server,
            Joining::New(server, messages) => {
                let serving = server::serve(self.shared.clone(), folder.to_owned(), messages);
                self.servers.spawn(serving);
                server
            }
        };
        drop(server.send(bytes).await);
        Ok(())
    }
}

/// Returns the session that a request must name.
fn named(message: &Message<'_>) -> Result<String, ErrorObject> {
    let session = message.session()?;
    session.ok_or_else(|| errors::invalid("sessionId is missing; name the session."))
}

/// Returns the folder that a client means with `cwd`.
fn directory(cwd: Option<String>) -> Result<PathBuf, ErrorObject> {
    let cwd = cwd.ok_or_else(|| errors::invalid("cwd is missing; name the session's directory."))?;
    if !Path::new(&cwd).is_absolute() {
        return Err(errors::invalid(format!(
            "cwd is {cwd}; it must be an absolute path."
        )));
    }
    match std::fs::canonicalize(&cwd) {
        Ok(folder) if folder.is_dir() => Ok(folder),
        _ => Err(errors::invalid(format!(
            "cwd is {cwd}; there is no such directory."
        ))),
    }
}

/// Returns the answer to input that is no message.
fn refused(why: &bobbin_framing::FramingError) -> Bytes {
    tracing::warn!(error = %why, "input that is no message was skipped");
    error(
        None,
        &ErrorObject::new(code::INVALID_REQUEST, "This is no message, or too long a one."),
    )
}
