//! Providers of models: what they speak, and problems with those whose models should be listed.

use serde::{Deserialize, Serialize};

/// A problem with a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ModelListErrorCode {
    /// The provider wants a key and none is configured.
    MissingApiKey,
    /// The provider's address cannot be used.
    InvalidEndpoint,
    /// The provider rejects the key.
    Unauthorized,
    /// The key may not list models.
    Forbidden,
    /// The provider has no list of models.
    EndpointNotSupported,
    /// The provider cannot be reached.
    Network,
    /// The provider did not answer in time.
    Timeout,
    /// Any other problem.
    Unknown,
}

/// The protocol that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ProviderProtocol {
    /// Chat Completions.
    #[serde(rename = "openai-chat-completions")]
    ChatCompletions,
    /// Responses.
    #[serde(rename = "openai-responses")]
    Responses,
    /// Anthropic Messages.
    #[serde(rename = "anthropic")]
    Messages,
}
