//! The shapes of `provider/*`.

use std::collections::BTreeMap;

use bobbin_model::{ModelListErrorCode, ProviderProtocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::Nullable;
use crate::models::types::ModelInfo;

/// A provider of models.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInfo {
    /// Its name in settings; its models are `ID/MODEL`.
    pub id: String,
    /// Its name for users.
    pub display_name: String,
    /// The protocol that it speaks.
    pub protocol: ProviderProtocol,
    /// Whether there is a key for it.
    pub has_api_key: bool,
    /// `***` if there is a key.
    pub api_key: Option<String>,
    /// Its address.
    pub end_point: String,
    /// How requests are authenticated.
    pub auth_method: ProviderAuth,
    /// Always `false`.
    pub supports_image_generation: bool,
    /// Its abilities by name.
    pub capabilities: BTreeMap<String, bool>,
    /// Most tokens of one reply.
    pub max_output_tokens: Option<u64>,
    /// Longest silence in a reply, in milliseconds.
    pub stream_idle_timeout_ms: u64,
    /// How often a failed request is repeated.
    pub stream_max_retries: u32,
}

/// How requests to a provider are authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProviderAuth {
    /// With a key.
    ApiKey,
}

/// Params of `provider/create` and `provider/update`. A member that is left out is not changed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderEditParams {
    /// The provider's name in settings.
    pub id: String,
    /// The settings.
    #[serde(flatten)]
    pub settings: ProviderSettingsParams,
}

/// Settings of a provider.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSettingsParams {
    /// The protocol that it speaks. Needed for a new provider that is not built in.
    pub protocol: Option<ProviderProtocol>,
    /// Its name for users.
    pub display_name: Option<String>,
    /// Its key; `null` and an empty text remove it.
    #[serde(default, deserialize_with = "Nullable::present")]
    pub api_key: Option<Nullable<String>>,
    /// Its address. Needed for a new provider that is not built in.
    pub end_point: Option<String>,
    /// Most tokens of one reply, from 1 on.
    pub max_output_tokens: Option<u64>,
    /// Longest silence in a reply, in milliseconds; counted in whole seconds.
    pub stream_idle_timeout_ms: Option<u64>,
    /// How often a failed request is repeated, at most 9.
    pub stream_max_retries: Option<u64>,
}

/// Params of `provider/delete`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderDeleteParams {
    /// The provider's name in settings.
    pub id: String,
}

/// Params of `provider/test`: a provider of the settings, a draft, or a provider with changes.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderTestParams {
    /// The provider's name in settings; needed unless `protocol` and `endPoint` are there.
    pub provider_id: Option<String>,
    /// The settings to try.
    #[serde(flatten)]
    pub settings: ProviderSettingsParams,
}

/// Result of `provider/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderListResult {
    /// The providers.
    pub providers: Vec<ProviderInfo>,
}

/// Result of `provider/create` and `provider/update`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderResult {
    /// The provider.
    pub provider: ProviderInfo,
}

/// Result of `provider/delete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderDeleteResult {
    /// Always `true`.
    pub deleted: bool,
}

/// Result of `provider/test`. Trouble with the provider is no error of the request.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderTestResult {
    /// Whether the provider has listed its models.
    pub success: bool,
    /// The protocol that was spoken.
    pub protocol: ProviderProtocol,
    /// The models.
    pub models: Vec<ModelInfo>,
    /// The kind of trouble.
    pub error_code: Option<ModelListErrorCode>,
    /// The trouble, for the user.
    pub error_message: Option<String>,
    /// The provider that was asked for.
    pub provider_id: Option<String>,
}
