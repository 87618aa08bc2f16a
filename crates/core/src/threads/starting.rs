//! Starts Threads: of users, of agents and with a past, each once for a named request.

use std::sync::Arc;

use bobbin_agent_api::Once;
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{DynamicTool, Event, Refusal, Seq, SubAgentSource, ThreadId, ThreadSource, UnixMillis};
use tokio::sync::OnceCell;

use super::Threads;
use crate::CoreError;
use crate::answer::Snapshot;
use crate::command::Reply;
use crate::owner::{Beginning, Owner, Past};

/// Returns the event that declares tools, if there are any.
pub(crate) fn declared(tools: Arc<[DynamicTool]>, at: UnixMillis) -> Vec<(Event, UnixMillis)> {
    if tools.is_empty() {
        return Vec::new();
    }
    vec![(Event::ToolsDeclared { tools }, at)]
}

/// Source and start of a new Thread.
struct Origin {
    source: ThreadSource,
    beginning: Beginning,
}

impl Origin {
    fn user(past: Past, reply: Reply<Snapshot>) -> Self {
        Self {
            source: ThreadSource::User,
            beginning: Beginning {
                past,
                turn: None,
                reply,
            },
        }
    }
}

impl Threads {
    /// Looks up the effect of a named request: about a Thread, or, if `about` is `None`, the start of a Thread.
    ///
    /// # Errors
    /// [`Refusal::RequestIdReused`], [`CoreError::Store`].
    pub async fn carried_out(
        &self,
        about: Option<&ThreadId>,
        once: &Once,
    ) -> Result<Option<ThreadId>, CoreError> {
        match self.store.request(about, &once.id).await? {
            None => Ok(None),
            Some(known) if known.body == once.body => Ok(Some(known.thread)),
            Some(_) => Err(Refusal::RequestIdReused(once.id.clone()).into()),
        }
    }

    /// Starts a Thread, unless the same named request did that before; then answers with that Thread.
    pub async fn start_thread_once(self: &Arc<Self>, request: NewThread, once: Once, reply: Reply<Snapshot>) {
        self.start_thread_with(request, Arc::default(), Some(once), reply)
            .await;
    }

    /// Starts a Thread with tools that its client declares. With `once` like [`Threads::start_thread_once`].
    pub async fn start_thread_with(
        self: &Arc<Self>,
        request: NewThread,
        tools: Arc<[DynamicTool]>,
        once: Option<Once>,
        reply: Reply<Snapshot>,
    ) {
        let Some(once) = once else {
            let past = declared(tools, self.clock.now());
            return self.start(request, None, Origin::user(past, reply));
        };
        if !self.starting.lock().insert(once.id.clone()) {
            return reply(Err(CoreError::Busy));
        }
        let (threads, id) = (self.clone(), once.id.clone());
        let reply: Reply<Snapshot> = Box::new(move |started| {
            threads.starting.lock().remove(&id);
            reply(started);
        });
        let known = async {
            let Some(thread) = self.carried_out(None, &once).await? else {
                return Ok(None);
            };
            let handle = self.thread(&thread).await?;
            self.snapshot(&handle).await.map(Some)
        };
        match known.await {
            Ok(None) => {
                let past = declared(tools, self.clock.now());
                self.start(request, Some(once), Origin::user(past, reply));
            }
            Ok(Some(snapshot)) => reply(Ok(snapshot)),
            Err(error) => reply(Err(error)),
        }
    }

    /// Starts a Thread. Calls `reply` before any client can see `thread/started`.
    pub fn start_thread(self: &Arc<Self>, request: NewThread, reply: Reply<Snapshot>) {
        self.start(request, None, Origin::user(Vec::new(), reply));
    }

    /// Starts a Thread and its first Turn, both or neither.
    ///
    /// # Errors
    /// As [`Threads::start_thread`].
    pub async fn start_thread_with_turn(
        self: &Arc<Self>,
        request: NewThread,
        turn: StartTurn,
    ) -> Result<Snapshot, CoreError> {
        self.start_both(request, ThreadSource::User, turn).await
    }

    /// Starts a subagent's Thread with its first Turn.
    ///
    /// # Errors
    /// As [`Threads::start_thread`].
    pub async fn start_child(
        self: &Arc<Self>,
        request: NewThread,
        source: SubAgentSource,
        turn: StartTurn,
    ) -> Result<Snapshot, CoreError> {
        let source = ThreadSource::SubAgent {
            sub_agent: Box::new(source),
        };
        self.start_both(request, source, turn).await
    }

    async fn start_both(
        self: &Arc<Self>,
        request: NewThread,
        source: ThreadSource,
        turn: StartTurn,
    ) -> Result<Snapshot, CoreError> {
        let (done, started) = tokio::sync::oneshot::channel();
        let beginning = Beginning {
            past: Vec::new(),
            turn: Some(turn),
            // The caller may have left; the Thread exists anyway.
            reply: Box::new(move |result| drop(done.send(result))),
        };
        self.start(request, None, Origin { source, beginning });
        started.await.unwrap_or(Err(CoreError::Stopping))
    }

    /// Starts a Thread with a past.
    pub(crate) async fn start_with(
        self: &Arc<Self>,
        request: NewThread,
        past: Vec<(Event, UnixMillis)>,
    ) -> Result<Snapshot, CoreError> {
        let (done, started) = tokio::sync::oneshot::channel();
        // The caller may have left; the Thread exists anyway.
        let reply = Box::new(move |result| drop(done.send(result)));
        self.start(request, None, Origin::user(past, reply));
        started.await.unwrap_or(Err(CoreError::Stopping))
    }

    fn start(self: &Arc<Self>, mut request: NewThread, once: Option<Once>, from: Origin) {
        let Origin {
            source,
            mut beginning,
        } = from;
        let reply = beginning.reply;
        if self.stopping.is_cancelled() {
            return reply(Err(CoreError::Stopping));
        }
        let workspace = self.settings.workspace.to_string_lossy();
        let given = request
            .identity
            .workspace_path
            .take()
            .filter(|path| !path.trim().is_empty());
        request.identity.workspace_path = given.map(|path| self.normal_path(&path));
        let now = self.clock.now();
        let started = match request.decide_from(source, &workspace, now) {
            Ok(started) => started,
            Err(refusal) => return reply(Err(refusal.into())),
        };
        let Event::ThreadStarted { thread } = &started else {
            return;
        };
        let state = bobbin_model::ThreadState::new((**thread).clone());
        let id = state.header.id.clone();
        let (mut owner, handle) = Owner::new(self.clone(), state, Seq(0));
        owner.once = once;
        self.live
            .lock()
            .insert(id, Arc::new(OnceCell::new_with(Some(handle))));
        beginning.past.insert(0, (started, now));
        self.start_owner(owner, Some(Beginning { reply, ..beginning }));
    }

    /// Returns a new Thread id.
    pub fn fresh_thread_id(&self) -> ThreadId {
        self.ids.thread(self.clock.now())
    }
}
