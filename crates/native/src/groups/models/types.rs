//! The models that can be chosen (AppServer protocol 05 §7).

use bobbin_model::{ApprovalPolicy, Effort, ModelListErrorCode};
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

/// Result of `workspace/defaults/read`: what a Thread uses whose configuration names nothing else.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceDefaultsResult {
    /// The model; `offline` answers without a provider.
    pub model: String,
    /// Why that one.
    pub model_source: DefaultModelSource,
    /// The variable of the environment whose key chose the model.
    pub key_variable: Option<String>,
    /// The values of `reasoningEffort` that the model can be asked for.
    pub reasoning_efforts: Vec<Effort>,
    /// The policy that `default` means.
    pub approval_policy: ApprovalPolicy,
    /// Whether a setting says which; if not, a client may have its user choose.
    pub approval_policy_set: bool,
    /// What a user should know of a model that no setting names, as one line.
    pub notice: Option<String>,
}

/// Why a model is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DefaultModelSource {
    /// No model is set up.
    Nothing,
    /// The environment has the key of one provider, and no setting names a model.
    Key,
    /// A setting names it.
    Setting,
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
