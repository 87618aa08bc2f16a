//! `workspace/config/*` (AppServer protocol 05 §11).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::Nullable;

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
    /// The names that lead to the member of a file that has its settings; absent for the top level.
    pub path: Option<Vec<String>>,
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

/// Params of `config/read`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigReadParams {
    /// Whether the result has the files one by one. Default `false`.
    pub include_layers: bool,
}

/// Result of `config/read`. `***` replaces secrets.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReadResult {
    /// The settings of the files that count, with the files' names. Defaults are left out.
    pub config: Value,
    /// The file of each value, by the value's dotted path.
    pub origins: BTreeMap<String, ConfigOrigin>,
    /// The files: the user's first.
    pub layers: Option<Vec<ConfigFileLayer>>,
}

/// The file of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOrigin {
    /// The file.
    pub name: ConfigLayerName,
    /// The version of the file; equal for equal content.
    pub version: String,
}

/// One configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigLayerName {
    /// Its owner.
    #[serde(rename = "type")]
    pub kind: ConfigLayerKind,
    /// Its path.
    pub file: String,
}

/// The owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConfigLayerKind {
    /// The user, for all workspaces.
    User,
    /// The workspace.
    Workspace,
}

/// A configuration file with its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigFileLayer {
    /// The file.
    pub name: ConfigLayerName,
    /// Its version.
    pub version: String,
    /// Its content.
    pub config: Value,
}

/// Params of `config/value/write`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigValueWriteParams {
    /// The change.
    #[serde(flatten)]
    pub edit: ConfigEditParams,
    /// The file, as `config/read` names it; the workspace's when left out.
    pub file_path: Option<String>,
    /// The version that the file must have.
    pub expected_version: Option<String>,
}

/// Params of `config/batchWrite`: at least one and at most 256 changes, made together or not at all.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigBatchWriteParams {
    /// The changes, in order.
    pub edits: Vec<ConfigEditParams>,
    /// The file, as `config/read` names it; the workspace's when left out.
    pub file_path: Option<String>,
    /// The version that the file must have.
    pub expected_version: Option<String>,
}

/// One change of a configuration file.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigEditParams {
    /// The dotted path of the member, such as `Sandbox.Network`. Case does not matter.
    pub key_path: String,
    /// Its value; `null` removes the member, and objects that have no member then.
    pub value: Value,
    /// How the value joins the present one.
    pub merge_strategy: ConfigMergeStrategy,
}

/// How a written value joins the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConfigMergeStrategy {
    /// It replaces the present one.
    Replace,
    /// Objects are merged member by member.
    Upsert,
}

/// The members of params by their names in small letters. A `null` is a value here.
struct Members(BTreeMap<String, Value>);

impl Members {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = BTreeMap::<String, Value>::deserialize(deserializer)?;
        Ok(Self(
            members
                .into_iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), value))
                .collect(),
        ))
    }

    fn take<T: DeserializeOwned, E: Error>(&mut self, name: &str) -> Result<T, E> {
        let value = self.0.remove(&name.to_ascii_lowercase());
        let value = value.ok_or_else(|| E::custom(format!("'{name}' is missing")))?;
        serde_json::from_value(value).map_err(|error| E::custom(format!("'{name}': {error}")))
    }

    fn take_text<E: Error>(&mut self, name: &str) -> Result<Option<String>, E> {
        if self.0.contains_key(&name.to_ascii_lowercase()) {
            self.take(name)
        } else {
            Ok(None)
        }
    }

    fn edit<E: Error>(&mut self) -> Result<ConfigEditParams, E> {
        Ok(ConfigEditParams {
            key_path: self.take("keyPath")?,
            value: self.take("value")?,
            merge_strategy: self.take("mergeStrategy")?,
        })
    }
}

impl<'de> Deserialize<'de> for ConfigEditParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Members::read(deserializer)?.edit()
    }
}

impl<'de> Deserialize<'de> for ConfigValueWriteParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::read(deserializer)?;
        Ok(Self {
            edit: members.edit()?,
            file_path: members.take_text("filePath")?,
            expected_version: members.take_text("expectedVersion")?,
        })
    }
}

impl<'de> Deserialize<'de> for ConfigBatchWriteParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Members::read(deserializer)?;
        Ok(Self {
            edits: members.take("edits")?,
            file_path: members.take_text("filePath")?,
            expected_version: members.take_text("expectedVersion")?,
        })
    }
}

/// Result of `config/value/write` and `config/batchWrite`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigWriteResult {
    /// Whether the value counts.
    pub status: ConfigWriteStatus,
    /// The version of the file now.
    pub version: String,
    /// The file.
    pub file_path: String,
    /// The value that counts instead, with `okOverridden`.
    pub overridden_metadata: Option<ConfigOverridden>,
}

/// Whether a written value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConfigWriteStatus {
    /// No other file hides it. A value of the workspace's file that needs trust waits for it.
    Ok,
    /// The workspace's file has another value.
    OkOverridden,
}

/// The value that counts instead of a written one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOverridden {
    /// A sentence for the user.
    pub message: String,
    /// The file of the value.
    pub overriding_layer: ConfigOrigin,
    /// The value; `***` replaces secrets.
    pub effective_value: Value,
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
