//! Data that providers want back with a reply: reasoning, its signatures, data of a call. No other code reads it.
//!
//! Some reasoning models refuse the results of their calls unless the reply with the calls comes back as they wrote
//! it. The parts besides text and calls are recorded with the reply's first call, as opaque data, and are sent back
//! with that call. They go only to the model that wrote them, on the same wire.
//!
//! Limits: [`MAX_BYTES`] for each reply; a larger one is not recorded, and each wire decides what to send instead.
//! Memory has only the names of the models that want their reasoning back, [`MAX_THINKERS`] for each provider.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bobbin_agent_api::model::Message;
use bobbin_model::Json;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ProviderSettings;

/// Most bytes of one reply, as JSON (a guess: reasoning of some 50,000 tokens).
const MAX_BYTES: usize = 256 << 10;
/// Most models of one provider that are remembered as wanting their reasoning back.
const MAX_THINKERS: usize = 1000;
/// The member that shows that a model wants its reasoning back.
const REASONING: &str = "reasoning_content";

/// The part of a reply that only its wire understands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReplyState {
    /// Members of the message.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) members: Map<String, Value>,
    /// Members of each call, in order.
    pub(crate) calls: Vec<Map<String, Value>>,
    /// The blocks of the message, in order; a call's block only marks its position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) blocks: Vec<Value>,
}

/// The stored form of that part.
#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    provider: String,
    /// The endpoint: data that one endpoint encrypted is unreadable to another.
    #[serde(default)]
    endpoint: u64,
    wire: String,
    model: String,
    #[serde(rename = "kept")]
    state: ReplyState,
}

/// The recorded data of the replies in one conversation.
#[derive(Debug, Default)]
pub(crate) struct Recalled {
    /// The data of each message.
    pub(crate) states: Vec<Option<ReplyState>>,
    /// Whether the model has sent its reasoning as `reasoning_content`.
    pub(crate) thinks: bool,
}

/// The models of a provider that have sent their reasoning as `reasoning_content`.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    thinkers: Mutex<HashSet<String>>,
}

impl ReplyState {
    /// Whether the data belongs to a message with this many calls.
    fn fits(&self, calls: usize) -> bool {
        self.calls.len() == calls
    }

    fn thinks(&self) -> bool {
        self.members.contains_key(REASONING)
    }
}

/// Returns a hash that identifies an endpoint; the address itself may contain a key.
fn endpoint(settings: &ProviderSettings) -> u64 {
    let mut hash = DefaultHasher::new();
    settings.base_url.hash(&mut hash);
    hash.finish()
}

impl Memory {
    /// Returns the recorded data of the replies in a conversation with a model.
    pub(crate) fn recall(&self, settings: &ProviderSettings, model: &str, messages: &[Message]) -> Recalled {
        let states: Vec<Option<ReplyState>> = messages
            .iter()
            .map(|message| match message {
                Message::Agent { calls, .. } => {
                    let recorded = calls.iter().find_map(|call| call.provider_state.as_ref())?;
                    let Recorded {
                        provider,
                        endpoint: place,
                        wire,
                        model: wrote,
                        state,
                    } = recorded.decode().ok()?;
                    let is_theirs = provider == settings.name
                        && place == endpoint(settings)
                        && wire == settings.wire.path()
                        && wrote == model;
                    (is_theirs && state.fits(calls.len())).then_some(state)
                }
                _ => None,
            })
            .collect();
        let thinks = states.iter().flatten().any(ReplyState::thinks) || self.thinkers.lock().contains(model);
        Recalled { states, thinks }
    }

