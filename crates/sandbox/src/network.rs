//! A network of their own that several commands share.
//!
//! It lives as long as a process is in it or a descriptor of it is open, so that no process has to stay for it. The
//! helper of one command, in the view that bubblewrap makes, sends such a descriptor to the server; processes that start
//! bubblewrap for other commands join it first. Bubblewrap makes it for the first command, since systems that restrict
//! namespaces make exceptions for bubblewrap and not for us.

#![expect(
    unsafe_code,
    reason = "the owner of a namespace is asked for by a call that our libraries lack; the block says why it is sound"
)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;

use nix::libc;
use nix::sched::{CloneFlags, setns};
use nix::unistd::geteuid;

use crate::descriptors::{receive_descriptor, send_descriptor};

/// The network of the calling process.
const OWN: &str = "/proc/self/ns/net";
/// The user namespace of the calling process.
const OWN_USERS: &str = "/proc/self/ns/user";
/// `NS_GET_USERNS`: returns a descriptor of the user namespace that owns a namespace.
const OWNER: libc::Ioctl = 0xb701;

/// Sends a descriptor of this process's network.
pub(crate) fn show(to: impl AsFd) -> io::Result<()> {
    let network = File::open(OWN)?;
    send_descriptor(to, b'n', Some(network.as_fd()))
}

/// Receives the descriptor of a network that a helper has sent. Does not wait.
///
/// # Errors
/// Nothing was sent, or this process cannot join that network.
pub fn shown(from: &UnixStream) -> io::Result<OwnedFd> {
    let (_, network) = receive_descriptor(from)?;
    let network = network.ok_or(io::ErrorKind::InvalidData)?;
    // A bubblewrap that root's rights started (set-user-id) makes networks that its user cannot join.
    if owner(network.as_fd())?.is_none() && !geteuid().is_root() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(network)
}

/// Moves this process into a network. The process must have one thread.
///
/// # Errors
/// The kernel refuses it.
pub fn join(network: impl AsFd) -> io::Result<()> {
    if let Some(owner) = owner(network.as_fd())? {
        setns(owner, CloneFlags::CLONE_NEWUSER)?;
    }
    Ok(setns(network, CloneFlags::CLONE_NEWNET)?)
}

/// Returns the user namespace that owns a network, if this process is not in it.
fn owner(network: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    // SAFETY: takes no argument; a result that is no error is a new descriptor, which nothing else knows.
    let owner = unsafe {
        let number = libc::ioctl(network.as_raw_fd(), OWNER);
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        File::from_raw_fd(number)
    };
    let is_ours = owner.metadata()?.ino() == std::fs::metadata(OWN_USERS)?.ino();
    Ok((!is_ours).then(|| owner.into()))
}
