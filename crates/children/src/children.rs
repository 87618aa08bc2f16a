//! Starts children: through a parent process of our own, or directly.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::Weak;

use parking_lot::Mutex;
#[cfg(target_os = "linux")]
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Command;

use crate::direct::Direct;
use crate::running::{Control, Running};
use crate::{ChildError, Input, ProcessSpec};

/// The program that runs the parents of children: [`run_child`](crate::run_child) in a helper mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    /// The program, as a path: usually our own binary (`/proc/self/exe` on Linux, so that an upgrade on disk
    /// does not matter).
    pub program: PathBuf,
    /// The arguments that choose the helper mode.
    pub arguments: Vec<OsString>,
}

/// Starts child processes. One per server; clones share it.
#[derive(Debug, Clone)]
pub struct Children {
    helper: Option<Arc<Helper>>,
    started: Arc<Mutex<Started>>,
}

/// The children that were started.
#[derive(Debug, Default)]
struct Started {
    /// Whether nothing may be started, or go on.
    is_stopped: bool,
    /// The sockets of the children that run, and of some that have ended since.
    #[cfg(target_os = "linux")]
    sockets: Vec<Weak<UnixStream>>,
}

/// How a child's streams are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Output and errors in one pipe, in the order of writing: for commands.
    Together,
    /// A pipe for each stream, and an input that stays open: for children that speak a protocol.
    Apart,
}

/// The child's ends of its streams.
type Theirs = [OwnedFd; 3];

/// Our ends of the streams.
#[derive(Debug)]
pub(crate) struct Ours {
    /// Standard input and the bytes to write there, unless the child has no input.
    pub(crate) input: Option<(pipe::Sender, Vec<u8>)>,
    /// Standard output; with standard error if both share a pipe.
    pub(crate) output: pipe::Receiver,
    /// Standard error, if it has a pipe of its own.
    pub(crate) errors: Option<pipe::Receiver>,
}

/// A start on its way.
type Starting<'a> = Pin<Box<dyn Future<Output = Result<(Running, Ours), ChildError>> + Send + 'a>>;

impl Children {
    /// Returns a starter of children whose parents `helper` runs.
    ///
    /// Without a helper, and on systems other than Linux, a child is started directly. It leads a process group,
    /// which is killed with it. Processes that leave the group survive, and all of them survive when the server is
    /// killed. Nothing can be confined. This is enough for tests, not for a server.
    pub fn new(helper: Option<Helper>) -> Self {
        Self {
            helper: helper.map(Arc::new),
            started: Arc::default(),
        }
    }

    /// Kills all children with a parent, and starts none until [`Children::allow`].
    pub fn stop_all(&self) {
        let mut started = self.started.lock();
        started.is_stopped = true;
        #[cfg(target_os = "linux")]
        for socket in started.sockets.drain(..).filter_map(|socket| socket.upgrade()) {
            crate::link::end(&socket);
        }
    }

    /// Lets children start again.
    pub fn allow(&self) {
        self.started.lock().is_stopped = false;
    }

    /// Whether something may be started.
    pub(crate) fn check(&self) -> Result<(), ChildError> {
        if self.started.lock().is_stopped {
            return Err(ChildError::Stopped);
        }
        Ok(())
    }

    /// Notes a child that was started, and kills it if it came too late.
    #[cfg(target_os = "linux")]
    pub(crate) fn note(&self, link: &crate::link::Link) {
        let mut started = self.started.lock();
        started.sockets.retain(|socket| socket.strong_count() > 0);
        started.sockets.push(Arc::downgrade(link.socket()));
        if started.is_stopped {
            crate::link::end(link.socket());
        }
    }

    /// Returns the program that runs parents, if there is one.
    #[cfg(target_os = "linux")]
    pub(crate) fn helper(&self) -> Option<&Helper> {
        self.helper.as_deref()
    }

    /// Starts a process. If the caller drops the future, nothing is left running.
    // Boxed: each crate that starts children would compile the future anew.
    pub(crate) fn start(&self, spec: ProcessSpec, streams: Streams) -> Starting<'_> {
        Box::pin(self.start_one(spec, streams))
    }

    async fn start_one(&self, spec: ProcessSpec, streams: Streams) -> Result<(Running, Ours), ChildError> {
        self.check()?;
        let (mut ours, theirs) = lay(streams, spec.input.clone()).map_err(ChildError::Watch)?;
        let control = match &self.helper {
            #[cfg(target_os = "linux")]
            Some(helper) => {
                let link = crate::link::Link::start(helper, spec, theirs, Some(&mut ours.output)).await?;
                self.note(&link);
                Control::Parent(link)
            }
            _ => {
                let started = tokio::task::spawn_blocking(move || Direct::start(&spec, theirs)).await;
                Control::Direct(started.map_err(|error| ChildError::Watch(error.into()))??)
            }
        };
        Ok((Running::new(control), ours))
    }
}

/// Returns the command for a program with these streams.
pub(crate) fn command(program: &Path, [stdin, stdout, stderr]: Theirs) -> Command {
    #[expect(clippy::disallowed_methods, reason = "only this crate starts processes")]
    let mut command = Command::new(program);
    command
        .env_clear()
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    command
}

/// Makes the pipes of a child.
fn lay(streams: Streams, input: Input) -> io::Result<(Ours, Theirs)> {
    let (stdin, input) = match (streams, input) {
        (Streams::Together, Input::Null) => (File::open("/dev/null")?.into(), None),
        (_, input) => {
            let (reader, writer) = io::pipe()?;
            let bytes = match input {
                Input::Bytes(bytes) => bytes,
                Input::Null => Vec::new(),
            };
            let writer = pipe::Sender::from_owned_fd(writer.into())?;
            (reader.into(), Some((writer, bytes)))
        }
    };
    let (output, stdout) = pipe_to_read()?;
    // One pipe for both streams preserves the order of writing.
    let (errors, stderr) = match streams {
        Streams::Together => (None, stdout.try_clone()?),
        Streams::Apart => {
            let (errors, stderr) = pipe_to_read()?;
            (Some(errors), stderr)
        }
    };
    let ours = Ours {
        input,
        output,
        errors,
    };
    Ok((ours, [stdin, stdout, stderr]))
}

/// Returns a pipe that we read and a child writes.
fn pipe_to_read() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((pipe::Receiver::from_owned_fd(reader.into())?, writer.into()))
}
