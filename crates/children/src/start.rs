//! One start: pipes, the process itself, and the guard's books.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::unistd::Pid;
use tokio::net::unix::pipe;
use tokio::signal::unix::Signal;

use crate::children::{Started, Streams};
use crate::fork::{Announce, Lead};
use crate::group::Group;
use crate::guard::Guard;
use crate::leader::Leader;
use crate::{ChildError, Input, ProcessSpec};

/// What starts processes.
#[derive(Debug)]
pub(crate) struct Starts {
    guard: Arc<Guard>,
    #[cfg(target_os = "linux")]
    stack: crate::vfork::Stack,
}

/// The ends of a child's streams that are its own.
struct Theirs([OwnedFd; 3]);

/// The ends that are ours.
struct Ours {
    input: Option<pipe::Sender>,
    output: pipe::Receiver,
    errors: Option<pipe::Receiver>,
}

impl Starts {
    pub(crate) fn new(guard: Guard) -> Self {
        Self {
            guard: Arc::new(guard),
            #[cfg(target_os = "linux")]
            stack: crate::vfork::Stack::default(),
        }
    }

    /// Starts `spec`, with a second try when the guard turns out to be dead.
    pub(crate) fn start(
        &mut self,
        spec: ProcessSpec,
        streams: Streams,
        child_signals: Signal,
    ) -> Result<Started, ChildError> {
        check_directory(&spec.cwd).map_err(|source| ChildError::WorkingDirectory {
            path: spec.cwd.clone(),
            source,
        })?;
        let (ours, theirs) = lay(streams, &spec.input).map_err(ChildError::Watch)?;
        let serial = self.guard.next_serial();
        let mut started = self.process(&spec, &theirs, serial)?;
        if let Err(error) = &started
            && matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::WouldBlock
            )
        {
            self.guard.replace();
            started = self.process(&spec, &theirs, serial)?;
        }
        let id = started.map_err(|source| {
            // It may have announced itself before it failed.
            self.guard.forget(serial);
            let program = PathBuf::from(&spec.program);
            ChildError::Spawn { program, source }
        })?;
        tracing::debug!(group = %id, program = %spec.program.display(), "child started");
        let leader = Leader::new(id, child_signals);
        let bytes = match spec.input {
            Input::Null => Vec::new(),
            Input::Bytes(bytes) => bytes,
        };
        Ok(Started {
            group: Group::new(leader, serial, Arc::clone(&self.guard)),
            output: ours.output,
            errors: ours.errors,
            input: ours.input.map(|input| (input, bytes)),
        })
    }

    /// Starts the process once, known to the guard.
    fn process(
        &mut self,
        spec: &ProcessSpec,
        theirs: &Theirs,
        serial: u64,
    ) -> Result<io::Result<Pid>, ChildError> {
        let announce = self.guard.socket()?.map(|socket| Announce { socket, serial });
        let lead = Lead::of(announce, spec.starter.as_ref());
        let streams = theirs.0.each_ref().map(OwnedFd::as_fd);
        Ok(self.begin(spec, streams, &lead))
    }

    #[cfg(target_os = "linux")]
    fn begin(&mut self, spec: &ProcessSpec, streams: [BorrowedFd<'_>; 3], lead: &Lead) -> io::Result<Pid> {
        let mut image = crate::image::Image::of(spec)?;
        crate::vfork::start(&mut self.stack, &mut image, streams, lead)
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(
        clippy::unused_self,
        reason = "what it takes to start a process is elsewhere another thing"
    )]
    fn begin(&mut self, spec: &ProcessSpec, streams: [BorrowedFd<'_>; 3], lead: &Lead) -> io::Result<Pid> {
        crate::fork::start(spec, streams, lead)
    }
}

/// A directory that is missing and a program that is missing are one error to `exec`; this tells them apart.
fn check_directory(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.is_dir() {
        Ok(())
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

/// Lays the streams of a child.
fn lay(streams: Streams, input: &Input) -> io::Result<(Ours, Theirs)> {
    let (stdin, input) = match (streams, input) {
        (Streams::Together, Input::Null) => (File::open("/dev/null")?.into(), None),
        (Streams::Together, Input::Bytes(_)) | (Streams::Apart, _) => {
            let (reader, writer) = io::pipe()?;
            (reader.into(), Some(pipe::Sender::from_owned_fd(writer.into())?))
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
    Ok((ours, Theirs([above(stdin)?, above(stdout)?, above(stderr)?])))
}

/// Returns a pipe that we read and a child writes.
fn pipe_to_read() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((pipe::Receiver::from_owned_fd(reader.into())?, writer.into()))
}

/// Returns the descriptor under a number that is no standard stream's, so that laying one does not close another.
fn above(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    if descriptor.as_raw_fd() > 2 {
        return Ok(descriptor);
    }
    // The standard library makes a copy above these.
    descriptor.try_clone()
}
