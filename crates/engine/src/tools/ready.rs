//! What holds a command, started before the command may begin: it waits for its word while people are asked and while
//! the command's intent is being written down.
//!
//! People take their time. So what was looked up for it is looked up again before it is used, and one that is not right any
//! more is not. At most [`WAITING`] wait at a time, beside one that was told nothing; the others are started when their
//! commands begin.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{Process, ProcessSpec, Started};
use bobbin_sandbox::{Outer, Plan, Seen};
use bobbin_terminals::Terminals;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::bubblewrap::Begun;
use super::sandbox::Sandbox;
use super::spare::{Looked, Spares};
use super::wrapped::{Word, Wrapped};

/// Most that wait at a time (guess: people look at one or two questions; each is up to three processes of a few megabytes).
const WAITING: usize = 4;
/// How long what was looked up counts (guess: what can change in that time can change as well while a command is begun).
pub(super) const FRESH: Duration = Duration::from_millis(100);

/// The room for those that wait.
#[derive(Debug, Clone)]
pub(super) struct Room {
    places: Arc<Semaphore>,
    pub(super) spares: Spares,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(WAITING)),
            spares: Spares::default(),
        }
    }
}

/// A process that waits for its word to become a command. Dropped, it is killed before its word can end.
#[derive(Debug)]
pub(super) struct Ready {
    /// Before the word: it is gone when the word's end could be read.
    process: Started,
    begun: Option<Begun>,
    word: Word,
    seen: Seen,
    looked: Instant,
    _place: OwnedSemaphorePermit,
}

impl Ready {
    /// Starts what holds a command. `None` where there is no room, or it does not work: that is told when the command is to
    /// begin.
    pub(super) async fn start(
        room: &Room,
        sandbox: &Sandbox,
        plan: &Plan,
        spec: ProcessSpec,
        looked: Option<Looked>,
        terminals: &Terminals,
    ) -> Option<Self> {
        let place = room.places.clone().try_acquire_owned().ok()?;
        sandbox.settle().await;
        let spec = sandbox.outfit(plan, spec);
        let held = room.spares.hold(&sandbox.bubblewrap, plan, &spec, looked);
        if plan.outer == Outer::Bubblewrap {
            room.spares.fill(&sandbox.bubblewrap, spec.env.clone(), terminals);
        }
        let (process, begun, word, (looked, seen)) = if let Some(held) = held {
            held
        } else {
            let looked = Instant::now();
            let Wrapped {
                spec,
                begun,
                word,
                seen,
            } = sandbox.wrap_ahead(plan, spec).ok()?;
            let process = terminals.start_ahead(spec).await.ok()?;
            (process, begun, word, (looked, seen))
        };
        Some(Self {
            process,
            begun,
            word,
            seen,
            looked,
            _place: place,
        })
    }

    /// Returns it if it still holds a command that runs in `directory` as planned; else it is gone.
    pub(super) fn still(mut self, plan: &Plan, directory: &Path) -> Option<Self> {
        if self.process.has_ended() {
            return None;
        }
        let now = Instant::now();
        if now.duration_since(self.looked) > FRESH {
            if Seen::of(plan, directory) != self.seen {
                return None;
            }
            self.looked = now;
        }
        Some(self)
    }

    /// Lets the command begin. Returns what runs, and where it is seen whether the command has begun.
    ///
    /// # Errors
    /// Why it cannot, as half a sentence.
    pub(super) fn begin(mut self) -> Result<(Process, Option<Begun>), String> {
        self.word.give()?;
        Ok((self.process.into(), self.begun))
    }
}
