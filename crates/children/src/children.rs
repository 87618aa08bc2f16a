//! The thread that starts every process.
//!
//! A thread of our own for two reasons: a fork of a large process takes longer than an async thread may be
//! held, and Linux kills a child "with its parent" when the *thread* that forked it ends, which for a
//! thread of a runtime's pool is any time.
//!
//! [`Children`] owns the thread and joins it. At most [`WAITING`] requests queue; more wait to be queued.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::unistd::Pid;
use tokio::net::unix::pipe;
use tokio::process::ChildStdin;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use crate::fork::{Announce, lead_a_group};
use crate::group::Group;
use crate::guard::Guard;
use crate::{ChildError, GuardProgram, Input, ProcessSpec};

/// Requests that may queue for the thread (guess: it starts several hundred processes a second).
const WAITING: usize = 64;

/// Starts child processes and sees them end. One per server; clones share it.
///
/// Must live as long as the children: on Linux they are killed when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Children {
    thread: Arc<Thread>,
}

#[derive(Debug)]
struct Thread {
    /// `None` once the thread was told to end.
    requests: Option<mpsc::Sender<Request>>,
    handle: Option<JoinHandle<()>>,
}

/// A process that has started and that nobody attends yet: what it writes waits in a pipe. Dropped, it is killed with its
/// whole group.
#[derive(Debug)]
pub struct Started {
    pub(crate) group: Group,
    /// Standard output, and standard error too where the streams are one.
    pub(crate) output: pipe::Receiver,
    /// Standard error, where the streams are apart.
    pub(crate) errors: Option<pipe::Receiver>,
    /// Standard input and what is to be written there, unless the child has none.
    pub(crate) input: Option<(ChildStdin, Vec<u8>)>,
}

/// How a child's streams are laid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Output and errors in one pipe, in the order they were written: a command.
    Together,
    /// A pipe for each, and one for the input that stays open: somebody to speak with.
    Apart,
}

#[derive(Debug)]
struct Request {
    spec: ProcessSpec,
    streams: Streams,
    runtime: Handle,
    child_signals: Signal,
    answer: oneshot::Sender<Result<Started, ChildError>>,
}

impl Started {
    /// Whether it has ended meanwhile. Systems other than Linux do not say so before it is run.
    pub fn has_ended(&self) -> bool {
        self.group.has_exited()
    }
}

impl Children {
    /// Creates the thread; the guard is started together with the first child.
    ///
    /// Without a guard, a server that is killed leaves those members of its groups running that are not
    /// leaders: right for tests, wrong for a server.
    ///
    /// # Errors
    ///
    /// [`ChildError::Thread`]
    pub fn new(guard: Option<GuardProgram>) -> Result<Self, ChildError> {
        let (requests, receiver) = mpsc::channel(WAITING);
        let handle = std::thread::Builder::new()
            .name("children".to_owned())
            .spawn(move || serve(receiver, &Arc::new(Guard::new(guard))))
            .map_err(ChildError::Thread)?;
        Ok(Self {
            thread: Arc::new(Thread {
                requests: Some(requests),
                handle: Some(handle),
            }),
        })
    }

    /// Starts a command that is to be run later: one that waits by itself for a word, and does nothing before.
    ///
    /// # Errors
    ///
    /// Any [`ChildError`] but [`ChildError::Wait`]; nothing runs then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves nothing running.
    pub async fn start_ahead(&self, spec: ProcessSpec) -> Result<Started, ChildError> {
        self.start(spec, Streams::Together).await
    }

    /// Starts a process. A caller that goes away meanwhile leaves nothing running.
    pub(crate) async fn start(&self, spec: ProcessSpec, streams: Streams) -> Result<Started, ChildError> {
        // Listening before the start, so that no exit is missed.
        let child_signals = signal(SignalKind::child()).map_err(ChildError::Watch)?;
        let (answer, started) = oneshot::channel();
        let request = Request {
            spec,
            streams,
            runtime: Handle::current(),
            child_signals,
            answer,
        };
        let requests = self.thread.requests.as_ref().ok_or(ChildError::ThreadGone)?;
        requests.send(request).await.map_err(|_| ChildError::ThreadGone)?;
        started.await.map_err(|_| ChildError::ThreadGone)?
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        drop(self.requests.take());
        // At most one start is under way: milliseconds.
        if self.handle.take().is_some_and(|handle| handle.join().is_err()) {
            tracing::error!("the thread that starts processes has panicked");
        }
    }
}

