//! What the decoders of all wires fill: the pieces to hand over next, and what is known of the reply's end.
//!
//! Bounded by the caller, which empties it after every event; calls are bounded by [`MAX_CALLS`].

use std::collections::HashSet;

use bobbin_agent_api::model::{ModelEvent, ModelReply, ModelUsage, Stop};
use bobbin_model::{TokenUsage, TurnId};

use crate::wires::Fault;

/// Most calls in one reply: as many as the engine takes, and one. The engine says what is wrong then.
pub(crate) const MAX_CALLS: usize = 129;

/// A reply while it streams in. Calls are named by `slot`, the wire's own way to tell them apart.
#[derive(Debug)]
pub(crate) struct Assembler {
    /// What a call is called whose server gave it no id; clients match calls by id alone.
    nameless: String,
    ready: Vec<ModelEvent>,
    calls: Vec<OpenCall>,
    ids: HashSet<String>,
    usage: Option<TokenUsage>,
    stop: Option<Stop>,
}

#[derive(Debug)]
struct OpenCall {
    slot: String,
    id: String,
    /// Bytes of arguments so far.
    written: usize,
}

impl Assembler {
    pub(crate) fn new(turn: TurnId) -> Self {
        Self {
            nameless: format!("call_{}", turn.0),
            ready: Vec::new(),
            calls: Vec::new(),
            ids: HashSet::new(),
            usage: None,
            stop: None,
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.ready.push(ModelEvent::Text(text.to_owned()));
        }
    }

    pub(crate) fn reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            self.ready.push(ModelEvent::Reasoning(text.to_owned()));
        }
    }

    /// Begins a call in a slot; a call that had the slot takes nothing more.
    ///
    /// # Errors
    /// There are [`MAX_CALLS`] already. Nothing that is said to a call later may take longer with each of them.
    pub(crate) fn begin(&mut self, slot: &str, id: &str, tool: &str) -> Result<(), Fault> {
        if self.calls.len() >= MAX_CALLS {
            return Err(Fault::too_many_calls());
        }
        let base = if id.is_empty() { &self.nameless } else { id };
        let mut unique = base.to_owned();
        let mut count = 2;
        while !self.ids.insert(unique.clone()) {
            unique = format!("{base}_{count}");
            count += 1;
        }
        self.ready.push(ModelEvent::CallStarted {
            id: unique.clone(),
            tool: tool.to_owned(),
        });
        self.calls.push(OpenCall {
            slot: slot.to_owned(),
            id: unique,
            written: 0,
        });
        Ok(())
    }

    /// Adds to the arguments of the newest call in a slot; returns whether there is one.
    pub(crate) fn arguments(&mut self, slot: &str, text: &str) -> bool {
        let Some(call) = self.calls.iter_mut().rev().find(|call| call.slot == slot) else {
            return false;
        };
        if !text.is_empty() {
            call.written += text.len();
            self.ready.push(ModelEvent::CallArguments {
                id: call.id.clone(),
                text: text.to_owned(),
            });
        }
        true
    }

    /// Adds arguments that come as a whole, unless they came in pieces before; returns whether there is a call.
    pub(crate) fn all_arguments(&mut self, slot: &str, text: &str) -> bool {
        match self.calls.iter().rev().find(|call| call.slot == slot) {
            Some(call) if call.written > 0 => true,
            _ => self.arguments(slot, text),
        }
    }

    /// Notes tokens; a later figure replaces an earlier one, figure by figure.
    pub(crate) fn usage(&mut self, input: Option<u64>, output: Option<u64>) {
        let usage = self.usage.get_or_insert_default();
        usage.input_tokens = input.unwrap_or(usage.input_tokens);
        usage.output_tokens = output.unwrap_or(usage.output_tokens);
    }

    pub(crate) fn stop(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// Whether the reason of the end is known.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Takes the pieces to hand over.
    pub(crate) fn take(&mut self) -> Vec<ModelEvent> {
        std::mem::take(&mut self.ready)
    }

    /// Ends the reply: the ends of its calls are the last pieces. `None` when it was not over.
    pub(crate) fn end(mut self) -> Option<(Vec<ModelEvent>, ModelReply)> {
        let stop = self.stop?;
        let mut ready = std::mem::take(&mut self.ready);
        ready.extend(
            self.calls
                .into_iter()
                .map(|call| ModelEvent::CallEnded { id: call.id }),
        );
        let usage = self
            .usage
            .filter(|tokens| !tokens.is_zero())
            .map(|tokens| ModelUsage {
                tokens,
                context_tokens: tokens.input_tokens.saturating_add(tokens.output_tokens),
                cost_micros: None,
            });
        Some((ready, ModelReply { stop, usage }))
    }
}
