//! The named durable steps: the moments between which something is on disk, told, or begun.
//!
//! What a crash may do is different on either side of each. Builds for tests (feature `failpoints`, which nothing but
//! tests turns on) can be killed at any of them; in every other build [`reached`] is nothing at all.

/// A named durable step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The database is open and of the present schema; what a new process undoes is not undone.
    Opened,
    /// The open Turns of the last process are known; none is taken up.
    Recovering,
    /// An open Turn is loaded; nothing says that it goes on.
    TakingUp,
    /// Events are applied in memory and numbered; the writer does not have them.
    Staged,
    /// Streamed text was taken to be stored; the writer does not have it.
    Checkpoint,
    /// The writer has taken writes from its queue; nothing is on disk.
    BatchTaken,
    /// Everything of the batch is in the transaction; nothing is on disk.
    BeforeCommit,
    /// The batch is on disk; nobody knows.
    AfterCommit,
    /// The owners have been told.
    Acknowledged,
    /// An owner knows that its events are on disk; they are not answered for.
    BeforeReply,
    /// The answer is on its way; the events are not shown.
    BeforeShow,
    /// The events are shown; what they cause is not begun.
    BeforeEffect,
    /// What they cause has begun: an engine runs, a call may have its effect, a decision is known.
    AfterEffect,
    /// An engine wants something recorded: a call may have had its effect, and nothing says how it ended.
    RequestTaken,
    /// An engine has ended; its Turn has not.
    EngineEnded,
    /// Some of what is new is in the index, in a transaction of its own that is not committed.
    BeforeIndexCommit,
    /// Some of a deleted Thread's rows are gone, likewise.
    BeforePurgeCommit,
    /// Every Turn and owner has ended; the store is open.
    BeforeClose,
}

impl Step {
    /// All of them.
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

/// Says that a step is reached.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn reached(_: Step) {}

/// Lets a test say from outside where this process is killed. `setting` reads a setting by its name; it is not asked.
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

    /// Has a function called at every step of this process, on the thread that reached it. The first one stays.
    pub fn observe(observer: impl Fn(Step) + Send + Sync + 'static) {
        drop(OBSERVER.set(Box::new(observer)));
    }

    /// Says that a step is reached.
    pub fn reached(step: Step) {
        if let Some(observer) = OBSERVER.get() {
            observer(step);
        }
    }

    /// Lets a test say from outside where this process is killed, in the file that `BOBBIN_KILL_AT` names: `Staged 3`
    /// kills it the third time it reaches that step, `any 7` at the seventh of all, and `trace` lists those it reaches in
    /// a file beside it (`.trace`). Where it died is written to another (`.died`). Without the file nothing happens, and
    /// it may come and go while the process runs.
    pub fn arm_by(setting: impl FnOnce(&'static str) -> Option<OsString>) {
        let Some(path) = setting("BOBBIN_KILL_AT") else {
            return;
        };
        let (path, one_at_a_time) = (PathBuf::from(path), Mutex::new(()));
        observe(move |step| {
            let _held = one_at_a_time.lock();
            // What cannot be read or written here shows in the test that waits for it.
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
