//! The workspace's Threads: who is live, loading, unloading, starting, stopping.
//!
//! Owns the map of live Threads and joins every owner task. The map's mutex is held for look-ups only;
//! a Thread that several clients ask for at once is loaded once. Memory follows live Threads.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{
    ApprovalPolicy, DynamicTool, Event, Refusal, Scope, Seq, Spent, SubAgentSource, ThreadId, ThreadSource,
    Turn, TurnId, UnixMillis,
};
use bobbin_store::step::{Step, reached};
use bobbin_store::{ListFilter, SearchFilter, SearchPage, Store, StoreStats, ThreadSummary};
use parking_lot::Mutex;
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::Snapshot;
use crate::client::Clients;
use crate::command::Reply;
use crate::engine::Engine;
use crate::handle::Shared;
use crate::owner::{Beginning, Owner, Past, weight_of_turn};
use crate::question::Questions;
use crate::{
    Clock, Command, CoreError, Frame, FrameBody, Ids, Log, Notice, Once, Settings, ThreadHandle, View,
};

/// Returns the event that says what tools there are, if there are any.
fn declared(tools: Arc<[DynamicTool]>, at: UnixMillis) -> Vec<(Event, UnixMillis)> {
    if tools.is_empty() {
        return Vec::new();
    }
    vec![(Event::ToolsDeclared { tools }, at)]
}

/// Where a new Thread comes from, and how it begins.
struct Origin {
    source: ThreadSource,
    beginning: Beginning,
}

