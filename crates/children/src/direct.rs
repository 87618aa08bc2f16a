//! A child without a parent of ours: a process group, killed with its leader. For tests, and for systems other than
//! Linux.

use std::io;
use std::os::fd::OwnedFd;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;

use crate::children::command;
use crate::outcome::exit_of;
use crate::{ChildError, Exit, ProcessSpec};

/// A process group. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Direct {
    child: Child,
    group: Pid,
    exit: Option<Exit>,
    /// After the kill the group is never signalled again: its id may belong to another process.
    killed: bool,
}

impl Direct {
    /// Starts a process. Blocks until it runs its program. Call it in a runtime.
    pub(crate) fn start(spec: &ProcessSpec, streams: [OwnedFd; 3]) -> Result<Self, ChildError> {
        if spec.confinement.is_some() {
            return Err(ChildError::Confinement(
                "nothing is there that could confine it".to_owned(),
            ));
        }
        let directory = match std::fs::metadata(&spec.cwd) {
            Ok(found) if !found.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
            found => found.map(drop),
        };
        directory.map_err(|source| ChildError::WorkingDirectory {
            path: spec.cwd.clone(),
            source,
        })?;
        let failed = |source| ChildError::Spawn {
            program: spec.program.clone().into(),
            source,
        };
        let mut command = command(spec.program.as_ref(), streams);
        command
            .args(&spec.args)
            .envs(spec.env.iter())
            .current_dir(&spec.cwd)
            .process_group(0);
        let child = command.spawn().map_err(failed)?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let id = id.ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?;
        Ok(Self {
            child,
            group: Pid::from_raw(id),
            exit: None,
            killed: false,
        })
    }

    pub(crate) fn id(&self) -> Pid {
        self.group
    }

    /// Waits until it has exited.
    pub(crate) async fn exited(&mut self) -> Result<Exit, ChildError> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        let exit = self.child.wait().await.map(exit_of).map_err(ChildError::Wait)?;
        self.exit = Some(exit);
        Ok(exit)
    }

    pub(crate) fn terminate(&self) {
        self.signal(Signal::SIGTERM);
        // A stopped process handles a signal only once it continues.
        self.signal(Signal::SIGCONT);
    }

    pub(crate) fn kill(&mut self) {
        if !self.killed {
            self.killed = true;
            self.signal(Signal::SIGKILL);
        }
    }

    fn signal(&self, signal: Signal) {
        // The usual error means that the group is empty.
        if let Err(error) = killpg(self.group, signal) {
            tracing::debug!(group = %self.group, %signal, %error, "a child's group was not signalled");
        }
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.kill();
    }
}
