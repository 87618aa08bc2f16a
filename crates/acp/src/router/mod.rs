//! The process between a client on stdio and the servers of the folders that its sessions are in.
//!
//! A session belongs to the server of its `cwd`, which is found or started with the session's first request. Messages
//! pass unchanged, in their order, except for the ids of servers' requests, which are made different. `initialize` is
//! answered here, and sent to each server that is joined. A server that goes away answers nothing more: its requests are
//! answered with an error, and the next request joins a server anew and resumes the sessions that were open there.
//!
//! One task reads the client, and one serves each server; no server waits for another to start. Bounds:
//! `MAX_SERVERS` servers, `MAX_LISTED` sessions that were only listed, and the bounds of the servers themselves.

mod message;
mod server;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_acp_wire::method;
use bobbin_editor_kit::frames::{Writer, next, send};
use bobbin_framing::{FrameReader, Transport};
use bobbin_peer::{ErrorObject, code};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
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

    /// Returns the version said to clients.
    fn version(&self) -> &'static str;
}

/// Passes messages until the client leaves or `stop` resolves. Sessions without a directory of their own are those of
/// the folder `here`.
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
        let Some((server, answer)) = message.answer_to_server() else {
            return tracing::debug!("an answer to no request was dropped");
        };
        let server = self.shared.table.lock().server(server);
        if let Some(server) = server {
            drop(server.send(answer).await);
        }
    }

    /// Returns the server that has the request of a cancel.
    fn cancelled(&self, message: &Message<'_>) -> Option<mpsc::Sender<Bytes>> {
        let id = message.cancelled()?;
        self.shared.table.lock().server_of_request(id.get())
    }

    async fn notification(&mut self, message: &Message<'_>, bytes: &Bytes) -> Result<(), ErrorObject> {
        let session = message.session().unwrap_or_default();
        let folder = self.shared.table.lock().folder_of(&session);
        let folder = folder.ok_or_else(|| errors::no_session(&session))?;
        self.pass(folder, bytes).await
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
        let folder = self.folder(method, message)?;
        let kind = match method {
            method::SESSION_NEW | method::SESSION_LOAD | method::SESSION_RESUME => Pending::Opens {
                session: message.session(),
                params: message.params.map(|params| params.get().to_owned()),
            },
            method::SESSION_LIST => Pending::Lists,
            method::SESSION_PROMPT => Pending::Prompts,
            method::SESSION_CLOSE | method::SESSION_DELETE => Pending::Leaves(message.session()),
            _ => Pending::Other,
        };
        self.shared.table.lock().ask(id, &folder, kind)?;
        self.pass(folder, bytes).await.inspect_err(|_| {
            self.shared.table.lock().answered(id);
        })
    }

    /// Returns the folder whose server serves a request.
    fn folder(&self, method: &str, message: &Message<'_>) -> Result<PathBuf, ErrorObject> {
        match method {
            method::SESSION_NEW | method::SESSION_LOAD | method::SESSION_RESUME => {
                let cwd = message.cwd();
                let cwd =
                    cwd.ok_or_else(|| errors::invalid("cwd is missing; name the session's directory."))?;
                directory(&cwd)
            }
            method::SESSION_LIST => match message.cwd() {
                Some(cwd) => directory(&cwd),
                None => Ok(self.here.clone()),
            },
            method::AUTHENTICATE => Err(errors::no_login()),
            _ => {
                let Some(session) = message.session() else {
                    return Err(errors::method_not_found(method));
                };
                let known = self.shared.table.lock().folder_of(&session);
                match known {
                    Some(folder) => Ok(folder),
                    None if method == method::SESSION_DELETE => Ok(self.here.clone()),
                    None => Err(errors::no_session(&session)),
                }
            }
        }
    }

    /// Passes a message on to the server of a folder, which is joined if it is not.
    async fn pass(&mut self, folder: PathBuf, bytes: &Bytes) -> Result<(), ErrorObject> {
        // A server that has just gone takes nothing; the next one does.
        for _ in 0..2 {
            let joining = self.shared.table.lock().join(&folder)?;
            let server = match joining {
                Joining::Joined(server) => server,
                Joining::New(slot, server, messages) => {
                    let serving = server::serve(self.shared.clone(), slot, folder.clone(), messages);
                    self.servers.spawn(serving);
                    server
                }
            };
            if server.send(bytes.clone()).await.is_ok() {
                return Ok(());
            }
        }
        Err(errors::failed(
            "The server of this folder ends again and again; see its log.",
        ))
    }
}

/// Returns the folder that a client means with `cwd`.
fn directory(cwd: &str) -> Result<PathBuf, ErrorObject> {
    if !Path::new(cwd).is_absolute() {
        return Err(errors::invalid(format!(
            "cwd is {cwd}; it must be an absolute path."
        )));
    }
    match std::fs::canonicalize(cwd) {
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
