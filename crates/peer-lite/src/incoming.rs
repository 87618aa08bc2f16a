//! From messages to the service: what each message is, whether it is admitted, and whose turn it is.
//!
//! The reader never waits for the service. It waits only while the outbox is full of answers that nobody
//! reads.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bobbin_framing::{Close, FrameReader, FramingError, depth};
use bytes::Bytes;
use futures_util::FutureExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::envelope::{self, Envelope};
use crate::id::IdKey;
use crate::options::{EofPolicy, NullId, ParseErrorReply, VersionCheck};
use crate::peer::Shared;
use crate::service::{Notification, Request, Service};
use crate::{ErrorObject, Id, Responder, code};

/// Close code "message too big" (RFC 6455 §7.4.1).
const TOO_BIG: u16 = 1009;

/// A message on its way to the service.
pub(crate) enum Incoming {
    Request(Request, Responder),
    Notification(Notification),
}

/// Gives messages to the service, one after the other, until the end.
pub(crate) async fn serve(
    mut lane: mpsc::Receiver<Incoming>,
    service: Arc<impl Service>,
    ending: CancellationToken,
    shared: Arc<Shared>,
) {
    loop {
        let incoming = tokio::select! {
            biased;
            () = ending.cancelled() => break,
            incoming = lane.recv() => match incoming {
                Some(incoming) => incoming,
                None => break,
            },
        };
        shared.queued_inbound.fetch_sub(1, Ordering::Relaxed);
        let served = match incoming {
            Incoming::Request(request, responder) => service.request(request, responder),
            Incoming::Notification(notification) => service.notification(notification),
        };
        if AssertUnwindSafe(served).catch_unwind().await.is_err() {
            // The responder, dropped by the panic, has answered.
            tracing::error!("a handler panicked");
        }
    }
    // What was read but not begun is answered, not run.
    lane.close();
    while let Ok(incoming) = lane.try_recv() {
        if let Incoming::Request(_, responder) = incoming {
            responder.err(&ErrorObject::new(code::REQUEST_CANCELLED, "Request cancelled"));
        }
    }
}

/// Reads until the end of input, a broken stream or the connection's end.
pub(crate) async fn read(
    mut reader: Box<dyn FrameReader>,
    lane: mpsc::Sender<Incoming>,
    shared: Arc<Shared>,
    ending: CancellationToken,
) {
    let mut sorter = Sorter {
        shared: shared.clone(),
        lane,
        ordinal: 0,
        bad_in_a_row: 0,
    };
    let close = loop {
        let next = tokio::select! {
            biased;
            () = ending.cancelled() => return,
            next = async {
                shared.outbox.room().await;
                reader.next().await
            } => next,
        };
        match next {
            None => break Close::normal(),
            Some(Ok(message)) => sorter.message(&message),
            Some(Err(error)) => {
                tracing::debug!(%error, "a message cannot be read");
                shared.counters.read_errors.fetch_add(1, Ordering::Relaxed);
                if matches!(error, FramingError::TooLong { fatal: true, .. }) {
                    break Close {
                        code: TOO_BIG,
                        reason: "message too big".to_owned(),
                    };
                }
                if error.is_fatal() {
                    break Close::normal();
                }
                sorter.bad(
                    &ErrorObject::new(code::INVALID_REQUEST, "Invalid request")
                        .with_data(&serde_json::json!({ "detail": error.to_string() })),
                );
            }
        }
        if sorter.bad_in_a_row >= shared.options.max_consecutive_errors {
            break Close {
                code: 1008,
                reason: "too many bad messages".to_owned(),
            };
        }
    };
    if let EofPolicy::DrainFirst(limit) = shared.options.eof {
        let mut unanswered = shared.unanswered.subscribe();
        let drained = tokio::time::timeout(limit, unanswered.wait_for(|count| *count == 0));
        tokio::select! {
            () = ending.cancelled() => {}
            _ = drained => {}
        }
    }
    shared.begin_shutdown(close);
}

struct Sorter {
    shared: Arc<Shared>,
    lane: mpsc::Sender<Incoming>,
    ordinal: i64,
    bad_in_a_row: u32,
}

impl Sorter {
    fn message(&mut self, message: &Bytes) {
        let counters = &self.shared.counters;
        counters
            .bytes_read
            .fetch_add(message.len() as u64, Ordering::Relaxed);
        counters.messages_read.fetch_add(1, Ordering::Relaxed);
        let text = message.strip_prefix(b"\xef\xbb\xbf").unwrap_or(message);
        let parsed = std::str::from_utf8(text)
            .ok()
            .filter(|text| !depth::exceeds(text.as_bytes(), depth::MAX_DEPTH))
            .and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
        let Some(raw) = parsed else {
            self.shared.counters.read_errors.fetch_add(1, Ordering::Relaxed);
            return self.bad(&ErrorObject::new(code::PARSE_ERROR, "Parse error"));
        };
        self.bad_in_a_row = 0;
        if !raw.get().starts_with('{') {
            // Batches included: no protocol served here has them.
            let detail = serde_json::json!({ "detail": "the message is not a JSON object" });
            let error = ErrorObject::new(code::INVALID_REQUEST, "Invalid request").with_data(&detail);
            return self.reply(None, &error);
        }
        match Envelope::deserialize(raw) {
            Ok(envelope) => self.sort(envelope),
            Err(error) => {
                tracing::debug!(%error, "an envelope cannot be read");
                self.reply(None, &ErrorObject::new(code::INVALID_REQUEST, "Invalid request"));
            }
        }
    }

