//! The reply under construction, which the decoders of all wires fill: pieces to hand over next, and how the reply
//! ended.
//!
//! The caller empties it after every event, which bounds it; [`MAX_CALLS`] bounds the calls.

use std::collections::HashSet;

use bobbin_agent_api::model::{ModelEvent, ModelReply, ModelUsage, Stop, WebSearch};
use bobbin_model::{TokenUsage, TurnId};

use crate::think::Think;
use crate::wires::Fault;

/// Most calls in one reply: one more than the engine runs, so that the engine reports the excess.
pub(crate) const MAX_CALLS: usize = 129;

/// A reply while it streams in. A `slot` names a call: the wire's own way to distinguish calls.
#[derive(Debug)]
pub(crate) struct Assembler {
    /// Id prefix for a call without an id from its server; clients match calls by id alone.
    nameless: String,
    ready: Vec<ModelEvent>,
    think: Think,
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

/// Tokens, as far as one event counts them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    /// Tokens that the model read.
    pub(crate) input: Option<u64>,
    /// Tokens that the model wrote.
    pub(crate) output: Option<u64>,
    /// The part of `input` that came from a cache.
    pub(crate) cached: Option<u64>,
    /// The part of `output` that is reasoning.
    pub(crate) reasoning: Option<u64>,
}

impl Assembler {
    pub(crate) fn new(turn: TurnId) -> Self {
        Self {
            nameless: format!("call_{}", turn.0),
            ready: Vec::new(),
            think: Think::default(),
            calls: Vec::new(),
            ids: HashSet::new(),
            usage: None,
            stop: None,
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.think.text(text, &mut self.ready);
    }

    pub(crate) fn reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            self.ready.push(ModelEvent::Reasoning(text.to_owned()));
        }
    }

    /// Starts a call in a slot. A call that had the slot accepts no more arguments.
    ///
    /// # Errors
    /// There are [`MAX_CALLS`] already. The bound limits the search for a call.
    pub(crate) fn start_call(&mut self, slot: &str, id: &str, tool: &str) -> Result<(), Fault> {
        if self.calls.len() >= MAX_CALLS {
            return Err(Fault::too_many_calls());
        }
        self.think.end(&mut self.ready);
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

    /// Appends to the arguments of the newest call in a slot; returns whether there is such a call.
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

    /// Sets arguments that came whole, unless they came in pieces before; returns whether there is such a call.
    pub(crate) fn all_arguments(&mut self, slot: &str, text: &str) -> bool {
        match self.calls.iter().rev().find(|call| call.slot == slot) {
            Some(call) if call.written > 0 => true,
            _ => self.arguments(slot, text),
        }
    }

    /// Hands over a search that the provider has made.
    pub(crate) fn search(&mut self, search: WebSearch) {
        self.think.end(&mut self.ready);
        self.ready.push(ModelEvent::WebSearch(search));
    }

    /// Records tokens. Each later figure replaces the earlier one.
    pub(crate) fn usage(&mut self, counted: Counted) {
        let usage = self.usage.get_or_insert_default();
        for (known, counted) in [
            (&mut usage.input_tokens, counted.input),
            (&mut usage.output_tokens, counted.output),
            (&mut usage.cached_input_tokens, counted.cached),
            (&mut usage.reasoning_output_tokens, counted.reasoning),
        ] {
            *known = counted.unwrap_or(*known);
        }
    }

    pub(crate) fn stop(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// Whether the reply's reason to stop is known.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Takes the pieces to hand over.
    pub(crate) fn take(&mut self) -> Vec<ModelEvent> {
        std::mem::take(&mut self.ready)
    }

    /// Ends the reply; the ends of its calls are the last pieces. `None` when the reply is incomplete.
    pub(crate) fn end(mut self) -> Option<(Vec<ModelEvent>, ModelReply)> {
        let stop = self.stop?;
        self.think.end(&mut self.ready);
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
