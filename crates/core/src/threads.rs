//! The workspace's Threads: finding, loading, unloading, starting and stopping them.
//!
//! Owns the map of live Threads and joins every owner task. The map's mutex is locked for look-ups only. A Thread that
//! several clients request at once is loaded once. Memory grows with the number of live Threads.

mod engine_commands;
mod live;
mod policy;
mod reading;
pub(crate) mod starting;
mod tree;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Duration;

use bobbin_model::{Actor, ApprovalPolicy, Decision, Need, Scope, StandingAnswer, ThreadId, TurnFeatures};
use bobbin_store::step::{Step, reached};
use bobbin_store::{AuditEntry, AuditRow, Deed, Store, StoreError, StoreStats};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::Engine;
use crate::owner::{Beginning, Owner};
use crate::question::Questions;
use crate::{Broadcasts, CoreError, Ids, Settings, ThreadHandle};
use bobbin_agent_api::Clock;
use bobbin_agent_api::client::Clients;
use bobbin_agent_api::elicitation::Elicitors;

pub use tree::Beforehand;

type Cell = Arc<OnceCell<Arc<ThreadHandle>>>;

/// First and longest pause before a Thread that could not be loaded is tried again.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_mins(1);
/// Most answers given for ever that are listed (a guess: users type each of them in full).
const MAX_STANDING_ANSWERS: u32 = 1000;

/// The core of one workspace.
pub struct Threads {
    pub(crate) settings: Settings,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) stopping: CancellationToken,
    ended: CancellationToken,
    live: Mutex<HashMap<ThreadId, Cell>>,
    broadcasts: Broadcasts,
    owners: TaskTracker,
    /// Number of the newest owner of any Thread.
    last_owner: AtomicU64,
    /// Ids of the named requests that are starting a Thread; bounded by the requests that clients have in flight.
    starting: Mutex<HashSet<String>>,
    /// Clients that work for Threads.
    clients: Arc<Clients>,
    elicitors: Elicitors,
    pub(crate) questions: Questions,
    /// Open Approvals of live subagents.
    pub(crate) open_in_subagents: Arc<AtomicUsize>,
    left_open: Mutex<LeftOpen>,
    /// Threads whose owner has failed and that were not loaded again yet.
    failed: Mutex<HashSet<ThreadId>>,
}

/// Work that continues when a stopped server starts again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOpen {
    /// Turns that have not ended.
    pub turns: usize,
    /// Their unanswered Approvals.
    pub questions: usize,
}

/// Figures of the core, for `server/stats`.
#[derive(Debug, Clone)]
pub struct CoreStats {
    /// Threads in memory.
    pub live_threads: usize,
    /// Entries in all live logs.
    pub log_entries: usize,
    /// Bytes of these entries.
    pub log_bytes: usize,
    /// Readers of live Threads.
    pub watchers: usize,
    /// Figures of the store.
    pub store: StoreStats,
}

