//! All changing data of a connection, as plain data with its rules.
//!
//! It is in one mutex (see `shared`). No method here waits or calls a handler: work for after the unlock is
//! collected in an [`After`]. Limits: the options bound admitted requests and waiting notifications, the reader's
//! pause bounds answers, and callers bound outgoing calls.

mod ending;
mod waiting_answers;

use std::sync::Arc;
use std::task::Waker;

use bobbin_framing::CloseReason;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::batch::{Batches, ReplyTo};
use crate::calls::Calls;
use crate::encode;
use crate::error::ErrorObject;
use crate::handlers::{CallEntry, NotificationEntry};
use crate::id::{IdKey, WireId};
use crate::job::{Job, Slot, Starts, Target};
use crate::lanes::{Lanes, Track};
use crate::log::Note;
use crate::options::PeerOptions;
use crate::outbox::{OutFrame, Outbox};
use crate::recent::Recent;
use crate::stats::{Counters, Phase};
use crate::ticket::Ticket;

/// The work to do after the lock is released.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each set in one place"
)]
pub(crate) struct After {
    pub(crate) notes: Vec<Note>,
    pub(crate) cancel: Vec<Arc<Ticket>>,
    pub(crate) start: Starts,
    /// The caller whose call has ended.
    pub(crate) caller: Option<Waker>,
    /// Jobs that will not run; dropped after the unlock, since that may run a handler's destructors.
    pub(crate) discard: Vec<Job>,
    /// The writer has work and must be woken.
    pub(crate) write: bool,
    /// State that tasks wait for has changed.
    pub(crate) changed: bool,
    /// Shutdown has started.
    pub(crate) stop: bool,
    /// No handler is left: flush and close.
    pub(crate) closing: bool,
}

impl After {
    /// Has the caller of an own call woken.
    pub(crate) fn wake(&mut self, caller: Option<Waker>) {
        if let Some(caller) = caller
            && let Some(former) = self.caller.replace(caller)
        {
            // There is seldom more than one, and it waits only briefly for the lock.
            former.wake();
        }
    }

    /// Whether only writing and starting jobs are left, as after most messages.
    pub(crate) fn is_quiet(&self) -> bool {
        self.notes.is_empty()
            && self.cancel.is_empty()
            && self.discard.is_empty()
            && !(self.changed || self.stop || self.closing)
    }
}

/// A request or notification from its admission to its end.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each set in one place"
)]
struct Admitted {
    ticket: Arc<Ticket>,
    track: Track,
    /// The destination of the answer; taken by the answer.
    open: Option<ReplyTo>,
    is_call: bool,
    cancelled: bool,
    drops_on_cancel: bool,
    stage: Stage,
    /// Its handler waits for the shutdown that it requested.
    in_shutdown: bool,
    /// Its share of [`State::call_bytes`].
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// In a lane or behind a barrier.
    Waiting,
    /// Its future exists.
    Running,
    /// Its future has ended, or is in its first poll with no work waiting for it; the answer is still to come.
    HandedOn,
}

/// An incoming request that has a handler.
pub(crate) struct NewRequest {
    pub(crate) method: Arc<str>,
    pub(crate) entry: Arc<CallEntry>,
    pub(crate) id: WireId,
    pub(crate) params: Option<Box<RawValue>>,
    pub(crate) reply: ReplyTo,
}

impl NewRequest {
    /// Returns the bytes that it occupies while it has no answer.
    fn size(&self) -> usize {
        let params = self.params.as_ref().map_or(0, |params| params.get().len());
        params + self.method.len() + self.id.text_len()
    }
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each set in one place"
)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    /// Input has ended, and running work gets time to end.
    pub(crate) input_ended: bool,
    closing: bool,
    abandoned: bool,
    entries: Recent<Slot, Admitted>,
    by_id: Recent<IdKey, Slot>,
    last_slot: Slot,
    next_ordinal: i64,
    lanes: Lanes,
    /// Started calls without answer.
    running_calls: usize,
    running_notifications: usize,
    waiting_calls: usize,
    waiting_notifications: usize,
    waiting_bytes: usize,
    /// Bytes of the requests without an answer.
    call_bytes: usize,
    /// Futures that exist.
    active: usize,
    pub(crate) calls: Calls,
    pub(crate) timer_running: bool,
    pub(crate) out: Outbox,
    pub(crate) batches: Batches,
    pub(crate) counters: Counters,
    pub(crate) close_reason: CloseReason,
}

