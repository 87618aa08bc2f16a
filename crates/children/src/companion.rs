//! A child that stays: somebody to speak with over pipes, until it ends or is ended.
//!
//! Knows nothing of what is said. The caller owns the pipes and bounds what it reads from them; whoever stops
//! reading holds back the child and nobody else. The whole group is gone once [`Companion::end`] returns, and it is
//! killed at once when the [`Companion`] is dropped.

use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::children::{Started, Streams};
use crate::group::Group;
use crate::run::{REAP, exit_of};
use crate::{ChildError, Children, Exit, ProcessSpec};

/// A running child and its group.
#[derive(Debug)]
pub struct Companion {
    group: Group,
}

/// The streams of a [`Companion`].
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
    pub async fn accompany(&self, spec: ProcessSpec) -> Result<(Companion, Pipes), ChildError> {
        let Started {
            group,
            output,
            errors,
            input,
        } = self.start(spec, Streams::Apart).await?;
        let missing = || ChildError::Watch(std::io::ErrorKind::BrokenPipe.into());
        let (input, _) = input.ok_or_else(missing)?;
        let errors = errors.ok_or_else(missing)?;
        let pipes = Pipes {
            input,
            output,
            errors,
        };
        Ok((Companion { group }, pipes))
    }
}

impl Companion {
    /// Returns its process id, which is also its group's.
    pub fn id(&self) -> i32 {
        self.group.id().as_raw()
    }

    /// Waits until it has exited. What it started may still be there: [`Companion::end`] clears up.
    ///
    /// # Cancel safety
    ///
    /// Safe: the exit is seen again by the next call.
    pub async fn exited(&mut self) {
        self.group.exited().await;
    }

    /// Ends it, with everything in its group: it may exit by itself for `grace`, then it is asked to, and after
    /// another `grace` it is killed. Close its input first.
    ///
    /// # Errors
    ///
    /// [`ChildError::Wait`]; the group is gone all the same.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future kills the group at once.
    pub async fn end(mut self, grace: Duration) -> Result<Exit, ChildError> {
        if timeout(grace, self.group.exited()).await.is_err() {
            self.group.terminate();
            // Whether it obeyed or not, the kill follows.
            let _ = timeout(grace, self.group.exited()).await;
        }
        self.group.kill();
        let status = timeout(REAP, self.group.reap()).await;
        let exit = match status {
            Ok(Ok(status)) => exit_of(status),
            Ok(Err(error)) => return Err(ChildError::Wait(error)),
            Err(elapsed) => return Err(ChildError::Wait(elapsed.into())),
        };
        tracing::debug!(group = %self.group.id(), ?exit, "child ended");
        Ok(exit)
    }
}
