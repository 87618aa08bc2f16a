//! What starts children: through a parent of our own, or directly.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

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
}

/// How a child's streams are laid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Output and errors in one pipe, in the order they were written: a command.
    Together,
    /// A pipe for each, and one for the input that stays open: a child to speak with.
    Apart,
}

/// The ends of a child's streams that are its own.
type Theirs = [OwnedFd; 3];

/// The ends that are ours.
#[derive(Debug)]
pub(crate) struct Ours {
    /// Standard input and what is to be written there, unless the child has none.
    pub(crate) input: Option<(pipe::Sender, Vec<u8>)>,
    /// Standard output, and standard error too where the streams are one.
    pub(crate) output: pipe::Receiver,
    /// Standard error, where the streams are apart.
    pub(crate) errors: Option<pipe::Receiver>,
}

impl Children {
    /// Returns what starts children through parents that `helper` runs.
    ///
    /// Without one, and on systems other than Linux, a child is started directly: it leads a process group, which is killed with it.
    /// What leaves that group is out of reach then, and so is all of it when the server is killed: right for tests, wrong for
    /// a server. Nothing can be confined so.
    pub fn new(helper: Option<Helper>) -> Self {
        Self {
            helper: helper.map(Arc::new),
        }
    }

    /// Starts a process. A caller that goes away meanwhile leaves nothing running.
    pub(crate) async fn start(
        &self,
        spec: ProcessSpec,
        streams: Streams,
    ) -> Result<(Running, Ours), ChildError> {
        let (mut ours, theirs) = lay(streams, spec.input.clone()).map_err(ChildError::Watch)?;
        let control = match &self.helper {
            #[cfg(target_os = "linux")]
            Some(helper) => {
                Control::Parent(crate::link::Link::start(helper, spec, theirs, &mut ours.output).await?)
            }
            _ => {
                let started = tokio::task::spawn_blocking(move || Direct::start(&spec, theirs)).await;
                Control::Direct(started.map_err(|error| ChildError::Watch(error.into()))??)
            }
        };
        Ok((Running::new(control), ours))
    }
}

/// Returns what starts a program with these streams.
pub(crate) fn command(program: &Path, [stdin, stdout, stderr]: Theirs) -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "this crate is the one that starts processes"
    )]
    let mut command = Command::new(program);
    command
        .env_clear()
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    command
}

/// Lays the streams of a child.
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
    // One pipe for both streams: the order of arrival is the order in which it was written.
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
