//! The log line and the counters of one request to a model. No text of the conversation goes into either.

use bobbin_agent_api::model::{ModelError, ModelEvent, ModelReply, ModelSink};
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tracing::Span;

/// Passes a reply on, and notes when its first piece came. It reports a cancelled request if it is dropped before
/// [`RequestLog::ended`].
pub(crate) struct RequestLog<'a> {
    sink: &'a mut dyn ModelSink,
    span: Span,
    began: Instant,
    first_piece_ms: Option<u64>,
    is_ended: bool,
}

impl<'a> RequestLog<'a> {
    /// Starts the measurement of a request to `provider/model`.
    pub(crate) fn new(provider: &str, model: &str, sink: &'a mut dyn ModelSink) -> Self {
        Self {
            sink,
            span: tracing::info_span!("model_request", provider, model),
            began: Instant::now(),
            first_piece_ms: None,
            is_ended: false,
        }
    }

    /// Returns the span of the request.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Reports how the request ended; `None` for a failure.
    pub(crate) fn ended(mut self, reply: Option<&ModelReply>) {
        self.is_ended = true;
        self.report(if reply.is_some() { "ok" } else { "failed" }, reply);
    }

    fn report(&self, outcome: &'static str, reply: Option<&ModelReply>) {
        let usage = reply.and_then(|reply| reply.usage);
        let tokens = usage.map(|usage| usage.tokens);
        metrics::counter!("bobbin_model_requests_total", "outcome" => outcome).increment(1);
        if let Some(tokens) = tokens {
            metrics::counter!("bobbin_model_tokens_total", "kind" => "input").increment(tokens.input_tokens);
            metrics::counter!("bobbin_model_tokens_total", "kind" => "output")
                .increment(tokens.output_tokens);
        }
        self.span.in_scope(|| {
            tracing::info!(
                outcome,
                first_piece_ms = self.first_piece_ms,
                ms = millis(self.began),
                input_tokens = tokens.map(|tokens| tokens.input_tokens),
                output_tokens = tokens.map(|tokens| tokens.output_tokens),
                cost_micros = usage.and_then(|usage| usage.cost_micros),
                "model request ended"
            );
        });
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Drop for RequestLog<'_> {
    fn drop(&mut self) {
        if !self.is_ended {
            self.report("cancelled", None);
        }
    }
}

impl ModelSink for RequestLog<'_> {
    fn event(&mut self, event: ModelEvent) -> BoxFuture<'_, Result<(), ModelError>> {
        let began = self.began;
        self.first_piece_ms.get_or_insert_with(|| millis(began));
        self.sink.event(event)
    }
}
