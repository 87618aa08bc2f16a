//! The knowledge of a router: the servers it has joined, the sessions that are open there, the requests without an answer.
//! Plain data.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_acp_wire::{ListSessionsResult, NewSessionResult, method};
use bobbin_peer::ErrorObject;
use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::sync::{Notify, mpsc};

use super::message::{Message, error, request};
use super::{MAX_LISTED, MAX_SERVERS, MAX_WAITING};
use crate::errors;

/// Prefix of the ids of the router's own requests.
const OWN: &str = "bobbin:";
/// Id of its `initialize`.
const HELLO: &str = "bobbin:initialize";
/// Prefix of the ids of its `session/resume`, before the session.
const RESUME: &str = "bobbin:resume:";

/// A request without an answer.
#[derive(Debug)]
pub(super) enum Pending {
    /// It opens a session; a new one has no name yet.
    Opens {
        session: Option<String>,
        params: Option<String>,
    },
    /// It lists sessions.
    Lists,
    /// It runs a Turn.
    Prompts,
    /// It leaves a session.
    Leaves(Option<String>),
    /// Anything else.
    Other,
}

/// A session that is open, or that a list has named.
#[derive(Debug)]
struct Known {
    folder: PathBuf,
    /// The params that opened it; none if it is only listed.
    opened: Option<String>,
}

/// The way to a server.
pub(super) enum Joining {
    /// It is joined, or is being joined.
    Joined(mpsc::Sender<Bytes>),
    /// It is to be joined, under this number; its messages wait in the queue.
    New(usize, mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>),
}

/// A folder with its number and the queue of its server.
#[derive(Debug)]
struct Server {
    slot: usize,
    queue: Option<mpsc::Sender<Bytes>>,
}

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The params of `initialize`.
    hello: Option<String>,
    servers: HashMap<PathBuf, Server>,
    sessions: HashMap<String, Known>,
    pending: HashMap<String, (PathBuf, Pending)>,
    changed: Arc<Notify>,
}

impl Table {
    /// Records the client's `initialize`. Returns it for servers, and those that are joined.
    pub(super) fn greeted(&mut self, params: Option<String>) -> (Bytes, Vec<mpsc::Sender<Bytes>>) {
        self.hello = Some(params.unwrap_or_else(|| "{}".to_owned()));
        let joined = self.servers.values().filter_map(|server| server.queue.clone());
        (self.hello(), joined.collect())
    }

    pub(super) fn has_greeted(&self) -> bool {
        self.hello.is_some()
    }

    /// Returns `initialize` for a server.
    pub(super) fn hello(&self) -> Bytes {
        request(HELLO, method::INITIALIZE, self.hello.as_deref().unwrap_or("{}"))
    }

    /// Returns what a server that is joined anew is sent first: `initialize`, and the sessions that were open.
    pub(super) fn first_messages(&self, folder: &Path) -> Vec<Bytes> {
        let open = self.sessions.iter().filter_map(|(session, known)| {
            let params = known.opened.as_deref().filter(|_| known.folder == folder)?;
            let mut params: Map<String, Value> = serde_json::from_str(params).ok()?;
            params.insert("sessionId".to_owned(), Value::from(session.as_str()));
            let id = format!("{RESUME}{session}");
            Some(request(
                &id,
                method::SESSION_RESUME,
                &Value::Object(params).to_string(),
            ))
        });
        std::iter::once(self.hello()).chain(open).collect()
    }

    /// Returns the way to the server of a folder.
    pub(super) fn join(&mut self, folder: &Path) -> Result<Joining, ErrorObject> {
        let count = self.servers.len();
        if !self.servers.contains_key(folder) && count == MAX_SERVERS {
            return Err(errors::failed(format!(
                "Sessions are in {MAX_SERVERS} folders; start another agent for more."
            )));
        }
        let server = self.servers.entry(folder.to_owned()).or_insert(Server {
            slot: count,
            queue: None,
        });
        if let Some(queue) = server.queue.as_ref().filter(|queue| !queue.is_closed()) {
            return Ok(Joining::Joined(queue.clone()));
        }
        let (queue, messages) = mpsc::channel(MAX_WAITING);
        server.queue = Some(queue.clone());
        Ok(Joining::New(server.slot, queue, messages))
    }

