//! What happens in a new process between `fork` and `exec`. The only unsafe code of this crate.
//!
//! The closures below run in a copy of a process with many threads of which one survived, so they do
//! nothing but plain system calls: no allocation, no lock, no logging. They get raw values, all of them
//! made before the fork.

#![expect(
    unsafe_code,
    reason = "`pre_exec` and descriptor flags have no safe form; each block says why it holds"
)]

use std::os::fd::RawFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::unistd::{getpid, setsid};

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

/// Makes `command` lead a session and group of its own, known to the guard before its program starts.
///
/// A session rather than a mere group: without a terminal to ask on, `ssh` or `sudo` fails at once
/// instead of being stopped until the time-out.
///
/// `starter` must live until the command was spawned.
pub(crate) fn lead_a_group(command: &mut Command, announce: Option<Announce>, starter: Option<&Starter>) {
    let parent = getpid();
    let blocked = starter.map(|_| SigSet::from(Signal::SIGTERM));
    let open: Vec<RawFd> = starter
        .iter()
        .flat_map(|starter| &starter.open)
        .map(std::os::fd::AsRawFd::as_raw_fd)
        .collect();
    let prepare = move || {
        #[cfg(target_os = "linux")]
        {
            // Fires when the *thread* that forked ends; `Children` keeps that thread for its whole life.
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            if nix::unistd::getppid() != parent {
                return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = parent;
        let group = setsid()?;
        close_on_exec_from(3);
        for &descriptor in &open {
            // SAFETY: takes integers; the descriptor is open until the command was spawned.
            if unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        if let Some(blocked) = &blocked {
            blocked.thread_block()?;
        }
        if let Some(Announce { socket, serial }) = announce {
            // From here on the guard kills this group when we die: while this process has not reached
            // its program it holds the socket too, so the guard cannot see the end before the announcement.
            send(socket, Record::Watch { serial, group })?;
        }
        Ok(())
    };
    // SAFETY: only async-signal-safe calls, as the file's head demands; `socket` outlives the spawn.
    unsafe { command.pre_exec(prepare) };
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
/// the standard library still needs one of them to report a failed `exec`.
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
