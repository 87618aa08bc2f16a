//! Our side of the guard: starts it, tells it, replaces it when it died.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::unistd::Pid;
use parking_lot::Mutex;

use super::record::{Record, send};
use crate::ChildError;
use crate::fork::stand_apart;

/// The helper that runs [`guard_main`](crate::guard_main) on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardProgram {
    /// The program, as a path: usually our own binary (`/proc/self/exe` on Linux, so that an upgrade on disk
    /// does not matter).
    pub program: PathBuf,
    /// The arguments that choose the helper mode.
    pub args: Vec<OsString>,
}

/// The books about running groups and the process that holds a copy of them.
#[derive(Debug)]
pub(crate) struct Guard {
    /// `None`: there is no guard, only the kernel's own help for leaders.
    program: Option<GuardProgram>,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    link: Option<Link>,
    groups: BTreeMap<u64, Pid>,
    last_serial: u64,
}

/// A running guard. Dropped only with nothing on the books, so there is nothing left for it to do.
#[derive(Debug)]
struct Link {
    socket: UnixStream,
    process: Child,
}

impl Guard {
    /// Returns our side of a guard that is started when it is needed.
    pub(crate) fn new(program: Option<GuardProgram>) -> Self {
        Self {
            program,
            books: Mutex::default(),
        }
    }

    /// Returns a number for a group that is about to be started.
    pub(crate) fn next_serial(&self) -> u64 {
        let mut books = self.books.lock();
        books.last_serial += 1;
        books.last_serial
    }

    /// Returns where new groups announce themselves, with a guard at the other end; `None` if there is to be none.
    ///
    /// Only the thread that starts processes calls this and [`Guard::replace`], so the descriptor stays open while it does.
    ///
    /// # Errors
    ///
    /// [`ChildError::Guard`]
    pub(crate) fn socket(&self) -> Result<Option<RawFd>, ChildError> {
        let Some(program) = &self.program else {
            return Ok(None);
        };
        if let Some(link) = &self.books.lock().link {
            return Ok(Some(link.socket.as_raw_fd()));
        }
        let link = Link::start(program).map_err(ChildError::Guard)?;
        let socket = link.socket.as_raw_fd();
        let mut books = self.books.lock();
        for (&serial, &group) in &books.groups {
            send(socket, Record::Watch { serial, group }).map_err(ChildError::Guard)?;
        }
        books.link = Some(link);
        Ok(Some(socket))
    }

    /// Gives up a guard that does not listen; [`Guard::socket`] starts another and tells it everything.
    pub(crate) fn replace(&self) {
        let old = self.books.lock().link.take();
        tracing::warn!(
            pid = old.as_ref().map(|link| link.process.id()),
            "the guard process is replaced"
        );
    }

    /// Enters a group that has announced itself.
    pub(crate) fn enter(&self, serial: u64, group: Pid) {
        self.books.lock().groups.insert(serial, group);
    }

    /// Strikes a group that was killed, or that announced itself and then failed to start.
    pub(crate) fn forget(&self, serial: u64) {
        let mut books = self.books.lock();
        books.groups.remove(&serial);
        if let Some(link) = &books.link
            && let Err(error) = send(link.socket.as_raw_fd(), Record::Forget { serial })
        {
            // Its successor will get books without this group.
            tracing::debug!(%error, "the guard process does not listen");
        }
    }
}

impl Link {
    /// Starts a guard.
    fn start(program: &GuardProgram) -> io::Result<Self> {
        let (socket, its_end) = UnixStream::pair()?;
        #[expect(
            clippy::disallowed_methods,
            reason = "this crate is the one that starts processes"
        )]
        let mut command = Command::new(&program.program);
        command
            .args(&program.args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(its_end)))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        stand_apart(&mut command);
        let process = command.spawn()?;
        tracing::debug!(pid = process.id(), "the guard process is started");
        Ok(Self { socket, process })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Killed rather than awaited, so that a guard that was stopped cannot stop us.
        if let Err(error) = self.process.kill().and_then(|()| self.process.wait()) {
            tracing::debug!(%error, "the guard process cannot be reaped");
        }
    }
}
