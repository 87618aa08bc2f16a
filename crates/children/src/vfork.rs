//! Starts a program without copying the server first (Linux).
//!
//! To copy its page tables takes as long as everything else, and then each of its threads stumbles over pages that
//! became shared (measured on a server of 60 MB: 2 ms). So the new process has our memory until its program runs,
//! as with `vfork` and `posix_spawn`; the thread that starts it waits so long. `posix_spawn` itself can neither
//! tell the guard of the group nor have the kernel end it with us.

#![expect(
    unsafe_code,
    reason = "a process with our memory has no safe form; each block says why it holds"
)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, clone};
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::Pid;

use crate::fork::Lead;
use crate::image::Image;

/// Bytes for the few calls between the new process's begin and its program (guess: some frames of
/// a few hundred bytes each, more without optimization).
const STACK_BYTES: usize = 128 << 10;

/// What the new process stands on.
#[derive(Debug)]
pub(crate) struct Stack(Vec<u8>);

impl Default for Stack {
    fn default() -> Self {
        Self(vec![0; STACK_BYTES])
    }
}

/// Starts `image` with these standard streams, none of which has a standard number.
///
/// # Errors
///
/// Why the process, what it does first, or its program cannot be; nothing is left of it.
pub(crate) fn start(
    stack: &mut Stack,
    image: &mut Image,
    streams: [BorrowedFd<'_>; 3],
    lead: &Lead,
) -> io::Result<Pid> {
    let failed = AtomicI32::new(0);
    let child = || {
        let error = begin(image, streams, lead).raw_os_error();
        let error = error.filter(|&error| error != 0).unwrap_or(libc::EIO);
        failed.store(error, Ordering::Relaxed);
        // SAFETY: ends the new process alone, without a look at what it shares with us.
        unsafe { libc::_exit(127) }
    };
    // A handler of ours that ran in the new process would take its signals for ours.
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    // SAFETY: this thread waits until the process has a program or is gone, so what `child` borrows and stands on is
    // there; it does what the head of `fork` allows and nothing else.
    let started = unsafe {
        clone(
            Box::new(child),
            &mut stack.0,
            CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK,
            Some(libc::SIGCHLD),
        )
    };
    let failed = failed.load(Ordering::Relaxed);
    if let (Ok(process), true) = (started, failed != 0) {
        // It is ending: a moment at most, in which no signal comes between.
        let _ = nix::sys::wait::waitpid(process, None);
    }
    before.thread_set_mask()?;
    match failed {
        0 => Ok(started?),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The new process's own part. Returns why it cannot become its program.
fn begin(image: &mut Image, streams: [BorrowedFd<'_>; 3], lead: &Lead) -> io::Error {
    let ready = || {
        for (number, stream) in (0..).zip(streams) {
            // SAFETY: takes integers.
            Errno::result(unsafe { libc::dup2(stream.as_raw_fd(), number) })?;
        }
        // SAFETY: a text that ends with zero.
        Errno::result(unsafe { libc::chdir(image.directory.as_ptr()) })?;
        lead.take()?;
        forget_handlers();
        lead.blocked.thread_set_mask()?;
        Ok(())
    };
    match ready() {
        Ok(()) => image.become_program().into(),
        Err(error) => error,
    }
}

/// Puts the default in the place of every handler, as `exec` will, since signals are let through before that. Ignored
/// signals stay so, but for the one that Rust's runtime ignores.
fn forget_handlers() {
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: the new process has handlers of its own to set, and neither of these two is one. All signals are blocked, so
        // that nothing can come between. Numbers that are nobody's to handle give errors that mean nothing here.
        unsafe {
            let before = libc::signal(number, libc::SIG_DFL);
            if before == libc::SIG_IGN && number != libc::SIGPIPE {
                libc::signal(number, libc::SIG_IGN);
            }
        }
    }
}
