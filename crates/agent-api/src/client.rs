//! Clients that work for a Thread: they run their own tools, read and write files as an editor, and run commands in the
//! editor's terminals (AppServer protocol 04 §7 and §8).
//!
//! A dialect implements [`ThreadClient`] for its connections; engines find them with [`ThreadClients`]. A client is bound to
//! a Thread in memory only, while it is connected. Each dialect bounds the number of Threads of a connection.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{Json, ThreadId, ToolAnswer, TurnId};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::upkeep::Upkeep;

/// Most bytes of a client tool's answer that a model gets.
pub const MAX_ANSWER_BYTES: usize = 128 << 10;

/// A tool call for a client.
#[derive(Debug, Clone)]
pub struct ClientToolCall {
    /// The Thread.
    pub thread: ThreadId,
    /// The Turn.
    pub turn: TurnId,
    /// The call.
    pub call_id: String,
    /// The tool's namespace.
    pub namespace: Option<String>,
    /// The tool's own name.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Json,
}

/// Reason why a client did not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientFailure {
    /// It is no longer connected. It may have done the work.
    #[error("the client is not connected any more")]
    Gone,
    /// It refused; the text is its own.
    #[error("{0}")]
    Refused(String),
    /// It forbids the work, so the server must not do it either; the text is its own.
    #[error("{0}")]
    Forbidden(String),
    /// Its answer is invalid; the text is the reason.
    #[error("the client's answer cannot be used: {0}")]
    Unusable(String),
    /// It has not answered in time. It may still do the work.
    #[error("the client has not answered within {0:?}")]
    Late(Duration),
}

/// A client's answer.
pub type Answered<T> = Result<T, ClientFailure>;

/// A connected client that works for Threads. Every answer has a time limit.
pub trait ThreadClient: Send + Sync + 'static {
    /// Whether it is connected.
    fn is_there(&self) -> bool;

    /// Runs a tool at the client.
    fn run_tool(&self, call: ClientToolCall) -> BoxFuture<'_, Answered<ToolAnswer>>;

    /// Returns its editor, if it has declared one.
    fn editor(&self) -> Option<&dyn Editor>;
}

/// Operations of an editor that the server may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EditorCan {
    /// Read text files, unsaved changes included.
    pub read: bool,
    /// Write text files.
    pub write: bool,
    /// Run commands in terminals.
    pub terminals: bool,
}

/// The editor of a client.
pub trait Editor: Send + Sync {
    /// Returns the operations that it has declared.
    fn can(&self) -> EditorCan;

    /// Reads a text file: `limit` lines from the line `first`, counted from 1.
    fn read<'a>(
        &'a self,
        thread: &'a ThreadId,
        path: &'a str,
        first: Option<u64>,
        limit: Option<u64>,
    ) -> BoxFuture<'a, Answered<String>>;

    /// Writes a whole text file.
    fn write<'a>(
        &'a self,
        thread: &'a ThreadId,
        path: &'a str,
        content: &'a str,
    ) -> BoxFuture<'a, Answered<()>>;

    /// Starts a command in a terminal; returns the terminal's id.
    fn start<'a>(
        &'a self,
        thread: &'a ThreadId,
        command: &'a str,
        directory: &'a str,
    ) -> BoxFuture<'a, Answered<String>>;

    /// Waits up to `limit` for the end of a terminal's command. Returns its exit code; `None` if it runs on or the code is
    /// unknown.
    fn wait<'a>(
        &'a self,
        thread: &'a ThreadId,
        terminal: &'a str,
        limit: Duration,
    ) -> BoxFuture<'a, Answered<Option<i64>>>;

    /// Returns a terminal's output so far, and its command's exit code after its end.
    fn output<'a>(
        &'a self,
        thread: &'a ThreadId,
        terminal: &'a str,
    ) -> BoxFuture<'a, Answered<(String, Option<i64>)>>;

    /// Ends a terminal's command.
    fn kill<'a>(&'a self, thread: &'a ThreadId, terminal: &'a str) -> BoxFuture<'a, Answered<()>>;

    /// Releases a terminal.
    fn release<'a>(&'a self, thread: &'a ThreadId, terminal: &'a str) -> BoxFuture<'a, Answered<()>>;
}

