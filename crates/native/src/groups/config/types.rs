//! `workspace/config/*` (AppServer protocol 05 §11).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::wire::Nullable;

/// Result of `workspace/config/schema`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceConfigSchemaResult {
    /// Settings that belong together, in order.
    pub sections: Vec<ConfigSection>,
}

/// Settings that belong together.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSection {
    /// Its name: `Core` for the top level of a file.
    pub section: String,
    /// Its place among the sections, from 0 on.
    pub order: u32,
    /// The member of a file that has its settings; absent for the top level.
    pub path: Option<String>,
    /// Its settings.
    pub fields: Vec<ConfigField>,
}

/// One setting.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigField {
    /// Its name; dots separate the names of objects.
    pub key: String,
    /// How it is entered: `text`, `number`, `bool`, `password`, `select`, `stringList`, `keyValueMap` or `json`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether its value is a secret.
    pub sensitive: bool,
    /// The possible values of a `select`.
    pub options: Option<Vec<String>>,
    /// The least number.
    pub min: Option<Value>,
    /// The greatest number.
    pub max: Option<Value>,
    /// A description for users.
    pub hint: Option<String>,
    /// When a change takes effect.
    pub reload: ConfigReload,
    /// The value that is used if no file sets one.
    pub default_value: Option<Value>,
    /// Extension: the files' value that is in effect. Left out for settings that may have secrets.
    pub value: Option<Value>,
}

/// When a changed setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConfigReload {
    /// At once.
    Hot,
    /// From the next start of the server.
    ProcessRestart,
}

/// Params of `workspace/config/update`: at least one setting. `null`, and an empty text, remove one.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceConfigUpdateParams {
    /// The default model; `Default` removes it too. Threads with a model of their own do not change.
    pub model: Option<Nullable<String>>,
    /// Key for `endPoint`. Goes into the user's own file.
    pub api_key: Option<Nullable<String>>,
    /// Address of a provider. Goes into the user's own file.
    pub end_point: Option<Nullable<String>>,
    /// Whether `welcome/suggestions` suggests anything.
    pub welcome_suggestions_enabled: Option<Nullable<bool>>,
    /// Stored for other programs.
    pub skills_self_learning_enabled: Option<Nullable<bool>>,
    /// Stored for other programs.
    pub memory_auto_consolidate_enabled: Option<Nullable<bool>>,
    /// The policy of Threads that have none.
    pub default_approval_policy: Option<Nullable<DefaultApprovalPolicy>>,
    /// Extension: sets up a provider of models in the user's own file.
    pub provider: Option<ProviderSetting>,
    /// Extension: writes `model` and `defaultApprovalPolicy` into the user's own file, for all folders, instead of the
    /// workspace's.
    #[serde(default)]
    pub save_user_config: bool,
}

/// A provider of models.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSetting {
    /// Its name, in front of those of its models: `anthropic`, `openai`, `openrouter` and `ollama` are built in.
    pub name: String,
    /// Its API; `chat` when left out.
    pub wire: Option<ProviderWire>,
    /// Its address. A built-in provider has one, and must have none here.
    pub base_url: Option<String>,
    /// Its key. With an address and without a key, an earlier key is removed.
    pub api_key: Option<String>,
}

/// The API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProviderWire {
    /// Chat Completions.
    Chat,
    /// Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

/// Reads members by hand, because here a member that is `null` removes a setting instead of counting as absent.
impl<'de> Deserialize<'de> for WorkspaceConfigUpdateParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn read<T: DeserializeOwned, E: Error>(name: &str, value: Value) -> Result<Option<Nullable<T>>, E> {
            let read = serde_json::from_value(value).map_err(|error| E::custom(format!("'{name}': {error}")));
            Ok(Some(Nullable(read?)))
        }
        let mut params = Self::default();
        for (name, value) in BTreeMap::<String, Value>::deserialize(deserializer)? {
            match name.to_ascii_lowercase().as_str() {
                "model" => params.model = read(&name, value)?,
                "apikey" => params.api_key = read(&name, value)?,
                "endpoint" => params.end_point = read(&name, value)?,
                "welcomesuggestionsenabled" => params.welcome_suggestions_enabled = read(&name, value)?,
                "skillsselflearningenabled" => params.skills_self_learning_enabled = read(&name, value)?,
                "memoryautoconsolidateenabled" => {
                    params.memory_auto_consolidate_enabled = read(&name, value)?;
                }
                "provider" => {
                    let read = serde_json::from_value(value);
                    params.provider = read.map_err(|error| D::Error::custom(format!("'{name}': {error}")))?;
                }
                "saveuserconfig" => params.save_user_config = value.as_bool().unwrap_or_default(),
                "defaultapprovalpolicy" => params.default_approval_policy = read(&name, value)?,
                _ => {}
            }
        }
        Ok(params)
    }
}

/// A policy that `workspace/config/update` can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DefaultApprovalPolicy {
    /// Ask the user.
    Default,
    /// Accept without asking.
    AutoApprove,
    /// Extension: accept operations that the sandbox confines, and ask about the rest.
    Sandboxed,
    /// Extension: as `sandboxed` in Turns that a person starts, if bubblewrap confines commands and no item of the
    /// folder waits for trust; otherwise as `default`.
    Automatic,
    /// Extension: ask the user, also about each change of a file in the workspace.
    AskWrites,
}

/// Result of `workspace/config/update`: the values in the files; `null` for a setting that no file has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceConfigResult {
    /// The default model.
    pub model: Nullable<String>,
    /// Key for `endPoint`. `null` on a server that other machines can reach, unless this request set it.
    pub api_key: Nullable<String>,
    /// Address of a provider.
    pub end_point: Nullable<String>,
    /// Whether `welcome/suggestions` suggests anything.
    pub welcome_suggestions_enabled: Nullable<bool>,
    /// Stored for other programs.
    pub skills_self_learning_enabled: Nullable<bool>,
    /// Stored for other programs.
    pub memory_auto_consolidate_enabled: Nullable<bool>,
    /// The policy of Threads that have none, in the file's spelling.
    pub default_approval_policy: Nullable<String>,
}
