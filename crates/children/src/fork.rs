//! What happens in a new process before its program runs.
//!
//! Such a process is a copy of one with many threads of which one survived, or even has that one's memory. So it does
//! nothing but plain system calls: no allocation, no lock, no logging, no panic. It gets raw values, all of them made
//! before.

#![expect(
    unsafe_code,
    reason = "`pre_exec` and descriptor flags have no safe form; each block says why it holds"
)]

use std::os::fd::RawFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::unistd::{Pid, getpid, setsid};

use crate::Starter;
use crate::guard::record::{Record, send};

/// Where a new group announces itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announce {
    /// Our end of the guard's socket, open until the command was spawned.
    pub(crate) socket: RawFd,
    /// The group's number in our books.
    pub(crate) serial: u64,
}

/// What makes a new process lead a session and group of its own, known to the guard before its program starts.
///
/// A session rather than a mere group: without a terminal to ask on, `ssh` or `sudo` fails at once
/// instead of being stopped until the time-out.
#[derive(Debug, Clone)]
pub(crate) struct Lead {
    parent: Pid,
    /// What stays open, beside the streams.
    open: Vec<RawFd>,
    /// The signals that are blocked when the program starts.
    pub(crate) blocked: SigSet,
    announce: Option<Announce>,
    /// The soft limit of open files.
    files: Option<nix::libc::rlim_t>,
}

impl Lead {
    /// Returns what is to be done. `starter` must live until the command was spawned.
    pub(crate) fn of(announce: Option<Announce>, starter: Option<&Starter>) -> Self {
        let open = starter.iter().flat_map(|starter| &starter.open);
        Self {
            parent: getpid(),
            open: open.map(std::os::fd::AsRawFd::as_raw_fd).collect(),
            blocked: starter.map_or_else(SigSet::empty, |_| SigSet::from(Signal::SIGTERM)),
            announce,
            files: crate::files::limit_of_children(),
        }
    }

    /// Does it, all but the signals; the streams are in place already.
    ///
    /// # Errors
    ///
    /// Why it cannot be; the process must not run its program then.
    pub(crate) fn take(&self) -> std::io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            // Fires when the *thread* that starts it ends; `Children` keeps that thread for its whole life.
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            if nix::unistd::getppid() != self.parent {
                return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = self.parent;
        let group = setsid()?;
        close_on_exec_from(3);
        if let Some(files) = self.files {
            crate::files::set_limit(files)?;
        }
        for &descriptor in &self.open {
            // SAFETY: takes integers; the descriptor is open until the command was spawned.
            if unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        if let Some(Announce { socket, serial }) = self.announce {
            // From here on the guard kills this group when we die: while this process has not reached
            // its program it holds the socket too, so the guard cannot see the end before the announcement.
            send(socket, Record::Watch { serial, group })?;
        }
        Ok(())
    }
}

/// Makes `command` a guard: out of reach of signals to our group and deaf to polite ones.
///
/// Ignored signals stay ignored across `exec`, so there is no moment in which the guard could be ended.
pub(crate) fn stand_apart(command: &mut Command) {
    let prepare = || {
        setsid()?;
        close_on_exec_from(3);
        for ignored in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
            // SAFETY: ignoring a signal installs no handler.
            unsafe { signal(ignored, SigHandler::SigIgn) }?;
        }
        Ok(())
    };
    // SAFETY: only async-signal-safe calls, as the file's head demands.
    unsafe { command.pre_exec(prepare) };
}

/// Marks every descriptor from `first` on to be closed by `exec`.
///
/// Ours are already; these are for descriptors that whoever started us left open. They are only marked, since
/// some are still needed to announce the group or to report a failed `exec`.
fn close_on_exec_from(first: RawFd) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: takes three integers and touches no memory.
        let done = unsafe {
            libc::syscall(
                libc::SYS_close_range,
                first,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            )
        };
        if done == 0 {
            return;
        }
    }
    // Kernels before 5.11, and other systems. What was inherited has small numbers: 256 is a guess.
    for fd in first..256 {
        // SAFETY: takes integers; a number that is not open gives an error that means nothing here.
        unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFD);
            if flags >= 0 {
                libc::fcntl(fd, libc::F_SETFD, flags | libc::FD_CLOEXEC);
            }
        }
    }
}

/// Starts what `spec` says with these streams (systems where a process always begins as a copy).
#[cfg(not(target_os = "linux"))]
pub(crate) fn start(
    spec: &crate::ProcessSpec,
    streams: [std::os::fd::BorrowedFd<'_>; 3],
    lead: &Lead,
) -> std::io::Result<Pid> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this crate is the one that starts processes"
    )]
    let mut command = Command::new(&spec.program);
    let [stdin, stdout, stderr] = streams.map(|stream| stream.try_clone_to_owned());
    command
        .args(&spec.args)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(spec.env.iter())
        .stdin(stdin?)
        .stdout(stdout?)
        .stderr(stderr?);
    let lead = lead.clone();
    let prepare = move || {
        lead.take()?;
        lead.blocked.thread_block()?;
        Ok(())
    };
    // SAFETY: only async-signal-safe calls, as the file's head demands; what they need outlives the spawn.
    unsafe { command.pre_exec(prepare) };
    let id = i32::try_from(command.spawn()?.id()).map_err(|_| std::io::ErrorKind::InvalidData)?;
    Ok(Pid::from_raw(id))
}