/// A client's work for a Thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// It runs the tools that clients declared.
    Tools,
    /// It is the Thread's editor.
    Editor,
}

/// The client of each Thread and service.
#[derive(Default)]
pub struct Clients {
    bound: Mutex<HashMap<(ThreadId, Service), Bound>>,
    upkeep: Upkeep,
}

#[derive(Clone)]
struct Bound {
    client: Arc<dyn ThreadClient>,
    /// Whether the client itself declared what it serves.
    brought: bool,
}

impl Clients {
    /// Binds a client to a service of a Thread, in place of any other client. A client that is gone is not bound.
    pub fn bind(&self, thread: &ThreadId, service: Service, client: &Arc<dyn ThreadClient>) {
        self.note(thread, service, client, true);
    }

    /// Like [`Clients::bind`], but does not replace a connected client that declared its service itself.
    pub fn take_over(&self, thread: &ThreadId, service: Service, client: &Arc<dyn ThreadClient>) {
        self.note(thread, service, client, false);
    }

    fn note(&self, thread: &ThreadId, service: Service, client: &Arc<dyn ThreadClient>, brought: bool) {
        let mut bound = self.bound.lock();
        let place = (thread.clone(), service);
        let stays = |known: &Bound| known.brought && known.client.is_there();
        if !brought && bound.get(&place).is_some_and(stays) {
            return;
        }
        // Checked under the lock, so that `leave` removes a client that goes now.
        if client.is_there() {
            let client = client.clone();
            bound.insert(place, Bound { client, brought });
        }
    }

    /// Ends all services of a client for a Thread.
    pub fn unbind(&self, thread: &ThreadId, client: &Arc<dyn ThreadClient>) {
        let mut bound = self.bound.lock();
        for service in [Service::Tools, Service::Editor] {
            let place = (thread.clone(), service);
            if bound
                .get(&place)
                .is_some_and(|bound| is_same(&bound.client, client))
            {
                bound.remove(&place);
            }
        }
    }

    /// Removes a client that is gone.
    pub fn leave(&self, client: &Arc<dyn ThreadClient>) {
        self.bound
            .lock()
            .retain(|_, bound| !is_same(&bound.client, client));
    }

    /// Ends the work that [`ThreadClients::spawn`] started.
    pub async fn stop(&self) {
        self.upkeep.stop().await;
    }

    /// Returns the clients of a Thread.
    pub fn of(self: &Arc<Self>, thread: &ThreadId) -> ThreadClients {
        ThreadClients(Who::Bound(self.clone(), thread.clone()))
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.bound.lock().keys()).finish()
    }
}

fn is_same(one: &Arc<dyn ThreadClient>, other: &Arc<dyn ThreadClient>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// The clients that serve one Thread now. Cheap to clone; the default has none.
#[derive(Debug, Clone, Default)]
pub struct ThreadClients(Who);

#[derive(Clone, Default)]
enum Who {
    #[default]
    Nobody,
    /// The clients that are bound to the Thread at the moment of use.
    Bound(Arc<Clients>, ThreadId),
    /// This client for tools, and no other.
    One(Arc<dyn ThreadClient>, ThreadId),
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("Nobody"),
            Self::Bound(clients, thread) => f.debug_tuple("Bound").field(clients).field(thread).finish(),
            Self::One(_, thread) => f.debug_tuple("One").field(thread).finish_non_exhaustive(),
        }
    }
}

impl ThreadClients {
    /// Returns a single client that runs tools for a Thread. No other client replaces it when it is gone.
    pub fn only(client: Arc<dyn ThreadClient>, thread: ThreadId) -> Self {
        Self(Who::One(client, thread))
    }

    /// Returns the Thread, if there is one.
    pub fn thread(&self) -> Option<&ThreadId> {
        match &self.0 {
            Who::Nobody => None,
            Who::Bound(_, thread) | Who::One(_, thread) => Some(thread),
        }
    }

