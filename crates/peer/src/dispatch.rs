//! From one frame to jobs, resolved calls, immediate answers and log entries.
//!
//! Runs on the reading task, in arrival order, and never waits. Rules: peer spec 4 to 9.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::batch::ReplyTo;
use crate::encode;
use crate::envelope::{Envelope, Incoming, Parsed, classify, is_null, parse};
use crate::error::{CallError, ErrorObject, code, excerpt};
use crate::handlers::Handlers;
use crate::id::{IdKey, WireId};
use crate::log::{LogEntry, Note};
use crate::members;
use crate::options::{Batches, ParseErrorReply, PeerOptions};
use crate::shared::Shared;
use crate::state::{After, NewRequest, State};
use crate::stats::Phase;

pub(crate) struct Dispatcher<'a> {
    shared: &'a Arc<Shared>,
    handlers: Handlers,
    /// Whether the framing preserves message boundaries.
    framed: bool,
    parse_errors_in_row: u32,
    /// Bytes of the connection up to the current message.
    bytes_read: u64,
    /// Whether the write queue was over its limits at the last message.
    congested: Cell<bool>,
}

impl<'a> Dispatcher<'a> {
    pub(crate) fn new(shared: &'a Arc<Shared>, handlers: Handlers, framed: bool) -> Self {
        Self {
            shared,
            handlers,
            framed,
            parse_errors_in_row: 0,
            bytes_read: 0,
            congested: Cell::new(false),
        }
    }

    /// Whether answers have filled the write queue, as of the last message.
    pub(crate) fn is_congested(&self) -> bool {
        self.congested.get()
    }

    /// Sets whether message boundaries are reliable from here on.
    pub(crate) fn set_framed(&mut self, framed: bool) {
        self.framed = framed;
    }

    /// Handles one frame; returns whether it was JSON.
    pub(crate) fn frame(&mut self, frame: &[u8], bytes_read: u64) -> bool {
        self.bytes_read = bytes_read;
        match read(frame, &self.shared.options) {
            Ok((text, parsed)) => {
                self.parse_errors_in_row = 0;
                self.shared.emit(LogEntry::Read(text));
                self.message(parsed);
                true
            }
            Err(reason) => {
                self.shared.peek(|state| self.count(state));
                self.parse_error(&reason);
                false
            }
        }
    }

    fn count(&self, state: &mut State) {
        self.congested.set(state.out.is_congested());
        state.counters.messages_read += 1;
        state.counters.bytes_read = self.bytes_read;
    }

    /// Answers an unreadable body, as far as the options say.
    pub(crate) fn parse_error(&mut self, reason: &str) {
        let options = &self.shared.options;
        self.shared.note(&Note::Error(format!("parse error: {reason}")));
        self.parse_errors_in_row = self.parse_errors_in_row.saturating_add(1);
        let wanted = match options.parse_error_reply {
            ParseErrorReply::Never => false,
            ParseErrorReply::WhenFramed => self.framed,
            ParseErrorReply::Always => true,
        };
        let reply = wanted && self.parse_errors_in_row <= options.max_parse_error_replies;
        self.shared.with(|state, after| {
            state.counters.read_errors += 1;
            if reply && state.phase == Phase::Active {
                let message =
                    encode::error(&WireId::NULL, &ErrorObject::new(code::PARSE_ERROR, "Parse error"));
                state.answer(ReplyTo::Single, message, options, after);
            }
        });
    }

    fn message(&self, parsed: Parsed<'_>) {
        match parsed {
            Parsed::Object(envelope) => {
                self.shared.with(|state, after| {
                    self.count(state);
                    if self.is_open(state, after) {
                        self.one(&envelope, ReplyTo::Single, state, after);
                    }
                });
            }
            Parsed::Array(elements) => {
                self.shared.peek(|state| self.count(state));
                self.batch(&elements);
            }
            Parsed::Scalar => {
                self.shared.peek(|state| self.count(state));
                self.shared
                    .note(&Note::Error("message is not an object".to_owned()));
                reply_invalid(self.shared, "message is not an object");
            }
        }
    }

