//! The models that can be chosen (AppServer protocol 05 §7).

use bobbin_model::{Effort, ModelListErrorCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::wire::Timestamp;

/// Result of `model/list`. Trouble with a provider is no error of the request.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListResult {
    /// Whether the list could be had.
    pub success: bool,
    /// The models; none when it could not.
    pub models: Vec<ModelInfo>,
    /// What the trouble is.
    pub error_code: Option<ModelListErrorCode>,
    /// The trouble, for the user.
    pub error_message: Option<String>,
}

/// A model.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// What a Thread's configuration names it by.
    pub id: String,
    /// Who made it; may be empty.
    pub owned_by: String,
    /// When; 1970 when nobody says.
    pub created_at: Timestamp,
    /// The values of `reasoningEffort` that it can be asked for.
    pub reasoning_efforts: Option<Vec<Effort>>,
}
