//! The owner of the jobs: one task that decides, stores, applies and reports one order after the other.
//!
//! All other code has a [`Schedules`] and sends orders; at most [`ORDERS`] wait. The owner applies and reports a change only
//! after its commit. It looks at the wall clock at least every ten seconds, since a sleep of the machine stops timers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bobbin_agent_api::channel::ChannelDelivery;
use bobbin_agent_api::slash::SlashCommands;
use bobbin_agent_api::trust::WorkspaceTrust;
use bobbin_agent_api::{Features, Services};
use bobbin_core::Threads;
use bobbin_model::UnixMillis;
use bobbin_store::{ScheduleChange, ScheduleEntry, ScheduleStore, StoreError, json};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use crate::book::{Book, Change, Decided, Refused};
use crate::group::types::AutomationRun;
use crate::group::{seen, today};
use crate::job::{Job, Kind, RunEnd};
use crate::run;
use crate::template::Template;

/// Orders that wait; more senders wait for room.
const ORDERS: usize = 64;
/// Longest pause between two looks at the wall clock (AppServer protocol 05 §2).
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Shortest pause between two looks, for a coarse clock.
const SHORTEST: Duration = Duration::from_millis(20);
/// Kind of stored templates.
const TEMPLATE: &str = "template";

/// Reason why an order failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ScheduleError {
    /// A rule refuses it; nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store failed; nothing has changed.
    #[error("the change could not be stored")]
    Store(#[source] StoreError),
    /// The server is going down.
    #[error("the server is shutting down")]
    Stopping,
}

type Reply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;
type Decide = Box<dyn FnOnce(&Book, UnixMillis) -> (Vec<Change>, Reply) + Send>;

/// The scheduled jobs of a workspace.
#[derive(Clone)]
pub struct Schedules(Arc<Inner>);

struct Inner {
    store: Arc<dyn ScheduleStore>,
    orders: mpsc::Sender<Decide>,
    waiting: Mutex<Option<mpsc::Receiver<Decide>>>,
    around: OnceLock<Arc<Surroundings>>,
    /// Whether the clock was started for jobs that waited.
    clock: watch::Sender<bool>,
    /// Whether a job is due now or later.
    has_due: AtomicBool,
    /// Requests that wait for the end of the heartbeat; clients have a bounded number in flight.
    beats: Mutex<Vec<oneshot::Sender<RunEnd>>>,
}

/// Whether jobs run in this process by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByClock {
    /// They do.
    Runs,
    /// They wait for another process, since this one ends after its prompt. Jobs can still be made here.
    Waits,
}

/// Parts of the server that jobs use.
pub struct Surroundings {
    /// Whether they run by the clock.
    pub by_clock: ByClock,
    /// The core.
    pub threads: Arc<Threads>,
    /// Sends results to chats.
    pub channels: Option<Arc<dyn ChannelDelivery>>,
    /// Knows whether the user trusts the folder.
    pub trust: Option<Arc<dyn WorkspaceTrust>>,
}

impl Surroundings {
    /// Takes the parts that jobs use from the features of a server.
    pub fn of(threads: Arc<Threads>, services: &Services, by_clock: ByClock) -> Self {
        Self {
            by_clock,
            threads,
            channels: services.channels.clone(),
            trust: services.trust.clone(),
        }
    }

    /// Whether the user trusts the texts of the folder.
    pub(crate) async fn trusts_folder(&self) -> bool {
        match &self.trust {
            Some(trust) => trust.status().await.is_ok_and(|status| status.trusted),
            None => true,
        }
    }
}

impl Schedules {
    /// Makes the jobs, which wait for [`Schedules::begin`].
    pub fn new(store: Arc<dyn ScheduleStore>) -> Self {
        let (orders, waiting) = mpsc::channel(ORDERS);
        Self(Arc::new(Inner {
            store,
            orders,
            waiting: Mutex::new(Some(waiting)),
            around: OnceLock::new(),
            clock: watch::Sender::new(false),
            has_due: AtomicBool::new(false),
            beats: Mutex::default(),
        }))
    }