impl State {
    pub(crate) fn new(options: &PeerOptions, lanes: usize) -> Self {
        Self {
            phase: Phase::Active,
            input_ended: false,
            closing: false,
            abandoned: false,
            entries: Recent::new(),
            by_id: Recent::new(),
            last_slot: 0,
            next_ordinal: 0,
            lanes: Lanes::new(lanes),
            running_calls: 0,
            running_notifications: 0,
            waiting_calls: 0,
            waiting_notifications: 0,
            waiting_bytes: 0,
            call_bytes: 0,
            active: 0,
            calls: Calls::new(options.grace_window, options.max_grace_entries),
            timer_running: false,
            out: Outbox::new(
                options.max_queue_bytes,
                options.max_queue_messages,
                options.flush_bytes,
            )
            .with_budget(options.answer_budget.clone()),
            batches: Batches::default(),
            counters: Counters::default(),
            close_reason: CloseReason::default(),
        }
    }

    /// Lanes are known only after the configure function ran with a handle to this state.
    pub(crate) fn set_lanes(&mut self, lanes: usize) {
        self.lanes = Lanes::new(lanes);
    }

    /// The next ordinal.
    pub(crate) fn ordinal(&mut self) -> i64 {
        let ordinal = self.next_ordinal;
        self.next_ordinal += 1;
        ordinal
    }

    pub(crate) fn last_ordinal(&self) -> i64 {
        self.next_ordinal - 1
    }

    pub(crate) fn running(&self) -> (usize, usize) {
        (self.running_calls, self.running_notifications)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting_calls + self.waiting_notifications
    }

