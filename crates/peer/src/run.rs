//! Runs handlers: at most one task per handler, none if a first poll is enough.
//!
//! The starter of a deferred handler polls it once; all other handlers run on tasks of their own. Each task ends
//! with its handler, with the request's token, or with the connection's `abandon` token, and every way out goes
//! through [`Running`].

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;
use tokio::task::yield_now;

use crate::context::{CallContext, NotificationContext};
use crate::current::Polling;
use crate::error::HandlerError;
use crate::handle::PeerHandle;
use crate::handlers::HandlerFuture;
use crate::job::{Job, Starts, Target};
use crate::lanes::Track;
use crate::layer::{NextCall, NextNotification};
use crate::log::Note;
use crate::responder::Responder;
use crate::shared::Shared;
use crate::state::After;
use crate::ticket::Ticket;

/// Most jobs run to their end in a row before other tasks have their turn (a guess).
const JOBS_IN_ROW: usize = 32;
/// Most inline jobs run in a row by the code that released the first of them (a guess).
const INLINE_IN_ROW: usize = 128;

/// The result of a running handler's future.
type Ended = Result<Result<(), HandlerError>, Box<dyn std::any::Any + Send>>;

/// A job whose future exists and is recorded; dropping this value ends the job in every case.
struct Running {
    shared: Arc<Shared>,
    ticket: Arc<Ticket>,
    track: Track,
    drops_on_cancel: bool,
    ended: bool,
}

impl Running {
    fn new(shared: Arc<Shared>, job: &Job) -> Self {
        Self {
            shared,
            ticket: Arc::clone(&job.ticket),
            track: job.track(),
            drops_on_cancel: job.drops_on_cancel(),
            ended: false,
        }
    }

    fn polling(&self) -> Polling {
        Polling::start(&self.shared, self.ticket.slot)
    }

