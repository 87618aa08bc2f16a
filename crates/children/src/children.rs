//! The thread that starts every process.
//!
//! A thread of our own for two reasons: it waits until a new process runs its program, longer than an async thread
//! may be held, and Linux kills a child "with its parent" when the *thread* that started it ends, which for a
//! thread of a runtime's pool is any time.
//!
//! [`Children`] owns the thread and joins it. At most [`WAITING`] requests queue; more wait to be queued.

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use crate::group::Group;
use crate::guard::Guard;
use crate::start::Starts;
use crate::{ChildError, GuardProgram, ProcessSpec};

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
pub(crate) struct Started {
    pub(crate) group: Group,
    /// Standard output, and standard error too where the streams are one.
    pub(crate) output: pipe::Receiver,
    /// Standard error, where the streams are apart.
    pub(crate) errors: Option<pipe::Receiver>,
    /// Standard input and what is to be written there, unless the child has none.
    pub(crate) input: Option<(pipe::Sender, Vec<u8>)>,
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
            .spawn(move || serve(receiver, Starts::new(Guard::new(guard))))
            .map_err(ChildError::Thread)?;
        Ok(Self {
            thread: Arc::new(Thread {
                requests: Some(requests),
                handle: Some(handle),
            }),
        })
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
fn serve(mut requests: mpsc::Receiver<Request>, mut starts: Starts) {
    while let Some(Request {
        spec,
        streams,
        runtime,
        child_signals,
        answer,
    }) = requests.blocking_recv()
    {
        let entered = runtime.enter();
        let started = starts.start(spec, streams, child_signals);
        // An answer nobody waits for is dropped, and the group with it is killed.
        drop(answer.send(started));
        drop(entered);
    }
}
