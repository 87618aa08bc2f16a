//! The named durable steps: the moments at which something is stored, sent or started.
//!
//! A crash has different effects before and after each step. Builds for tests (feature `failpoints`, which only
//! tests enable) can be killed at any of them. In all other builds [`reached`] does nothing.

/// A named durable step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The database is open with the current schema; cleanup after the last process has not run.
    Opened,
    /// The open Turns of the last process are known; none is resumed.
    Recovering,
    /// An open Turn is loaded; its resumption is not recorded.
    TakingUp,
    /// Events are applied in memory and numbered; the writer has not received them.
    Staged,
    /// Streamed text is ready to be stored; the writer has not received it.
    Checkpoint,
    /// The writer has taken writes from its queue; nothing is on disk.
    BatchTaken,
    /// The whole batch is in the transaction; nothing is on disk.
    BeforeCommit,
    /// The batch is on disk; no owner is notified.
    AfterCommit,
    /// The owners are notified.
    Acknowledged,
    /// An owner knows that its events are on disk; the client has no answer.
    BeforeReply,
    /// The client is answered; the events are not shown.
    BeforeShow,
    /// The events are shown; their effects have not started.
    BeforeEffect,
    /// Their effects have started: an engine runs, a call may have its effect, a decision is known.
    AfterEffect,
    /// An engine requests a record: a call may have had its effect, and its end is not recorded.
    RequestTaken,
    /// An engine has ended; its Turn has not.
    EngineEnded,
    /// New text is in the index, in a transaction that is not committed.
    BeforeIndexCommit,
    /// Rows of a deleted Thread are removed, in a transaction that is not committed.
    BeforePurgeCommit,
    /// Every Turn and owner has ended; the store is still open.
    BeforeClose,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 18] = [
        Self::Opened,
        Self::Recovering,
        Self::TakingUp,
        Self::Staged,
        Self::Checkpoint,
        Self::BatchTaken,
        Self::BeforeCommit,
        Self::AfterCommit,
        Self::Acknowledged,
        Self::BeforeReply,
        Self::BeforeShow,
        Self::BeforeEffect,
        Self::AfterEffect,
        Self::RequestTaken,
        Self::EngineEnded,
        Self::BeforeIndexCommit,
        Self::BeforePurgeCommit,
        Self::BeforeClose,
    ];
}

/// Marks that a step is reached.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn reached(_: Step) {}

/// Allows a test to choose where this process is killed. `setting` reads a setting by its name; here it is never
/// called.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn arm_by(_: impl FnOnce(&'static str) -> Option<std::ffi::OsString>) {}

#[cfg(feature = "failpoints")]
pub use armed::{arm_by, observe, reached};

#[cfg(feature = "failpoints")]
mod armed {
    use std::ffi::OsString;
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;

    use parking_lot::Mutex;

    use super::Step;

    type Observer = Box<dyn Fn(Step) + Send + Sync>;

    static OBSERVER: OnceLock<Observer> = OnceLock::new();

    /// Sets a function that is called at every step of this process, on the thread that reached it. Only the first
    /// call has an effect.
    pub fn observe(observer: impl Fn(Step) + Send + Sync + 'static) {
        drop(OBSERVER.set(Box::new(observer)));
    }

    /// Marks that a step is reached.
    pub fn reached(step: Step) {
        if let Some(observer) = OBSERVER.get() {
            observer(step);
        }
    }

    /// Allows a test to choose where this process is killed, by the file that `BOBBIN_KILL_AT` names. `Staged 3`
    /// kills it the third time it reaches that step, `any 7` at its seventh step, and `trace` lists the reached
    /// steps in a file next to it (`.trace`). The step of its death is written to another file (`.died`). Without
    /// the file nothing happens; the file may appear and disappear while the process runs.
    pub fn arm_by(setting: impl FnOnce(&'static str) -> Option<OsString>) {
        let Some(path) = setting("BOBBIN_KILL_AT") else {
            return;
        };
        let (path, one_at_a_time) = (PathBuf::from(path), Mutex::new(()));
        observe(move |step| {
            let _held = one_at_a_time.lock();
            // The test that waits for the file detects an error here.
            drop(obey(&path, step));
        });
    }

    fn obey(path: &Path, step: Step) -> std::io::Result<()> {
        let order = std::fs::read_to_string(path)?;
        let name = format!("{step:?}");
        if order.trim() == "trace" {
            let mut trace = std::fs::OpenOptions::new();
            let mut trace = trace
                .create(true)
                .append(true)
                .open(path.with_extension("trace"))?;
            return writeln!(trace, "{name}");
        }
        let Some((wanted, times)) = order.trim().split_once(' ') else {
            return Ok(());
        };
        if wanted != "any" && wanted != name {
            return Ok(());
        }
        let times: u32 = times.parse().unwrap_or(1);
        if times > 1 {
            return std::fs::write(path, format!("{wanted} {}", times - 1));
        }
        std::fs::write(path.with_extension("died"), name)?;
        std::fs::remove_file(path)?;
        nix::sys::signal::kill(nix::unistd::getpid(), nix::sys::signal::Signal::SIGKILL)?;
        loop {
            std::thread::park();
        }
    }
}