    /// Logs how the handler ended and frees its place; returns the follow-up work for the caller.
    fn finish(mut self, ended: Option<Ended>) -> After {
        self.ended = true;
        if let Some(ended) = ended {
            self.shared.report(&self.ticket, ended);
        }
        self.shared.release(&self.ticket, self.track)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let mut after = self.shared.release(&self.ticket, self.track);
            self.shared.settle(&mut after);
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// Calls the handler; its future is not polled yet.
fn create(shared: &Arc<Shared>, job: Job) -> Result<HandlerFuture, Box<dyn std::any::Any + Send>> {
    let peer = PeerHandle::new(Arc::clone(shared));
    let Job {
        ticket,
        params,
        target,
    } = job;
    let (method, ordinal) = (Arc::clone(&ticket.method), ticket.ordinal);
    let layers = shared.layers.get().filter(|layers| !layers.is_empty()).cloned();
    catch_unwind(AssertUnwindSafe(move || match target {
        Target::Call(entry) => {
            let responder = Responder::new(Arc::clone(&peer.shared), Arc::clone(&ticket));
            let cx = CallContext {
                method,
                params,
                id: ticket.id.clone(),
                ordinal,
                peer,
                ticket,
            };
            match layers {
                None => (entry.run)(cx, responder),
                Some(layers) => NextCall::new(layers, entry).run(cx, responder),
            }
        }
        Target::Notification(entry) => {
            let cx = NotificationContext {
                method,
                params,
                ordinal,
                peer,
                ticket,
            };
            match layers {
                None => (entry.run)(cx),
                Some(layers) => NextNotification::new(layers, entry).run(cx),
            }
        }
    }))
}

impl Shared {
    /// Starts the remaining jobs when there are too many for one go.
    fn start_rest(self: &Arc<Self>, mut jobs: Starts) {
        let shared = Arc::clone(self);
        self.runtime.spawn(async move {
            let mut in_row = 0;
            while let Some(job) = jobs.pop() {
                if let Some(mut more) = shared.start(job) {
                    shared.announce(&mut more);
                    jobs.append(&mut more.start);
                }
                in_row += 1;
                if in_row % JOBS_IN_ROW == 0 {
                    yield_now().await;
                }
            }
        });
    }

    /// Does the work that must not happen under the lock, including jobs to start.
    ///
    /// If inline jobs release one another in a long row, the rest runs on a task of its own, so that the code
    /// that ended the first job is not delayed. Each lane runs in its order: its next job starts only when the one
    /// before has ended.
    #[inline]
    pub(crate) fn settle(self: &Arc<Self>, after: &mut After) {
        self.announce(after);
        if !matches!(after.start, Starts::None) {
            self.start_all(std::mem::take(&mut after.start));
        }
    }

    fn start_all(self: &Arc<Self>, mut start: Starts) {
        // A loop, not recursion: jobs that end at once may release long queues.
        let mut in_row = 0;
        while let Some(job) = start.pop() {
            in_row += usize::from(job.is_inline());
            if let Some(mut more) = self.start(job) {
                self.announce(&mut more);
                start.append(&mut more.start);
            }
            if in_row >= INLINE_IN_ROW {
                return self.start_rest(start);
            }
        }
    }

    /// Starts a job. Returns the follow-up work if the job ended at once.
    pub(crate) fn start(self: &Arc<Self>, job: Job) -> Option<After> {
        if !job.is_inline() {
            self.runtime.spawn(drive(Arc::clone(self), job));
            return None;
        }
        let (ticket, track, passing) = (Arc::clone(&job.ticket), job.track(), job.is_passing());
        let drops_on_cancel = job.drops_on_cancel();
        let polled = {
            let _polling = Polling::start(self, ticket.slot);
            create(self, job).and_then(|mut future| {
                // The task that takes the future over polls it again, so this waker may do nothing.
                let mut cx = Context::from_waker(Waker::noop());
                // A ready future is dropped inside, because dropping may panic too.
                catch_unwind(AssertUnwindSafe(move || match future.as_mut().poll(&mut cx) {
                    Poll::Ready(result) => Ok(result),
                    Poll::Pending => Err(future),
                }))
            })
        };
        let ended = match polled {
            Ok(Ok(result)) => Ok(result),
            Err(panic) => Err(panic),
            Ok(Err(future)) => {
                if passing {
                    self.with(|state, after| state.record_future(&ticket, track, after));
                }
                let running = Running {
                    shared: Arc::clone(self),
                    ticket,
                    track,
                    drops_on_cancel,
                    ended: false,
                };
                self.runtime.spawn(async move {
                    let shared = Arc::clone(&running.shared);
                    let mut after = carry(running, future).await;
                    shared.settle(&mut after);
                });
                return None;
            }
        };
        self.report(&ticket, ended);
        (!passing).then(|| self.release(&ticket, track))
    }

    /// Logs how a handler ended, if that is worth an entry.
    fn report(&self, ticket: &Ticket, ended: Ended) {
        let what = match ended {
            Ok(Ok(())) => return,
            Ok(Err(HandlerError::Rpc(error))) => format!("failed: {error}"),
            Ok(Err(HandlerError::Cancelled)) => "was cancelled".to_owned(),
            Ok(Err(HandlerError::Foreign { type_name, text })) => format!("failed: {type_name}: {text}"),
            Err(panic) => format!("panicked: {}", panic_text(panic.as_ref())),
        };
        let method = &ticket.method;
        self.note(&Note::Error(format!("handler for {method} {what}")));
    }

    /// Removes the record of an ended future.
    fn release(&self, ticket: &Ticket, track: Track) -> After {
        let mut after = After::default();
        self.peek(|state| state.end_future(ticket.slot, track, &self.options, &mut after));
        after
    }
}

/// Runs a job, then the jobs that its end releases, one after the other.
async fn drive(shared: Arc<Shared>, job: Job) {
    let mut next = Some(job);
    let mut in_row = 0;
    while let Some(job) = next.take() {
        in_row += 1;
        if in_row % JOBS_IN_ROW == 0 {
            yield_now().await;
        }
        let running = Running::new(Arc::clone(&shared), &job);
        // Cancelled before it started: it never runs.
        let mut after = if job.ticket.is_cancelled() {
            refuse(&shared, job);
            running.finish(None)
        } else {
            let created = {
                let _polling = running.polling();
                create(&shared, job)
            };
            match created {
                Ok(future) => carry(running, future).await,
                Err(panic) => running.finish(Some(Err(panic))),
            }
        };
        next = after.start.only(|job| !job.is_inline());
        shared.settle(&mut after);
    }
}

/// Answers a request that was cancelled between its start and its first poll.
fn refuse(shared: &Arc<Shared>, job: Job) {
    if let Target::Call(_) = job.target {
        drop(Responder::new(Arc::clone(shared), job.ticket));
    }
}

/// Polls a handler to its end, or until it is to be dropped.
async fn carry(running: Running, future: HandlerFuture) -> After {
    // Dropped before the end is recorded: a responder in it answers first.
    let ended = {
        let mut future = AssertUnwindSafe(future).catch_unwind();
        let mut work = poll_fn(|cx| {
            let _polling = running.polling();
            future.poll_unpin(cx)
        });
        // Most handlers end here and need no cancellation.
        if let Poll::Ready(ended) = poll_fn(|cx| Poll::Ready(work.poll_unpin(cx))).await {
            Some(ended)
        } else {
            let stop = if running.drops_on_cancel {
                running.ticket.token().clone()
            } else {
                running.shared.abandon.clone()
            };
            // The handler first: a handler that finishes despite the cancel has its answer sent.
            tokio::select! {
                biased;
                ended = work => Some(ended),
                () = stop.cancelled() => None,
            }
        }
    };
    running.finish(ended)
}
