//! The models that can be chosen (AppServer protocol 05 §7).

use bobbin_model::{ApprovalPolicy, Effort, ModelListErrorCode, ProviderProtocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::Timestamp;

/// Result of `model/list`. Trouble with a provider is no error of the request.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListResult {
    /// Whether the list could be had.
    pub success: bool,
    /// The models; none when it could not.
    pub models: Vec<ModelInfo>,
    /// The provider that was asked for.
    pub provider_id: Option<String>,
    /// The protocol that it speaks.
    pub protocol: Option<ProviderProtocol>,
    /// The error of a provider.
    pub error_code: Option<ModelListErrorCode>,
    /// The error, for the user.
    pub error_message: Option<String>,
}

/// Result of `workspace/defaults/read`: the values for a Thread whose configuration has none.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceDefaultsResult {
    /// The model; `offline` answers without a provider.
    pub model: String,
    /// The reason for this model.
    pub model_source: DefaultModelSource,
    /// The variable of the environment whose key chose the model.
    pub key_variable: Option<String>,
    /// The values of `reasoningEffort` that the model accepts.
    pub reasoning_efforts: Vec<Effort>,
    /// The policy that `default` means.
    pub approval_policy: ApprovalPolicy,
    /// Whether a setting names the policy; if not, a client may have its user choose.
    pub approval_policy_set: bool,
    /// A note for the user about a model that no setting names, as one line.
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

/// Params of `model/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListParams {
    /// Lists the models of this provider alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}

/// A model.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// The id for a Thread's configuration.
    pub id: String,
    /// Its maker; may be empty.
    pub owned_by: String,
    /// When it was made; 1970 if unknown.
    pub created_at: Timestamp,
    /// The values of `reasoningEffort` that it accepts.
    pub reasoning_efforts: Option<Vec<Effort>>,
    /// Whether it is the default. Of the models of one provider that has not the default, the first.
    pub is_default: bool,
    /// Its provider's name in settings; absent for the offline model.
    pub provider_id: Option<String>,
    /// The protocol that its provider speaks.
    pub protocol: Option<ProviderProtocol>,
    /// Tokens of its window, if known.
    pub context_window: Option<u64>,
    /// Extension: its price, if a setting has one.
    pub price: Option<ModelPriceInfo>,
}

/// Extension: the price of a million tokens, in whole units of the currency.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelPriceInfo {
    /// For tokens that the model reads.
    pub input: f64,
    /// For those of them that its provider has in a cache.
    pub cached_input: f64,
    /// For tokens that it writes.
    pub output: f64,
    /// The currency as three letters, such as `EUR`, if a setting names it.
    pub currency: Option<String>,
}
