//! A command as its caller sees it: its output, its end, and the way into the background.

use std::path::PathBuf;
use std::time::Duration;

use bobbin_agent_api::tool::CallOrigin;
use bobbin_children::{ChildError, Outcome};
use bobbin_model::{BackgroundReason, Terminal};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How a command is run. The caller has its approval, and has wrapped the process in its sandbox.
#[derive(Debug, Clone)]
pub struct CommandOrder {
    /// The call that runs the command.
    pub origin: CallOrigin,
    /// The command line, for display.
    pub command: String,
    /// Its working directory.
    pub working_directory: PathBuf,
    /// Whether the kernel enforces its sandbox.
    pub sandboxed: bool,
    /// Longest time that the command may run; `None` is no limit.
    pub time_limit: Option<Duration>,
    /// Time between the first signal and SIGKILL.
    pub grace: Duration,
    /// Most bytes of output in the outcome of a foreground command.
    pub captured_bytes: usize,
    /// Whether its standard input stays open for later input.
    pub typed: bool,
}

/// The end of a command that was not left in the background.
#[derive(Debug)]
pub struct Ended {
    /// The outcome.
    pub outcome: Result<Outcome, ChildError>,
    /// The file with its output, if the output exceeds memory.
    pub output_path: Option<String>,
    /// Bytes of the output that are missing in that file.
    pub left_out: u64,
}

/// Why a command could not be left in the background. It continues as before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotLeft {
    /// The Thread has its maximum of terminals.
    #[error("this thread has {0} running terminals, the most there may be; stop one first")]
    ThreadFull(usize),
    /// The workspace has its maximum.
    #[error("the workspace has {0} running terminals, the most there may be; stop one first")]
    Full(usize),
    /// Its output cannot be stored.
    #[error("there is no place for its output")]
    NoPlace,
    /// The command has ended meanwhile.
    #[error("it has ended")]
    Ended,
}

/// A request to leave a command in the background.
pub(crate) struct Leave {
    pub(crate) reason: BackgroundReason,
    pub(crate) reply: oneshot::Sender<Result<Terminal, NotLeft>>,
}

/// A running command. Dropping it ends the command, unless it was left in the background.
#[derive(Debug)]
pub struct Running {
    pub(crate) output: Option<mpsc::Receiver<String>>,
    pub(crate) leave: mpsc::Sender<Leave>,
    pub(crate) ended: oneshot::Receiver<Ended>,
    pub(crate) stop: CancellationToken,
    /// `None` once it was left in the background.
    pub(crate) guard: Option<DropGuard>,
}

impl Running {
    /// Returns the next piece of output, `None` at its end.
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future loses no output.
    pub async fn output(&mut self) -> Option<String> {
        match &mut self.output {
            Some(output) => output.recv().await,
            None => None,
        }
    }

    /// Requests its end.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> Ended {
        // The output is not read any more, and must not block the command.
        self.output = None;
        match (&mut self.ended).await {
            Ok(ended) => ended,
            Err(_) => Ended {
                outcome: Err(ChildError::ParentGone),
                output_path: None,
                left_out: 0,
            },
        }
    }

    /// Leaves the command in the background. The result has its output so far; no more arrives here.
    ///
    /// # Errors
    /// [`NotLeft`]; the command continues, and its end can be awaited. Its further output is in its outcome.
    pub async fn leave(&mut self, reason: BackgroundReason) -> Result<Terminal, NotLeft> {
        self.output = None;
        let (reply, left) = oneshot::channel();
        let asked = self.leave.send(Leave { reason, reply }).await;
        let left = match asked {
            Ok(()) => left.await.unwrap_or(Err(NotLeft::Ended)),
            Err(_) => Err(NotLeft::Ended),
        };
        if left.is_ok() {
            self.guard.take().map(DropGuard::disarm);
        }
        left
    }
}
