//! A process that is held when it is started: what it is, and how it is told what to become.
//!
//! The helper reads that from a file in memory, since others can see what a process is called with.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use bobbin_children::ProcessSpec;
use bobbin_sandbox::MAX_HANDED;

use super::bubblewrap::Begun;

/// A process that is held.
#[derive(Debug)]
pub struct Wrapped {
    /// What is started.
    pub spec: ProcessSpec,
    /// Where it is seen whether the command has begun, if that can be seen.
    pub begun: Option<Begun>,
}

/// Returns where a process reads its arguments.
///
/// # Errors
/// They are more than is read, or there is no room, as half a sentence.
pub(super) fn handed(arguments: Vec<OsString>) -> Result<Arc<OwnedFd>, String> {
    let mut text = Vec::new();
    for argument in arguments {
        text.extend(argument.into_vec());
        text.push(0);
    }
    if text.len() >= MAX_HANDED {
        return Err(format!("it would have to be told more than {MAX_HANDED} bytes"));
    }
    let file = file(&text).map_err(|error| format!("it cannot be told how: {error}"))?;
    Ok(Arc::new(file))
}

/// Returns two ends of a socket: ours, which never waits, and theirs.
pub(super) fn pair() -> io::Result<(UnixStream, Arc<OwnedFd>)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, Arc::new(theirs.into())))
}

/// Returns a descriptor's number, as an argument.
pub(super) fn number(descriptor: &OwnedFd) -> String {
    descriptor.as_raw_fd().to_string()
}

#[cfg(target_os = "linux")]
fn file(text: &[u8]) -> io::Result<OwnedFd> {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    use nix::sys::memfd::{MFdFlags, memfd_create};

    let file = File::from(memfd_create(c"arguments", MFdFlags::MFD_CLOEXEC)?);
    file.write_all_at(text, 0)?;
    Ok(file.into())
}

/// Nothing is held on other systems.
#[cfg(not(target_os = "linux"))]
fn file(_: &[u8]) -> io::Result<OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}
