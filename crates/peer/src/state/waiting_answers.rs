//! Answers that wait for others of their batch, within the limit on waiting answers.

use super::{After, State};
use crate::batch::ReplyTo;
use crate::encode;
use crate::error::ErrorObject;
use crate::id::WireId;
use crate::log::Note;
use crate::options::PeerOptions;
use crate::ticket::Ticket;

impl State {
    /// Returns the answer, or an error in its place if it would have to wait with its batch and there is no room.
    pub(super) fn within_batches(
        &self,
        open: ReplyTo,
        message: Vec<u8>,
        ticket: &Ticket,
        options: &PeerOptions,
        after: &mut After,
    ) -> Vec<u8> {
        let limit = options.max_answer_bytes;
        if open == ReplyTo::Single || self.batches.has_room(message.len(), limit) {
            return message;
        }
        let error = encode::error(&ticket.id, &ErrorObject::internal("answer too large"));
        // A shorter error of its own says more.
        if error.len() >= message.len() {
            return message;
        }
        after.notes.push(Note::Error(format!(
            "answers in batches come to more than {limit} bytes with that to {}",
            ticket.method
        )));
        error
    }

    /// Returns the refusal of a request, without the request's own words if it would have to wait with its batch
    /// and there is no room.
    pub(crate) fn refusal_within_batches(
        &self,
        reply: ReplyTo,
        message: Vec<u8>,
        options: &PeerOptions,
    ) -> Vec<u8> {
        if reply == ReplyTo::Single || self.batches.has_room(message.len(), options.max_answer_bytes) {
            return message;
        }
        let error = encode::error(&WireId::NULL, &ErrorObject::internal("answer too large"));
        if error.len() < message.len() {
            error
        } else {
            message
        }
    }
}
