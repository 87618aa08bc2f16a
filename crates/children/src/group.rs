//! One running process group, from its start until nothing of it is left.
//!
//! The order at the end matters: the leader's exit is *seen* first, then the group is killed and struck from
//! the guard's books, and only then the leader is reaped. Until it is reaped, its process id, which is also the
//! group's, cannot be given to anybody else, so the kill cannot hit a stranger. (Systems other than
//! Linux have to reap to see; there the kill follows at once.)

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::guard::Guard;
use crate::leader::Leader;

/// A running group. Killed when dropped; its leader is reaped by itself then.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Leader,
    serial: u64,
    guard: Arc<Guard>,
    killed: bool,
}

impl Group {
    /// Takes charge of the group that `leader` leads and enters it in the guard's books.
    pub(crate) fn new(leader: Leader, serial: u64, guard: Arc<Guard>) -> Self {
        guard.enter(serial, leader.id);
        Self {
            leader,
            serial,
            guard,
            killed: false,
        }
    }

    /// Returns the group's id, which is the process id of its leader.
    pub(crate) fn id(&self) -> Pid {
        self.leader.id
    }

    /// Whether the leader has exited, which stays to be reaped.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_exited(&self) -> bool {
        use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};

        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        // An error means that it is gone already: then `reap` has something to say.
        !matches!(waitid(Id::Pid(self.leader.id), look), Ok(WaitStatus::StillAlive))
    }

    /// Not said before it is reaped.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn has_exited(&self) -> bool {
        false
    }

    /// Waits until the leader has exited, without reaping it.
    ///
    /// # Cancel safety
    ///
    /// Safe: the exit is seen again by the next call.
    #[cfg(target_os = "linux")]
    pub(crate) async fn exited(&mut self) {
        while !self.has_exited() {
            if self.leader.changed().await.is_none() {
                return;
            }
        }
    }

    /// Waits until the leader has exited.
    ///
    /// # Cancel safety
    ///
    /// Safe: the exit is seen again by the next call.
    #[cfg(not(target_os = "linux"))]
    pub(crate) async fn exited(&mut self) {
        // What could not be learnt is told when it is reaped.
        let _ = self.reap().await;
    }

    /// Asks the whole group to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::SIGTERM);
        // A stopped process hears only once it goes on.
        self.signal(Signal::SIGCONT);
    }

    /// Kills the whole group and strikes it from the guard's books.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        self.guard.forget(self.serial);
        self.killed = true;
    }

    /// Reaps the leader of a killed group.
    ///
    /// # Errors
    ///
    /// When the system lost its exit status.
    pub(crate) async fn reap(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.leader.reap()? {
                return Ok(status);
            }
            if self.leader.changed().await.is_none() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    }

    fn signal(&self, signal: Signal) {
        // The usual error is that nobody is left.
        if let Err(error) = killpg(self.leader.id, signal) {
            tracing::debug!(group = %self.leader.id, %signal, %error, "a child's group was not signalled");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.killed {
            self.kill();
        }
    }
}