    /// Reads the jobs, resumes the runs that the end of the last process interrupted, and starts the owner. The core joins the
    /// tasks. Call it once, before [`Threads::recover`]: a Turn that resumes may make a job.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn begin(&self, surroundings: Surroundings) -> Result<(), StoreError> {
        let mut book = Book::default();
        for entry in self.0.store.schedule().await? {
            match read(&entry) {
                Ok(change) => drop(book.apply(change)),
                Err(error) => {
                    tracing::error!(kind = entry.kind, id = entry.id, %error, "a job is damaged and left out");
                }
            }
        }
        let Some(orders) = self.0.waiting.lock().take() else {
            return Ok(());
        };
        let around = self.0.around.get_or_init(|| Arc::new(surroundings)).clone();
        let owner = Owner {
            book,
            schedules: self.clone(),
            around: around.clone(),
            root: around.threads.settings().workspace.to_string_lossy().into(),
        };
        around.threads.own(owner.run(orders));
        Ok(())
    }

    /// Runs jobs by the clock from now on, if they waited so far.
    pub fn start_clock(&self) {
        self.0
            .clock
            .send_if_modified(|runs| !std::mem::replace(runs, true));
    }

    /// Whether a job is due now or later: it runs only while a server does.
    pub fn has_due(&self) -> bool {
        self.0.has_due.load(Ordering::Relaxed)
    }

    /// Adds the jobs to the features of a server, after [`Schedules::begin`].
    #[must_use]
    pub fn offer(&self, features: Features) -> Features {
        match self.around() {
            Some(_) => features.with(self.clone()),
            None => features,
        }
    }

    /// Returns the slash commands about jobs, after [`Schedules::begin`].
    pub fn slash(&self) -> Option<Arc<dyn SlashCommands>> {
        self.around().map(|_| Arc::new(self.clone()) as _)
    }

    /// Returns the parts of the server that jobs use, after [`Schedules::begin`].
    pub(crate) fn around(&self) -> Option<&Arc<Surroundings>> {
        self.0.around.get()
    }

    /// Decides, stores and applies, and calls `reply` before any client sees the change. The reply is dropped when the server
    /// shuts down.
    pub(crate) async fn submit<R: Send + 'static>(
        &self,
        decide: impl FnOnce(&Book, UnixMillis) -> Decided<R> + Send + 'static,
        reply: impl FnOnce(Result<R, ScheduleError>) + Send + 'static,
    ) {
        let order: Decide = Box::new(move |book, now| match decide(book, now) {
            Ok((changes, answer)) => {
                let reply: Reply =
                    Box::new(move |stored| reply(stored.map(|()| answer).map_err(ScheduleError::Store)));
                (changes, reply)
            }
            Err(refused) => (Vec::new(), Box::new(move |_| reply(Err(refused.into())))),
        });
        // Fails only if the owner has ended with the server.
        drop(self.0.orders.send(order).await);
    }

    /// Decides and waits for the answer.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        decide: impl FnOnce(&Book, UnixMillis) -> Decided<R> + Send + 'static,
    ) -> Result<R, ScheduleError> {
        if self.around().is_none() {
            return Err(ScheduleError::Stopping);
        }
        let (done, answered) = oneshot::channel();
        // The caller may have left.
        self.submit(decide, move |answer| drop(done.send(answer))).await;
        answered.await.unwrap_or(Err(ScheduleError::Stopping))
    }

    /// Registers a receiver for the end of the next heartbeat.
    pub(crate) fn await_beat(&self, done: oneshot::Sender<RunEnd>) {
        self.0.beats.lock().push(done);
    }

    /// Sends the end of a heartbeat to all receivers.
    pub(crate) fn beaten(&self, end: &RunEnd) {
        let waiting = std::mem::take(&mut *self.0.beats.lock());
        for done in waiting {
            // The client may have left.
            drop(done.send(end.clone()));
        }
    }
}

struct Owner {
    book: Book,
    schedules: Schedules,
    around: Arc<Surroundings>,
    /// Path of the workspace, as clients see it.
    root: Arc<str>,
}

