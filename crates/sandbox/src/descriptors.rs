//! Descriptors that another program has handed on, known by their numbers.

#![expect(
    unsafe_code,
    reason = "descriptors known by their numbers have no safe form; each block says why it holds"
)]

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;

/// Takes the descriptor with this number, which the program that started this process has handed on for this use, and keeps it
/// from what this process becomes. Take each once, and before any other descriptor is opened.
///
/// # Errors
/// It is not open.
pub fn take_descriptor(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: looks at whether it is open, and is not used where it is not.
    let there = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl(there, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    // SAFETY: it is open, and by the caller's word nothing else in this process knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Keeps every descriptor but the streams from what this process becomes or starts.
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
        // Kernels before 5.11. Few descriptors are open, and their numbers are small: 1,024 is the usual limit.
        for descriptor in 3..1024 {
            // SAFETY: takes integers; a number that is not open gives an error that means nothing here.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}
