//! Params and results of `subagent/profiles/*` and `subagent/settings/update`.

use std::collections::BTreeMap;

use bobbin_native_wire::Nullable;
use bobbin_native_wire::handshake::types::ClientRequestId;
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use serde_with::skip_serializing_none;

use crate::settings::ProfileDefinition;

/// Result of `subagent/profiles/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProfilesListResult {
    /// The profiles: `native` first, then by name.
    pub profiles: Vec<SubagentProfile>,
    /// The profile of a subagent that names none.
    pub default_name: String,
    /// The settings of all profiles.
    pub settings: SubagentSettings,
}

/// A profile that subagents can have.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the shape of the protocol")]
pub struct SubagentProfile {
    /// Its name.
    pub name: String,
    /// Whether the server brings it.
    pub is_built_in: bool,
    /// Whether it has to be completed before it can be used.
    pub is_template: bool,
    /// Whether it is in the workspace's configuration.
    pub has_workspace_override: bool,
    /// Whether subagents have it that name none.
    pub is_default: bool,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Its definition.
    pub definition: ProfileDefinition,
    /// The definition of this name that the server brings.
    pub built_in_defaults: Option<ProfileDefinition>,
    /// Whether it can be used, and why not.
    pub diagnostic: SubagentProfileDiagnostic,
}

/// Whether a profile can be used, and why not.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProfileDiagnostic {
    /// Whether it is switched on.
    pub enabled: bool,
    /// Whether its program is there.
    pub binary_resolved: bool,
    /// Whether the model is not offered it.
    pub hidden_from_prompt: bool,
    /// Why the model is not offered it.
    pub hidden_reason: Option<String>,
    /// The members of it that have no effect.
    pub warnings: Vec<String>,
}

/// The settings of all profiles.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentSettings {
    /// Whether command lines go on with sessions of their own.
    pub external_cli_session_resume_enabled: bool,
    /// The model of native subagents whose profile has none.
    pub model: Option<String>,
}

/// Params of `subagent/profiles/upsert`.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProfileUpsertParams {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Its definition.
    #[schemars(with = "ProfileDefinition")]
    pub definition: Box<RawValue>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `subagent/profiles/setEnabled`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProfileEnabledParams {
    /// Its name.
    pub name: String,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `subagent/profiles/remove`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProfileNameParams {
    /// Its name.
    pub name: String,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `subagent/profiles/upsert` and `subagent/profiles/setEnabled`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProfileResult {
    /// The profile.
    pub profile: SubagentProfile,
}

/// Result of `subagent/profiles/remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentProfileRemoveResult {
    /// Always `true`.
    pub removed: bool,
}

/// Params of `subagent/settings/update`: at least one setting. `null`, and an empty text, remove one.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentSettingsUpdateParams {
    /// Whether command lines go on with sessions of their own.
    pub external_cli_session_resume_enabled: Option<Nullable<bool>>,
    /// The model of native subagents whose profile has none.
    pub model: Option<Nullable<String>>,
    /// Extension: makes a repeated request safe.
    pub client_request_id: Option<ClientRequestId>,
}

/// Reads members by hand: elsewhere a member that is `null` counts as absent, here it removes a setting.
impl<'de> Deserialize<'de> for SubagentSettingsUpdateParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn read<T: DeserializeOwned, E: Error>(name: &str, value: Value) -> Result<T, E> {
            serde_json::from_value(value).map_err(|error| E::custom(format!("'{name}': {error}")))
        }
        let mut params = Self::default();
        for (name, value) in BTreeMap::<String, Value>::deserialize(deserializer)? {
            match name.to_ascii_lowercase().as_str() {
                "externalclisessionresumeenabled" => {
                    params.external_cli_session_resume_enabled = Some(Nullable(read(&name, value)?));
                }
                "model" => params.model = Some(Nullable(read(&name, value)?)),
                "clientrequestid" => params.client_request_id = read(&name, value)?,
                _ => {}
            }
        }
        Ok(params)
    }
}

/// Result of `subagent/settings/update`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentSettingsResult {
    /// The settings in effect.
    pub settings: SubagentSettings,
}
