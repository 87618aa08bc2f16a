//! The clients that can show windows and dialogs, the order in which they are asked, and the open windows.
//!
//! One client gets a request at a time: first the client that ran the extension's command, then the client that was active
//! last in the Thread, then any other. If a client leaves before it answers, the next gets the request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bobbin_model::ThreadId;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ScreenError;
use crate::spec::ExtensionId;

/// Most closed windows whose ids are stored.
const MAX_CLOSED: usize = 1000;

/// Capabilities of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Shows {
    /// Windows with a page.
    pub windows: bool,
    /// Messages and questions.
    pub dialogs: bool,
    /// Choices of files and directories on the server's machine.
    pub files: bool,
}

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Window,
    Dialog,
    Files,
}

impl Shows {
    fn can(self, kind: Kind) -> bool {
        match kind {
            Kind::Window => self.windows,
            Kind::Dialog => self.dialogs,
            Kind::Files => self.files,
        }
    }
}

/// A client that shows windows and dialogs.
pub trait Screen: Send + Sync + 'static {
    /// Shows a window or dialog and waits for the user. Dropping the future withdraws it.
    fn request(&self, method: &'static str, params: Value) -> BoxFuture<'static, Result<Value, ScreenError>>;

    /// Sends a notification. Must not block.
    fn notify(&self, method: &'static str, params: Value);
}

/// Id of a client of this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub(crate) u64);

/// A window that was closed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClosedWindow {
    pub(crate) id: String,
    pub(crate) extension: ExtensionId,
    pub(crate) client: ClientId,
}

/// The clients and their windows.
#[derive(Default)]
pub(crate) struct Screens(Mutex<Table>);

#[derive(Default)]
struct Table {
    clients: BTreeMap<ClientId, Client>,
    /// The last number given to a client or to an activity.
    last: u64,
    windows: BTreeMap<String, Window>,
    /// Closed windows, in the order of closing.
    closed: Vec<String>,
}

struct Client {
    screen: Arc<dyn Screen>,
    shows: Shows,
    /// The number of its last activity in each Thread.
    active: BTreeMap<ThreadId, u64>,
}

struct Window {
    extension: ExtensionId,
    /// `None` if the window is closed.
    client: Option<ClientId>,
}

impl Screens {
    pub(crate) fn attach(&self, screen: Arc<dyn Screen>, shows: Shows) -> ClientId {
        let mut table = self.0.lock();
        table.last += 1;
        let id = ClientId(table.last);
        let client = Client {
            screen,
            shows,
            active: BTreeMap::new(),
        };
        table.clients.insert(id, client);
        id
    }

    /// Removes a client. Returns its windows, which are closed.
    pub(crate) fn detach(&self, client: ClientId) -> Vec<ClosedWindow> {
        let mut table = self.0.lock();
        table.clients.remove(&client);
        table.close(|window| window.client == Some(client))
    }

    /// Records an activity of a client in a Thread.
    pub(crate) fn active(&self, client: ClientId, thread: &ThreadId) {
        let mut table = self.0.lock();
        table.last += 1;
        let now = table.last;
        if let Some(client) = table.clients.get_mut(&client) {
            client.active.insert(thread.clone(), now);
            // Only a bound: a client uses few Threads.
            if client.active.len() > MAX_CLOSED {
                client.active.pop_first();
            }
        }
    }

    /// Asks one client after the other until one answers. Calls `asked` before each request.
    ///
    /// # Errors
    /// [`ScreenError`].
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the question.
    pub(crate) async fn ask(
        &self,
        kind: Kind,
        first: Option<ClientId>,
        thread: Option<&ThreadId>,
        method: &'static str,
        params: &Value,
        asked: impl Fn(ClientId) + Send + Sync,
    ) -> Result<Value, ScreenError> {
        let mut left = BTreeSet::new();
        loop {
            let next = self.0.lock().next(kind, first, thread, &left);
            let (id, screen) = next.ok_or(ScreenError::Gone)?;
            asked(id);
            match screen.request(method, params.clone()).await {
                Err(ScreenError::Gone) => left.insert(id),
                answer => return answer,
            };
        }
    }

    /// Records the client that is asked to show a window.
    pub(crate) fn open_window(&self, id: &str, extension: &ExtensionId, client: ClientId) {
        let window = Window {
            extension: extension.clone(),
            client: Some(client),
        };
        self.0.lock().windows.insert(id.to_owned(), window);
    }

    /// Removes a window that no client showed.
    pub(crate) fn not_opened(&self, id: &str) {
        self.0.lock().windows.remove(id);
    }

    /// Returns whether the extension has opened this window, even if it is closed now.
    pub(crate) fn is_window_of(&self, id: &str, extension: &ExtensionId) -> bool {
        let table = self.0.lock();
        table
            .windows
            .get(id)
            .is_some_and(|window| window.extension == *extension)
    }

    /// Closes an open window; with `by`, only if that client shows it.
    pub(crate) fn close_window(&self, id: &str, by: Option<ClientId>) -> Option<ClosedWindow> {
        let mut table = self.0.lock();
        let window = table.windows.get_mut(id)?;
        if by.is_some() && window.client != by {
            return None;
        }
        let client = window.client.take()?;
        let extension = window.extension.clone();
        let id = id.to_owned();
        table.remember(id.clone());
        Some(ClosedWindow {
            id,
            extension,
            client,
        })
    }

    /// Closes the windows of an extension.
    pub(crate) fn close_windows_of(&self, extension: &ExtensionId) -> Vec<ClosedWindow> {
        self.0.lock().close(|window| window.extension == *extension)
    }

    /// Notifies a client.
    pub(crate) fn notify(&self, client: ClientId, method: &'static str, params: Value) {
        let screen = self
            .0
            .lock()
            .clients
            .get(&client)
            .map(|client| client.screen.clone());
        if let Some(screen) = screen {
            screen.notify(method, params);
        }
    }
}

impl Table {
    /// Returns the client to ask next: the best that can show this kind and is not in `left`.
    fn next(
        &self,
        kind: Kind,
        first: Option<ClientId>,
        thread: Option<&ThreadId>,
        left: &BTreeSet<ClientId>,
    ) -> Option<(ClientId, Arc<dyn Screen>)> {
        let able = self
            .clients
            .iter()
            .filter(|(id, client)| client.shows.can(kind) && !left.contains(id));
        let active = |client: &Client| thread.and_then(|thread| client.active.get(thread)).copied();
        let best = able.max_by_key(|(id, client)| (Some(**id) == first, active(client), **id));
        best.map(|(id, client)| (*id, client.screen.clone()))
    }

    fn close(&mut self, which: impl Fn(&Window) -> bool) -> Vec<ClosedWindow> {
        let mut closed = Vec::new();
        for (id, window) in &mut self.windows {
            if which(window)
                && let Some(client) = window.client.take()
            {
                closed.push(ClosedWindow {
                    id: id.clone(),
                    extension: window.extension.clone(),
                    client,
                });
            }
        }
        for window in &closed {
            self.remember(window.id.clone());
        }
        closed
    }

    fn remember(&mut self, closed: String) {
        self.closed.push(closed);
        if self.closed.len() > MAX_CLOSED {
            let oldest = self.closed.remove(0);
            self.windows.remove(&oldest);
        }
    }
}
