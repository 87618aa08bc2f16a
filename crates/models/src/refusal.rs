//! Maps a provider's error responses to our errors. Pure.
//!
//! Providers agree on status codes only roughly, so error codes and words count as well.

use std::error::Error as _;
use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION};
use serde_json::Value;

use crate::{ProviderError, ProviderSettings, retry};

/// Most characters shown of a provider's words.
const MAX_SAID: usize = 300;
/// Anthropic's status for an overloaded provider.
const OVERLOADED: u16 = 529;
/// Status of a response that reports success but has an error in its body.
const OK: u16 = 200;

/// Parts of codes and words that mean: the conversation does not fit.
const TOO_LONG: [&str; 12] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context_window",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "exceed context limit",
    "context size",
    "exceed_context_size",
    "exceeds the maximum number of tokens",
];
/// Parts that mean: the quota is used up.
const SPENT: [&str; 6] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit",
    "exceeded your current quota",
    "credit balance",
    "insufficient credits",
];

/// Parts that, together, mean: one request exceeds the tokens per minute.
const OVER_RATE: [&str; 2] = ["request too large", "tokens per min"];
/// Parts that mean, inside a reply: the request is invalid and stays so when sent again.
const INVALID: [&str; 4] = ["invalid_request", "invalid_prompt", "image", "unsupported_"];

/// A provider's error response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Refusal {
    /// Status of the response; `None` for an error inside a reply, 200 for an error in place of a reply.
    pub(crate) status: Option<u16>,
    /// Codes and types.
    pub(crate) kind: String,
    /// The provider's words.
    pub(crate) said: String,
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
    /// Reads an error response.
    pub(crate) fn of_answer(status: u16, headers: &HeaderMap, body: &str) -> Self {
        let (kind, mut said) = words(body);
        if (300..400).contains(&status) {
            // Everything after the path may be secret.
            let place = headers
                .get(LOCATION)
                .and_then(|place| place.to_str().ok()?.split('?').next());
            said = format!(
                "it redirects to {}; BaseUrl must be the last address",
                place.unwrap_or("nowhere")
            );
        }
        Self {
            status: Some(status),
            kind,
            said,
            retry_after: retry::retry_after(headers),
        }
    }

    /// Returns the error for the user. `name` is the user's name for the model, `model` the provider's.
    pub(crate) fn into_error(self, name: String, model: &str, settings: &ProviderSettings) -> ProviderError {
        let everything = format!("{} {}", self.kind, self.said).to_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|part| everything.contains(part));
        let said = match clean(&self.said) {
            said if said.is_empty() => String::new(),
            said => format!(": {said}"),
        };
        let reported = self.status.filter(|status| *status != OK);
        let status = reported
            .or_else(|| number_of(&self.kind))
            .or_else(|| status_of(&everything, &self.kind.to_lowercase()))
            .or(self.status);
        match status {
            Some(401) if settings.key.is_none() => ProviderError::NoKey {
                name,
                how: settings.key_source.clone(),
            },
            Some(status @ 401) => ProviderError::WrongKey {
                name,
                status,
                source_of_key: settings.key_source.clone(),
            },
            Some(402) => ProviderError::Quota { name, said },
            Some(403 | 429) if has(&SPENT) => ProviderError::Quota { name, said },
            Some(403) => ProviderError::Forbidden { name, said },
            Some(413 | 429) if OVER_RATE.iter().all(|part| has(&[part])) => {
                ProviderError::OverRate { name, said }
            }
            Some(413) => ProviderError::ContextExceeded { name, said },
            // Some servers report this as a fault of their own.
            Some(400 | 422 | 500) if has(&TOO_LONG) => ProviderError::ContextExceeded { name, said },
            Some(400) if has(&SPENT) => ProviderError::Quota { name, said },
            Some(404) => unknown(name, model, said),
            Some(400) if has(&["model_not_found", "model not found"]) => unknown(name, model, said),
            Some(429) => ProviderError::RateLimited {
                name,
                retry_after: self.retry_after,
                said,
            },
            Some(status) if matches!(status, 408 | 409) || status >= 500 => ProviderError::Server {
                name,
                status,
                said,
                retry_after: self.retry_after,
            },
            Some(status) => ProviderError::Refused { name, status, said },
            None => ProviderError::BrokenOff { name, said },
        }
    }
}

fn unknown(name: String, model: &str, said: String) -> ProviderError {
    ProviderError::UnknownModel {
        name,
        model: model.to_owned(),
        said,
    }
}

/// Returns the status that an error inside a reply corresponds to, for the known ones.
fn status_of(everything: &str, kind: &str) -> Option<u16> {
    let has = |parts: &[&str]| parts.iter().any(|part| everything.contains(part));
    if has(&TOO_LONG) {
        Some(413)
    } else if has(&SPENT) {
        Some(402)
    } else if has(&["authentication_error", "invalid_api_key"]) {
        Some(401)
    } else if has(&["permission_error"]) {
        Some(403)
    } else if has(&["rate_limit"]) {
        Some(429)
    } else if has(&["overloaded"]) {
        Some(OVERLOADED)
    } else if has(&["not_found_error", "model_not_found"]) {
        Some(404)
    } else if INVALID.iter().any(|part| kind.contains(part)) {
        Some(400)
    } else {
        None
    }
}

/// Returns the status in an error's codes: gateways pass on the status of the provider behind them.
fn number_of(kind: &str) -> Option<u16> {
    let numbers = kind.split_whitespace().filter_map(|word| word.parse().ok());
    numbers.into_iter().find(|status| (400..600).contains(status))
}

/// Reads the codes and the words of an error's body, whatever its form.
fn words(body: &str) -> (String, String) {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        // A proxy's error page has no useful words.
        let is_page = body.trim_start().starts_with('<');
        return (
            String::new(),
            if is_page { String::new() } else { body.to_owned() },
        );
    };
    words_of(&value)
}

/// Reads the codes and the words of an error, which may be a member of the value.
pub(crate) fn words_of(value: &Value) -> (String, String) {
    // Some gateways put the error into a list.
    let value = value.get(0).unwrap_or(value);
    let error = value
        .get("error")
        .filter(|error| !error.is_null())
        .unwrap_or(value);
    let kinds = ["code", "type", "status"].map(|name| match &error[name] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    });
    let said = ["message", "detail", "error", "msg"]
        .iter()
        .find_map(|name| error[name].as_str());
    let said = error.as_str().or(said).unwrap_or_default();
    // The error of the provider behind a gateway.
    let behind = error.pointer("/metadata/raw").and_then(Value::as_str);
    let said = match behind {
        Some(behind) if !behind.is_empty() => format!("{said}: {behind}"),
        _ => said.to_owned(),
    };
    let kinds: Vec<String> = kinds
        .into_iter()
        // `error` is the name of the event and says nothing.
        .filter(|kind| !kind.is_empty() && kind != "error")
        .collect();
    (kinds.join(" "), said)
}

/// Returns a provider's text as a clause: one line of limited length.
pub(crate) fn clean(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_control() || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect();
    let line = words.join(" ");
    let line = line.trim_end_matches('.');
    match line.char_indices().nth(MAX_SAID) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Returns the network's error without addresses: a query may be secret.
pub(crate) fn network_words(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no connection in time".to_owned();
    }
    let mut deepest: &dyn std::error::Error = match error.source() {
        Some(source) => source,
        None => {
            return if error.is_builder() {
                "it is no address".to_owned()
            } else {
                "the request failed".to_owned()
            };
        }
    };
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    clean(&deepest.to_string())
}