    /// Whether messages are still accepted.
    #[expect(
        clippy::unused_self,
        reason = "a method like its siblings, for a uniform call"
    )]
    fn is_open(&self, state: &State, after: &mut After) -> bool {
        if state.phase == Phase::Active {
            return true;
        }
        after
            .notes
            .push(Note::Debug("message dropped: shutting down".to_owned()));
        false
    }

    fn batch(&self, elements: &[&RawValue]) {
        let options = &self.shared.options;
        let refusal = match options.batches {
            Batches::Reject => Some("batches are not supported"),
            Batches::Accept if elements.is_empty() => Some("empty batch"),
            Batches::Accept if elements.len() > options.max_batch => Some("batch has too many elements"),
            Batches::Accept => None,
        };
        if let Some(reason) = refusal {
            self.shared.note(&Note::Error(reason.to_owned()));
            reply_invalid(self.shared, reason);
            return;
        }
        // Parsed outside the lock; a raw element is JSON, so what fails is its shape.
        let parsed: Vec<_> = elements.iter().map(|raw| parse(raw.get(), 0)).collect();
        self.shared.with(|state, after| {
            if !self.is_open(state, after) {
                return;
            }
            let batch = state.batches.open();
            for (element, parsed) in parsed.into_iter().enumerate() {
                let reply = ReplyTo::Batch { batch, element };
                match parsed {
                    Ok(Parsed::Object(envelope)) => self.one(&envelope, reply, state, after),
                    Ok(Parsed::Array(_) | Parsed::Scalar) | Err(_) => {
                        self.invalid(
                            &WireId::NULL,
                            "batch element is not an object",
                            reply,
                            state,
                            after,
                        );
                    }
                }
            }
            if let Some(complete) = state.batches.dispatched(batch) {
                state.push_answer(complete, options, after);
            }
        });
    }

    /// Handles one message object.
    fn one(&self, envelope: &Envelope<'_>, reply: ReplyTo, state: &mut State, after: &mut After) {
        let options = &self.shared.options;
        match classify(envelope, options.version_check, options.null_id) {
            Incoming::Request { method, id, params } => {
                self.request(&method, id, params, reply, state, after);
            }
            Incoming::Notification { method, params } => self.notification(&method, params, state, after),
            Incoming::Response { id, result, error } => response(id, result, error, state, after),
            Incoming::Invalid { id, reason } => self.invalid(&id, reason, reply, state, after),
            Incoming::Ignored { reason } => after.notes.push(Note::Error(format!("{reason}: ignored"))),
        }
    }

    fn invalid(&self, id: &WireId, reason: &str, reply: ReplyTo, state: &mut State, after: &mut After) {
        after
            .notes
            .push(Note::Error(format!("invalid request: {reason}")));
        let message = encode::error(id, &invalid_request(self.shared, reason));
        self.refuse(message, reply, state, after);
    }

    fn refuse(&self, message: Vec<u8>, reply: ReplyTo, state: &mut State, after: &mut After) {
        expect(reply, state);
        let options = &self.shared.options;
        let message = state.refusal_within_batches(reply, message, options);
        state.answer(reply, message, options, after);
    }

    fn request(
        &self,
        method: &str,
        id: WireId,
        params: Option<&RawValue>,
        reply: ReplyTo,
        state: &mut State,
        after: &mut After,
    ) {
        let Ok(params) = structured(params) else {
            state.ordinal();
            after.notes.push(Note::Error(format!(
                "params of {method} are neither object nor array"
            )));
            let error = ErrorObject::invalid_params("params must be an object or an array");
            return self.refuse(encode::error(&id, &error), reply, state, after);
        };
        let Some((method, entry)) = self.handlers.call(method) else {
            state.ordinal();
            after
                .notes
                .push(Note::Error(format!("no handler for request {}", excerpt(method))));
            let error = ErrorObject::method_not_found(method);
            return self.refuse(encode::error(&id, &error), reply, state, after);
        };
        expect(reply, state);
        let new = NewRequest {
            method,
            entry,
            id,
            params: params.map(ToOwned::to_owned),
            reply,
        };
        state.admit_request(new, &self.shared.options, after);
    }

    fn notification(&self, method: &str, params: Option<&RawValue>, state: &mut State, after: &mut After) {
        let options = &self.shared.options;
        if method == options.cancel.method {
            return self.cancel(params, state, after);
        }
        let Ok(params) = structured(params) else {
            state.ordinal();
            after.notes.push(Note::Error(format!(
                "params of {method} are neither object nor array"
            )));
            return;
        };
        let Some((method, entry)) = self.handlers.notification(method) else {
            state.ordinal();
            if !self.handlers.is_ignored(method) {
                after.notes.push(Note::Error(format!(
                    "no handler for notification {}",
                    excerpt(method)
                )));
            }
            return;
        };
        state.admit_notification(method, entry, params.map(ToOwned::to_owned), options, after);
    }

    fn cancel(&self, params: Option<&RawValue>, state: &mut State, after: &mut After) {
        let options = &self.shared.options;
        let path = &options.cancel.id_path;
        match params
            .and_then(|params| members::at_path(params, path))
            .and_then(|id| WireId::parse(id.get()))
        {
            Some(id) => state.cancel(&id, options, after),
            None => after.notes.push(Note::Error(format!(
                "{} without an id: ignored",
                options.cancel.method
            ))),
        }
    }
}

