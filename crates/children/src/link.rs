//! The server's end of the socket to the parent of one child.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_sandbox::Failure;
use command_fds::{CommandFdExt as _, FdMapping};
use nix::sys::socket::{Shutdown, shutdown};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::timeout;

use crate::children::{Helper, command};
use crate::parent::message::{ChildOrder, NetworkOrder, Report, StartFailure, Task, encode, take};
use crate::parent::{NETWORK, SOCKET};
use crate::spec::NetworkUse;
use crate::{ChildError, Exit, ProcessSpec};

/// The longest time for a child to start: many times the need of a busy machine.
const START: Duration = Duration::from_secs(10);
/// The longest wait for bubblewrap's error message.
const SAID: Duration = Duration::from_secs(1);
/// Most bytes of that message.
const MAX_SAID: u64 = 600;

/// A parent and its child. Dropping it kills the child and its descendants.
#[derive(Debug)]
pub(crate) struct Link {
    /// The end of what we write there kills the child.
    socket: Arc<UnixStream>,
    /// Bytes of the next report, read so far.
    read: Vec<u8>,
    exit: Option<Exit>,
    /// The runtime reaps this process.
    parent: Child,
}

impl Link {
    /// Starts a parent and, through it, the child. Reads `output` only for bubblewrap's error message; a child in a
    /// terminal has none.
    ///
    /// # Cancel safety
    /// Dropping the future kills the started processes.
    pub(crate) async fn start(
        helper: &Helper,
        spec: ProcessSpec,
        streams: [OwnedFd; 3],
        output: Option<&mut pipe::Receiver>,
    ) -> Result<Self, ChildError> {
        let (network, descriptor) = match &spec.network {
            NetworkUse::Own => (NetworkOrder::Own, None),
            NetworkUse::Shown(socket) => (NetworkOrder::Shown, Some(socket)),
            NetworkUse::Joined(network) => (NetworkOrder::Joined, Some(&network.0)),
        };
        let (parent, socket) = start_parent(helper, streams, descriptor).await?;
        let mut link = Self {
            socket: Arc::new(socket),
            read: Vec::new(),
            exit: None,
            parent,
        };
        let (program, directory) = (PathBuf::from(&spec.program), spec.cwd.clone());
        let order = ChildOrder {
            program: spec.program,
            arguments: spec.args,
            directory: spec.cwd,
            environment: spec
                .env
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            confinement: spec.confinement,
            limits: spec.limits,
            network,
            files: crate::files::limit_of_children(),
            in_terminal: spec.in_terminal,
        };
        let too_large = |source| ChildError::Spawn {
            program: program.clone(),
            source,
        };
        let order = encode(&Task::Run(Box::new(order))).map_err(too_large)?;
        let failure = match timeout(START, link.order(&order)).await {
            Ok(Ok(())) => return Ok(link),
            Ok(Err(failure)) => failure?,
            Err(_) => return Err(ChildError::NotStarted(START)),
        };
        Err(match failure {
            StartFailure::Directory(error) => ChildError::WorkingDirectory {
                path: directory,
                source: io::Error::from_raw_os_error(error),
            },
            StartFailure::Start(Failure::Program(error)) => ChildError::Spawn {
                program,
                source: io::Error::from_raw_os_error(error),
            },
            StartFailure::Start(Failure::Confinement(why)) => ChildError::Confinement(why),
            StartFailure::Bubblewrap => {
                // The output ends soon: all processes that have the pipe open are being killed.
                let mut said = Vec::new();
                if let Some(output) = output {
                    drop(timeout(SAID, output.take(MAX_SAID).read_to_end(&mut said)).await);
                }
                let said = String::from_utf8_lossy(&said).trim().replace('\n', " ");
                ChildError::Confinement(if said.is_empty() {
                    "bubblewrap ended and said nothing".to_owned()
                } else {
                    said
                })
            }
        })
    }

