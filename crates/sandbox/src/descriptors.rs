//! File descriptors inherited from another program, known by their numbers.

#![expect(
    unsafe_code,
    reason = "descriptors known by their numbers have no safe form; each block says why it holds"
)]

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;

/// Takes ownership of a descriptor that the starting program passed to this process, and sets close-on-exec on it.
/// Call once for each number, before any other descriptor is opened.
///
/// # Errors
/// The descriptor is not open.
pub fn take_descriptor(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: only tests whether the descriptor is open; the borrow is not used if it is not.
    let there = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl(there, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    // SAFETY: it is open, and the caller promises that nothing else in this process uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Sets close-on-exec on every descriptor except the standard streams.
pub fn keep_back() {
    // SAFETY: takes three integers and touches no memory.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if done != 0 {
        // Kernels before 5.11 lack the call. Few descriptors are open, with small numbers: 1,024 is the usual
        // limit.
        for descriptor in 3..1024 {
            // SAFETY: takes integers; the error for a number that is not open is ignored.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}