/// The thread: starts what is asked for until nobody can ask any more.
fn serve(mut requests: mpsc::Receiver<Request>, guard: &Arc<Guard>) {
    while let Some(Request {
        spec,
        streams,
        runtime,
        child_signals,
        answer,
    }) = requests.blocking_recv()
    {
        let entered = runtime.enter();
        let started = spawn(spec, streams, guard, child_signals);
        // An answer nobody waits for is dropped, and the group with it is killed.
        drop(answer.send(started));
        drop(entered);
    }
}

/// Starts `spec`, with a second try when the guard turns out to be dead.
fn spawn(
    spec: ProcessSpec,
    streams: Streams,
    guard: &Arc<Guard>,
    child_signals: Signal,
) -> Result<Started, ChildError> {
    check_directory(&spec.cwd).map_err(|source| ChildError::WorkingDirectory {
        path: spec.cwd.clone(),
        source,
    })?;
    let serial = guard.next_serial();
    let announce = |socket| Announce { socket, serial };
    let mut forked = fork(&spec, streams, guard.socket()?.map(announce));
    if let Err(ForkError::Spawn(error)) = &forked
        && matches!(
            error.kind(),
            io::ErrorKind::BrokenPipe | io::ErrorKind::WouldBlock
        )
    {
        guard.replace();
        forked = fork(&spec, streams, guard.socket()?.map(announce));
    }
    match forked {
        Ok(Forked {
            mut leader,
            id,
            output,
            errors,
        }) => {
            let bytes = match spec.input {
                Input::Null => Vec::new(),
                Input::Bytes(bytes) => bytes,
            };
            let input = leader.stdin.take().map(|stdin| (stdin, bytes));
            tracing::debug!(group = %id, program = %spec.program.display(), "child started");
            let group = Group::new(leader, id, serial, Arc::clone(guard), child_signals);
            Ok(Started {
                group,
                output,
                errors,
                input,
            })
        }
        Err(error) => {
            // It may have announced itself before it failed.
            guard.forget(serial);
            Err(match error {
                ForkError::Pipe(source) => ChildError::Watch(source),
                ForkError::Spawn(source) => ChildError::Spawn {
                    program: PathBuf::from(&spec.program),
                    source,
                },
            })
        }
    }
}

/// A directory that is missing and a program that is missing are one error to `exec`; this tells them apart.
fn check_directory(path: &std::path::Path) -> io::Result<()> {
    if std::fs::metadata(path)?.is_dir() {
        Ok(())
    } else {
        Err(io::ErrorKind::NotADirectory.into())
    }
}

struct Forked {
    leader: tokio::process::Child,
    id: Pid,
    output: pipe::Receiver,
    errors: Option<pipe::Receiver>,
}

enum ForkError {
    Pipe(io::Error),
    Spawn(io::Error),
}

/// Forks and executes once.
fn fork(spec: &ProcessSpec, streams: Streams, announce: Option<Announce>) -> Result<Forked, ForkError> {
    let (output, writer) = pipe_to_read()?;
    // One pipe for both streams: the order of arrival is the order in which it was written.
    let (errors, error_writer) = match streams {
        Streams::Together => (None, writer.try_clone().map_err(ForkError::Pipe)?),
        Streams::Apart => {
            let (errors, error_writer) = pipe_to_read()?;
            (Some(errors), error_writer)
        }
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "this crate is the one that starts processes"
    )]
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(spec.env.iter())
        .stdin(match (streams, &spec.input) {
            (Streams::Together, Input::Null) => Stdio::null(),
            (Streams::Together, Input::Bytes(_)) | (Streams::Apart, _) => Stdio::piped(),
        })
        .stdout(writer)
        .stderr(error_writer);
    lead_a_group(&mut command, announce, spec.starter.as_ref());
    // The command holds our copies of the writing ends: dropped here, or the output would never end.
    let leader = tokio::process::Command::from(command)
        .spawn()
        .map_err(ForkError::Spawn)?;
    let id = leader
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .filter(|&id| id > 1);
    let id = id.ok_or_else(|| ForkError::Spawn(io::ErrorKind::InvalidData.into()))?;
    Ok(Forked {
        leader,
        id: Pid::from_raw(id),
        output,
        errors,
    })
}

/// Returns a pipe that we read and a child writes.
fn pipe_to_read() -> Result<(pipe::Receiver, io::PipeWriter), ForkError> {
    let (reader, writer) = io::pipe().map_err(ForkError::Pipe)?;
    let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(ForkError::Pipe)?;
    Ok((reader, writer))
}
