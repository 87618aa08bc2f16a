//! A long-lived child in a terminal (PTY) of its own: for a user's shell.
//!
//! The child leads a session that the terminal controls, so job control works. The caller has the other end of the
//! terminal and bounds its reads; while it does not read, the writer waits for the kernel's buffer of a few KiB. Dropping the
//! [`Terminal`] hangs up: the kernel sends `HUP` to the session.

use std::io;

use nix::errno::Errno;
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::net::unix::pipe;

use crate::{ChildError, Children, PipedChild, ProcessSpec};

/// The size of a terminal in letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Letters in a row.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// Our end of a terminal.
///
/// To the runtime it is a pipe in each direction. Only `try_read` and `try_write` are used: they take a short read for
/// what it is, while the others take it for an empty pipe.
#[derive(Debug)]
pub struct Terminal {
    shown: pipe::Receiver,
    typed: pipe::Sender,
}

impl Children {
    /// Starts a long-lived process in a terminal. The spec's input and confinement are not used.
    ///
    /// # Errors
    ///
    /// Any [`ChildError`] but [`ChildError::Wait`]; nothing runs then. [`ChildError::Watch`] on systems other than Linux,
    /// and without a [`Helper`](crate::Helper): nothing would end what the process leaves in other sessions.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves nothing running.
    pub async fn start_in_terminal(
        &self,
        spec: ProcessSpec,
        size: TerminalSize,
    ) -> Result<(PipedChild, Terminal), ChildError> {
        #[cfg(target_os = "linux")]
        if let Some(helper) = self.helper() {
            self.check()?;
            let (terminal, theirs) = Terminal::open(size).map_err(ChildError::Watch)?;
            let copy = || theirs.try_clone().map_err(ChildError::Watch);
            let streams = [copy()?, copy()?, copy()?];
            drop(theirs);
            let spec = ProcessSpec {
                confinement: None,
                in_terminal: true,
                ..spec
            };
            // Boxed, as other starts are.
            let link = Box::pin(crate::link::Link::start(helper, spec, streams, None)).await?;
            self.note(&link);
            let running = crate::running::Running::new(crate::running::Control::Parent(link));
            return Ok((PipedChild::new(running), terminal));
        }
        drop((spec, size));
        Err(ChildError::Watch(io::ErrorKind::Unsupported.into()))
    }
}

impl Terminal {
    /// Opens a terminal. Returns our end and the child's.
    #[cfg(target_os = "linux")]
    fn open(size: TerminalSize) -> io::Result<(Self, std::os::fd::OwnedFd)> {
        use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        // By descriptor: its name may lead elsewhere where `/dev/pts` is mounted twice.
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let terminal = Self {
            typed: pipe::Sender::from_owned_fd_unchecked(ours.try_clone()?)?,
            shown: pipe::Receiver::from_owned_fd_unchecked(ours)?,
        };
        terminal.resize(size)?;
        Ok((terminal, theirs))
    }

    /// Sets the size. The programs in front get `WINCH` if it has changed.
    ///
    /// # Errors
    ///
    /// The terminal is gone.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let size = Winsize {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        Ok(tcsetwinsize(&self.shown, size)?)
    }

    /// Reads what the programs have written, as much as fits into `buffer` without waiting for more. Returns 0 once no
    /// program has the terminal open any more.
    ///
    /// # Errors
    ///
    /// The terminal cannot be read.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses no bytes.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.shown.readable().await?;
            let mut filled = 0;
            // One read returns 4 KiB at most.
            while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
                match self.shown.try_read(room) {
                    Ok(0) => return Ok(filled),
                    Ok(count) => filled += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock || filled > 0 => break,
                    // How a terminal that no program has open ends.
                    Err(error) if error.raw_os_error() == Some(Errno::EIO as i32) => return Ok(0),
                    Err(error) => return Err(error),
                }
            }
            if filled > 0 {
                return Ok(filled);
            }
        }
    }

    /// Types all of `bytes`. Waits while the programs do not read.
    ///
    /// # Errors
    ///
    /// The terminal is gone.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves a part of the bytes typed.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.typed.writable().await?;
            match self.typed.try_write(bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
