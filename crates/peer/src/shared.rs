//! What the tasks of a connection and its handles share: the state behind its mutex, and the means
//! to tell each other about changes.
//!
//! The mutex is held for short, waitless sections only; [`Shared::with`] is the way in, and does what
//! is left to do once it is released.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

use bobbin_framing::FrameWriter;
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
    /// Taken out at the end. Never waited for with the state locked.
    pub(crate) output: Mutex<Option<Output>>,
    pub(crate) options: PeerOptions,
    pub(crate) log: Log,
    pub(crate) extensions: Extensions,
    /// Set once, before the first message.
    pub(crate) layers: OnceCell<Layers>,
    /// Where handlers run.
    pub(crate) runtime: Handle,
    started: Instant,
    /// What the writing half is at; see the queue.
    pub(crate) writer: Arc<Writer>,
    /// Wakes the task of the connection; set when it is first polled.
    pub(crate) task: OnceLock<Waker>,
    /// Shutdown has begun: what `stop` says, for those who look often.
    stopping: AtomicBool,
    /// The write queue has become shorter.
    pub(crate) room: Notify,
    /// Senders wait for room one by one, so that they get it in the order they came.
    turn: Semaphore,
    /// Phase, running work or drain progress changed.
    changed: Notify,
    /// An earlier deadline was set.
    pub(crate) timer: Notify,
    /// Cancelled when shutdown begins.
    pub(crate) stop: CancellationToken,
    /// Cancelled when handlers that do not end are given up.
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

    /// Works on the state, then does what that leaves to do.
    pub(crate) fn with<T>(self: &Arc<Self>, work: impl FnOnce(&mut State, &mut After) -> T) -> T {
        let mut after = After::default();
        let value = work(&mut self.state.lock(), &mut after);
        if let Some(caller) = after.caller.take() {
            caller.wake();
        }
        self.settle(&mut after);
        value
    }

    /// Looks at the state, or changes it in ways nobody waits for.
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

    /// Whether the writing half has nothing to do, nor has anybody called it since it found that.
    pub(crate) fn is_quiet(&self) -> bool {
        self.writer.is_idle() && !self.is_stopping()
    }

    /// Has the writing half look at the queue. From the reader's turn that needs no waking: the writer's may follow.
    pub(crate) fn call_writer(&self) {
        if !self.is_reading() {
            self.wake_task();
        }
    }

    /// Has the connection's task look at the state again.
    pub(crate) fn wake_task(&self) {
        if let Some(task) = self.task.get() {
            task.wake_by_ref();
        }
    }

    /// Whether shutdown has begun.
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

    /// Waits until the state is as wanted; looks again whenever something changed.
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

    /// Queues one message when there is room for it, in the order callers came, and writes it if nothing else is
    /// being written: whoever sends this way is going to wait for what comes of it.
    ///
    /// `make` runs under the lock, once, and makes the message.
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

    /// As [`send`](Self::send), of messages that go together, however large: where they do not fit, they go
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

    /// As [`send`](Self::send), where there is room now.
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

    /// Queues messages if there is room, and writes them if nothing else is being written.
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

    /// Queues messages if there is room; says whether the writer must be told. That is `output` if there is one, and then
    /// it has been given them.
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

    /// Begins the shutdown sequence.
    pub(crate) fn begin_shutdown(self: &Arc<Self>) {
        self.with(|state, after| state.begin_shutdown(&self.options, after));
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn stats(&self) -> Stats {
        let uptime_ms = millis(self.uptime());
        // Fresh even in the middle of a large message, unless someone is writing just now.
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
    /// Just arrived: goes behind everyone who waits.
    Fresh,
    /// First in line.
    Mine,
}

/// Counts a sender that waits for room, for as long as it does. The writer is to look again once it has made some.
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
