//! The process of a service: its streams, the end of its standard error, its end.

use std::io;
use std::time::Duration;

use bobbin_children::{ChildError, Children, Exit, PipedChild, ProcessSpec};
use tokio::net::unix::pipe;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::pace::{Flooded, Paced};
use crate::tail::{LineSink, Tail};

/// How long the last output of a child may take to be read.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// The process of a service. Dropping it kills everything that it started.
pub struct Child {
    process: PipedChild,
    tail: Tail,
    reading: AbortOnDropHandle<()>,
    flooded: Flooded,
}

/// The streams of a child that carry its protocol, or the announcement of its port.
pub struct Streams {
    /// Its standard input. Dropping it is the polite request to end.
    pub input: pipe::Sender,
    /// Its standard output, read at a bounded rate. It must be read until the child ends.
    pub output: Paced<pipe::Receiver>,
}

/// The end of a child, for a report.
#[derive(Debug, Default)]
pub struct Ended {
    /// How it exited, where that was seen.
    pub exit: Option<Exit>,
    /// The last lines of its standard error, oldest first.
    pub errors: Vec<String>,
    /// The stream that it flooded, if it was given up for that.
    pub flood: Option<&'static str>,
}

impl Child {
    /// Starts a child. `name` is for the log.
    ///
    /// # Errors
    /// As [`Children::start_piped`].
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future leaves nothing running.
    pub async fn start(
        children: &Children,
        process: ProcessSpec,
        name: &str,
    ) -> Result<(Self, Streams), ChildError> {
        Self::start_heard(children, process, name, |_| {}).await
    }

    /// Starts a child. `hear` gets the lines of its standard error, cut to 1 KiB, and must not wait.
    ///
    /// # Errors
    /// As [`Children::start_piped`].
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future leaves nothing running.
    pub async fn start_heard(
        children: &Children,
        process: ProcessSpec,
        name: &str,
        hear: impl FnMut(&str) + Send + 'static,
    ) -> Result<(Self, Streams), ChildError> {
        let (process, pipes) = children.start_piped(process).await?;
        let (tail, flooded) = (Tail::default(), Flooded::default());
        let reading = tail
            .clone()
            .follow(name.to_owned(), pipes.errors, flooded.clone(), hear);
        let child = Self {
            process,
            tail,
            reading: AbortOnDropHandle::new(tokio::spawn(reading)),
            flooded: flooded.clone(),
        };
        let output = Paced::new(pipes.output, Some(flooded));
        let input = pipes.input;
        Ok((child, Streams { input, output }))
    }

    /// Starts a child that may flood: lines of its standard error are lost then, and its output is read slowly. `sink`
    /// gets the lines; none of them is logged.
    ///
    /// # Errors
    /// As [`Children::start_piped`].
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future leaves nothing running.
    pub async fn start_lossy(
        children: &Children,
        process: ProcessSpec,
        sink: LineSink,
    ) -> Result<(Self, Streams), ChildError> {
        let (process, pipes) = children.start_piped(process).await?;
        let tail = Tail::default();
        let reading = tail.clone().pour(pipes.errors, sink);
        let child = Self {
            process,
            tail,
            reading: AbortOnDropHandle::new(tokio::spawn(reading)),
            flooded: Flooded::default(),
        };
        let output = Paced::new(pipes.output, None);
        let input = pipes.input;
        Ok((child, Streams { input, output }))
    }

    /// Returns the id of its process, or of its parent process.
    pub fn id(&self) -> i32 {
        self.process.id()
    }

    /// Returns once it floods.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn flooded(&self) {
        self.flooded.wait().await;
    }

    /// Returns once it has exited or floods.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn lost(&mut self) {
        tokio::select! {
            () = self.process.exited() => {}
            _ = self.flooded.wait() => {}
        }
    }

    /// Ends it with everything that it started. It may exit by itself for `grace`; then it is asked to, and after
    /// another `grace` it is killed.
    pub async fn end(self, grace: Duration) -> Ended {
        let exit = self.process.end(grace).await;
        let exit = exit.inspect_err(|error| tracing::debug!(%error, "the end of a service was not seen"));
        // Its last output is in the pipe. A process that has left the group may leave that open for ever.
        drop(timeout(LAST_OUTPUT, self.reading).await);
        Ended {
            exit: exit.ok(),
            errors: self.tail.lines(),
            flood: self.flooded.get().copied(),
        }
    }
}

/// Returns whether a process cannot be started for a reason that only a user can remove.
pub fn is_lasting(error: &ChildError) -> bool {
    let missing = |source: &io::Error| {
        matches!(
            source.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
        )
    };
    match error {
        ChildError::Spawn { source, .. } | ChildError::WorkingDirectory { source, .. } => missing(source),
        ChildError::ParentGone
        | ChildError::Stopped
        | ChildError::Parent(_)
        | ChildError::NotStarted(_)
        | ChildError::Confinement(_)
        | ChildError::Watch(_)
        | ChildError::Connect(_)
        | ChildError::Listen(_)
        | ChildError::Wait(_) => false,
    }
}

/// Returns the text of an error, followed by the texts of its causes.
pub fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