    /// Returns the queue of a server that is joined.
    pub(super) fn server(&self, slot: usize) -> Option<mpsc::Sender<Bytes>> {
        let mut servers = self.servers.values();
        servers.find(|server| server.slot == slot)?.queue.clone()
    }

    /// Returns the queue of the server that has a request.
    pub(super) fn server_of_request(&self, id: &str) -> Option<mpsc::Sender<Bytes>> {
        let (folder, _) = self.pending.get(id)?;
        self.servers.get(folder)?.queue.clone()
    }

    /// Returns the folder of a session.
    pub(super) fn folder_of(&self, session: &str) -> Option<PathBuf> {
        self.sessions.get(session).map(|known| known.folder.clone())
    }

    /// Records a request.
    ///
    /// # Errors
    /// A request with this id has no answer yet.
    pub(super) fn ask(&mut self, id: &str, folder: &Path, pending: Pending) -> Result<(), ErrorObject> {
        if self.pending.contains_key(id) {
            return Err(ErrorObject::new(
                bobbin_peer::code::INVALID_REQUEST,
                "A request with this id has no answer yet.",
            ));
        }
        self.pending.insert(id.to_owned(), (folder.to_owned(), pending));
        Ok(())
    }

    /// Forgets a request that is answered.
    pub(super) fn answered(&mut self, id: &str) -> Option<(PathBuf, Pending)> {
        let answered = self.pending.remove(id);
        self.changed.notify_waiters();
        answered
    }

    /// Records a server's answer. Returns whether the client gets it.
    pub(super) fn note_answer(&mut self, id: &str, message: &Message<'_>) -> bool {
        if let Ok(own) = serde_json::from_str::<String>(id)
            && own.starts_with(OWN)
        {
            if let Some(session) = own.strip_prefix(RESUME).filter(|_| message.error.is_some()) {
                tracing::info!(session, "a session was not resumed");
                self.sessions.remove(session);
            }
            return false;
        }
        let Some((folder, pending)) = self.answered(id) else {
            return true;
        };
        let Some(result) = message.result else { return true };
        match pending {
            Pending::Opens { session, params } => {
                let session = session.or_else(|| {
                    let opened: NewSessionResult = serde_json::from_str(result.get()).ok()?;
                    Some(opened.session_id)
                });
                if let Some(session) = session {
                    let opened = params.or(Some("{}".to_owned()));
                    self.sessions.insert(session, Known { folder, opened });
                }
            }
            Pending::Lists => {
                let listed: ListSessionsResult = serde_json::from_str(result.get()).unwrap_or_default();
                self.list(listed, &folder);
            }
            Pending::Leaves(Some(session)) => drop(self.sessions.remove(&session)),
            Pending::Leaves(None) | Pending::Prompts | Pending::Other => {}
        }
        true
    }

    fn list(&mut self, listed: ListSessionsResult, folder: &Path) {
        let is_listed = |known: &Known| known.opened.is_none();
        if self.sessions.values().filter(|known| is_listed(known)).count() >= MAX_LISTED {
            self.sessions.retain(|_, known| !is_listed(known));
        }
        for session in listed.sessions {
            self.sessions.entry(session.session_id).or_insert(Known {
                folder: folder.to_owned(),
                opened: None,
            });
        }
    }

    /// Records that a server is gone. Returns the answers to its requests.
    pub(super) fn gone(&mut self, folder: &Path, why: &str) -> Vec<Bytes> {
        if let Some(server) = self.servers.get_mut(folder) {
            server.queue = None;
        }
        let why = errors::failed(why.to_owned());
        let ids: HashSet<String> = self
            .pending
            .extract_if(|_, (of, _)| of == folder)
            .map(|(id, _)| id)
            .collect();
        self.changed.notify_waiters();
        ids.iter().map(|id| error(Some(id), &why)).collect()
    }

    /// Leaves every server: their tasks end.
    pub(super) fn leave(&mut self) {
        self.servers.clear();
    }

    /// Returns the signal that a request was answered.
    pub(super) fn changes(&self) -> Arc<Notify> {
        self.changed.clone()
    }

    /// Whether every request but prompts is answered.
    pub(super) fn is_settled(&self) -> bool {
        self.pending
            .values()
            .all(|(_, pending)| matches!(pending, Pending::Prompts))
    }
}
