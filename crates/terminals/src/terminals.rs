//! All commands of a workspace: their tasks, and the terminals among them.
//!
//! Owns the tasks and joins them. The map's mutex is locked for look-ups only. An ended terminal stays in the map until
//! it is cleaned, until its Thread is deleted, or until its place is needed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bobbin_agent_api::Clock;
use bobbin_agent_api::Once;
use bobbin_agent_api::terminal::{TerminalError, TerminalNews, TerminalReply, Wait};
use bobbin_children::{Children, ProcessSpec};
use bobbin_core::Threads;
use bobbin_model::{Terminal, TerminalChange, TerminalFacts, TerminalStatus, ThreadId};
use bobbin_workspace::PagePorts;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Bounds;
use crate::announcer::Budget;
use crate::entry::{BackgroundTerminal, Output, Why};
use crate::follow::follow;
use crate::forwards::RunningForwards;
use crate::networks::Networks;
use crate::output_files::{Item, OutputFiles};
use crate::record::Record;
use crate::running::{CommandOrder, NotLeft, Running};
use crate::supervise::{Task, supervise};

/// Pieces of output in the queue to a command's caller; a full queue slows the command down.
const LISTENING: usize = 16;
/// Inputs in a command's queue; more are refused.
const TYPED: usize = 16;
/// Largest input of one request.
const MAX_INPUT_BYTES: usize = 64 << 10;

/// Runs commands, in the foreground and as terminals. Cheap to clone.
#[derive(Clone)]
pub struct Terminals(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) children: Children,
    pub(crate) bounds: Bounds,
    pub(crate) output_files: Option<Arc<OutputFiles>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) budget: Budget,
    pub(crate) ending: CancellationToken,
    threads: OnceLock<Weak<Threads>>,
    entries: Mutex<BTreeMap<String, Arc<BackgroundTerminal>>>,
    /// Commands whose files are being written.
    active: Mutex<BTreeSet<String>>,
    pub(crate) networks: Networks,
    pub(crate) forwards: RunningForwards,
    pub(crate) page_ports: OnceLock<PagePorts>,
    pub(crate) tasks: TaskTracker,
}

impl Terminals {
    /// Opens the terminals of a workspace whose output is in `outputs`, and loads earlier ones: terminals that ran when
    /// the server died are recorded as lost. Blocks for the disk.
    ///
    /// # Errors
    /// The directory for output cannot be used.
    pub fn open(
        children: Children,
        outputs: &Path,
        clock: Arc<dyn Clock>,
        bounds: Bounds,
    ) -> io::Result<Self> {
        let output_files = Arc::new(OutputFiles::open(outputs, bounds.disk_bytes)?);
        let terminals = Self::new(children, Some(output_files), clock, bounds);
        terminals.0.load();
        terminals.0.tidy_now();
        Ok(terminals)
    }

    /// Returns terminals that run commands in the foreground only and write no output files.
    pub fn nowhere(children: Children, clock: Arc<dyn Clock>) -> Self {
        Self::new(children, None, clock, Bounds::default())
    }