impl Owner {
    async fn run(mut self, mut orders: mpsc::Receiver<Decide>) {
        let stopping = self.around.threads.stopping().clone();
        let mut clock = self.schedules.0.clock.subscribe();
        let mut has_taken_up = false;
        loop {
            let runs = *clock.borrow_and_update() || self.around.by_clock == ByClock::Runs;
            if runs && !std::mem::replace(&mut has_taken_up, runs) {
                self.take_up().await;
            }
            if runs {
                self.look().await;
            }
            let has_due = self.book.next_due().is_some();
            self.schedules.0.has_due.store(has_due, Ordering::Relaxed);
            tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                order = orders.recv() => match order {
                    Some(order) => self.carry_out(order).await,
                    None => return,
                },
                _ = clock.changed() => {}
                () = tokio::time::sleep(self.pause()) => {}
            }
        }
    }

    /// Resumes the runs that the end of the last process interrupted.
    async fn take_up(&mut self) {
        let interrupted = self.book.running();
        let changes = self.book.after_restart();
        if let Err(error) = self.commit(changes).await {
            tracing::error!(%error, "it cannot be noted that runs of jobs were interrupted");
        }
        for job in interrupted {
            self.start(job);
        }
    }

    fn now(&self) -> UnixMillis {
        self.around.threads.clock().now()
    }

    /// Returns the time until the next look.
    fn pause(&self) -> Duration {
        let due = self.book.next_due().map(|due| due.0.saturating_sub(self.now().0));
        // A job that is due already waits for room; the end of a run wakes the owner.
        let ahead = due
            .and_then(|wait| u64::try_from(wait).ok())
            .filter(|wait| *wait > 0);
        ahead.map_or(LOOK_EVERY, |wait| {
            Duration::from_millis(wait).clamp(SHORTEST, LOOK_EVERY)
        })
    }

    async fn look(&mut self) {
        let changes = self.book.look(self.now());
        if changes.is_empty() {
            return;
        }
        match self.commit(changes).await {
            Ok(news) => self.send(news),
            // The next look tries again.
            Err(error) => tracing::error!(%error, "due jobs cannot be stored, so they do not start"),
        }
    }

    async fn carry_out(&mut self, decide: Decide) {
        let (changes, reply) = decide(&self.book, self.now());
        let committed = self.commit(changes).await;
        let (stored, news) = match committed {
            Ok(news) => (Ok(()), news),
            Err(error) => (Err(error), Vec::new()),
        };
        reply(stored);
        self.send(news);
    }

    /// Stores changes, applies them, and starts new runs. Returns the broadcasts for clients.
    async fn commit(&mut self, changes: Vec<Change>) -> Result<Vec<News>, StoreError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let stored = changes.iter().filter_map(stored).collect();
        self.schedules.0.store.change_schedule(stored).await?;
        let mut news = Vec::new();
        for change in changes {
            let now = match &change {
                Change::Put(job) => Some(Arc::new((**job).clone())),
                Change::Remove(_) | Change::PutTemplate(_) | Change::RemoveTemplate(_) => None,
            };
            let before = self.book.apply(change);
            let runs = |job: &Arc<Job>| job.state.run.is_some();
            if let Some(job) = now.as_ref().filter(|job| runs(job))
                && !before.as_ref().is_some_and(runs)
            {
                self.start(job.clone());
            }
            let runs = now.as_ref().and_then(|now| run_news(before.as_deref(), now));
            let changed = news_of(before, now).map(|(job, gone)| News::Job {
                job,
                gone,
                root: self.root.clone(),
            });
            news.extend(changed.into_iter().chain(runs));
        }
        Ok(news)
    }

    fn start(&self, job: Arc<Job>) {
        let (around, schedules) = (self.around.clone(), self.schedules.clone());
        self.around.threads.own(run::run(around, schedules, job));
    }

    fn send(&self, news: Vec<News>) {
        for news in news {
            let weight = match &news {
                News::Job { job, .. } => job.task.as_ref().map_or(0, |task| task.description.len()) + 1024,
                News::Run(_) => 2048,
            };
            self.around.threads.broadcasts().send(news, weight);
        }
    }
}

/// Broadcast about jobs.
pub(crate) enum News {
    /// A job is new, has changed, or is gone.
    Job {
        job: Arc<Job>,
        gone: Gone,
        /// Path of the workspace.
        root: Arc<str>,
    },
    /// A run is new or has changed.
    Run(Box<AutomationRun>),
}

/// Whether a job is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    Yes,
    No,
}

/// Returns the job to broadcast, if the change is visible to clients.
fn news_of(before: Option<Arc<Job>>, now: Option<Arc<Job>>) -> Option<(Arc<Job>, Gone)> {
    match (before, now) {
        (before, Some(now)) if now.kind != Kind::Heartbeat => {
            let differs = |before: Arc<Job>| {
                seen(&before) != seen(&now) || today::automation(&before) != today::automation(&now)
            };
            before.is_none_or(differs).then_some((now, Gone::No))
        }
        (Some(before), None) if before.kind != Kind::Heartbeat => Some((before, Gone::Yes)),
        _ => None,
    }
}

/// Returns the news of a job's newest run, if that has changed.
fn run_news(before: Option<&Job>, now: &Job) -> Option<News> {
    if now.kind == Kind::Heartbeat {
        return None;
    }
    let newest = today::newest(now)?;
    let known = before.and_then(today::newest);
    (known.as_ref() != Some(&newest)).then(|| News::Run(Box::new(newest)))
}

fn stored(change: &Change) -> Option<ScheduleChange> {
    let put = |kind: &str, id: &str, body: Option<String>| {
        body.map(|body| {
            ScheduleChange::Put(ScheduleEntry {
                kind: kind.to_owned(),
                id: id.to_owned(),
                body,
            })
        })
    };
    match change {
        Change::Put(job) => put(job.kind.as_str(), &job.id, json(job)),
        Change::PutTemplate(template) => put(TEMPLATE, &template.id, json(template)),
        Change::Remove(key) => Some(ScheduleChange::Remove {
            kind: key.kind.as_str().to_owned(),
            id: key.id.clone(),
        }),
        Change::RemoveTemplate(id) => Some(ScheduleChange::Remove {
            kind: TEMPLATE.to_owned(),
            id: id.clone(),
        }),
    }
}

fn read(entry: &ScheduleEntry) -> Result<Change, serde_json::Error> {
    if entry.kind == TEMPLATE {
        let template: Template = serde_json::from_str(&entry.body)?;
        return Ok(Change::PutTemplate(Box::new(template)));
    }
    let job: Job = serde_json::from_str(&entry.body)?;
    Ok(Change::Put(Box::new(job)))
}
