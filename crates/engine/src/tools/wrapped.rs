//! A process that is held when it is started, and waits for its word: what it is to become.
//!
//! The word goes through a socket that only the helper reads, so that the helper, and what is around it, can be started
//! before the command may begin. Nothing of the command is known to it before.

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use bobbin_children::ProcessSpec;
use bobbin_sandbox::Seen;

use super::bubblewrap::Begun;

/// A process that is held.
#[derive(Debug)]
pub struct Wrapped {
    /// What is started.
    pub spec: ProcessSpec,
    /// Where it is seen whether the command has begun, if that can be seen.
    pub begun: Option<Begun>,
    /// What it waits for.
    pub word: Word,
    /// What was looked up to hold it.
    pub seen: Seen,
}

impl Wrapped {
    /// Returns what is started, to begin at once.
    ///
    /// # Errors
    /// As [`Word::give`].
    pub fn at_once(self) -> Result<(ProcessSpec, Option<Begun>), String> {
        self.word.give()?;
        Ok((self.spec, self.begun))
    }
}

/// What the helper waits for. Dropped, it ends, and nothing has begun.
#[derive(Debug)]
pub struct Word {
    to: UnixStream,
    text: Vec<u8>,
}

impl Word {
    /// Returns the word that is these arguments, and where a process reads it: each with a zero byte behind it.
    ///
    /// # Errors
    /// There can be no socket, as half a sentence.
    pub(super) fn of(arguments: Vec<OsString>) -> Result<(Self, Arc<OwnedFd>), String> {
        let (to, theirs) = pair().map_err(|error| not_told(&error))?;
        let mut text = Vec::new();
        for argument in arguments {
            text.extend(argument.into_vec());
            text.push(0);
        }
        Ok((Self { to, text }, theirs))
    }

    /// Lets the command begin, or ends what waited. A process that has ended meanwhile says itself why.
    ///
    /// # Errors
    /// There is no room for the word, which is more than a kernel keeps for a socket, a hundred kilobytes at least: as half a
    /// sentence.
    pub fn give(mut self) -> Result<(), String> {
        match self.to.write_all(&self.text) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Err(not_told(&error))
            }
            _ => Ok(()),
        }
    }
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

fn not_told(error: &std::io::Error) -> String {
    format!("it cannot be told how: {error}")
}
