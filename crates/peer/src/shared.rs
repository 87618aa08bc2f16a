//! The data shared by a connection's tasks and handles: the state behind its mutex, and notifications about its
//! changes.
//!
//! The mutex is locked for short sections that never wait. [`Shared::with`] locks it and does the follow-up work
//! after unlocking.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

use bobbin_framing::FrameWriter;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OnceCell, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context::Extensions;
use crate::error::SendError;
use crate::layer::Layers;
use crate::log::{Log, LogEntry, Note};
use crate::options::PeerOptions;
use crate::outbox::{OutFrame, Writer};
use crate::output::Output;
use crate::state::{After, State};
use crate::stats::{Phase, Stats, millis};
use crate::ticket::Ticket;

#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Removed at the end. Never waited for with the state locked.
    pub(crate) output: Mutex<Option<Output>>,
    pub(crate) options: PeerOptions,
    pub(crate) log: Log,
    pub(crate) extensions: Extensions,
    /// Set once, before the first message.
    pub(crate) layers: OnceCell<Layers>,
    /// The runtime of the handlers.
    pub(crate) runtime: Handle,
    started: Instant,
    /// The writing half's flags; see the queue.
    pub(crate) writer: Arc<Writer>,
    /// Wakes the connection's task; set at its first poll.
    pub(crate) task: OnceLock<Waker>,
    /// Whether shutdown has started: a cheap copy of `stop`.
    stopping: AtomicBool,
    /// The write queue has become shorter.
    pub(crate) room: Notify,
    /// Senders wait for room one by one, in order of arrival.
    turn: Semaphore,
    /// Phase, running work or drain progress changed.
    changed: Notify,
    /// An earlier deadline was set.
    pub(crate) timer: Notify,
    /// Cancelled when shutdown starts.
    pub(crate) stop: CancellationToken,
    /// Cancelled when handlers that do not end are dropped.
    pub(crate) abandon: CancellationToken,
    /// Cancelled when no handler is left.
    pub(crate) closing: CancellationToken,
}

impl Shared {
    pub(crate) fn new(options: PeerOptions, runtime: Handle, writer: Box<dyn FrameWriter>) -> Self {
        let state = State::new(&options, 0);
        Self {
            writer: state.out.writer(),
            state: Mutex::new(state),
            output: Mutex::new(Some(Output::new(writer))),
            log: Log::new(options.log.clone()),
            options,
            extensions: Extensions::default(),
            layers: OnceCell::new(),
            runtime,
            started: Instant::now(),
            task: OnceLock::new(),
            stopping: AtomicBool::new(false),
            room: Notify::new(),
            turn: Semaphore::new(1),
            changed: Notify::new(),
            timer: Notify::new(),
            stop: CancellationToken::new(),
            abandon: CancellationToken::new(),
            closing: CancellationToken::new(),
        }
    }

    /// Changes the state, then does the follow-up work.
    pub(crate) fn with<T>(self: &Arc<Self>, work: impl FnOnce(&mut State, &mut After) -> T) -> T {
        let mut after = After::default();
        let value = work(&mut self.state.lock(), &mut after);
        if let Some(caller) = after.caller.take() {
            caller.wake();
        }
        self.settle(&mut after);
        value
    }