    /// Returns the data to record for a reply.
    pub(crate) fn record(&self, settings: &ProviderSettings, model: &str, state: ReplyState) -> Option<Json> {
        if state.thinks() {
            let mut thinkers = self.thinkers.lock();
            if thinkers.len() < MAX_THINKERS {
                thinkers.insert(model.to_owned());
            }
        }
        let recorded = Recorded {
            provider: settings.name.clone(),
            endpoint: endpoint(settings),
            wire: settings.wire.path().to_owned(),
            model: model.to_owned(),
            state,
        };
        let json = Json::of(&recorded).ok()?;
        (json.get().len() <= MAX_BYTES).then_some(json)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bobbin_agent_api::model::Call;
    use bobbin_model::InputPart;
    use serde_json::json;

    use super::*;
    use crate::{Limits, ModelFacts, Wire};

    fn settings(name: &str, wire: Wire) -> ProviderSettings {
        ProviderSettings {
            name: name.into(),
            wire,
            base_url: String::new(),
            models: Vec::new(),
            offered: true,
            key: None,
            key_variable: None,
            needs_key: false,
            key_source: String::new(),
            headers: Vec::new(),
            max_output_tokens: None,
            web_search: false,
            body: Map::new(),
            facts: ModelFacts::default(),
            model_facts: BTreeMap::new(),
            limits: Limits::default(),
        }
    }

    fn user(text: &str) -> Message {
        Message::User {
            parts: vec![InputPart::Text { text: text.into() }],
        }
    }

    fn agent(calls: usize, state: Option<&Json>) -> Message {
        let call = |n: usize| Call {
            id: n.to_string(),
            tool: "t".into(),
            arguments: None,
            provider_state: state.filter(|_| n == 0).cloned(),
        };
        Message::Agent {
            text: "a".into(),
            calls: (0..calls).map(call).collect(),
        }
    }

    fn state(name: &str, text: &str, calls: usize) -> ReplyState {
        let members = json!({ name: text });
        ReplyState {
            members: members.as_object().cloned().unwrap(),
            calls: vec![Map::new(); calls],
            ..ReplyState::default()
        }
    }

    #[test]
    fn a_reply_comes_back_with_its_call_to_the_model_that_wrote_it() {
        let (chat, other) = (
            settings("p", Wire::ChatCompletions),
            settings("q", Wire::ChatCompletions),
        );
        let one = state("x", "one", 2);
        let json = Memory::default().record(&chat, "m", one.clone()).unwrap();
        // In another process, with other messages before.
        let memory = Memory::default();
        for front in ["u", "a summary"] {
            let recalled = memory.recall(&chat, "m", &[user(front), agent(2, Some(&json)), agent(1, None)]);
            assert_eq!(recalled.states, [None, Some(one.clone()), None]);
            assert!(!recalled.thinks);
        }
        let theirs = [agent(2, Some(&json))];
        assert_eq!(memory.recall(&chat, "n", &theirs).states, [None]);
        assert_eq!(memory.recall(&other, "m", &theirs).states, [None]);
        assert_eq!(
            memory.recall(&settings("p", Wire::Messages), "m", &theirs).states,
            [None]
        );
        // A reply that differs from the recorded one.
        assert_eq!(memory.recall(&chat, "m", &[agent(1, Some(&json))]).states, [None]);
        let garbage = Json::object("{\"model\": 7}").unwrap();
        assert_eq!(
            memory.recall(&chat, "m", &[agent(2, Some(&garbage))]).states,
            [None]
        );
    }

    #[test]
    fn a_model_that_wants_its_reasoning_back_is_known_by_what_it_sent() {
        let chat = settings("p", Wire::ChatCompletions);
        let memory = Memory::default();
        let json = memory.record(&chat, "m", state(REASONING, "hm", 1)).unwrap();
        assert!(memory.recall(&chat, "m", &[]).thinks && !memory.recall(&chat, "n", &[]).thinks);
        assert!(
            Memory::default()
                .recall(&chat, "m", &[agent(1, Some(&json))])
                .thinks
        );
    }

    #[test]
    fn what_is_too_large_is_not_recorded() {
        let chat = settings("p", Wire::ChatCompletions);
        let record = |bytes: usize| Memory::default().record(&chat, "m", state("x", &"x".repeat(bytes), 1));
        assert!(record(MAX_BYTES).is_none() && record(MAX_BYTES / 2).is_some());
    }
}
