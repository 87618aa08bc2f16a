//! Watches the Threads of a workspace, and sends alerts that are due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bobbin_core::Threads;
use bobbin_eventlog::Waker;
use bobbin_model::ThreadId;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::time::{Instant, sleep_until};

use crate::overdue::{Overdue, Seen, Waits};
use crate::send::{Alert, AlertError, AlertKind, Sender};
use crate::settings::AlertSettings;

/// Pause between two looks in quiet hours, and after a question that was not delivered.
const PAUSE: Duration = Duration::from_mins(1);
/// A time without an alert.
const NEVER: Duration = Duration::from_hours(24);

/// Returns the address of a Thread on the page, or of the page.
type Link = Box<dyn Fn(Option<&ThreadId>) -> Option<String> + Send + Sync>;

/// The alerts of a workspace. Clones are the same.
#[derive(Clone)]
pub struct Alerts(Arc<Inner>);

struct Inner {
    settings: AlertSettings,
    sender: Sender,
    /// The name of the workspace.
    workspace: String,
    link: Link,
    /// Whether an alert is due later.
    is_pending: AtomicBool,
}

impl Alerts {
    /// Makes the alerts of a workspace. `link` may read a file.
    pub fn new(settings: AlertSettings, sender: Sender, workspace: String, link: Link) -> Self {
        Self(Arc::new(Inner {
            settings,
            sender,
            workspace,
            link,
            is_pending: AtomicBool::new(false),
        }))
    }

    /// Whether a question waits that is reported later: the alert needs the server until then.
    pub fn is_pending(&self) -> bool {
        self.0.is_pending.load(Ordering::Acquire)
    }

    /// Sends an alert that only shows that alerts arrive.
    ///
    /// # Errors
    /// It does not arrive.
    pub async fn test(&self) -> Result<(), AlertError> {
        self.0.send(AlertKind::Test, None, None).await
    }

    /// Starts to watch. The Threads join the task when they stop.
    pub fn start(&self, threads: &Arc<Threads>) {
        let (alerts, watched) = (self.0.clone(), threads.clone());
        threads.own(async move {
            let stopping = watched.stopping().clone();
            tokio::select! {
                () = alerts.watch(&watched) => {}
                () = stopping.cancelled() => {}
            }
        });
    }
}

impl Inner {
    async fn watch(&self, threads: &Arc<Threads>) {
        let waker = Waker::default();
        let log = threads.broadcasts().log();
        log.watch(&waker);
        let waits = Waits {
            question: self.settings.wait,
            turn: self.settings.turn,
        };
        let mut overdue = Overdue::default();
        loop {
            let due = overdue.look(&at_work(threads), Instant::now(), waits);
            for (thread, kind) in due {
                // The end of a Turn is not reported later.
                if self.settings.is_quiet(Timestamp::now(), &TimeZone::system()) {
                    overdue.postpone(&thread, Instant::now() + PAUSE);
                } else if !self.report(threads, &thread, kind).await {
                    overdue.failed(&thread, Instant::now() + PAUSE);
                }
            }
            let next = overdue.next();
            self.is_pending.store(next.is_some(), Ordering::Release);
            let next = next.unwrap_or_else(|| Instant::now() + NEVER);
            tokio::select! {
                () = waker.woken() => {}
                () = sleep_until(next) => {}
            }
        }
    }

    /// Reports a Thread. Returns whether the alert was delivered.
    async fn report(&self, threads: &Arc<Threads>, thread: &ThreadId, kind: AlertKind) -> bool {
        let title = match threads.stored(thread).await {
            Ok(Some(state)) => state.header.display_name,
            Ok(None) | Err(_) => None,
        };
        match self.send(kind, Some(thread), title).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, "an alert was not delivered");
                false
            }
        }
    }

    async fn send(
        &self,
        kind: AlertKind,
        thread: Option<&ThreadId>,
        title: Option<String>,
    ) -> Result<(), AlertError> {
        let alert = Alert {
            kind,
            workspace: self.workspace.clone(),
            // One line, in which nothing directs a terminal.
            title: title
                .filter(|_| self.settings.titles)
                .map(|title| title.replace(char::is_control, " ")),
            thread_id: thread.map(|thread| thread.as_str().to_owned()),
            link: (self.link)(thread),
        };
        self.sender.send(&alert).await
    }
}

/// Returns the Threads with a Turn that has not ended. The question of a subagent is that of the root of its tree.
fn at_work(threads: &Arc<Threads>) -> Vec<Seen> {
    let mut all: Vec<Seen> = Vec::new();
    for handle in threads.with_turn() {
        let thread = handle.root().unwrap_or(handle.id());
        let waits = threads.is_waiting(&handle);
        match all.iter_mut().find(|seen| seen.thread == *thread) {
            Some(seen) => seen.waits |= waits,
            None => all.push(Seen {
                thread: thread.clone(),
                waits,
            }),
        }
    }
    all
}