    fn new(
        children: Children,
        output_files: Option<Arc<OutputFiles>>,
        clock: Arc<dyn Clock>,
        bounds: Bounds,
    ) -> Self {
        Self(Arc::new(Inner {
            children,
            budget: Budget::new(bounds.notify_bytes, Instant::now()),
            bounds,
            output_files,
            clock,
            ending: CancellationToken::new(),
            threads: OnceLock::new(),
            entries: Mutex::default(),
            active: Mutex::default(),
            networks: Networks::default(),
            forwards: RunningForwards::default(),
            page_ports: OnceLock::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// Excludes the ports of pages from forwards. Called once.
    #[must_use]
    pub fn avoiding(self, ports: PagePorts) -> Self {
        drop(self.0.page_ports.set(ports));
        self
    }

    /// Starts to broadcast, and to follow the Threads. Called once.
    pub fn start(&self, threads: &Arc<Threads>) {
        let threads = Arc::downgrade(threads);
        if self.0.threads.set(threads.clone()).is_ok() {
            self.0.tasks.spawn(follow(self.0.clone(), threads));
        }
    }

    /// Returns whether commands can be left in the background at all.
    pub fn can_run_in_background(&self) -> bool {
        self.0.output_files.is_some()
    }

    /// Checks whether one more command could be left in the background now.
    ///
    /// # Errors
    /// The limit that was reached.
    pub fn has_room(&self, thread: &ThreadId) -> Result<(), NotLeft> {
        if !self.can_run_in_background() {
            return Err(NotLeft::NoPlace);
        }
        self.0.room(&self.0.entries.lock(), thread)
    }

    /// Runs a command.
    pub fn run(&self, spec: ProcessSpec, order: CommandOrder) -> Running {
        let (listener, output) = mpsc::channel(LISTENING);
        let (leave, leaving) = mpsc::channel(1);
        let (ended, end) = oneshot::channel();
        let stop = self.0.ending.child_token();
        let id = fresh_id();
        self.0.active.lock().insert(id.clone());
        let task = Task {
            id,
            spec,
            typed: order.typed.then(|| mpsc::channel(TYPED)),
            order,
            stop: stop.clone(),
            listener,
            leave: leaving,
            ended,
        };
        self.0.tasks.spawn(supervise(self.0.clone(), task));
        Running {
            output: Some(output),
            leave,
            ended: end,
            guard: Some(stop.clone().drop_guard()),
            stop,
        }
    }

    /// Whether a terminal runs.
    pub fn is_any_running(&self) -> bool {
        self.0.entries.lock().values().any(|entry| entry.is_running())
    }

    /// Stops all terminals and waits until they are gone, recorded as killed, and reported.
    pub async fn stop_all(&self) {
        let running = |entry: &&Arc<BackgroundTerminal>| entry.is_running();
        let found: Vec<_> = self.0.entries.lock().values().filter(running).cloned().collect();
        for entry in &found {
            entry.end_because(Why::Stopped);
        }
        for entry in found {
            // The sender lives as long as the terminal runs.
            drop(entry.ended().wait_for(|ended| *ended).await);
        }
    }

    /// Ends all commands, terminals first, and waits until they are gone.
    pub async fn end(&self) {
        self.stop_all().await;
        self.0.ending.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub(crate) fn inner(&self) -> Arc<Inner> {
        self.0.clone()
    }

    /// Returns the fixed facts about a terminal, if there is one of this id.
    pub fn facts(&self, id: &str) -> Option<Arc<TerminalFacts>> {
        self.0.entries.lock().get(id).map(|entry| entry.facts.clone())
    }

    fn entry(&self, id: &str) -> Result<Arc<BackgroundTerminal>, TerminalError> {
        let found = self.0.entries.lock().get(id).cloned();
        found.ok_or_else(|| TerminalError::NotFound(id.to_owned()))
    }
}

impl bobbin_agent_api::terminal::Terminals for Terminals {
    fn list(&self, thread: Option<&ThreadId>) -> BoxFuture<'static, Vec<Terminal>> {
        let mut found: Vec<Arc<BackgroundTerminal>> = self
            .0
            .entries
            .lock()
            .values()
            .filter(|entry| thread.is_none_or(|thread| entry.facts.thread == *thread))
            .cloned()
            .collect();
        found.sort_by(|a, b| (a.facts.started_at, &a.facts.id).cmp(&(b.facts.started_at, &b.facts.id)));
        let chars = self.0.bounds.listed_chars;
        self.0.clone().show(found, chars).boxed()
    }

    fn read(
        &self,
        id: &str,
        wait: Wait,
        chars: Option<usize>,
    ) -> BoxFuture<'static, Result<Terminal, TerminalError>> {
        let (inner, found) = (self.0.clone(), self.entry(id));
        async move {
            let entry = found?;
            entry.touch();
            inner.wait(&entry, wait).await;
            inner.show_one(entry, chars).await
        }
        .boxed()
    }

    fn write(
        &self,
        id: &str,
        input: String,
        wait: Duration,
        chars: Option<usize>,
        once: Option<Once>,
    ) -> BoxFuture<'static, Result<Terminal, TerminalError>> {
        // Not inside the future: inputs are sent in the order of the calls.
        let typed = self.entry(id).and_then(|entry| {
            if input.is_empty() || input.len() > MAX_INPUT_BYTES {
                return Err(TerminalError::Invalid(format!(
                    "'input' has 1 to {MAX_INPUT_BYTES} bytes."
                )));
            }
            entry.type_in(input.into_bytes(), once).map(|()| entry)
        });
        let inner = self.0.clone();
        async move {
            let entry = typed?;
            inner.wait(&entry, Wait::End(wait)).await;
            inner.show_one(entry, chars).await
        }
        .boxed()
    }

    fn stop(&self, id: &str, reply: TerminalReply<Result<Terminal, TerminalError>>) {
        let entry = match self.entry(id) {
            Ok(entry) => entry,
            Err(error) => return reply(Err(error)),
        };
        if let Some(reply) = entry.stop(reply) {
            let inner = self.0.clone();
            self.0
                .tasks
                .spawn(async move { reply(inner.show_one(entry, None).await) });
        }
    }

    fn clean(&self, thread: &ThreadId, reply: TerminalReply<Vec<Terminal>>) -> BoxFuture<'static, ()> {
        let ended: Vec<Arc<BackgroundTerminal>> = {
            let mut entries = self.0.entries.lock();
            let ended = entries.extract_if(.., |_, entry| {
                entry.facts.thread == *thread && !entry.is_running()
            });
            ended.map(|(_, entry)| entry).collect()
        };
        let inner = self.0.clone();
        async move {
            let chars = inner.bounds.listed_chars;
            let shown = inner.clone().show(ended, chars).await;
            inner.remove_files(shown.iter().map(item_of).collect()).await;
            reply(shown.clone());
            for terminal in shown {
                inner.announce(TerminalChange::Cleaned, terminal);
            }
        }
        .boxed()
    }
}

impl Inner {
    /// Broadcasts a change of a terminal.
    pub(crate) fn announce(&self, change: TerminalChange, terminal: Terminal) {
        let delta = match &change {
            TerminalChange::Output(text) => text.len(),
            TerminalChange::Started
            | TerminalChange::Completed
            | TerminalChange::Stalled
            | TerminalChange::Cleaned => 0,
        };
        let weight = delta + terminal.output.len() + terminal.facts.command.len();
        self.broadcast(TerminalNews { change, terminal }, weight);
    }

