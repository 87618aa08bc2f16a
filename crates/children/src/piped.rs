//! A long-lived child that speaks over pipes, or in a terminal, until it exits or is ended.
//!
//! The protocol is the caller's. The caller owns the pipes and bounds its reads; a caller that stops reading blocks
//! only this child. [`PipedChild::end`] returns once everything the child started is gone. Dropping the
//! [`PipedChild`] kills all of it at once.

use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::children::{Ours, Streams};
use crate::run::REAP;
use crate::running::Running;
use crate::{ChildError, Children, Exit, ProcessSpec};

/// A running child with pipes, or in a [`Terminal`](crate::Terminal).
#[derive(Debug)]
pub struct PipedChild {
    running: Running,
}

/// The streams of a [`PipedChild`].
#[derive(Debug)]
pub struct Pipes {
    /// The child's input. Dropping it is the polite request to exit.
    pub input: pipe::Sender,
    /// The child's output.
    pub output: pipe::Receiver,
    /// The child's messages for the user.
    pub errors: pipe::Receiver,
}

impl Children {
    /// Starts a long-lived process with pipes. The spec's input is not used: the caller writes the input.
    ///
    /// # Errors
    ///
    /// Any [`ChildError`] but [`ChildError::Wait`]; nothing runs then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves nothing running.
    pub async fn start_piped(&self, spec: ProcessSpec) -> Result<(PipedChild, Pipes), ChildError> {
        let (running, ours) = self.start(spec, Streams::Apart).await?;
        let Ours {
            output,
            errors,
            input,
        } = ours;
        let missing = || ChildError::Watch(std::io::ErrorKind::BrokenPipe.into());
        let (input, _) = input.ok_or_else(missing)?;
        let errors = errors.ok_or_else(missing)?;
        let pipes = Pipes {
            input,
            output,
            errors,
        };
        Ok((PipedChild { running }, pipes))
    }
}

impl PipedChild {
    #[cfg(target_os = "linux")]
    pub(crate) fn new(running: Running) -> Self {
        Self { running }
    }

    /// Returns the id of its process, or of its parent process.
    pub fn id(&self) -> i32 {
        self.running.id()
    }

    /// Waits until it has exited. Its descendants may still run: [`PipedChild::end`] ends them.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the next call sees the exit again.
    pub async fn exited(&mut self) {
        // `end` returns the error.
        drop(self.running.exited().await);
    }

    /// Ends it with everything it started. It may exit by itself for `grace`; then it is asked to end, and after
    /// another `grace` it is killed. Close its input or its terminal first.
    ///
    /// # Errors
    ///
    /// [`ChildError::Wait`] or [`ChildError::ParentGone`]; it is gone all the same.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future kills it at once.
    pub async fn end(mut self, grace: Duration) -> Result<Exit, ChildError> {
        if timeout(grace, self.running.exited()).await.is_err() {
            self.running.terminate();
            // The kill follows in any case.
            drop(timeout(grace, self.running.exited()).await);
        }
        let exit = timeout(REAP, self.running.end()).await;
        let exit = exit.unwrap_or_else(|elapsed| Err(ChildError::Wait(elapsed.into())))?;
        tracing::debug!(process = self.running.id(), ?exit, "child ended");
        Ok(exit)
    }
}
