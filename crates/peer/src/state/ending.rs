//! Ends work and the connection early: cancels, the shutdown sequence, giving up. Plain data, like all of the
//! state.

use std::sync::Arc;

use super::{After, Stage, State};
use crate::encode;
use crate::error::{CallError, ErrorObject};
use crate::id::WireId;
use crate::job::{Job, Slot};
use crate::log::Note;
use crate::options::PeerOptions;
use crate::stats::Phase;

impl State {
    /// Answers a request with `-32800` instead of its handler.
    pub(super) fn answer_cancelled(&mut self, slot: Slot, options: &PeerOptions, after: &mut After) {
        let Some(entry) = self.entries.get(&slot).filter(|entry| entry.open.is_some()) else {
            return;
        };
        let ticket = Arc::clone(&entry.ticket);
        let message = encode::error(&ticket.id, &ErrorObject::cancelled());
        self.respond(&ticket, message, options, after);
    }

    /// Cancels the request with this id, if there is one.
    pub(crate) fn cancel(&mut self, id: &WireId, options: &PeerOptions, after: &mut After) {
        let Some(slot) = id.key().and_then(|key| self.by_id.get(&key).copied()) else {
            return;
        };
        if let Some(job) = self.remove_waiting(slot) {
            self.refuse_waiting(job, options, after);
            return;
        }
        self.cancel_running(slot, options, after);
    }

    fn cancel_running(&mut self, slot: Slot, options: &PeerOptions, after: &mut After) {
        let Some(entry) = self.entries.get_mut(&slot) else {
            return;
        };
        entry.cancelled = true;
        after.cancel.push(Arc::clone(&entry.ticket));
        if entry.stage == Stage::HandedOn && entry.drops_on_cancel {
            self.answer_cancelled(slot, options, after);
        }
    }

    /// Ends a job that was taken out of its lane before it ran.
    fn refuse_waiting(&mut self, job: Job, options: &PeerOptions, after: &mut After) {
        match self.forget_waiting(&job) {
            Some(open) => {
                let message = encode::error(&job.ticket.id, &ErrorObject::cancelled());
                self.answer(open, message, options, after);
            }
            None => after.notes.push(Note::Debug(format!(
                "{} dropped: shutting down",
                job.ticket.method
            ))),
        }
        after.discard.push(job);
    }

    /// Fails every outgoing call.
    pub(crate) fn fail_calls(&mut self, after: &mut After) {
        for (id, pending) in self.calls.drain() {
            after.notes.push(Note::Warn(format!(
                "call {} id {id} failed: transport shut down",
                pending.method
            )));
            self.calls.store_result(id, Err(CallError::ShutDown));
            after.wake(pending.caller);
        }
    }

    /// Leaves `Active`: steps 1 to 3 of the shutdown sequence, and the rest if nothing runs.
    pub(crate) fn start_shutdown(&mut self, options: &PeerOptions, after: &mut After) {
        if self.phase != Phase::Active {
            return;
        }
        self.phase = Phase::ShuttingDown;
        after.stop = true;
        after.changed = true;
        self.fail_calls(after);
        for job in self.lanes.drain() {
            self.refuse_waiting(job, options, after);
        }
        let mut slots: Vec<_> = self.entries.iter().map(|(&slot, _)| slot).collect();
        slots.sort_unstable();
        for slot in slots {
            self.cancel_running(slot, options, after);
        }
        self.settle_down(after);
    }

    /// Gives up on handlers that do not end, and answers their requests.
    pub(crate) fn abandon(&mut self, options: &PeerOptions, after: &mut After) {
        let mut slots: Vec<_> = self.entries.iter().map(|(&slot, _)| slot).collect();
        slots.sort_unstable();
        for slot in slots {
            let Some(entry) = self.entries.get_mut(&slot) else {
                continue;
            };
            if entry.open.is_none() {
                continue;
            }
            let ticket = Arc::clone(&entry.ticket);
            let id = &ticket.id;
            after
                .notes
                .push(Note::Error(format!("request id {id} did not end in time")));
            let message = encode::error(id, &ErrorObject::internal("handler did not end in time"));
            self.respond(&ticket, message, options, after);
        }
        self.abandoned = true;
        self.settle_down(after);
    }

    /// Continues the shutdown sequence when the last handler has ended, and wakes its waiters.
    pub(super) fn settle_down(&mut self, after: &mut After) {
        if self.phase == Phase::ShuttingDown && !self.closing && self.is_drained() {
            self.closing = true;
            after.closing = true;
            after.write |= self.out.call();
        }
        after.changed |= self.input_ended || self.phase != Phase::Active;
    }

    /// Whether the output may be closed once it is written.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Marks a handler as waiting for the shutdown that it requested.
    pub(crate) fn enter_shutdown(&mut self, slot: Slot) {
        if let Some(entry) = self.entries.get_mut(&slot) {
            entry.in_shutdown = true;
        }
    }

    /// Whether all remaining handlers wait for the shutdown itself.
    pub(crate) fn only_waiters_left(&self) -> bool {
        self.entries.iter().all(|(_, entry)| entry.in_shutdown)
    }
}
