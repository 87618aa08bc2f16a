//! Settings of a provider. The binary reads them; making a [`crate::Provider`] checks them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::ModelFacts;

/// The language a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-also" = { "chatCompletions": "chat", "anthropic": "messages" }))]
pub enum Wire {
    /// Chat Completions, `POST …/chat/completions`.
    #[serde(rename = "chat")]
    ChatCompletions,
    /// Responses, `POST …/responses`.
    Responses,
    /// Anthropic Messages, `POST …/messages`.
    Messages,
}

/// Shortest secret that is removed from texts, in bytes. A shorter one, such as a local server's `x`, would take parts of words.
const SHORTEST_SECRET: usize = 8;

/// Returns a text without a secret.
pub(crate) fn without(secret: &str, text: &str, instead: &str) -> String {
    if secret.len() < SHORTEST_SECRET {
        text.to_owned()
    } else {
        text.replace(secret, instead)
    }
}

/// The user's secret for a provider. Never shown: not by `Debug`, not in errors.
#[derive(Clone)]
pub struct Key(SecretString);

impl Key {
    /// Returns a key; white space around the text is removed.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }

    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns a text with the key removed.
    pub(crate) fn scrub(&self, text: &str) -> String {
        without(self.expose(), text, "[key]")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// One provider.
#[derive(Clone)]
pub struct ProviderSettings {
    /// The user's name for the provider. Its models are `NAME/MODEL`.
    pub name: String,
    /// The language it speaks.
    pub wire: Wire,
    /// Address in front of the wire's path, `https://…/v1` as a rule.
    pub base_url: String,
    /// Models to offer besides those that the provider lists.
    pub models: Vec<String>,
    /// Whether its models are offered to clients. Models of a provider that is not offered can still be named.
    pub offered: bool,
    /// The key.
    pub key: Option<Key>,
    /// The environment variable of a client that may have the key, if this server has none.
    pub key_variable: Option<String>,
    /// Whether requests need a key.
    pub needs_key: bool,
    /// The source of the key, or why there is none. Errors about keys show this.
    pub key_source: String,
    /// More headers. Their values are treated as secrets.
    pub headers: Vec<(String, String)>,
    /// Most tokens of one reply; `None` means the provider's own limit.
    pub max_output_tokens: Option<u64>,
    /// Whether the provider may search the web for its models. Chat Completions has no such tool.
    pub web_search: bool,
    /// More members of the request's body; they replace ours.
    pub body: Map<String, Value>,
    /// Facts about all its models.
    pub facts: ModelFacts,
    /// Facts about single models, by the provider's names.
    pub model_facts: BTreeMap<String, ModelFacts>,
    /// Limits.
    pub limits: Limits,
}

impl ProviderSettings {
    /// Returns the settings of a provider without a key, with the usual limits.
    pub fn new(name: &str, wire: Wire, base_url: &str) -> Self {
        Self {
            name: name.to_owned(),
            wire,
            base_url: base_url.to_owned(),
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
}

impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ProviderSettings")
            .field("name", &self.name)
            .field("wire", &self.wire)
            .field("key", &self.key)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// How the network is reached, the same for all providers.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    /// Proxy for `http` addresses.
    pub http: Option<String>,
    /// Proxy for `https` addresses.
    pub https: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas. This machine always is.
    pub except: Option<String>,
}

/// Limits of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest silence before and within the reply.
    pub idle: Duration,
    /// Longest time for one reply. This limit ends a reply that consists of comments alone.
    pub whole: Duration,
    /// Most attempts, including the first. The provider retries only before a reply has started.
    pub attempts: u32,
    /// First pause between attempts; doubled each time, and jittered.
    pub pause: Duration,
    /// Longest pause, and the longest `retry-after` that is accepted.
    pub longest_pause: Duration,
    /// Most bytes of one event.
    pub max_event_bytes: usize,
    /// Most bytes of a whole reply.
    pub max_reply_bytes: usize,
}

impl Default for Limits {
    /// Returns guesses that fit today's providers: reasoning models may be silent for a minute.
    fn default() -> Self {
        Self {
            idle: Duration::from_mins(3),
            whole: Duration::from_hours(1),
            attempts: 4,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            max_event_bytes: 4 << 20,
            max_reply_bytes: 64 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_header_values_are_not_shown() {
        let settings = ProviderSettings {
            name: "n".into(),
            wire: Wire::Messages,
            base_url: "http://user:sesame@x".into(),
            models: Vec::new(),
            offered: true,
            key: Some(Key::new(" open-sesame\n")),
            key_variable: None,
            needs_key: true,
            key_source: "a test".into(),
            headers: vec![("x-team".into(), "sesame".into())],
            max_output_tokens: None,
            web_search: false,
            body: Map::new(),
            facts: ModelFacts::default(),
            model_facts: BTreeMap::new(),
            limits: Limits::default(),
        };
        let shown = format!("{settings:?}");
        assert!(shown.contains("x-team") && !shown.contains("sesame"), "{shown}");
        let scrubbed = settings.key.unwrap().scrub("wrong key: open-sesame!");
        assert_eq!(scrubbed, "wrong key: [key]!");
        assert_eq!(Key::new("k").scrub("mock says 500"), "mock says 500");
    }
}