/// Checks a frame and parses it; the error says why it is no message.
fn read<'f>(frame: &'f [u8], options: &PeerOptions) -> Result<(&'f str, Parsed<'f>), String> {
    let text = std::str::from_utf8(frame).map_err(|error| error.to_string())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let max_depth = options.max_depth;
    if !bobbin_framing::within_depth(text.as_bytes(), max_depth) {
        return Err(format!("nested deeper than {max_depth}"));
    }
    // One element over the limit shows that there are too many.
    let parsed = parse(text, max_elements(options).saturating_add(1)).map_err(|error| error.to_string())?;
    Ok((text, parsed))
}

/// Most elements of an array that are read.
fn max_elements(options: &PeerOptions) -> usize {
    match options.batches {
        Batches::Accept => options.max_batch,
        Batches::Reject => 0,
    }
}

/// Returns `None` for `null`, objects and arrays as they are, and an error for the rest.
fn structured(params: Option<&RawValue>) -> Result<Option<&RawValue>, ()> {
    let Some(params) = params.filter(|raw| !is_null(raw)) else {
        return Ok(None);
    };
    if params.get().starts_with(['{', '[']) {
        Ok(Some(params))
    } else {
        Err(())
    }
}

fn expect(reply: ReplyTo, state: &mut State) {
    if let ReplyTo::Batch { batch, .. } = reply {
        state.batches.expect(batch);
    }
}

fn invalid_request(shared: &Shared, reason: &str) -> ErrorObject {
    ErrorObject::new(code::INVALID_REQUEST, shared.options.invalid_request_message).with_detail(reason)
}

/// Answers `-32600` to a message that has no id.
pub(crate) fn reply_invalid(shared: &Arc<Shared>, reason: &str) {
    let message = encode::error(&WireId::NULL, &invalid_request(shared, reason));
    shared.with(|state, after| {
        if state.phase == Phase::Active {
            state.answer(ReplyTo::Single, message, &shared.options, after);
        }
    });
}

/// Returns the number of the outgoing call that a response with this id answers.
fn own_call(id: &str) -> Option<u64> {
    // The form we send, which nearly every implementation returns unchanged.
    if let Ok(id) = id.parse() {
        return Some(id);
    }
    match WireId::parse(id)?.key()? {
        IdKey::Int(id) => u64::try_from(id).ok(),
        IdKey::Decimal { .. } | IdKey::Odd(_) | IdKey::Text(_) => None,
    }
}

fn response(
    id: &str,
    result: Option<&RawValue>,
    error: Option<&RawValue>,
    state: &mut State,
    after: &mut After,
) {
    let call = own_call(id);
    if let Some((call, pending)) = call.and_then(|call| Some((call, state.calls.remove(call)?))) {
        let outcome = match (error, result) {
            (Some(error), _) => Err(CallError::Remote(ErrorObject::from_wire(error))),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Ok(RawValue::NULL.to_owned()),
        };
        state.calls.store_result(call, outcome);
        after.wake(pending.caller);
    } else if call.is_some_and(|call| state.calls.take_late(call, Instant::now())) {
        after
            .notes
            .push(Note::Warn(format!("late response to call id {id}: dropped")));
    } else {
        after
            .notes
            .push(Note::Error(format!("response with unknown id {id}: dropped")));
    }
}