    /// Returns the connected client of a service, if there is one.
    pub fn who(&self, service: Service) -> Option<Arc<dyn ThreadClient>> {
        let client = match &self.0 {
            Who::Bound(clients, thread) => {
                let bound = clients.bound.lock().get(&(thread.clone(), service)).cloned();
                bound.map(|bound| bound.client)
            }
            Who::One(client, _) => (service == Service::Tools).then(|| client.clone()),
            Who::Nobody => None,
        };
        client.filter(|client| client.is_there())
    }

    /// Runs work with a client that may outlive its call; the work must limit its own time. Returns false if the work was not
    /// started, since too much work runs.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        match &self.0 {
            Who::Bound(clients, _) => clients.upkeep.spawn(work),
            Who::One(..) | Who::Nobody => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::FutureExt as _;

    use super::*;

    #[derive(Default)]
    struct Far {
        gone: AtomicBool,
    }

    impl ThreadClient for Far {
        fn is_there(&self) -> bool {
            !self.gone.load(Ordering::Relaxed)
        }

        fn run_tool(&self, _: ClientToolCall) -> BoxFuture<'_, Answered<ToolAnswer>> {
            std::future::ready(Err(ClientFailure::Gone)).boxed()
        }

        fn editor(&self) -> Option<&dyn Editor> {
            None
        }
    }

    fn is(found: Option<&Arc<dyn ThreadClient>>, client: &Arc<dyn ThreadClient>) -> bool {
        found.is_some_and(|found| is_same(found, client))
    }

    #[test]
    fn the_last_who_came_serves_until_it_leaves() {
        let clients = Arc::new(Clients::default());
        let (one, two): (Arc<dyn ThreadClient>, Arc<dyn ThreadClient>) =
            (Arc::new(Far::default()), Arc::new(Far::default()));
        let (thread, other) = (ThreadId::new("t"), ThreadId::new("u"));
        let of = clients.of(&thread);
        assert!(of.who(Service::Tools).is_none());
        clients.bind(&thread, Service::Tools, &one);
        clients.bind(&other, Service::Tools, &one);
        clients.bind(&thread, Service::Tools, &two);
        clients.bind(&thread, Service::Editor, &one);
        assert!(is(of.who(Service::Tools).as_ref(), &two));
        assert!(is(of.who(Service::Editor).as_ref(), &one));
        clients.leave(&two);
        assert!(of.who(Service::Tools).is_none());
        clients.unbind(&thread, &one);
        assert!(of.who(Service::Editor).is_none());
        assert!(is(clients.of(&other).who(Service::Tools).as_ref(), &one));
    }

    #[test]
    fn who_brought_tools_along_keeps_them_from_those_that_did_not() {
        let clients = Arc::new(Clients::default());
        let (owner, viewer) = (Arc::new(Far::default()), Arc::new(Far::default()));
        let (one, two): (Arc<dyn ThreadClient>, Arc<dyn ThreadClient>) = (owner.clone(), viewer);
        let thread = ThreadId::new("t");
        let serves = |client| is(clients.of(&thread).who(Service::Tools).as_ref(), client);
        clients.bind(&thread, Service::Tools, &one);
        clients.take_over(&thread, Service::Tools, &two);
        assert!(serves(&one));
        // The owner may have returned by another connection, which may be this one.
        owner.gone.store(true, Ordering::Relaxed);
        clients.take_over(&thread, Service::Tools, &two);
        assert!(serves(&two));
        owner.gone.store(false, Ordering::Relaxed);
        clients.take_over(&thread, Service::Tools, &one);
        assert!(serves(&one), "of those that only resumed, the last serves");
        clients.bind(&thread, Service::Tools, &two);
        assert!(serves(&two));
    }

    #[test]
    fn one_that_is_gone_is_neither_noted_nor_found() {
        let clients = Arc::new(Clients::default());
        let far = Arc::new(Far::default());
        let client: Arc<dyn ThreadClient> = far.clone();
        let thread = ThreadId::new("t");
        clients.bind(&thread, Service::Tools, &client);
        far.gone.store(true, Ordering::Relaxed);
        assert!(clients.of(&thread).who(Service::Tools).is_none());
        clients.leave(&client);
        clients.bind(&thread, Service::Tools, &client);
        assert_eq!(format!("{clients:?}"), "{}");
    }
}