impl Threads {
    /// Makes the core of a workspace. Call [`Threads::recover`] before the first client connects.
    pub fn new(
        settings: Settings,
        store: Arc<dyn Store>,
        engine: Arc<dyn Engine>,
        broadcasts: Broadcasts,
        ids: Arc<dyn Ids>,
    ) -> Arc<Self> {
        Arc::new(Self {
            settings,
            store,
            engine,
            clock: broadcasts.clock.clone(),
            ids,
            stopping: CancellationToken::new(),
            ended: CancellationToken::new(),
            live: Mutex::default(),
            broadcasts,
            owners: TaskTracker::new(),
            last_owner: AtomicU64::new(0),
            starting: Mutex::default(),
            clients: Arc::default(),
            elicitors: Elicitors::default(),
            questions: Questions::default(),
            open_in_subagents: Arc::default(),
            left_open: Mutex::default(),
            failed: Mutex::default(),
        })
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the token that is cancelled when the core starts to stop.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Returns the clients that work for Threads.
    pub fn clients(&self) -> &Arc<Clients> {
        &self.clients
    }

    /// Returns the clients that take questions of MCP servers.
    pub fn elicitors(&self) -> &Elicitors {
        &self.elicitors
    }

    /// Returns the clock.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Returns a path in the form that Threads of this workspace use: with symbolic links resolved if it exists, so that one
    /// directory has one name.
    pub fn normal_path(&self, path: &str) -> String {
        std::fs::canonicalize(path)
            .map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
    }

    /// Like [`Threads::normal_path`], on a blocking thread.
    pub async fn normal_path_in_time(self: &Arc<Self>, path: String) -> String {
        let (threads, given) = (self.clone(), path.clone());
        let normal = tokio::task::spawn_blocking(move || threads.normal_path(&path));
        normal.await.unwrap_or(given)
    }

    /// Returns the log of broadcasts to every client.
    pub fn broadcasts(&self) -> &Broadcasts {
        &self.broadcasts
    }

    /// Resumes every Turn that was open when the last process ended. Returns their number.
    ///
    /// # Errors
    /// The store could not read. A damaged Thread is logged and left unchanged; it does not stop the others.
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

    /// Loads a Thread again whose owner has failed: it may have an open Turn, and no client may ask for it.
    pub(crate) fn load_again(self: &Arc<Self>, id: ThreadId) {
        self.failed.lock().insert(id.clone());
        self.take_up_later(id);
    }

    /// Whether the Thread's last owner has failed in this process. True once for each failure.
    pub(crate) fn has_failed(&self, id: &ThreadId) -> bool {
        self.failed.lock().remove(id)
    }

    /// Tries to load a Thread whose open Turn cannot be resumed now, again and again with growing pauses. Ends with the
    /// server.
    pub(crate) fn take_up_later(self: &Arc<Self>, id: ThreadId) {
        let threads = self.clone();
        self.owners.spawn(async move {
            let mut pause = FIRST_RETRY;
            loop {
                tokio::select! {
                    () = threads.stopping.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
                match threads.thread(&id).await {
                    Ok(_) => return,
                    Err(CoreError::Refused(_) | CoreError::Stopping) => {
                        threads.failed.lock().remove(&id);
                        return;
                    }
                    // It is loaded soon after the lease is renewed.
                    Err(CoreError::Store(source)) if matches!(*source, StoreError::NotHeld) => continue,
                    Err(error) => tracing::error!(thread = %id, %error, "cannot take up an open turn"),
                }
                pause = (pause * 2).min(LAST_RETRY);
            }
        });
    }

    /// Runs an owner until its Thread ends or is unloaded.
    // Neither async nor inlined: every crate that can name a future's type compiles it again, and an owner's future is the
    // largest.
    #[inline(never)]
    pub(crate) fn start_owner(&self, owner: Owner, beginning: Option<Beginning>) {
        self.owners.spawn(owner.run(beginning));
    }

    /// Returns the figures.
    pub fn stats(&self) -> CoreStats {
        let handles: Vec<_> = self
            .live
            .lock()
            .values()
            .filter_map(|cell| cell.get().cloned())
            .collect();
        let mut stats = CoreStats {
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

    /// Returns the Threads with a Turn that has not ended.
    pub fn with_turn(&self) -> Vec<Arc<ThreadHandle>> {
        let cells = self.live.lock();
        let live = cells.values().filter_map(|cell| cell.get());
        live.filter(|thread| thread.has_turn()).cloned().collect()
    }

    /// Whether a Thread waits for an answer of a user: to an Approval or to a question of its model.
    pub fn is_waiting(&self, thread: &ThreadHandle) -> bool {
        thread.open() > 0 || !self.open_questions(thread.id()).is_empty()
    }

    /// Whether an engine works: a Turn has not ended, and waits neither for a user nor for a subagent. A Thread that is to be
    /// loaded again may have one.
    pub fn is_working(&self) -> bool {
        if !self.failed.lock().is_empty() {
            return true;
        }
        let cells = self.live.lock();
        let live: Vec<_> = cells.values().filter_map(|cell| cell.get()).collect();
        live.iter().filter(|thread| thread.has_turn()).any(|thread| {
            let is_parent =
                |other: &&Arc<ThreadHandle>| other.has_turn() && other.parent() == Some(thread.id());
            !self.is_waiting(thread) && !live.iter().any(is_parent)
        })
    }

    /// Ends every engine and every owner, then the store. Everything acknowledged is on disk afterwards. Returns the Turns
    /// and the questions that continue when the workspace is opened again.
    pub async fn stop(&self) -> LeftOpen {
        self.stopping.cancel();
        self.owners.close();
        self.owners.wait().await;
        self.clients.stop().await;
        self.broadcasts.log().close();
        self.ended.cancel();
        reached(Step::BeforeClose);
        self.store.close().await;
        *self.left_open.lock()
    }

    pub(crate) fn note_left_open(&self, questions: usize) {
        let mut left = self.left_open.lock();
        left.turns += 1;
        left.questions += questions;
    }

    /// Waits until every owner has ended, after which nothing is shown.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Runs a task that the core joins when it stops.
    pub fn own(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.owners.spawn(task);
    }

    pub(crate) fn policy_of(&self, state: &bobbin_model::ThreadState) -> ApprovalPolicy {
        let config = state.header.config.as_ref();
        match &state.live {
            Some(live) => self.settings.approval_policy_of(config, &live.features),
            None => self.settings.approval_policy_of(config, &TurnFeatures::default()),
        }
    }

    /// Returns the answers that users gave for ever, at most `MAX_STANDING_ANSWERS`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn standing_answers(&self) -> Result<Vec<StandingAnswer>, CoreError> {
        Ok(self.store.standing_answers(MAX_STANDING_ANSWERS).await?)
    }

    /// Removes these answers, or all (`None`). Users are asked again about what they covered.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn forget_answers(&self, answers: Option<Vec<StandingAnswer>>) -> Result<(), CoreError> {
        Ok(self.store.forget_answers(answers).await?)
    }

    /// Adds an entry to the audit.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn record(&self, entry: AuditEntry) -> Result<(), CoreError> {
        Ok(self.store.record(vec![entry], None).await?)
    }

    /// Reads rows of the audit after a number, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn audit(&self, after: u64, limit: u32) -> Result<Vec<AuditRow>, CoreError> {
        Ok(self.store.audit(after, limit).await?)
    }

