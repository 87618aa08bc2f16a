//! A process that is held when it is started: what it is, and how it is told what to become.
//!
//! The helper reads that from a descriptor, since others can see what a process is called with: a file in memory where the
//! command begins at once, and a socket where it is to wait for its word. Nothing of the command is known to one that waits.

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use bobbin_children::ProcessSpec;
use bobbin_sandbox::{MAX_HANDED, Seen};

use super::bubblewrap::Begun;
use super::memory::file;

/// Longest word, bytes (guess: kernels keep 200 KiB and more for a socket, so that giving it does not wait).
pub(super) const MAX_WORD: usize = 64 << 10;

/// A process that is held. `W` is what it waits for: nothing, or a [`Word`].
#[derive(Debug)]
pub struct Wrapped<W = ()> {
    /// What is started.
    pub spec: ProcessSpec,
    /// Where it is seen whether the command has begun, if that can be seen.
    pub begun: Option<Begun>,
    /// What it waits for.
    pub word: W,
    /// What was looked up to hold it.
    pub seen: Seen,
}

/// What the helper waits for. Dropped, the helper ends, and nothing has begun.
#[derive(Debug)]
pub struct Word {
    to: UnixStream,
    text: Vec<u8>,
}

impl Word {
    /// Returns a word, and where a process reads it.
    ///
    /// # Errors
    /// It is too long, or there can be no socket.
    pub(super) fn of(text: &[u8]) -> std::io::Result<(Arc<OwnedFd>, Self)> {
        if text.len() > MAX_WORD {
            return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is too long"));
        }
        let (to, theirs) = pair()?;
        Ok((theirs, Self::to(to, text.to_vec())))
    }

    /// Returns a word of at most [`MAX_WORD`] for who reads the other end of a socket.
    pub(super) fn to(to: UnixStream, text: Vec<u8>) -> Self {
        Self { to, text }
    }

    /// Lets the command begin. A process that has ended meanwhile says itself why.
    ///
    /// # Errors
    /// It cannot be told, as half a sentence. The process must be ended before this is dropped.
    pub fn give(&mut self) -> Result<(), String> {
        match give(&self.to, &self.text) {
            Err(error)
                if !matches!(
                    error.kind(),
                    ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected
                ) =>
            {
                Err(not_told(&error))
            }
            _ => Ok(()),
        }
    }
}

/// Writes a text and its end.
pub(super) fn give(mut to: &UnixStream, text: &[u8]) -> std::io::Result<()> {
    to.write_all(text)?;
    // Others that were just being started may have the socket open too: its end would wait for them.
    to.shutdown(Shutdown::Write)
}

/// Returns arguments as they are handed over: each with a zero byte behind it.
///
/// # Errors
/// They are more than is read, as half a sentence.
pub(super) fn text(arguments: Vec<OsString>) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    for argument in arguments {
        text.extend(argument.into_vec());
        text.push(0);
    }
    if text.len() >= MAX_HANDED {
        return Err(format!("it would have to be told more than {MAX_HANDED} bytes"));
    }
    Ok(text)
}

/// Hands over a text to a process that reads it as soon as it is started.
pub(super) fn at_once(text: &[u8]) -> std::io::Result<(Arc<OwnedFd>, ())> {
    Ok((file(text)?, ()))
}

/// Returns two ends of a socket: ours, which never waits, and theirs.
pub(super) fn pair() -> std::io::Result<(UnixStream, Arc<OwnedFd>)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, Arc::new(theirs.into())))
}

/// Returns a descriptor's number, as an argument.
pub(super) fn number(descriptor: &OwnedFd) -> String {
    descriptor.as_raw_fd().to_string()
}

/// Says that a process cannot be told something, as half a sentence.
pub(super) fn not_told(error: &std::io::Error) -> String {
    format!("it cannot be told how: {error}")
}