    /// Whether no work is running or waiting.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting() == 0 && self.is_drained()
    }

    /// Whether answers can still arrive: not after the end of input, even while the output is open.
    pub(crate) fn is_answerable(&self) -> bool {
        !self.input_ended
    }

    fn is_drained(&self) -> bool {
        self.abandoned || (self.running_calls == 0 && self.active == 0)
    }

    /// Queues a message that does not wait for room.
    pub(crate) fn push(&mut self, frame: OutFrame, after: &mut After) {
        after.write |= self.out.push(frame);
    }

    /// Queues an answer, or adds it to its batch.
    pub(crate) fn answer(
        &mut self,
        reply: ReplyTo,
        message: Vec<u8>,
        options: &PeerOptions,
        after: &mut After,
    ) {
        let complete = match reply {
            ReplyTo::Single => Some(message),
            ReplyTo::Batch { batch, element } => self.batches.file(batch, element, message),
        };
        if let Some(complete) = complete {
            self.push_answer(complete, options, after);
        }
    }

    /// Queues an answer that is complete.
    pub(crate) fn push_answer(&mut self, message: Vec<u8>, options: &PeerOptions, after: &mut After) {
        let frame = OutFrame {
            bytes: options.charset().finish(message),
            flushed: None,
            is_answer: true,
        };
        self.push(frame, after);
    }

    /// Admits a request: starts it, queues it, or refuses it.
    pub(crate) fn admit_request(&mut self, new: NewRequest, options: &PeerOptions, after: &mut After) {
        let ordinal = self.ordinal();
        let key = new.id.key();
        let bytes = new.size();
        let refusal = if key.as_ref().is_some_and(|key| self.by_id.get(key).is_some()) {
            after
                .notes
                .push(Note::Error(format!("request id {} is still running", new.id)));
            let error = ErrorObject::new(
                crate::error::code::INVALID_REQUEST,
                options.invalid_request_message,
            );
            Some(error.with_detail("a request with this id is still running"))
        } else if self.running_calls + self.waiting_calls >= options.max_running_requests
            || (self.call_bytes > 0 && self.call_bytes + bytes > options.max_running_request_bytes)
        {
            after.notes.push(Note::Warn(format!(
                "overloaded: refused {} id {}",
                new.method, new.id
            )));
            Some(options.overload_error.clone())
        } else {
            None
        };
        if let Some(error) = refusal {
            let message = encode::error(&new.id, &error);
            let message = self.refusal_within_batches(new.reply, message, options);
            self.answer(new.reply, message, options, after);
            return;
        }
        self.last_slot += 1;
        let slot = self.last_slot;
        if let Some(key) = key {
            self.by_id.insert(key, slot);
        }
        let job = Job {
            ticket: Arc::new(Ticket::new(slot, ordinal, new.method, new.id)),
            params: new.params,
            target: Target::Call(new.entry),
        };
        self.waiting_calls += 1;
        self.call_bytes += bytes;
        self.enter(&job, Some(new.reply), bytes);
        if let Some(job) = self.lanes.admit(job) {
            self.start(job, after);
        }
    }

    /// Admits a notification: starts it, queues it, or drops it.
    pub(crate) fn admit_notification(
        &mut self,
        method: Arc<str>,
        entry: Arc<NotificationEntry>,
        params: Option<Box<RawValue>>,
        options: &PeerOptions,
        after: &mut After,
    ) {
        let ordinal = self.ordinal();
        self.last_slot += 1;
        let slot = self.last_slot;
        let job = Job {
            ticket: Arc::new(Ticket::new(slot, ordinal, method, WireId::NULL)),
            params,
            target: Target::Notification(entry),
        };
        let bytes = job.params_len();
        self.waiting_notifications += 1;
        self.waiting_bytes += bytes;
        self.enter(&job, None, bytes);
        if let Some(job) = self.lanes.admit(job) {
            self.start(job, after);
        } else {
            self.make_room(slot, options, after);
        }
    }

    /// Drops waiting notifications until the rest is within the limits: first the oldest that may be dropped, then
    /// the newest, which has this slot.
    fn make_room(&mut self, newest: Slot, options: &PeerOptions, after: &mut After) {
        while self.waiting_notifications > options.max_queued_notifications
            || self.waiting_bytes > options.max_queued_notification_bytes
        {
            let victim = self.lanes.remove_droppable();
            let Some(job) = victim.or_else(|| self.remove_waiting(newest)) else {
                return;
            };
            after.notes.push(Note::Warn(format!(
                "too many notifications wait: dropped {}",
                job.ticket.method
            )));
            self.forget_waiting(&job);
            after.discard.push(job);
        }
    }

    fn enter(&mut self, job: &Job, open: Option<ReplyTo>, bytes: usize) {
        let entry = Admitted {
            ticket: Arc::clone(&job.ticket),
            track: job.track(),
            is_call: open.is_some(),
            open,
            cancelled: false,
            drops_on_cancel: match &job.target {
                Target::Call(entry) => entry.drops_on_cancel,
                Target::Notification(entry) => entry.drops_on_cancel,
            },
            stage: Stage::Waiting,
            in_shutdown: false,
            bytes,
        };
        self.entries.insert(job.slot(), entry);
    }

    /// Moves a job from waiting to running.
    fn start(&mut self, job: Job, after: &mut After) {
        let Some(entry) = self.entries.get_mut(&job.slot()) else {
            return;
        };
        if entry.stage != Stage::Waiting {
            return;
        }
        if job.is_passing() {
            entry.stage = Stage::HandedOn;
        } else {
            entry.stage = Stage::Running;
            self.active += 1;
        }
        if entry.is_call {
            self.waiting_calls -= 1;
            self.running_calls += 1;
        } else {
            self.waiting_notifications -= 1;
            self.waiting_bytes -= entry.bytes;
            self.running_notifications += 1;
        }
        after.start.push(job);
    }

    fn remove_waiting(&mut self, slot: Slot) -> Option<Job> {
        let track = self.entries.get(&slot)?.track;
        self.lanes.remove(slot, track)
    }

    /// Removes the record of a job that was taken out of its lane; returns where to answer.
    fn forget_waiting(&mut self, job: &Job) -> Option<ReplyTo> {
        let entry = self.entries.remove(&job.slot())?;
        if entry.is_call {
            self.waiting_calls -= 1;
            self.call_bytes -= entry.bytes;
        } else {
            self.waiting_notifications -= 1;
            self.waiting_bytes -= entry.bytes;
        }
        let open = entry.open?;
        self.release_id(&entry.ticket);
        Some(open)
    }

    /// Frees the id of a request that is to be answered; until then no other request can have it.
    fn release_id(&mut self, ticket: &Ticket) {
        if let Some(key) = ticket.id.key() {
            self.by_id.remove(&key);
        }
    }

    /// Answers a running request, once. Returns whether there was anything to answer.
    pub(crate) fn respond(
        &mut self,
        ticket: &Ticket,
        message: Vec<u8>,
        options: &PeerOptions,
        after: &mut After,
    ) -> bool {
        let Some(open) = self.close(ticket) else {
            return false;
        };
        let message = self.within_batches(open, message, ticket, options, after);
        self.answer(open, message, options, after);
        self.settle_down(after);
        true
    }

    /// Ends a running request whose answer its caller sends. Returns whether that may be: the answers of a batch come
    /// together, so an element of one stays open. `None` if the request has already ended.
    pub(crate) fn hand_over(&mut self, ticket: &Ticket, after: &mut After) -> Option<bool> {
        let open = self.entries.get(&ticket.slot)?.open?;
        if open != ReplyTo::Single {
            return Some(false);
        }
        self.close(ticket)?;
        self.settle_down(after);
        Some(true)
    }

    /// Ends a running request. Returns the destination of its answer; `None` if it has already ended.
    fn close(&mut self, ticket: &Ticket) -> Option<ReplyTo> {
        let entry = self.entries.get_mut(&ticket.slot)?;
        let open = entry.open.take()?;
        self.call_bytes -= entry.bytes;
        if entry.stage == Stage::HandedOn {
            self.entries.remove(&ticket.slot);
        }
        self.running_calls -= 1;
        self.release_id(ticket);
        Some(open)
    }

    /// Records a job whose future continues after its first poll.
    pub(crate) fn record_future(&mut self, ticket: &Arc<Ticket>, track: Track, after: &mut After) {
        self.active += 1;
        // The connection is not idle after all.
        self.closing = false;
        if let Some(entry) = self.entries.get_mut(&ticket.slot) {
            entry.stage = Stage::Running;
            return;
        }
        // Its answer removed its record.
        let entry = Admitted {
            ticket: Arc::clone(ticket),
            track,
            open: None,
            is_call: true,
            cancelled: false,
            drops_on_cancel: false,
            stage: Stage::Running,
            in_shutdown: false,
            bytes: 0,
        };
        self.entries.insert(ticket.slot, entry);
        // So it was not there when everything was cancelled.
        if self.phase != Phase::Active {
            after.cancel.push(Arc::clone(ticket));
        }
    }

    /// Notes that a job's future is gone, in any way.
    pub(crate) fn end_future(&mut self, slot: Slot, track: Track, options: &PeerOptions, after: &mut After) {
        if let Some(entry) = self.entries.get_mut(&slot)
            && entry.stage == Stage::Running
        {
            entry.stage = Stage::HandedOn;
            self.active -= 1;
            let (cancelled, open) = (entry.cancelled && entry.drops_on_cancel, entry.open.is_some());
            if !entry.is_call {
                self.running_notifications -= 1;
            }
            if !open {
                self.entries.remove(&slot);
            } else if cancelled {
                self.answer_cancelled(slot, options, after);
            }
        }
        let mut released = Vec::new();
        self.lanes.release(slot, track, |job| released.push(job));
        for job in released {
            self.start(job, after);
        }
        self.settle_down(after);
    }

    /// Ids in the grace table.
    pub(crate) fn grace_len(&mut self) -> usize {
        self.calls.grace_len(Instant::now())
    }
}