impl Origin {
    fn person(past: Past, reply: Reply<Snapshot>) -> Self {
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

type Cell = Arc<OnceCell<Arc<ThreadHandle>>>;

/// Pause before a Thread that could not be loaded is tried again, the first time and at most.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_mins(1);
/// Live Threads beyond which those that nobody uses go soon (each costs some 20 KB, measured).
const MANY_THREADS: usize = 256;
/// How soon.
const UNLOAD_SOON: Duration = Duration::from_millis(20);
/// Turns read at once when a Thread is shown.
const TURN_PAGE: u32 = 16;

/// The core of one workspace.
pub struct Hub {
    pub(crate) settings: Settings,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) stopping: CancellationToken,
    ended: CancellationToken,
    live: Mutex<HashMap<ThreadId, Cell>>,
    everyone: Arc<Log<Arc<Frame>>>,
    owners: TaskTracker,
    /// Number of the newest owner of any Thread.
    last_owner: AtomicU64,
    /// Names of the Threads being started; at most what clients have in flight.
    starting: Mutex<HashSet<String>>,
    /// Clients that do things for Threads.
    clients: Arc<Clients>,
    pub(crate) questions: Questions,
    /// Room for subagents at work.
    pub(crate) sub_agents: Arc<Semaphore>,
    /// Approvals that are open in live subagents.
    pub(crate) asked_below: Arc<AtomicUsize>,
}

/// Figures of the core, for `server/stats`.
#[derive(Debug, Clone)]
pub struct HubStats {
    /// Threads in memory.
    pub live_threads: usize,
    /// Entries in all live logs.
    pub log_entries: usize,
    /// Bytes in them.
    pub log_bytes: usize,
    /// Readers watching live Threads.
    pub watchers: usize,
    /// The store's own.
    pub store: StoreStats,
}

impl Hub {
    /// Makes the core of a workspace. Call [`Hub::recover`] before the first client is let in.
    pub fn new(
        settings: Settings,
        store: Arc<dyn Store>,
        engine: Arc<dyn Engine>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Arc<Self> {
        let everyone = Arc::new(Log::new(Seq(1), settings.log));
        let sub_agents = Arc::new(Semaphore::new(settings.sub_agents.in_workspace));
        Arc::new(Self {
            settings,
            store,
            engine,
            clock,
            ids,
            stopping: CancellationToken::new(),
            ended: CancellationToken::new(),
            live: Mutex::default(),
            everyone,
            owners: TaskTracker::new(),
            last_owner: AtomicU64::new(0),
            starting: Mutex::default(),
            clients: Arc::default(),
            questions: Questions::default(),
            sub_agents,
            asked_below: Arc::default(),
        })
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the clients that do things for Threads.
    pub fn clients(&self) -> &Arc<Clients> {
        &self.clients
    }

    /// Returns the clock.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Returns a path as Threads of this workspace carry it: symbolic links resolved where it exists, so
    /// that one directory has one name.
    pub fn normal_path(&self, path: &str) -> String {
        std::fs::canonicalize(path)
            .map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
    }

    /// As [`Hub::normal_path`], where the disk may take its time.
    pub async fn normal_path_in_time(self: &Arc<Self>, path: String) -> String {
        let (hub, given) = (self.clone(), path.clone());
        let normal = tokio::task::spawn_blocking(move || hub.normal_path(&path));
        normal.await.unwrap_or(given)
    }

    /// Returns the log of what concerns every client; its numbers live as long as the process.
    pub fn everyone(&self) -> &Arc<Log<Arc<Frame>>> {
        &self.everyone
    }

    /// Tells every client something that belongs to no Thread.
    pub fn announce(&self, notice: Notice) {
        let (none, weight) = (ThreadId::new(""), notice.weight());
        let body = FrameBody::Notice(notice);
        let frame = Arc::new(Frame::new(
            none,
            Seq(0),
            self.clock.now(),
            body,
            View::None,
            weight,
        ));
        self.everyone.append(|_| frame);
        self.everyone.show(self.everyone.appended());
    }

    /// Takes up every Turn that was open when the last process ended. Returns how many.
    ///
    /// # Errors
    /// The store could not read. One damaged Thread stops nothing: it is logged and left as it is.
    pub async fn recover(self: &Arc<Self>) -> Result<usize, CoreError> {
        let open = self.store.threads_with_open_turns().await?;
        let count = open.len();
        reached(Step::Recovering);
        for id in open {
            if let Err(error) = self.thread(&id).await {
                tracing::error!(thread = %id, %error, "cannot take up an open turn");
                self.take_up_later(id);
            }
        }
        Ok(count)
    }

    /// Tries again and again, ever more seldom, to load a Thread whose Turn is open and cannot be taken up
    /// now. Ends with the server.
    pub(crate) fn take_up_later(self: &Arc<Self>, id: ThreadId) {
        let hub = self.clone();
        self.owners.spawn(async move {
            let mut pause = FIRST_RETRY;
            loop {
                tokio::select! {
                    () = hub.stopping.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
                match hub.thread(&id).await {
                    Ok(_) | Err(CoreError::Refused(_) | CoreError::Stopping) => return,
                    Err(error) => tracing::error!(thread = %id, %error, "cannot take up an open turn"),
                }
                pause = (pause * 2).min(LAST_RETRY);
            }
        });
    }

    /// Returns how long a Thread that nobody uses stays in memory: not long when there are many.
    pub(crate) fn unload_after(&self) -> Duration {
        let many = self.live.lock().len() > MANY_THREADS;
        if many {
            self.settings.unload_after.min(UNLOAD_SOON)
        } else {
            self.settings.unload_after
        }
    }

    pub(crate) fn next_owner(&self) -> u64 {
        self.last_owner.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Finds a live Thread or loads it.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotFound`], [`CoreError::Store`], [`CoreError::Stopping`].
    pub async fn thread(self: &Arc<Self>, id: &ThreadId) -> Result<Arc<ThreadHandle>, CoreError> {
        loop {
            if self.stopping.is_cancelled() {
                return Err(CoreError::Stopping);
            }
            let cell = self.live.lock().entry(id.clone()).or_default().clone();
            let loaded = cell.get_or_try_init(|| self.load(id)).await.cloned();
            match loaded {
                // An owner that has just ended is still in the map for a moment.
                Ok(handle) if handle.ended().is_some() => self.forget(id, &cell),
                Ok(handle) => return Ok(handle),
                Err(error) => {
                    self.forget_unloaded(id, &cell);
                    return Err(error);
                }
            }
        }
    }

    async fn load(self: &Arc<Self>, id: &ThreadId) -> Result<Arc<ThreadHandle>, CoreError> {
        let loaded = self
            .store
            .load(id)
            .await?
            .ok_or_else(|| CoreError::from(Refusal::ThreadNotFound(id.clone())))?;
        let (owner, handle) = Owner::new(self.clone(), loaded.state, loaded.head_seq);
        self.owners.spawn(owner.run(None));
        Ok(handle)
    }

    /// Looks up what a named request did: about a Thread, or (`None`) making one.
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

    /// Starts a Thread unless that was done under this name before; then answers with that Thread.
    pub async fn start_thread_once(self: &Arc<Self>, wish: NewThread, once: Once, reply: Reply<Snapshot>) {
        self.start_thread_with(wish, Arc::default(), Some(once), reply)
            .await;
    }

    /// Starts a Thread with tools that its client brings along. With a name as [`Hub::start_thread_once`].
    pub async fn start_thread_with(
        self: &Arc<Self>,
        wish: NewThread,
        tools: Arc<[DynamicTool]>,
        once: Option<Once>,
        reply: Reply<Snapshot>,
    ) {
        let Some(once) = once else {
            let past = declared(tools, self.clock.now());
            return self.start(wish, None, Origin::person(past, reply));
        };
        if !self.starting.lock().insert(once.id.clone()) {
            return reply(Err(CoreError::Busy));
        }
        let (hub, id) = (self.clone(), once.id.clone());
        let reply: Reply<Snapshot> = Box::new(move |started| {
            hub.starting.lock().remove(&id);
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
                self.start(wish, Some(once), Origin::person(past, reply));
            }
            Ok(Some(snapshot)) => reply(Ok(snapshot)),
            Err(error) => reply(Err(error)),
        }
    }

    /// Starts a Thread. The reply is called before anybody can see `thread/started`.
    pub fn start_thread(self: &Arc<Self>, wish: NewThread, reply: Reply<Snapshot>) {
        self.start(wish, None, Origin::person(Vec::new(), reply));
    }

    /// Starts a subagent's Thread, its first Turn with it.
    pub(crate) async fn start_child(
        self: &Arc<Self>,
        wish: NewThread,
        source: SubAgentSource,
        turn: StartTurn,
    ) -> Result<Snapshot, CoreError> {
        let (done, started) = tokio::sync::oneshot::channel();
        let beginning = Beginning {
            past: Vec::new(),
            turn: Some(turn),
            // Nobody waits any more: the Thread is there all the same.
            reply: Box::new(move |result| drop(done.send(result))),
        };
        let source = ThreadSource::SubAgent {
            sub_agent: Box::new(source),
        };
        self.start(wish, None, Origin { source, beginning });
        started.await.unwrap_or(Err(CoreError::Stopping))
    }

    /// Starts a Thread that has a past.
    pub(crate) async fn start_with(
        self: &Arc<Self>,
        wish: NewThread,
        past: Vec<(Event, UnixMillis)>,
    ) -> Result<Snapshot, CoreError> {
        let (done, started) = tokio::sync::oneshot::channel();
        // Nobody waits any more: the Thread is there all the same.
        let reply = Box::new(move |result| drop(done.send(result)));
        self.start(wish, None, Origin::person(past, reply));
        started.await.unwrap_or(Err(CoreError::Stopping))
    }

    fn start(self: &Arc<Self>, mut wish: NewThread, once: Option<Once>, from: Origin) {
        let Origin {
            source,
            mut beginning,
        } = from;
        let reply = beginning.reply;
        if self.stopping.is_cancelled() {
            return reply(Err(CoreError::Stopping));
        }
        let workspace = self.settings.workspace.to_string_lossy();
        let given = wish
            .identity
            .workspace_path
            .take()
            .filter(|path| !path.trim().is_empty());
        wish.identity.workspace_path = given.map(|path| self.normal_path(&path));
        let now = self.clock.now();
        let started = match wish.decide_from(source, &workspace, now) {
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
        self.owners
            .spawn(owner.run(Some(Beginning { reply, ..beginning })));
    }

    /// Returns a fresh Thread id.
    pub fn fresh_thread_id(&self) -> ThreadId {
        self.ids.thread(self.clock.now())
    }

    /// Lists Threads, newest activity first.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn list(&self, filter: ListFilter) -> Result<Vec<ThreadSummary>, CoreError> {
        Ok(self.store.list(filter).await?)
    }

    /// Finds text in the history of the Threads that a client may see.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn search(&self, filter: SearchFilter) -> Result<SearchPage, CoreError> {
        Ok(self.store.search(filter).await?)
    }

    /// Reads a Thread as it stands.
    ///
    /// # Errors
    /// As [`Hub::thread`].
    pub async fn snapshot(self: &Arc<Self>, handle: &ThreadHandle) -> Result<Snapshot, CoreError> {
        let (tx, rx) = tokio::sync::oneshot::channel();
        let reply = Box::new(move |snapshot| {
            // Nobody waits any more: nothing to tell.
            drop(tx.send(snapshot));
        });
        handle.send(Command::Read { reply }).await;
        rx.await.unwrap_or(Err(CoreError::Stopping))
    }

    /// Reads the newest finished Turns of a snapshot's Thread, oldest first: those before `before` (all, when
    /// there is none), at most `limit`, and about `max_bytes` but never none. Returns whether there are more
    /// before them.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn turns_of(
        &self,
        snapshot: &Snapshot,
        before: Option<TurnId>,
        limit: usize,
        max_bytes: usize,
    ) -> Result<(Vec<Turn>, bool), CoreError> {
        let state = &snapshot.state;
        let end = state
            .live_turn()
            .unwrap_or(TurnId(state.last_turn.0.saturating_add(1)));
        let mut next = before.map_or(end, |before| before.min(end));
        // Newest first while collecting.
        let (mut turns, mut bytes) = (Vec::new(), 0);
        // One first: it may be all that fits.
        let mut count = 1;
        let mut full = false;
        while !full && next.0 > 1 && turns.len() < limit {
            let wanted = u32::try_from(limit - turns.len()).unwrap_or(TURN_PAGE).min(count);
            let page = self.store.turns_before(&state.header.id, next, wanted).await?;
            let last = page.len() < wanted as usize;
            let oldest = page.first().map(|turn| turn.id);
            for turn in page.into_iter().rev() {
                bytes += weight_of_turn(&turn);
                full = bytes > max_bytes && !turns.is_empty();
                if full {
                    break;
                }
                turns.push(turn);
            }
            next = oldest.filter(|_| !last).unwrap_or(TurnId(1));
            count = (count * 2).min(TURN_PAGE);
        }
        turns.reverse();
        let more = match turns.first() {
            Some(first) if first.id.0 > 1 => self
                .store
                .turn_back(&state.header.id, first.id, 1)
                .await?
                .is_some(),
            _ => false,
        };
        Ok((turns, more))
    }

    /// Reads up to `limit` Turns of a Thread that came before a Turn, oldest first.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn turns_before(
        &self,
        id: &ThreadId,
        before: TurnId,
        limit: u32,
    ) -> Result<Vec<Turn>, CoreError> {
        Ok(self.store.turns_before(id, before, limit).await?)
    }

    /// Adds up what a snapshot's Thread has used: all its Turns, those that were rolled back too.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn spent(&self, snapshot: &Snapshot) -> Result<Spent, CoreError> {
        let state = &snapshot.state;
        let live = state.live.as_ref();
        let next = live.map_or(TurnId(state.last_turn.0 + 1), |live| live.turn.id);
        let mut spent = self.store.spent(&state.header.id, next).await?;
        if let Some(live) = live {
            spent.add(live.turn.usage, live.cost_micros);
        }
        Ok(spent)
    }

    /// Finds the Turn that is `count` places before a Turn, if there are so many.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn turn_back(
        &self,
        id: &ThreadId,
        before: TurnId,
        count: u32,
    ) -> Result<Option<TurnId>, CoreError> {
        Ok(self.store.turn_back(id, before, count).await?)
    }

    /// Returns figures.
    pub fn stats(&self) -> HubStats {
        let handles: Vec<_> = self
            .live
            .lock()
            .values()
            .filter_map(|cell| cell.get().cloned())
            .collect();
        let mut stats = HubStats {
            live_threads: handles.len(),
            log_entries: 0,
            log_bytes: 0,
            watchers: 0,
            store: self.store.stats(),
        };
        for handle in handles {
            let (entries, bytes) = handle.log().depth();
            stats.log_entries += entries;
            stats.log_bytes += bytes;
            stats.watchers += handle.log().watchers();
        }
        stats
    }

    /// Ends every Turn and every owner, then the store. Everything acknowledged is on disk afterwards.
    pub async fn stop(&self) {
        self.stopping.cancel();
        self.owners.close();
        self.owners.wait().await;
        self.clients.stop().await;
        self.everyone.close();
        self.ended.cancel();
        reached(Step::BeforeClose);
        self.store.close().await;
    }

    /// Waits until every owner has ended: nothing more will be shown.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Takes a Thread out of the map unless somebody holds it or `idle` says no. Returns whether it is
    /// out. New holders come through the map, so with its lock held "nobody" stays true.
    pub(crate) fn unload(&self, id: &ThreadId, shared: &Arc<Shared>, idle: impl FnOnce() -> bool) -> bool {
        let mut live = self.live.lock();
        let unused = live.get(id).is_some_and(|cell| {
            Arc::strong_count(cell) == 1
                && cell
                    .get()
                    .is_some_and(|own| own.shares(shared) && Arc::strong_count(own) == 1)
        });
        let out = unused && idle();
        if out {
            live.remove(id);
        }
        out
    }

    /// Takes a Thread that has ended out of the map; a newer owner of the same Thread stays.
    pub(crate) fn remove(&self, id: &ThreadId, shared: &Arc<Shared>) {
        let mut live = self.live.lock();
        if live
            .get(id)
            .is_some_and(|cell| cell.get().is_some_and(|own| own.shares(shared)))
        {
            live.remove(id);
        }
    }

    /// Returns the live subagents below a Thread that ask something now.
    pub(crate) fn asking_below(&self, top: &ThreadId) -> Vec<Arc<ThreadHandle>> {
        if self.asked_below.load(Ordering::Acquire) == 0 {
            // Everybody who comes to any Thread asks.
            return Vec::new();
        }
        let live = self.live.lock();
        let handles = live.values().filter_map(|cell| cell.get());
        handles
            .filter(|handle| handle.above() == Some(top) && handle.open() > 0)
            .cloned()
            .collect()
    }

    /// Returns how many clients can answer what a Thread asks, now.
    pub(crate) fn approvers_of(&self, id: &ThreadId) -> usize {
        let live = self.live.lock();
        let handle = live.get(id).and_then(|cell| cell.get());
        handle.map_or(0, |handle| handle.approvers())
    }

    /// Returns how many clients are asked what a model wants to know in a Thread, now.
    pub(crate) fn asked_of(&self, id: &ThreadId) -> usize {
        let live = self.live.lock();
        let handle = live.get(id).and_then(|cell| cell.get());
        handle.map_or(0, |handle| handle.asked())
    }

    /// Has a task run to its end before the core has ended.
    pub(crate) fn own(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.owners.spawn(task);
    }

    fn forget(&self, id: &ThreadId, cell: &Cell) {
        let mut live = self.live.lock();
        if live.get(id).is_some_and(|known| Arc::ptr_eq(known, cell)) {
            live.remove(id);
        }
    }

    /// Takes a place where nothing could be loaded out of the map. Whoever else waits at it tries by itself,
    /// and must do so at the one place that the map knows: two owners of one Thread would be one too many.
    fn forget_unloaded(&self, id: &ThreadId, cell: &Cell) {
        let mut live = self.live.lock();
        let unused = live
            .get(id)
            .is_some_and(|known| Arc::ptr_eq(known, cell) && known.get().is_none())
            && Arc::strong_count(cell) == 2;
        if unused {
            live.remove(id);
        }
    }

    pub(crate) fn policy_of(&self, state: &bobbin_model::ThreadState) -> ApprovalPolicy {
        self.settings.approval_policy_of(state.header.config.as_ref())
    }

    /// Returns a live Thread's approval policy as it is now, and the Thread above it.
    pub(crate) fn live_policy(&self, id: &ThreadId) -> Option<(ApprovalPolicy, Option<ThreadId>)> {
        let live = self.live.lock();
        let handle = live.get(id)?.get()?;
        Some((handle.policy(), handle.parent().cloned()))
    }

    /// Whether an answer that a person gave earlier, for the session or for ever, covers this. What cannot be
    /// read counts as not given.
    pub async fn is_answered(&self, state: Option<&bobbin_model::ThreadState>, scope: &Scope) -> bool {
        let granted = state.is_some_and(|state| state.grants.contains(&scope.session_key()));
        granted || self.store.is_remembered(scope).await.unwrap_or(false)
    }
}