    /// Sends the order, and returns once the child runs or has failed to start.
    async fn order(&mut self, order: &[u8]) -> Result<(), Result<StartFailure, ChildError>> {
        // If the write fails, the parent has ended, and its reports say so.
        drop(self.send(order).await);
        match self.report().await {
            Ok(Report::Started) => Ok(()),
            Ok(Report::Failed(failure)) => Err(Ok(failure)),
            Ok(Report::Exited(_) | Report::Ended) => {
                Err(Err(ChildError::Parent(io::ErrorKind::InvalidData.into())))
            }
            Err(error) => Err(Err(error)),
        }
    }

    async fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.socket.writable().await?;
            match self.socket.try_write(bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the socket, whose end kills the child.
    pub(crate) fn socket(&self) -> &Arc<UnixStream> {
        &self.socket
    }

    /// Returns the process id of the parent.
    pub(crate) fn id(&self) -> Option<u32> {
        self.parent.id()
    }

    /// Waits until the child has exited.
    ///
    /// # Cancel safety
    /// Cancel safe: dropping the future loses no bytes.
    pub(crate) async fn exited(&mut self) -> Result<Exit, ChildError> {
        loop {
            if let Some(exit) = self.exit {
                return Ok(exit);
            }
            match self.report().await? {
                Report::Exited(exit) => self.exit = Some(exit),
                Report::Ended => return Err(ChildError::ParentGone),
                Report::Started | Report::Failed(_) => {}
            }
        }
    }

    /// Waits until the child and its descendants are gone.
    pub(crate) async fn ended(&mut self) -> Result<Exit, ChildError> {
        loop {
            match self.report().await? {
                Report::Ended => return self.exit.ok_or(ChildError::ParentGone),
                Report::Exited(exit) => self.exit = Some(exit),
                Report::Started | Report::Failed(_) => {}
            }
        }
    }

    /// Asks the child's group to end.
    pub(crate) fn terminate(&self) {
        if let Err(error) = self.socket.try_write(b"t") {
            tracing::debug!(%error, "a child was not asked to end");
        }
    }

    /// Kills the child and its descendants.
    pub(crate) fn kill(&mut self) {
        end(&self.socket);
    }

    /// Returns the next report.
    async fn report(&mut self) -> Result<Report, ChildError> {
        loop {
            if let Some(report) = take(&mut self.read).map_err(ChildError::Wait)? {
                return Ok(report);
            }
            let readable = self.socket.readable().await;
            match readable.and_then(|()| self.socket.try_read_buf(&mut self.read)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => return Err(ChildError::ParentGone),
                Ok(_) => {}
            }
        }
    }
}

/// Ends what we write to a parent, which kills its child and the child's descendants. Its reports still come.
pub(crate) fn end(socket: &UnixStream) {
    if let Err(error) = shutdown(socket.as_raw_fd(), Shutdown::Write) {
        tracing::debug!(%error, "a parent was gone already");
    }
}

/// Starts a parent with these streams, and with a descriptor of a network or of a socket to show one. Returns our end of
/// the socket that it reads its task from.
pub(crate) async fn start_parent(
    helper: &Helper,
    streams: [OwnedFd; 3],
    network: Option<&Arc<OwnedFd>>,
) -> Result<(Child, UnixStream), ChildError> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(ChildError::Parent)?;
    ours.set_nonblocking(true).map_err(ChildError::Parent)?;
    let mut parent = command(&helper.program, streams);
    parent.args(&helper.arguments).current_dir("/");
    let socket = FdMapping {
        parent_fd: theirs.into(),
        child_fd: SOCKET,
    };
    let network = network.map(|descriptor| descriptor.try_clone()).transpose();
    let network = network.map_err(ChildError::Parent)?.map(|parent_fd| FdMapping {
        parent_fd,
        child_fd: NETWORK,
    });
    let mapped = parent.fd_mappings([socket].into_iter().chain(network).collect());
    mapped.map_err(|error| ChildError::Parent(io::Error::other(error)))?;
    // A start takes one or two milliseconds, in which the kernel copies this process's tables.
    let parent = tokio::task::spawn_blocking(move || parent.spawn()).await;
    let parent = parent
        .map_err(io::Error::from)
        .flatten()
        .map_err(ChildError::Parent)?;
    let socket = UnixStream::from_std(ours).map_err(ChildError::Parent)?;
    Ok((parent, socket))
}