    /// Reads the state, or changes it in ways that no task waits for.
    pub(crate) fn peek<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock())
    }

    /// Everything in `after` except the jobs to start.
    #[inline]
    pub(crate) fn announce(&self, after: &mut After) {
        if after.write {
            self.call_writer();
        }
        if !after.is_quiet() {
            self.announce_rest(after);
        }
    }

    #[cold]
    fn announce_rest(&self, after: &mut After) {
        for note in after.notes.drain(..) {
            self.note(&note);
        }
        for ticket in after.cancel.drain(..) {
            ticket.cancel();
        }
        if after.stop {
            self.stopping.store(true, Ordering::Release);
            self.stop.cancel();
            self.room.notify_waiters();
            self.wake_task();
        }
        if after.closing {
            self.closing.cancel();
        }
        if after.changed {
            self.changed.notify_waiters();
        }
        after.discard.clear();
    }

    /// Whether the writing half is idle and has not been called since.
    pub(crate) fn is_quiet(&self) -> bool {
        self.writer.is_idle() && !self.is_stopping()
    }

    /// Makes the writing half check the queue. The reader need not wake it: the writer's turn may follow.
    pub(crate) fn call_writer(&self) {
        if !self.is_reading() {
            self.wake_task();
        }
    }

    /// Makes the connection's task check the state again.
    pub(crate) fn wake_task(&self) {
        if let Some(task) = self.task.get() {
            task.wake_by_ref();
        }
    }

    /// Whether shutdown has started.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Logs an incident.
    pub(crate) fn note(&self, note: &Note) {
        let kind = note.entry().kind();
        match note {
            Note::Error(text) | Note::Warn(text) => tracing::debug!(target: "bobbin_peer", kind, "{text}"),
            Note::Debug(text) => tracing::trace!(target: "bobbin_peer", kind, "{text}"),
        }
        self.emit(note.entry());
    }

    pub(crate) fn emit(&self, entry: LogEntry<'_>) {
        if self.log.emit(entry) {
            self.state.lock().counters.log_panics += 1;
        }
    }

    /// Waits until the state is as wanted; checks again after each change.
    pub(crate) async fn wait_until(&self, wanted: impl Fn(&State) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if wanted(&self.state.lock()) {
                return;
            }
            changed.await;
        }
    }

    /// Answers a request on behalf of its responder.
    pub(crate) fn respond(self: &Arc<Self>, ticket: &Ticket, message: Vec<u8>) {
        let Ticket { id, method, .. } = ticket;
        let limit = self.options.max_answer_bytes;
        let message = if message.len() > limit {
            self.note(&Note::Error(format!(
                "answer to {method} is over the limit of {limit} bytes"
            )));
            crate::encode::error(id, &crate::error::ErrorObject::internal("answer too large"))
        } else {
            message
        };
        let answered = self.with(|state, after| state.respond(ticket, message, &self.options, after));
        if !answered {
            self.note(&Note::Debug(format!(
                "answer to {method} id {id} came after the request had ended"
            )));
        }
    }

    /// Ends a request on behalf of its responder, whose caller sends the answer that this returns. An element of a batch
    /// is answered here.
    pub(crate) fn hand_over(self: &Arc<Self>, ticket: &Ticket, message: Vec<u8>) -> Option<Bytes> {
        let is_single = self.with(|state, after| state.hand_over(ticket, after));
        match is_single {
            Some(true) => Some(message.into()),
            Some(false) => {
                self.respond(ticket, message);
                None
            }
            None => None,
        }
    }

    /// Queues one message when there is room, in the order of callers, and writes it if the output is free: the
    /// caller is going to wait for the result anyway.
    ///
    /// `make` runs once, under the lock, and makes the message.
    pub(crate) async fn send<F: IntoIterator<Item = OutFrame>, T>(
        self: &Arc<Self>,
        bytes: usize,
        make: impl FnOnce(&mut State) -> (F, T) + Send,
    ) -> Result<T, SendError> {
        let limit = self.options.max_queue_bytes;
        if bytes > limit {
            return Err(SendError::TooLarge { size: bytes, limit });
        }
        self.send_all(bytes, 1, make).await
    }

    /// As [`send`](Self::send), for messages that belong together, of any size: if they do not fit, they are queued
    /// once the queue is empty.
    pub(crate) async fn send_all<F: IntoIterator<Item = OutFrame>, T>(
        self: &Arc<Self>,
        bytes: usize,
        messages: usize,
        make: impl FnOnce(&mut State) -> (F, T) + Send,
    ) -> Result<T, SendError> {
        let mut make = Some(make);
        if let Some(sent) = self.try_send_and_write(bytes, messages, &mut make)? {
            return Ok(sent);
        }
        let _in_line = InLine::enter(self);
        let _turn = self.turn.acquire().await.map_err(|_| SendError::Closed)?;
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            if let Some((sent, write)) = self.try_send(bytes, messages, Turn::Mine, &mut make, None)? {
                if write {
                    self.call_writer();
                }
                return Ok(sent);
            }
            room.await;
        }
    }

    /// As [`send`](Self::send), but only if there is room now.
    pub(crate) fn send_now<F: IntoIterator<Item = OutFrame>, T>(
        self: &Arc<Self>,
        bytes: usize,
        messages: usize,
        make: impl FnOnce(&mut State) -> (F, T),
    ) -> Result<T, SendError> {
        let sent = self.try_send(bytes, messages, Turn::Fresh, &mut Some(make), None)?;
        let (sent, write) = sent.ok_or(SendError::Full)?;
        if write {
            self.call_writer();
        }
        Ok(sent)
    }

    /// Queues messages if there is room, and writes them if the output is free.
    fn try_send_and_write<F: IntoIterator<Item = OutFrame>, T>(
        self: &Arc<Self>,
        bytes: usize,
        messages: usize,
        make: &mut Option<impl FnOnce(&mut State) -> (F, T)>,
    ) -> Result<Option<T>, SendError> {
        let mut slot = self.free_output();
        let mut output = slot.as_mut().and_then(|slot| slot.as_mut());
        let sent = self.try_send(bytes, messages, Turn::Fresh, make, output.as_deref_mut())?;
        let Some((sent, write)) = sent else {
            return Ok(None);
        };
        match output {
            Some(output) if write => self.write_now(output),
            None if write => self.call_writer(),
            Some(_) | None => {}
        }
        Ok(Some(sent))
    }

    /// Queues messages if there is room; says whether the writer must be woken. If `output` is given, it gets the
    /// messages instead.
    fn try_send<F: IntoIterator<Item = OutFrame>, T>(
        self: &Arc<Self>,
        bytes: usize,
        messages: usize,
        turn: Turn,
        make: &mut Option<impl FnOnce(&mut State) -> (F, T)>,
        output: Option<&mut Output>,
    ) -> Result<Option<(T, bool)>, SendError> {
        let mut state = self.state.lock();
        if state.phase != Phase::Active {
            return Err(SendError::Closed);
        }
        let in_order = turn == Turn::Mine || state.out.waiting == 0;
        if !in_order || !state.out.has_room(bytes, messages) {
            return Ok(None);
        }
        let Some(make) = make.take() else { return Ok(None) };
        let (frames, value) = make(&mut state);
        let mut write = false;
        for frame in frames {
            write |= state.out.push(frame);
        }
        if write && let Some(output) = output {
            output.take(&mut state);
        }
        Ok(Some((value, write)))
    }

    /// Starts the shutdown sequence.
    pub(crate) fn start_shutdown(self: &Arc<Self>) {
        self.with(|state, after| state.start_shutdown(&self.options, after));
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn stats(&self) -> Stats {
        let uptime_ms = millis(self.uptime());
        // Up to date even during a large message, unless a sender is writing just now.
        let written = self
            .output
            .try_lock()
            .and_then(|output| Some(output.as_ref()?.bytes_written()));
        self.peek(|state| {
            if let Some(written) = written {
                state.counters.bytes_written = written;
            }
            let (calls, notifications) = state.running();
            let counters = state.counters;
            Stats {
                phase: state.phase,
                write_queue_length: state.out.len(),
                pending_outbound_call_count: state.calls.len(),
                running_inbound_request_count: calls + notifications,
                timer_armed: state.calls.has_deadline(),
                recently_timed_out_call_count: state.grace_len(),
                running_notification_count: notifications,
                queued_inbound_count: state.waiting(),
                write_queue_bytes: state.out.bytes(),
                bytes_read: counters.bytes_read,
                bytes_written: counters.bytes_written,
                messages_read: counters.messages_read,
                messages_written: state.out.messages_written(),
                read_errors: counters.read_errors,
                calls_timed_out: counters.calls_timed_out,
                log_panics: counters.log_panics,
                last_ordinal: state.last_ordinal(),
                uptime_ms,
            }
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Just arrived: goes after all waiting senders.
    Fresh,
    /// First in line.
    Mine,
}

/// Counts a waiting sender for as long as it waits. The writer checks the queue again once it has made room.
pub(crate) struct InLine<'a>(&'a Shared);

impl<'a> InLine<'a> {
    pub(crate) fn enter(shared: &'a Shared) -> Self {
        let call = shared.peek(|state| {
            state.out.waiting += 1;
            state.out.call()
        });
        if call {
            shared.call_writer();
        }
        Self(shared)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.0.peek(|state| state.out.waiting -= 1);
    }
}
