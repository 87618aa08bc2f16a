//! Problems with a provider whose models should be listed.

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
