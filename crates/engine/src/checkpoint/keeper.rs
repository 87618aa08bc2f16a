//! What the agent's loop calls around a call: keep what may change, then say what did.
//!
//! A call is never kept from running: where nothing can be kept, that is written down and told, once a run of a Turn.
//! A call that is dropped in the middle is closed by a task of the repository's.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bobbin_core::engine::TurnContext;
use bobbin_core::tool::Touches;
use bobbin_model::{ThreadId, TurnId};
use tokio::time::timeout;

use super::shadow::{Checkpoints, LookError, chain, place};
use super::step::{Ended, Held};
use super::windows::Whose;

/// Longest wait for a step to be written before a call runs all the same.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// What is kept around the calls of one run of a Turn.
#[derive(Debug)]
pub(crate) struct TurnKeeper {
    checkpoints: Option<Arc<Checkpoints>>,
    thread: ThreadId,
    turn: TurnId,
    root: PathBuf,
    /// Number of the next step.
    next: AtomicU32,
    /// People were told that something cannot be undone.
    told: AtomicBool,
}

/// A call that may run now.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    open: Option<Open>,
    /// Something to tell people: that it cannot be undone.
    pub(crate) notice: Option<String>,
}

/// An open step.
#[derive(Debug)]
struct Open {
    checkpoints: Arc<Checkpoints>,
    name: String,
    whose: Whose,
    /// Of a look.
    window: Option<u64>,
    /// What was written, where it need not be read again.
    held: Option<Held>,
    ended: bool,
}

impl TurnKeeper {
    pub(crate) fn new(checkpoints: Option<Arc<Checkpoints>>, turn: &TurnContext) -> Self {
        Self {
            checkpoints,
            thread: turn.thread().clone(),
            turn: turn.turn(),
            root: turn.environment().root.clone(),
            next: AtomicU32::new(1),
            told: AtomicBool::new(false),
        }
    }

    /// Closes the steps that an earlier run of this Turn has left open, and goes on numbering after them. Returns what
    /// their calls have changed.
    pub(crate) async fn take_up(&self) -> Ended {
        let Some(checkpoints) = self.checkpoints.clone() else {
            return Ended::default();
        };
        let whose = (self.thread.clone(), self.turn);
        let closing = async {
            let mut all = Ended::default();
            let names = checkpoints.steps(&self.thread, self.turn).await?;
            let last = names
                .last()
                .and_then(|name| name.rsplit('/').next()?.parse::<u32>().ok());
            self.next.store(last.unwrap_or(0) + 1, Ordering::Relaxed);
            for name in names {
                let ended = checkpoints.close(&name, &whose, None, None).await?;
                all.changed.extend(ended.changed);
                all.untold.extend(ended.untold);
            }
            Ok::<_, LookError>(all)
        };
        closing.await.unwrap_or_else(|error| {
            tracing::warn!(thread = %whose.0, error = chain(&error), "cannot see what an interrupted call has changed");
            Ended::default()
        })
    }

    /// Keeps what a call may change.
    pub(crate) async fn begin(&self, call: &str, touches: Touches) -> Begun {
        let Some(checkpoints) = self.checkpoints.clone().filter(|_| touches != Touches::Nothing) else {
            return Begun::default();
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{number:06}", place(&self.thread, self.turn));
        let mut open = Open {
            name,
            whose: (self.thread.clone(), self.turn),
            window: None,
            held: None,
            ended: false,
            checkpoints: checkpoints.clone(),
        };
        let writing = async {
            match touches {
                Touches::Nothing => Ok(None),
                Touches::Files(files) => {
                    let written = checkpoints.begin_files(&open.name, call, &self.root, files);
                    written.await.map(Some)
                }
                Touches::Anything => {
                    let window = checkpoints.windows.lock().open(open.whose.clone(), &self.root);
                    open.window = Some(window);
                    checkpoints
                        .begin_look(&open.name, call, &self.root)
                        .await
                        .map(Some)
                }
            }
        };
        let written = timeout(MAX_WAIT, writing).await;
        let why = match written {
            Ok(Ok(held)) => {
                open.held = held;
                return Begun {
                    open: Some(open),
                    notice: None,
                };
            }
            Ok(Err(LookError::TooMuch(why))) => why,
            Ok(Err(error)) => {
                tracing::warn!(thread = %self.thread, error = chain(&error), "no checkpoint");
                "the checkpoint could not be written".to_owned()
            }
            Err(_) => "writing the checkpoint took too long".to_owned(),
        };
        open.give_up();
        checkpoints
            .begin_nothing(&open.name, call, &self.root, &why)
            .await;
        let notice = format!("What {call} changes in files cannot be undone: {why}.");
        let notice = (!self.told.swap(true, Ordering::Relaxed)).then_some(notice);
        Begun { open: None, notice }
    }
}

impl Begun {
    /// Keeps what the call has changed.
    pub(crate) async fn end(self) -> Ended {
        let Some(mut open) = self.open else {
            return Ended::default();
        };
        let (window, held) = (open.window.take(), open.held.take());
        open.ended = true;
        let closing = open.checkpoints.close(&open.name, &open.whose, window, held);
        let closed = timeout(MAX_WAIT, closing).await;
        match closed {
            Ok(Ok(ended)) => ended,
            // The step stays open, and is closed when it is needed.
            Ok(Err(error)) => {
                tracing::warn!(
                    step = open.name,
                    error = chain(&error),
                    "cannot see what a call has changed"
                );
                Ended::default()
            }
            Err(_) => {
                tracing::warn!(step = open.name, "seeing what a call has changed took too long");
                Ended::default()
            }
        }
    }
}

impl Open {
    fn give_up(&mut self) {
        self.ended = true;
        if let Some(window) = self.window.take() {
            self.checkpoints.windows.lock().close(window);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let (checkpoints, name, whose) = (self.checkpoints.clone(), self.name.clone(), self.whose.clone());
        let (window, held) = (self.window.take(), self.held.take());
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        self.checkpoints.tasks.spawn(async move {
            let stop = checkpoints.stop.clone();
            let closing = timeout(MAX_WAIT, checkpoints.close(&name, &whose, window, held));
            tokio::select! {
                () = stop.cancelled() => {}
                closed = closing => if let Ok(Err(error)) = closed {
                    tracing::warn!(step = name, error = chain(&error), "cannot see what a dropped call has changed");
                }
            }
        });
    }
}
