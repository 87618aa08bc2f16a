//! Trouble with a provider whose models were to be listed.

use serde::{Deserialize, Serialize};

/// Trouble with a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ModelListErrorCode {
    /// It wants a key and there is none.
    MissingApiKey,
    /// Its address cannot be used.
    InvalidEndpoint,
    /// It does not take the key.
    Unauthorized,
    /// The key may not list models.
    Forbidden,
    /// It has no list.
    EndpointNotSupported,
    /// It cannot be reached.
    Network,
    /// It did not answer in time.
    Timeout,
    /// Something else.
    Unknown,
}