    /// Broadcasts `news` to every client. `weight` is the size of its text in bytes.
    pub(crate) fn broadcast<T: Send + Sync + 'static>(&self, news: T, weight: usize) {
        if let Some(threads) = self.threads.get().and_then(Weak::upgrade) {
            threads.broadcasts().send(news, weight);
        }
    }

    fn room(
        &self,
        entries: &BTreeMap<String, Arc<BackgroundTerminal>>,
        thread: &ThreadId,
    ) -> Result<(), NotLeft> {
        let running = || entries.values().filter(|entry| entry.is_running());
        let own = running().filter(|entry| entry.facts.thread == *thread).count();
        if own >= self.bounds.per_thread {
            return Err(NotLeft::ThreadFull(self.bounds.per_thread));
        }
        if running().count() >= self.bounds.in_all {
            return Err(NotLeft::Full(self.bounds.in_all));
        }
        Ok(())
    }

    /// Adds a running terminal, if there is room.
    pub(crate) fn add(&self, entry: Arc<BackgroundTerminal>) -> Result<(), NotLeft> {
        let mut entries = self.entries.lock();
        self.room(&entries, &entry.facts.thread)?;
        entries.insert(entry.facts.id.clone(), entry);
        Ok(())
    }

    pub(crate) fn take_out(&self, id: &str) {
        self.entries.lock().remove(id);
    }

