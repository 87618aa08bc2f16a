//! The knowledge of a router: the servers it has joined, the sessions that are open there, the requests without an answer.
//! Plain data.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_acp_wire::{ListSessionsResult, NewSessionResult, method};
use bobbin_peer::ErrorObject;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc};

use super::merge::Merge;
use super::message::{Message, error, request, withdrawal};
use super::{MAX_LISTED, MAX_SERVERS, MAX_WAITING};
use crate::errors;

/// Prefix of the ids of the router's own requests.
const OWN: &str = "bobbin:";
/// Id of its `initialize`.
const HELLO: &str = "bobbin:initialize";
/// Prefix of the ids of its `session/resume`, before the session.
const RESUME: &str = "bobbin:resume:";
/// Prefix of the ids of its `session/list`, before a number.
const LIST: &str = "bobbin:list:";

/// A request without an answer.
#[derive(Debug)]
pub(super) enum Pending {
    /// It opens a session; a new one has no name yet.
    Opens {
        session: Option<String>,
        params: Option<String>,
    },
    /// It lists the sessions of one folder.
    Lists,
    /// It lists the sessions of several folders.
    Merges(Merge),
    /// It is the router's own, for one folder of the client's list with this id.
    Part(String),
    /// It runs a Turn.
    Prompts,
    /// It leaves a session.
    Leaves(String),
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
    /// It is to be joined; its messages wait in the queue.
    New(mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>),
}

/// A request of a server that the client has not answered.
#[derive(Debug)]
struct Asked {
    folder: PathBuf,
    /// The server's id of it, as JSON.
    theirs: String,
}

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The params of `initialize`.
    hello: Option<String>,
    /// The queues of the servers that are joined, by their folders.
    servers: HashMap<PathBuf, mpsc::Sender<Bytes>>,
    sessions: HashMap<String, Known>,
    pending: HashMap<String, (PathBuf, Pending)>,
    /// The servers' requests, by the ids that the client knows. No id is used again: a late answer would be taken for
    /// that of another request.
    asked: BTreeMap<u64, Asked>,
    next_asked: u64,
    next_list: u64,
    changed: Arc<Notify>,
}

impl Table {
    /// Records the client's `initialize`. Returns it for servers, and those that are joined.
    pub(super) fn greeted(&mut self, params: Option<String>) -> (Bytes, Vec<mpsc::Sender<Bytes>>) {
        self.hello = Some(params.unwrap_or_else(|| "{}".to_owned()));
        (self.hello(), self.servers.values().cloned().collect())
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

    /// Returns the way to the server of a folder. `asks` is the id and the purpose of a request, which is recorded.
    ///
    /// # Errors
    /// A request with this id has no answer yet, or there are too many servers.
    pub(super) fn pass(
        &mut self,
        folder: &Path,
        asks: Option<(&str, Pending)>,
    ) -> Result<Joining, ErrorObject> {
        let id = asks.as_ref().map(|(id, _)| (*id).to_owned());
        if let Some((id, pending)) = asks {
            self.ask(id, folder, pending)?;
        }
        self.join(folder).inspect_err(|_| {
            if let Some(id) = &id {
                self.answered(id);
            }
        })
    }

    fn join(&mut self, folder: &Path) -> Result<Joining, ErrorObject> {
        let joined = self.servers.get(folder).filter(|queue| !queue.is_closed());
        if let Some(queue) = joined {
            return Ok(Joining::Joined(queue.clone()));
        }
        if self.servers.len() >= MAX_SERVERS {
            return Err(errors::failed(format!(
                "Sessions are in {MAX_SERVERS} folders; start another agent for more."
            )));
        }
        let (queue, messages) = mpsc::channel(MAX_WAITING);
        self.servers.insert(folder.to_owned(), queue.clone());
        Ok(Joining::New(queue, messages))
    }

    /// Records a server's request, whose id is JSON. Returns its id for the client.
    pub(super) fn asked(&mut self, folder: &Path, theirs: &str) -> u64 {
        let id = self.next_asked;
        self.next_asked += 1;
        let (folder, theirs) = (folder.to_owned(), theirs.to_owned());
        self.asked.insert(id, Asked { folder, theirs });
        id
    }

    /// Forgets a request that its server withdraws. Returns its id for the client, if it has no answer yet.
    pub(super) fn withdrawn(&mut self, folder: &Path, theirs: &str) -> Option<u64> {
        let mut all = self.asked.iter();
        let is_it = |asked: &Asked| asked.folder == folder && asked.theirs == theirs;
        let id = all.find(|(_, asked)| is_it(asked)).map(|(id, _)| *id)?;
        self.asked.remove(&id);
        Some(id)
    }

    /// Forgets a server's request that the client answers. Returns the server's queue, and its own id.
    pub(super) fn answered_by_client(&mut self, id: u64) -> Option<(mpsc::Sender<Bytes>, String)> {
        let Asked { folder, theirs } = self.asked.remove(&id)?;
        Some((self.servers.get(&folder)?.clone(), theirs))
    }

    /// Returns the queue of the server that has a request.
    pub(super) fn server_of_request(&self, id: &str) -> Option<mpsc::Sender<Bytes>> {
        let (folder, _) = self.pending.get(id)?;
        self.servers.get(folder).cloned()
    }

    /// Returns the folder of a session.
    pub(super) fn folder_of(&self, session: &str) -> Option<PathBuf> {
        self.sessions.get(session).map(|known| known.folder.clone())
    }

    fn ask(&mut self, id: &str, folder: &Path, pending: Pending) -> Result<(), ErrorObject> {
        if self.pending.contains_key(id) {
            return Err(ErrorObject::new(
                bobbin_peer::code::INVALID_REQUEST,
                "A request with this id has no answer yet.",
            ));
        }
        self.pending.insert(id.to_owned(), (folder.to_owned(), pending));
        Ok(())
    }

    /// Returns the folders that the client works in: their servers are joined, or sessions are open there.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let known = self.sessions.values().filter(|known| known.opened.is_some());
        let known = known.map(|known| &known.folder);
        self.servers.keys().chain(known).cloned().collect()
    }

