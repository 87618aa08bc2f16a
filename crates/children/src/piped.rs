//! A child that stays: somebody to speak with over pipes, until it ends or is ended.
//!
//! Knows nothing of what is said. The caller owns the pipes and bounds what it reads from them; a caller that stops
//! reading holds back the child and nobody else. Everything that the child started is gone once [`PipedChild::end`] returns, and
//! is killed at once when the [`PipedChild`] is dropped.

use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::children::{Ours, Streams};
use crate::run::REAP;
use crate::running::Running;
use crate::{ChildError, Children, Exit, ProcessSpec};

/// A running child with pipes.
#[derive(Debug)]
pub struct PipedChild {
    running: Running,
}

/// The streams of a [`PipedChild`].
#[derive(Debug)]
pub struct Pipes {
    /// What it is told; dropping it is the polite way to say that this is all.
    pub input: pipe::Sender,
    /// What it says.
    pub output: pipe::Receiver,
    /// What it says beside that, for people.
    pub errors: pipe::Receiver,
}

impl Children {
    /// Starts a process to speak with. The spec's input is not used: the caller writes it.
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
    /// Returns the id of its process, or of the parent that watches over it.
    pub fn id(&self) -> i32 {
        self.running.id()
    }

    /// Waits until it has exited. What it started may still be there: [`PipedChild::end`] clears up.
    ///
    /// # Cancel safety
    ///
    /// Safe: the exit is seen again by the next call.
    pub async fn exited(&mut self) {
        // `end` returns the error.
        drop(self.running.exited().await);
    }

    /// Ends it, with everything it started: it may exit by itself for `grace`, then it is asked to, and after
    /// another `grace` it is killed. Close its input first.
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
            // Whether it obeyed or not, the kill follows.
            drop(timeout(grace, self.running.exited()).await);
        }
        let exit = timeout(REAP, self.running.end()).await;
        let exit = exit.unwrap_or_else(|elapsed| Err(ChildError::Wait(elapsed.into())))?;
        tracing::debug!(process = self.running.id(), ?exit, "child ended");
        Ok(exit)
    }
}
