//! The process that leads a group, until it is reaped.

#![expect(
    unsafe_code,
    reason = "the safe form of `waitpid` loses how a process ended that a real-time signal ended, and descriptors of \
              processes have none"
)]

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;
#[cfg(target_os = "linux")]
use tokio::io::{Interest, unix::AsyncFd};
use tokio::runtime::Handle;
use tokio::signal::unix::Signal;

/// A leader. Dropped before it was reaped, which is after it was killed, it is reaped by a task of its own, which ends with
/// it or with the runtime.
#[derive(Debug)]
pub(crate) struct Leader {
    pub(crate) id: Pid,
    status: Option<ExitStatus>,
    /// Can be read once it has exited; told at once, where signals go through many hands.
    #[cfg(target_os = "linux")]
    exit: Option<AsyncFd<OwnedFd>>,
    runtime: Handle,
    /// Tells that some child of ours has changed its state; made before this one was started. `None` once it was dropped.
    child_signals: Option<Signal>,
}

impl Leader {
    /// Takes charge of a process that was just started; called in its runtime.
    pub(crate) fn new(id: Pid, child_signals: Signal) -> Self {
        Self {
            id,
            status: None,
            #[cfg(target_os = "linux")]
            exit: watch(id),
            runtime: Handle::current(),
            child_signals: Some(child_signals),
        }
    }

    /// Reaps it if it has exited, and returns how.
    ///
    /// # Errors
    ///
    /// When the system lost its exit status.
    pub(crate) fn reap(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = reap(self.id)?;
        }
        Ok(self.status)
    }

    /// Waits until it may have exited since it was last waited for; `None` when nothing tells that any more.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is lost.
    pub(crate) async fn changed(&mut self) -> Option<()> {
        #[cfg(target_os = "linux")]
        if let Some(exit) = &self.exit {
            let seen = exit.readable().await.is_ok();
            // It is told once. Who asks again has not seen it, as when another process traces it.
            self.exit = None;
            if seen {
                return Some(());
            }
        }
        self.child_signals.as_mut()?.recv().await
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if let (Ok(None), Some(mut child_signals)) = (self.reap(), self.child_signals.take()) {
            let id = self.id;
            let reaped =
                async move { while matches!(reap(id), Ok(None)) && child_signals.recv().await.is_some() {} };
            drop(self.runtime.spawn(reaped));
        }
    }
}

/// Returns what can be read once a child of ours has exited; `None` on systems that have no such thing.
#[cfg(target_os = "linux")]
fn watch(id: Pid) -> Option<AsyncFd<OwnedFd>> {
    // SAFETY: takes integers and touches no memory.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, id.as_raw(), 0) };
    let descriptor = RawFd::try_from(descriptor)
        .ok()
        .filter(|&descriptor| descriptor >= 0)?;
    // SAFETY: it was just opened, and nobody else knows it.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: an owned descriptor stays open as long as it is owned.
    unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }.ok()
}

/// Reaps a child of ours if it has exited. Its id may be another's as soon as it is reaped.
fn reap(id: Pid) -> io::Result<Option<ExitStatus>> {
    let mut status = 0;
    // SAFETY: `status` is there to be written.
    match Errno::result(unsafe { libc::waitpid(id.as_raw(), &raw mut status, libc::WNOHANG) })? {
        0 => Ok(None),
        _ => Ok(Some(ExitStatus::from_raw(status))),
    }
}
