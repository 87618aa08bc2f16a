//! Data that chat providers want back with a reply besides its text and calls; each provider has its own form.
//! Pure.
//!
//! `DeepSeek` and Moonshot refuse calls without their `reasoning_content`. Google refuses calls without their
//! signature. `OpenRouter` passes on the data of any of them as `reasoning_details`. Other providers refuse unknown
//! members. So data goes back only to the model that sent it, and a placeholder for lost data only to a provider
//! that checks for it.

use serde_json::{Map, Value, json};

use super::body::Message as Written;
use crate::memory::ReplyState;

/// The members that an agent's message needs besides text and calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Back {
    /// Placeholder for lost reasoning: providers that want reasoning back check every message.
    reasoning: Option<&'static str>,
    /// Whether to send a placeholder for the lost signature of a round of calls.
    signature: bool,
}

impl Back {
    /// Returns the members for a provider. `thinks`: the model has sent its reasoning as `reasoning_content`.
    pub(super) fn of(base_url: &str, model: &str, thinks: bool) -> Self {
        let host = host(base_url);
        let is_one_of = |domains: &[&str]| domains.iter().any(|domain| is_of(&host, domain));
        let model = model.to_ascii_lowercase();
        // Moonshot treats an empty text as missing, `DeepSeek` does not, as users of both report.
        let reasoning = if is_one_of(&["moonshot.ai", "moonshot.cn"]) || thinks && model.contains("kimi") {
            Some(" ")
        } else if is_one_of(&["deepseek.com"]) || thinks {
            Some("")
        } else {
            None
        };
        Self {
            reasoning,
            signature: is_one_of(&["googleapis.com"]),
        }
    }

    pub(super) fn write<'a>(self, message: Written<'a>, state: Option<&ReplyState>) -> Written<'a> {
        let is_plain = matches!(message, Written::Plain { .. });
        if is_plain && state.is_none() && self.reasoning.is_none() {
            return message;
        }
        let mut message = message.into_value();
        if let Some(state) = state {
            for (name, value) in &state.members {
                message[name] = value.clone();
            }
            let calls = message["tool_calls"].as_array_mut().into_iter().flatten();
            for (call, members) in calls.zip(&state.calls) {
                for (name, value) in members {
                    call[name] = value.clone();
                }
            }
        } else if self.signature && message["tool_calls"].is_array() {
            let signature = json!({ "thought_signature": "skip_thought_signature_validator" });
            message["tool_calls"][0]["extra_content"] = json!({ "google": signature });
        }
        if let Some(reasoning) = self.reasoning
            && message.get("reasoning_content").is_none()
        {
            message["reasoning_content"] = reasoning.into();
        }
        Written::Other(message)
    }
}

/// Returns the host of an address, without its port.
pub(super) fn host(base_url: &str) -> String {
    let host = base_url.split('/').nth(2).unwrap_or_default();
    host.split(':').next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether a host belongs to a domain.
fn is_of(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|front| front.is_empty() || front.ends_with('.'))
}

/// Appends a piece to its detail; a signature covers the whole text.
pub(super) fn add_detail(details: &mut Vec<Value>, piece: &Value) {
    let Some(members) = piece.as_object() else { return };
    let same = |last: &&mut Map<String, Value>| {
        members.contains_key("index")
            && ["index", "type"]
                .iter()
                .all(|name| last.get(*name) == members.get(*name))
    };
    let last = details.last_mut().and_then(Value::as_object_mut);
    let Some(last) = last.filter(same) else {
        details.push(piece.clone());
        return;
    };
    for (name, value) in members {
        match (last.get_mut(name), value) {
            (_, Value::Null) => {}
            (Some(Value::String(known)), Value::String(more))
                if matches!(name.as_str(), "text" | "summary" | "data") =>
            {
                known.push_str(more);
            }
            _ => {
                last.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_detail_are_one_and_its_signature_is_of_all_of_it() {
        let mut details = Vec::new();
        for piece in [
            json!({ "type": "reasoning.text", "text": "Let", "index": 0, "signature": null }),
            json!({ "type": "reasoning.text", "text": " me.", "index": 0 }),
            json!({ "type": "reasoning.text", "signature": "s", "index": 0 }),
            json!({ "type": "reasoning.encrypted", "data": "x", "index": 0 }),
            json!({ "type": "reasoning.encrypted", "data": "y" }),
            json!("no detail"),
        ] {
            add_detail(&mut details, &piece);
        }
        assert_eq!(
            details,
            [
                json!({ "type": "reasoning.text", "text": "Let me.", "index": 0, "signature": "s" }),
                json!({ "type": "reasoning.encrypted", "data": "x", "index": 0 }),
                json!({ "type": "reasoning.encrypted", "data": "y" }),
            ]
        );
    }

    fn written(reasoning: Option<&'static str>, signature: bool, state: Option<&ReplyState>) -> Value {
        let message = Written::Other(json!({ "tool_calls": [{ "id": "a" }, { "id": "b" }] }));
        Back { reasoning, signature }.write(message, state).into_value()
    }

    #[test]
    fn what_was_kept_goes_back_and_providers_that_check_get_their_word_otherwise() {
        let members = |value: Value| value.as_object().cloned().unwrap();
        let state = ReplyState {
            members: members(json!({ "reasoning_content": "hm" })),
            calls: vec![members(json!({ "extra_content": { "google": 1 } })), Map::new()],
            ..ReplyState::default()
        };
        let back = json!({ "reasoning_content": "hm",
            "tool_calls": [{ "id": "a", "extra_content": { "google": 1 } }, { "id": "b" }] });
        assert_eq!(written(Some(" "), true, Some(&state)), back);
        let bare = json!({ "tool_calls": [{ "id": "a" }, { "id": "b" }] });
        assert_eq!(written(None, false, None), bare);
        let google = written(None, true, None);
        assert_eq!(
            google["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
            "skip_thought_signature_validator"
        );
        assert_eq!(google["tool_calls"][1], json!({ "id": "b" }));
        assert_eq!(written(Some(" "), false, None)["reasoning_content"], " ");
    }

    #[test]
    fn providers_are_told_by_their_host_and_models_by_what_they_sent() {
        for (base_url, model, thinks, reasoning, signature) in [
            ("https://api.deepseek.com/v1", "m", false, Some(""), false),
            ("http://DeepSeek.com:80", "m", false, Some(""), false),
            ("https://api.moonshot.ai/v1", "kimi-k2.6", false, Some(" "), false),
            ("https://gateway.example/v1", "Kimi-K2", true, Some(" "), false),
            ("https://gateway.example/v1", "m", true, Some(""), false),
            ("https://gateway.example/v1", "kimi", false, None, false),
            ("https://evildeepseek.com/v1", "m", false, None, false),
            ("https://x.example/deepseek.com", "m", false, None, false),
            (
                "https://generativelanguage.googleapis.com/v1beta/openai",
                "gemini-3",
                false,
                None,
                true,
            ),
            ("", "", false, None, false),
        ] {
            assert_eq!(
                Back::of(base_url, model, thinks),
                Back { reasoning, signature },
                "{base_url} {model}"
            );
        }
    }
}