    /// Notes that the files of a command are not written any more.
    pub(crate) fn let_go(&self, id: &str) {
        self.active.lock().remove(id);
    }

    /// Returns the Threads that have terminals.
    pub(crate) fn threads(&self) -> BTreeSet<ThreadId> {
        let entries = self.entries.lock();
        entries.values().map(|entry| entry.facts.thread.clone()).collect()
    }

    /// Writes a record. Returns whether it is on disk.
    pub(crate) async fn save(&self, record: Record) -> bool {
        let Some(output_files) = self.output_files.clone() else {
            return false;
        };
        let id = record.facts.id.clone();
        let saved = tokio::task::spawn_blocking(move || record.save(&output_files)).await;
        match saved.map_err(io::Error::other).flatten() {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, id, "what became of a terminal is not written down");
                false
            }
        }
    }

    /// Stops the terminals and the forwards of a Thread. The records of terminals stay.
    pub(crate) fn stop_those_of(&self, thread: &ThreadId) {
        self.forwards.stop_those_of(thread);
        let entries = self.entries.lock();
        let own = entries.values().filter(|entry| entry.facts.thread == *thread);
        for entry in own.filter(|entry| entry.is_running()) {
            entry.end_because(Why::Stopped);
        }
    }

    /// Stops the terminals of a Thread and removes all their files.
    pub(crate) async fn forget(&self, thread: &ThreadId) {
        self.forwards.stop_those_of(thread);
        self.networks.forget(thread);
        let own = |entry: &&Arc<BackgroundTerminal>| entry.facts.thread == *thread;
        let found: Vec<_> = self.entries.lock().values().filter(own).cloned().collect();
        for entry in found {
            let mut ended = entry.ended();
            if entry.is_running() {
                entry.end_because(Why::Stopped);
            }
            // The sender lives as long as the terminal runs.
            drop(ended.wait_for(|ended| *ended).await);
            self.take_out(&entry.facts.id);
            let terminal = entry.shown(String::new(), 0, self.clock.now());
            self.announce(TerminalChange::Cleaned, terminal);
        }
        let Some(output_files) = self.output_files.clone() else {
            return;
        };
        let thread = thread.to_string();
        let removed = tokio::task::spawn_blocking(move || {
            let items = output_files.items();
            for item in items.iter().filter(|item| item.thread == thread) {
                output_files.remove(item);
            }
        });
        if let Err(error) = removed.await {
            tracing::error!(%error, "the output of a deleted thread's terminals is still there");
        }
    }

    async fn wait(&self, entry: &BackgroundTerminal, wait: Wait) {
        let (most, news) = match wait {
            Wait::News(most) => (most, true),
            Wait::End(most) => (most, false),
        };
        let most = most.min(self.bounds.longest_wait);
        let mut ended = entry.ended();
        let end = ended.wait_for(|ended| *ended);
        let Output::Memory(buffer) = entry.output() else {
            return;
        };
        let mut growth = buffer.growth();
        let more = async {
            if !news || growth.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let waited = async {
            tokio::select! {
                _ = end => {}
                () = more => {}
            }
        };
        // A timeout without output is an answer too.
        drop(timeout(most, waited).await);
    }

    async fn show_one(
        self: &Arc<Self>,
        entry: Arc<BackgroundTerminal>,
        chars: Option<usize>,
    ) -> Result<Terminal, TerminalError> {
        // At most the size of a running terminal's memory.
        let chars = chars
            .unwrap_or(self.bounds.usual_chars)
            .min(self.bounds.tail_bytes);
        let id = entry.facts.id.clone();
        let mut shown = self.clone().show(vec![entry], chars).await;
        shown.pop().ok_or(TerminalError::NotFound(id))
    }

    async fn show(self: Arc<Self>, entries: Vec<Arc<BackgroundTerminal>>, chars: usize) -> Vec<Terminal> {
        let shown = tokio::task::spawn_blocking(move || {
            let now = self.clock.now();
            let show =
                |entry: &Arc<BackgroundTerminal>| entry.shown_with(chars, self.output_files.as_deref(), now);
            entries.iter().map(show).collect()
        });
        shown.await.unwrap_or_else(|error| {
            tracing::error!(%error, "terminals cannot be shown");
            Vec::new()
        })
    }

    async fn remove_files(&self, ids: Vec<(String, String)>) {
        let Some(output_files) = self.output_files.clone() else {
            return;
        };
        let removed = tokio::task::spawn_blocking(move || {
            let items = output_files.items().into_iter();
            for item in items.filter(|item| ids.iter().any(|id| (&id.0, &id.1) == (&item.thread, &item.id))) {
                output_files.remove(&item);
            }
        });
        if let Err(error) = removed.await {
            tracing::error!(%error, "the output of terminals is still there");
        }
    }

    /// Reads the records of an earlier server.
    fn load(&self) {
        let Some(output_files) = &self.output_files else {
            return;
        };
        let mut entries = self.entries.lock();
        for item in output_files.items() {
            let Some(mut record) = Record::load(output_files, &item.thread, &item.id) else {
                continue;
            };
            if record.end.status == TerminalStatus::Running {
                record.end.status = TerminalStatus::Lost;
                record.end.completed_at = Some(self.clock.now());
                let text = output_files.read_log(&item.thread, &item.id, self.bounds.file_bytes);
                let text = text.unwrap_or_default();
                record.end.output_chars = String::from_utf8_lossy(&text).chars().count() as u64;
                tracing::info!(
                    id = item.id,
                    thread = item.thread,
                    "a terminal was lost with the server"
                );
                if let Err(error) = record.save(output_files) {
                    tracing::warn!(%error, id = item.id, "that a terminal was lost is not written down");
                }
            }
            entries.insert(item.id, Arc::new(BackgroundTerminal::recorded(record)));
        }
    }

    /// Removes the oldest entries and files when a limit is reached; see [`Bounds`].
    pub(crate) async fn tidy(self: &Arc<Self>) {
        let inner = self.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || inner.tidy_now()).await {
            tracing::error!(%error, "old output of commands was not removed");
        }
    }

    fn tidy_now(&self) {
        let Some(output_files) = &self.output_files else {
            return;
        };
        let items: VecDeque<Item> = {
            let active = self.active.lock();
            let items = output_files.items().into_iter();
            items.filter(|item| !active.contains(&item.id)).collect()
        };
        let listed = |item: &Item| self.entries.lock().contains_key(&item.id);
        let mut too_many = items
            .iter()
            .filter(|item| listed(item))
            .count()
            .saturating_sub(self.bounds.ended);
        let oldest_retained = output_files
            .now()
            .ok()
            .and_then(|now| now.checked_sub(self.bounds.retention));
        for item in items {
            // A conversation names its pictures until its Thread is deleted.
            let old = !item.is_picture() && oldest_retained.is_some_and(|oldest| item.modified < oldest);
            let crowded = too_many > 0 && listed(&item);
            if !(old || crowded || output_files.excess() > 0) {
                continue;
            }
            too_many = too_many.saturating_sub(usize::from(crowded));
            let removed = self.entries.lock().remove(&item.id);
            output_files.remove(&item);
            if let Some(entry) = removed {
                let terminal = entry.shown(String::new(), 0, self.clock.now());
                self.announce(TerminalChange::Cleaned, terminal);
            }
        }
    }
}

fn item_of(terminal: &Terminal) -> (String, String) {
    (terminal.facts.thread.to_string(), terminal.facts.id.clone())
}

/// Returns `term_` and eight hexadecimal digits.
fn fresh_id() -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("term_{}", &random[..8])
}
