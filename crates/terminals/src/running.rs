//! A command as the one who wants it run sees it: its output, its end, and the way into the background.

use std::path::PathBuf;
use std::time::Duration;

use bobbin_agent_api::tool::CallOrigin;
use bobbin_children::{ChildError, Outcome};
use bobbin_model::{BackgroundReason, Terminal};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How a command is run. Whoever makes one has had it allowed, and its process wrapped in what holds it.
#[derive(Debug, Clone)]
pub struct Order {
    /// Whose call it is.
    pub origin: CallOrigin,
    /// The command line, for people.
    pub command: String,
    /// Where it runs.
    pub working_directory: PathBuf,
    /// Whether the kernel holds what it may do.
    pub sandboxed: bool,
    /// When it is ended; `None` for as long as it likes.
    pub time_limit: Option<Duration>,
    /// Time between the polite signal and the last one.
    pub grace: Duration,
    /// Bytes of output kept for its end in the foreground.
    pub captured_bytes: usize,
    /// Whether its standard input stays open to be typed into.
    pub typed: bool,
}

/// How a command ended that was not left.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub outcome: Result<Outcome, ChildError>,
    /// The file with its output, where there was more than memory holds.
    pub output_path: Option<String>,
    /// How many bytes of the output are not in that file.
    pub left_out: u64,
}

/// Why a command could not be left in the background. It goes on as before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotLeft {
    /// The Thread has as many as it may have.
    #[error("this thread has {0} running terminals, the most there may be; stop one first")]
    ThreadFull(usize),
    /// The workspace has.
    #[error("the workspace has {0} running terminals, the most there may be; stop one first")]
    Full(usize),
    /// Its output cannot be kept.
    #[error("there is no place for its output")]
    NoPlace,
    /// It has ended meanwhile.
    #[error("it has ended")]
    Ended,
}

/// Somebody wants to leave a command.
pub(crate) struct Leave {
    pub(crate) reason: BackgroundReason,
    pub(crate) reply: oneshot::Sender<Result<Terminal, NotLeft>>,
}

/// A running command. Dropping it ends the command, unless it was left.
#[derive(Debug)]
pub struct Running {
    pub(crate) output: Option<mpsc::Receiver<String>>,
    pub(crate) leave: mpsc::Sender<Leave>,
    pub(crate) ended: oneshot::Receiver<Ended>,
    pub(crate) stop: CancellationToken,
    /// `None` once it was left.
    pub(crate) guard: Option<DropGuard>,
}

impl Running {
    /// Returns the next piece of output, `None` when there is no more.
    ///
    /// # Cancel safety
    /// Safe.
    pub async fn output(&mut self) -> Option<String> {
        match &mut self.output {
            Some(output) => output.recv().await,
            None => None,
        }
    }

    /// Asks it to end.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> Ended {
        // Nobody reads any more; it must not wait for us.
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

    /// Leaves it in the background. Its output so far is in what is returned; no more comes here.
    ///
    /// # Errors
    /// [`NotLeft`]; it goes on, and its end can be waited for. What it writes is still in its outcome.
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
