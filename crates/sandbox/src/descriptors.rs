//! File descriptors that come from another process: inherited under a known number, or over a socket.

#![expect(
    unsafe_code,
    reason = "descriptors known by their numbers have no safe form; each block says why it is sound"
)]

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

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
pub fn close_on_exec() {
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

/// Sends a byte over a socket, and a descriptor with it.
///
/// # Errors
/// The socket is closed or full.
pub fn send_descriptor(to: impl AsFd, byte: u8, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let numbers: Vec<RawFd> = descriptor.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&numbers)];
    let rights: &[ControlMessage<'_>] = if numbers.is_empty() { &[] } else { &rights };
    let to = to.as_fd().as_raw_fd();
    sendmsg::<()>(to, &[IoSlice::new(&[byte])], rights, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// Receives what [`send_descriptor`] sent. Does not wait.
///
/// # Errors
/// Nothing was sent yet, or the socket is closed.
pub fn receive_descriptor(from: impl AsFd) -> io::Result<(u8, Option<OwnedFd>)> {
    let mut byte = [0];
    let mut pieces = [IoSliceMut::new(&mut byte)];
    let mut space = nix::cmsg_space!([RawFd; 1]);
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(from.as_fd().as_raw_fd(), &mut pieces, Some(&mut space), flags)?;
    let count = message.bytes;
    let number = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmRights(descriptors) => descriptors.first().copied(),
        _ => None,
    });
    // SAFETY: the kernel has just made this descriptor for us, and nothing else knows its number.
    let descriptor = number.map(|number| unsafe { OwnedFd::from_raw_fd(number) });
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((byte[0], descriptor))
}
