//! What goes over the guard's socket: records of one size, sent in one piece.

use std::io;
use std::os::fd::RawFd;

use nix::sys::socket::MsgFlags;
use nix::unistd::Pid;

/// Bytes of every record.
pub(crate) const RECORD_BYTES: usize = 16;

const WATCH: u32 = 1;
const FORGET: u32 = 2;

/// One change of the guard's books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record {
    /// This group is to be killed when we are gone.
    Watch { serial: u64, group: Pid },
    /// That group is gone, or never came to be.
    Forget { serial: u64 },
}

impl Record {
    /// Returns the record's bytes; allocates nothing.
    fn encode(self) -> [u8; RECORD_BYTES] {
        let (tag, group, serial) = match self {
            Self::Watch { serial, group } => (WATCH, group.as_raw(), serial),
            Self::Forget { serial } => (FORGET, 0, serial),
        };
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&tag.to_le_bytes());
        bytes[4..8].copy_from_slice(&group.to_le_bytes());
        bytes[8..].copy_from_slice(&serial.to_le_bytes());
        bytes
    }

    /// Returns the record in `bytes`, `None` if there is none or its group must never be killed.
    pub(crate) fn decode(bytes: [u8; RECORD_BYTES]) -> Option<Self> {
        let [t0, t1, t2, t3, g0, g1, g2, g3, serial @ ..] = bytes;
        let serial = u64::from_le_bytes(serial);
        match u32::from_le_bytes([t0, t1, t2, t3]) {
            WATCH => {
                let group = i32::from_le_bytes([g0, g1, g2, g3]);
                // To `kill`, -1 is everybody, 0 the caller's own group.
                (group > 1).then(|| Self::Watch {
                    serial,
                    group: Pid::from_raw(group),
                })
            }
            FORGET => Some(Self::Forget { serial }),
            _ => None,
        }
    }
}

/// Sends a record without waiting; safe in a new process before its program starts.
///
/// # Errors
///
/// `BrokenPipe` when the guard is gone, `WouldBlock` when it has stopped reading.
pub(crate) fn send(socket: RawFd, record: Record) -> io::Result<()> {
    // No SIGPIPE: a child that has reset its signals must see the error instead of dying of it.
    #[cfg(target_os = "linux")]
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    let flags = MsgFlags::MSG_DONTWAIT;
    // So few bytes go whole or not at all.
    nix::sys::socket::send(socket, &record.encode(), flags)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_the_wire() {
        for record in [
            Record::Watch {
                serial: u64::MAX,
                group: Pid::from_raw(4711),
            },
            Record::Forget { serial: 7 },
        ] {
            assert_eq!(Record::decode(record.encode()), Some(record));
        }
    }

    #[test]
    fn groups_that_would_mean_everybody_are_refused() {
        for group in [-1, 0, 1] {
            let record = Record::Watch {
                serial: 1,
                group: Pid::from_raw(group),
            };
            assert_eq!(Record::decode(record.encode()), None);
        }
    }
}