    /// Records a list that is made of this number of lists. Returns their ids, as JSON.
    ///
    /// # Errors
    /// A request with this id has no answer yet.
    pub(super) fn merge(&mut self, id: &str, count: usize) -> Result<Vec<String>, ErrorObject> {
        // It is of no folder.
        self.ask(id, Path::new(""), Pending::Merges(Merge::of(count)))?;
        let numbers = self.next_list..self.next_list + count as u64;
        self.next_list = numbers.end;
        Ok(numbers.map(|number| format!(r#""{LIST}{number}""#)).collect())
    }

    /// Records the answer of one folder for the list `id`. Returns the list's answer, if it was the last one.
    pub(super) fn merged(&mut self, id: &str, page: Result<ListSessionsResult, Value>) -> Option<Bytes> {
        let Some((_, Pending::Merges(merge))) = self.pending.get_mut(id) else {
            return None;
        };
        if !merge.add(page) {
            return None;
        }
        let (_, whole) = self.answered(id)?;
        match whole {
            Pending::Merges(merge) => Some(merge.answer(id)),
            _ => None,
        }
    }

    /// Forgets a request that is answered.
    fn answered(&mut self, id: &str) -> Option<(PathBuf, Pending)> {
        let answered = self.pending.remove(id);
        self.changed.notify_waiters();
        answered
    }

    /// Records a server's answer. Returns what the client gets.
    pub(super) fn note_answer(&mut self, id: &str, message: &Message<'_>, bytes: &Bytes) -> Option<Bytes> {
        let answered = self.answered(id);
        if let Ok(own) = serde_json::from_str::<String>(id)
            && own.starts_with(OWN)
        {
            if let Some(session) = own.strip_prefix(RESUME).filter(|_| message.error.is_some()) {
                tracing::info!(session, "a session was not resumed");
                self.sessions.remove(session);
            }
            let Some((folder, Pending::Part(list))) = answered else {
                return None;
            };
            let page = page(message);
            if let Ok(page) = &page {
                self.list(page, &folder);
            }
            return self.merged(&list, page);
        }
        if let (Some((folder, pending)), Some(result)) = (answered, message.result) {
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
                    if let Ok(page) = page(message) {
                        self.list(&page, &folder);
                    }
                }
                Pending::Leaves(session) => {
                    // Its folder stays known: it may be deleted after it was closed, or once more.
                    self.sessions.remove(&session);
                    self.place(session, &folder);
                }
                Pending::Merges(_) | Pending::Part(_) | Pending::Prompts | Pending::Other => {}
            }
        }
        Some(bytes.clone())
    }

    /// Records the folder of each session of a list.
    fn list(&mut self, listed: &ListSessionsResult, folder: &Path) {
        for session in &listed.sessions {
            self.place(session.session_id.clone(), folder);
        }
    }

    /// Records the folder of a session that is not open.
    fn place(&mut self, session: String, folder: &Path) {
        if self.sessions.contains_key(&session) {
            return;
        }
        let is_open = |known: &Known| known.opened.is_some();
        if self.sessions.values().filter(|known| !is_open(known)).count() >= MAX_LISTED {
            self.sessions.retain(|_, known| is_open(known));
        }
        let folder = folder.to_owned();
        self.sessions.insert(session, Known { folder, opened: None });
    }

    /// Records that a server is gone. Returns the messages for the client: its requests are withdrawn, and the client's are
    /// answered.
    pub(super) fn gone(&mut self, folder: &Path, why: &str) -> Vec<Bytes> {
        self.servers.remove(folder);
        let withdrawn = self.asked.extract_if(.., |_, asked| asked.folder == folder);
        let mut messages: Vec<Bytes> = withdrawn.map(|(id, _)| withdrawal(&id.to_string())).collect();
        let why = errors::failed(why.to_owned());
        let answered: Vec<_> = self.pending.extract_if(|_, (of, _)| of == folder).collect();
        for (id, (_, pending)) in answered {
            messages.extend(match pending {
                Pending::Part(list) => self.merged(&list, Err(json!(why))),
                _ => Some(error(Some(&id), &why)),
            });
        }
        self.changed.notify_waiters();
        messages
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

/// Returns the page of sessions that an answer has.
fn page(message: &Message<'_>) -> Result<ListSessionsResult, Value> {
    if let Some(why) = message.error {
        return Err(json!(why));
    }
    let result = message.result.map_or("{}", |result| result.get());
    Ok(serde_json::from_str(result).unwrap_or_default())
}
