//! File work off the async threads, with bounded concurrency.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bobbin_agent_api::tool::ToolOutput;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::arguments::failed;
use super::replace_file::{read_whole, seen};
use bobbin_files::Leftovers;
use bobbin_model::SeenFile;

/// Concurrent file jobs in the whole server; more wait (guess: disks gain nothing beyond).
const AT_ONCE: usize = 16;

/// Permits for file work. One per server; clones share it.
#[derive(Debug, Clone)]
pub(super) struct FileWork {
    permits: Arc<Semaphore>,
    leftovers: Leftovers,
}

impl FileWork {
    pub(super) fn new() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(AT_ONCE)),
            leftovers: Leftovers::default(),
        }
    }

    /// Returns the record of the names of temporary files.
    pub(super) fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    /// Runs a job that reads; `None` if the job could not run.
    ///
    /// # Cancel safety
    /// As for [`FileWork::run`].
    pub(super) async fn look<T: Send + 'static>(
        self,
        work: impl FnOnce() -> Option<T> + Send + 'static,
    ) -> Option<T> {
        // The semaphore is never closed.
        let permit = self.permits.acquire_owned().await.ok();
        let done = tokio::task::spawn_blocking(move || {
            let seen = work();
            drop(permit);
            seen
        });
        done.await
            .inspect_err(|error| tracing::error!(%error, "a tool's file work did not end"))
            .ok()
            .flatten()
    }

    /// Runs a job to its end; an error text becomes a failed output.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop a job that has started.
    pub(super) async fn run(
        self,
        work: impl FnOnce() -> Result<ToolOutput, String> + Send + 'static,
    ) -> ToolOutput {
        // The semaphore is never closed.
        let permit = self.permits.acquire_owned().await.ok();
        let done = tokio::task::spawn_blocking(move || {
            let output = work();
            drop(permit);
            output
        });
        match done.await {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => failed(error),
            Err(error) => {
                tracing::error!(%error, "a tool's file work did not end");
                failed("the tool failed inside")
            }
        }
    }

    /// Returns the record of a file that the model knows now.
    pub(super) async fn seen(&self, path: &Path) -> Option<SeenFile> {
        let path = path.to_owned();
        self.clone().look(move || seen(&path)).await
    }

    /// Returns the content of a file that an editor is to change: `Some(None)` if there is no file, `None` if no tool
    /// may change the file.
    pub(super) async fn before(&self, path: &Path) -> Option<Option<Vec<u8>>> {
        // The semaphore is never closed.
        let permit = self.permits.clone().acquire_owned().await.ok();
        let path = path.to_owned();
        let read = tokio::task::spawn_blocking(move || {
            let before = read_whole(&path).ok();
            drop(permit);
            before
        });
        read.await.ok().flatten()
    }
}

/// A reader that fails once its time is over.
#[derive(Debug)]
pub(crate) struct Patient<'a, R> {
    file: R,
    patience: &'a Patience,
}

impl<'a, R> Patient<'a, R> {
    pub(crate) fn new(file: R, patience: &'a Patience) -> Self {
        Self { file, patience }
    }
}

impl<R: io::Read> io::Read for Patient<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.patience.is_over() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long"));
        }
        self.file.read(buffer)
    }
}

/// The moment when a long walk gives up: its time is over or its Turn has stopped.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    until: Instant,
    cancel: CancellationToken,
}

impl Patience {
    pub(crate) fn new(time: Duration, cancel: CancellationToken) -> Self {
        Self {
            until: Instant::now() + time,
            cancel,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.until
    }
}