    fn sort(&mut self, mut message: Envelope) {
        if message.method.is_none() {
            return self.response(message);
        }
        let invalid = ErrorObject::new(code::INVALID_REQUEST, "Invalid Request");
        let id = match message.id.take() {
            None => None,
            Some(raw) => match Id::new(raw) {
                Some(id) if id.is_null() && self.shared.options.null_id == NullId::Notification => None,
                Some(id) => Some(id),
                None => return self.reply(None, &invalid),
            },
        };
        let checked = self.shared.options.version == VersionCheck::Lenient || message.is_version_2();
        let (Some(method), true) = (message.method_name(), checked) else {
            if let Some(id) = id {
                self.reply(Some(&id), &invalid);
            } else {
                tracing::debug!("a notification of another version or without a method was dropped");
            }
            return;
        };
        let params = message.take_params();
        if method == "$/cancelRequest" {
            return self.cancel(params.as_deref());
        }
        let ordinal = self.ordinal;
        self.ordinal += 1;
        match id {
            Some(id) => self.request(method, params, id, ordinal),
            None => self.notification(Notification {
                method,
                params,
                ordinal,
            }),
        }
    }

    fn request(&mut self, method: String, params: Option<Box<RawValue>>, id: Id, ordinal: i64) {
        let key = id.key();
        let cancel = CancellationToken::new();
        let running = *self.shared.unanswered.borrow();
        if running >= self.shared.options.max_running_requests {
            let overloaded = self.shared.options.overloaded.clone();
            return self.reply(Some(&id), &overloaded);
        }
        {
            let mut known = self.shared.running.lock();
            if key != IdKey::Null && known.contains_key(&key) {
                drop(known);
                let duplicate = ErrorObject::new(code::INVALID_REQUEST, "Invalid Request: the id is in use");
                return self.reply(Some(&id), &duplicate);
            }
            known.insert(key.clone(), cancel.clone());
        }
        self.shared.unanswered.send_modify(|count| *count += 1);
        let responder = Responder::new(id.clone(), key, self.shared.clone());
        // Full cannot happen: the lane holds every admitted request; closed drops the responder, which answers.
        self.enqueue(Incoming::Request(
            Request {
                method,
                params,
                id,
                ordinal,
                cancel,
            },
            responder,
        ));
    }

    fn notification(&mut self, notification: Notification) {
        let queued = self.shared.queued_inbound.load(Ordering::Relaxed);
        if queued >= self.shared.options.max_queued_notifications {
            tracing::warn!(
                method = notification.method,
                "too many notifications wait; one was dropped"
            );
            return;
        }
        self.enqueue(Incoming::Notification(notification));
    }

    fn enqueue(&self, incoming: Incoming) {
        self.shared.queued_inbound.fetch_add(1, Ordering::Relaxed);
        if self.lane.try_send(incoming).is_err() {
            self.shared.queued_inbound.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn response(&mut self, mut message: Envelope) {
        let number = message.id.take().and_then(Id::new).map(|id| id.key());
        let id = match number {
            Some(IdKey::Number(text)) => number_of(&text),
            _ => None,
        };
        let known = id.is_some_and(|id| self.shared.calls.lock().settle(id, message));
        if !known {
            tracing::debug!("a response to no call was ignored");
        }
    }

    fn cancel(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Cancel {
            id: Box<RawValue>,
        }
        let id = params.and_then(|params| serde_json::from_str::<Cancel>(params.get()).ok());
        if let Some(id) = id.and_then(|cancel| Id::new(cancel.id))
            && let Some(token) = self.shared.running.lock().get(&id.key())
        {
            token.cancel();
        }
    }

    /// Answers garbage, unless there was too much of it already.
    fn bad(&mut self, error: &ErrorObject) {
        self.bad_in_a_row += 1;
        match self.shared.options.parse_error_reply {
            ParseErrorReply::AtMost(limit) if self.bad_in_a_row <= limit => self.reply(None, error),
            ParseErrorReply::AtMost(_) | ParseErrorReply::Never => {}
        }
    }

    fn reply(&self, id: Option<&Id>, error: &ErrorObject) {
        self.shared.outbox.push(vec![envelope::error(id, error)], None);
    }
}

/// Reads a canonical number as one of our ids.
fn number_of(canonical: &str) -> Option<u64> {
    let (digits, zeros) = canonical.split_once('e')?;
    let digits: u64 = digits.parse().ok()?;
    let zeros: u32 = zeros.parse().ok()?;
    digits.checked_mul(10u64.checked_pow(zeros)?)
}