    /// Removes the rows of the audit up to one of them. An entry says so, with the hash on which the next row builds.
    /// Returns whether there is that row.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub async fn cut_audit(
        &self,
        up_to: u64,
        actor: &Actor,
        client: Option<String>,
    ) -> Result<bool, CoreError> {
        let last = self.audit(up_to.saturating_sub(1), 1).await?.pop();
        let Some(last) = last.filter(|last| last.seq == up_to) else {
            return Ok(false);
        };
        let entry = AuditEntry {
            at: self.clock().now(),
            actor: actor.person().cloned(),
            client,
            thread: None,
            turn: None,
            deed: Deed::Cut {
                up_to,
                hash: last.hash,
            },
        };
        self.store.record(vec![entry], Some(up_to)).await?;
        Ok(true)
    }

    /// Returns the decision about a scope that needs no question: the policy's, or an earlier answer of a user. `policy` is
    /// the one in force for the Thread and its parents; `actor` has started the Turn.
    pub async fn standing_answer(
        &self,
        state: &bobbin_model::ThreadState,
        scope: &Scope,
        policy: ApprovalPolicy,
        actor: &Actor,
    ) -> Option<Decision> {
        let accepted = match policy {
            ApprovalPolicy::AutoApprove => true,
            ApprovalPolicy::Sandboxed => scope.sandboxed,
            ApprovalPolicy::Default
            | ApprovalPolicy::AskWrites
            | ApprovalPolicy::Interrupt
            | ApprovalPolicy::Ask
            | ApprovalPolicy::Refuse => false,
        };
        if accepted || self.is_answered(Some(state), scope, actor).await {
            return Some(Decision::Accept);
        }
        (policy == ApprovalPolicy::Refuse).then_some(Decision::Decline)
    }

    /// Whether an earlier answer of a user, for the session or for ever, covers this in a Turn of `actor`. An answer that
    /// cannot be read does not count. An owner's answers for ever are about the owner's Turns.
    pub async fn is_answered(
        &self,
        state: Option<&bobbin_model::ThreadState>,
        scope: &Scope,
        actor: &Actor,
    ) -> bool {
        let Some(grant) = scope.grant() else { return false };
        let is_owner = actor.may(Need::Own);
        if state.is_some_and(|state| state.grants.contains(&grant)) && (is_owner || !scope.of_owner) {
            return true;
        }
        if !is_owner {
            return false;
        }
        match self.store.is_remembered(scope).await {
            Ok(remembered) => remembered,
            Err(error) => {
                tracing::warn!(%error, "answers given for ever cannot be read");
                false
            }
        }
    }
}
