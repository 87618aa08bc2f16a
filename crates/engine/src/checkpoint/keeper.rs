//! What the agent's loop calls around a call: keep what may change, then say what did.
//!
//! A call is never kept from running: where nothing can be kept, that is written down and told, once a run of a Turn.
//! What a call has changed is seen by a task of the repository's, whether anybody waits for that or not. What cannot be closed in its place is
//! written down as unknown: nobody closes it later and takes for the call's what others did since.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bobbin_core::engine::TurnContext;
use bobbin_core::tool::Touches;
use bobbin_model::{ThreadId, TurnId};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::alive::Worked;
use super::clock::{Clock, Late};
use super::shadow::{Checkpoints, LookError, chain, place};
use super::step::{Ended, Held};
use super::windows::Going;

/// Longest wait for a step to be written before a call runs all the same.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// Number of the next step where those that are there cannot be listed.
const UNLISTED: u32 = 500_000;

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
    work: Option<Work>,
}

/// What is open as long as a step is.
#[derive(Debug)]
struct Work {
    /// Of a look: its window; else what is being written.
    going: Option<Going>,
    /// What was written, where it need not be read again.
    held: Option<Held>,
    _worked: Worked,
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

    /// Returns one for a Turn that nobody runs.
    #[cfg(test)]
    pub(super) fn of(
        checkpoints: &Arc<Checkpoints>,
        (thread, turn): (ThreadId, TurnId),
        root: PathBuf,
    ) -> Self {
        Self {
            checkpoints: Some(checkpoints.clone()),
            thread,
            turn,
            root,
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
        let names = match checkpoints.steps(&self.thread, self.turn).await {
            Ok(names) => names,
            Err(error) => {
                tracing::warn!(thread = %self.thread, error = chain(&error), "cannot see what an interrupted call has changed");
                // What is there already is not written over.
                self.next.store(UNLISTED, Ordering::Relaxed);
                return Ended::default();
            }
        };
        let last = names
            .last()
            .and_then(|name| name.rsplit('/').next()?.parse::<u32>().ok());
        self.next.store(last.unwrap_or(0) + 1, Ordering::Relaxed);
        let mut all = Ended::default();
        for name in names {
            let work = Work {
                going: None,
                held: None,
                _worked: checkpoints.alive.work_at(&name),
            };
            let ended = checkpoints.close_or_give_up(&name, work).await;
            all.changed.extend(ended.changed);
            all.untold.extend(ended.untold);
        }
        all
    }

    /// Keeps what a call may change, while `intent` has it recorded that the call begins. Nothing is written down here
    /// before that is.
    ///
    /// # Errors
    /// That of the intent; nothing is kept then.
    pub(crate) async fn begin<E>(
        &self,
        call: &str,
        touches: Touches,
        intent: impl Future<Output = Result<(), E>>,
    ) -> Result<Begun, E> {
        let Some(checkpoints) = self.checkpoints.clone().filter(|_| touches != Touches::Nothing) else {
            intent.await?;
            return Ok(Begun::default());
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{number:06}", place(&self.thread, self.turn));
        let whose = (self.thread.clone(), self.turn);
        // Before anything is looked at: a look of somebody else's that ends meanwhile is not to wonder.
        let going = match &touches {
            Touches::Nothing => None,
            Touches::Files(files) => Some(checkpoints.windows.writing(Some(whose), files.clone())),
            Touches::Anything => Some(checkpoints.windows.open(whose, &self.root)),
        };
        let mut open = Open {
            work: Some(Work {
                going,
                held: None,
                _worked: checkpoints.alive.work_at(&name),
            }),
            name,
            checkpoints: checkpoints.clone(),
        };
        let (tell, told) = oneshot::channel();
        let clock = Clock::new(MAX_WAIT);
        let recorded = clock.pause(async {
            if told.await.is_err() {
                // It never will be: whoever waits for this is told so, and drops it.
                pending::<()>().await;
            }
        });
        let recording = async {
            intent.await?;
            // Where nobody listens, the writing has ended without it.
            let _ = tell.send(());
            Ok(())
        };
        let writing = async {
            match touches {
                Touches::Nothing => Ok(None),
                Touches::Files(files) => {
                    let written = checkpoints.begin_files(&open.name, call, &self.root, files, recorded);
                    written.await.map(Some)
                }
                Touches::Anything => {
                    let written = checkpoints.begin_look(&open.name, call, &self.root, recorded);
                    written.await.map(Some)
                }
            }
        };
        let writing = async { Ok(clock.time(writing).await) };
        let begun = tokio::try_join!(recording, writing);
        let ((), written) = begun.inspect_err(|_| open.is_not_written())?;
        let why = match written {
            Ok(Ok(held)) => {
                if let Some(work) = &mut open.work {
                    work.held = held;
                }
                return Ok(Begun {
                    open: Some(open),
                    notice: None,
                });
            }
            Ok(Err(LookError::TooMuch(why))) => why,
            Ok(Err(error)) => {
                tracing::warn!(thread = %self.thread, error = chain(&error), "no checkpoint");
                "the checkpoint could not be written".to_owned()
            }
            Err(Late) => "writing the checkpoint took too long".to_owned(),
        };
        let work = open.work.take();
        checkpoints
            .begin_nothing(&open.name, call, &self.root, &why)
            .await;
        drop(work);
        let notice = format!("What {call} changes in files cannot be undone: {why}.");
        let notice = (!self.told.swap(true, Ordering::Relaxed)).then_some(notice);
        Ok(Begun { open: None, notice })
    }
}

impl Begun {
    /// Keeps what the call has changed.
    ///
    /// # Cancel safety
    /// A task of the repository's does the work: whoever stops waiting loses the answer and nothing else.
    pub(crate) async fn end(self) -> Ended {
        let closing = self.open.and_then(|mut open| open.close());
        match closing {
            Some(closing) => closing.await.unwrap_or_else(|error| {
                tracing::error!(%error, "cannot see what a call has changed");
                Ended::default()
            }),
            None => Ended::default(),
        }
    }
}

impl Open {
    /// Says that the call will not run, which was said to write files.
    fn is_not_written(&mut self) {
        if let Some(going) = self.work.as_mut().and_then(|work| work.going.take()) {
            going.take_back();
        }
    }

    /// Has the step closed by a task of the repository's.
    fn close(&mut self) -> Option<JoinHandle<Ended>> {
        let work = self.work.take()?;
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let (checkpoints, name) = (self.checkpoints.clone(), std::mem::take(&mut self.name));
        let closing = async move {
            let stop = checkpoints.stop.clone();
            tokio::select! {
                // It is closed when the Turn is taken up again.
                () = stop.cancelled() => Ended::default(),
                ended = checkpoints.close_or_give_up(&name, work) => ended,
            }
        };
        Some(self.checkpoints.tasks.spawn_on(closing, &runtime))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        drop(self.close());
    }
}

impl Checkpoints {
    /// Closes a step, if it is open; one that cannot be closed now is written down as unknown.
    async fn close_or_give_up(&self, name: &str, work: Work) -> Ended {
        let Work { going, held, _worked } = work;
        let closed = timeout(MAX_WAIT, self.close(name, going, held)).await;
        let why = match closed {
            Ok(Ok(ended)) => return ended,
            Ok(Err(LookError::TooMuch(why))) => why,
            Ok(Err(error)) => {
                tracing::warn!(
                    step = name,
                    error = chain(&error),
                    "cannot see what a call has changed"
                );
                "what it has changed could not be seen".to_owned()
            }
            Err(_) => "seeing what it has changed took too long".to_owned(),
        };
        self.give_up(name, &why).await;
        Ended::default()
    }
}
