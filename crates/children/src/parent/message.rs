//! The messages between the server and a parent: values with their length in front.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use bobbin_sandbox::Failure;
use serde::{Deserialize, Serialize};

use crate::{Confinement, Exit, ResourceLimits};

/// Largest message, bytes.
const MAX_BYTES: usize = 4 << 20;
/// Bytes of the length in front of each message.
const LENGTH: usize = 4;

/// The task of a parent: the first message to it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Runs a child. After this message, each byte asks the child to end, and the end of the socket kills the child.
    Run(Box<ChildOrder>),
    /// Connects to this port of the loopback in the network of [`super::NETWORK`], and sends the connection over the
    /// socket, or the number of the error.
    Connect(u16),
    /// Listens at a free port of the loopback in the network of [`super::NETWORK`], and sends the listener over the
    /// socket, or the number of the error.
    Listen,
}

/// The child to start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChildOrder {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    #[serde(with = "bobbin_sandbox::path")]
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) confinement: Option<Confinement>,
    pub(crate) limits: ResourceLimits,
    pub(crate) network: NetworkOrder,
    /// The soft limit of open files, if this server's own limit differs.
    pub(crate) files: Option<u64>,
    /// Whether its streams are a terminal, which it controls as the leader of a session.
    pub(crate) in_terminal: bool,
}

/// The network of the child to start, if it is apart from the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NetworkOrder {
    /// One of its own.
    Own,
    /// One of its own; a descriptor of it goes to the socket of [`super::NETWORK`].
    Shown,
    /// The one of [`super::NETWORK`].
    Joined,
}

/// A report of a parent, in this order; `Failed` is the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The child runs, confined as ordered.
    Started,
    /// The child did not start, and nothing of it has run.
    Failed(StartFailure),
    /// The child has exited. Its descendants may still run.
    Exited(Exit),
    /// The child and its descendants are gone.
    Ended,
}

/// Why a child was not started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StartFailure {
    /// Its directory cannot be entered: an error number.
    Directory(i32),
    /// Starting or confining it failed.
    Start(Failure),
    /// Bubblewrap did not start the helper. Its error message is in the child's standard error.
    Bubblewrap,
}

/// Returns a message's bytes.
///
/// # Errors
/// The message is too large.
pub(crate) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let bytes = postcard::to_extend(message, vec![0; LENGTH]).map_err(io::Error::other)?;
    encoded(bytes).ok_or_else(|| io::Error::other("there is too much to send to its parent"))
}

fn encoded(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let length = bytes.len().checked_sub(LENGTH)?;
    let length = u32::try_from(length).ok().filter(|_| length <= MAX_BYTES)?;
    bytes.get_mut(..LENGTH)?.copy_from_slice(&length.to_le_bytes());
    Some(bytes)
}

/// Removes the first message from the bytes read so far; `None` while it is incomplete.
///
/// # Errors
/// The bytes are no valid message.
pub(crate) fn take<T: for<'a> Deserialize<'a>>(bytes: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else {
        return Ok(None);
    };
    let length = checked(*length)?;
    let Some(text) = rest.get(..length) else {
        return Ok(None);
    };
    let message = postcard::from_bytes(text).map_err(io::Error::other)?;
    bytes.drain(..LENGTH + length);
    Ok(Some(message))
}

/// Reads one message; `None` at the end.
pub(crate) fn read<T: for<'a> Deserialize<'a>>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; LENGTH];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut text = vec![0; checked(length)?];
    from.read_exact(&mut text)?;
    postcard::from_bytes(&text).map(Some).map_err(io::Error::other)
}

/// Writes one message.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&encode(message)?)
}

fn checked(length: [u8; LENGTH]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written_whole_or_in_pieces() {
        let reports = [
            Report::Started,
            Report::Failed(StartFailure::Start(Failure::Confinement("why".to_owned()))),
            Report::Exited(Exit::Signaled(9)),
            Report::Ended,
        ];
        let all: Vec<u8> = reports
            .iter()
            .flat_map(|report| encode(report).unwrap())
            .collect();
        let mut whole = all.as_slice();
        for report in &reports {
            assert_eq!(read::<Report>(&mut whole).unwrap().as_ref(), Some(report));
        }
        assert_eq!(read::<Report>(&mut whole).unwrap(), None);
        let (mut pieces, mut taken) = (Vec::new(), Vec::new());
        for byte in all {
            pieces.push(byte);
            taken.extend(take::<Report>(&mut pieces).unwrap());
        }
        assert_eq!((taken.as_slice(), pieces.len()), (&reports[..], 0));
    }

    #[test]
    fn too_much_is_neither_sent_nor_read() {
        assert!(encode(&vec![0_u8; MAX_BYTES]).is_err());
        assert!(take::<Report>(&mut vec![0xff; 8]).is_err());
        assert!(read::<Report>(&mut [0xff_u8; 8].as_slice()).is_err());
    }
}
