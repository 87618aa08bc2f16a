//! The workspace's configuration: the contract between the dialects and the files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use serde_json::Value;

/// Time at which a changed setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// At once.
    Hot,
    /// From the next start of the server.
    ProcessRestart,
}

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigField {
    /// Its name, with the objects around it in the section: `WebSocket.Port`.
    pub key: String,
    /// Its input: `text`, `number`, `bool`, `password`, `select`, `stringList`, `keyValueMap` or `json`.
    pub kind: &'static str,
    /// Its description, for the user.
    pub hint: Option<String>,
    /// Whether its value is a secret.
    pub sensitive: bool,
    /// Its possible values.
    pub options: Vec<String>,
    /// The smallest number.
    pub min: Option<Value>,
    /// The largest number.
    pub max: Option<Value>,
    /// Its value if no file sets it.
    pub default: Option<Value>,
    /// Time at which a change takes effect.
    pub reload: Reload,
    /// The value in effect from the files. `None` if none is set, or if it may contain a secret.
    pub value: Option<Value>,
}

/// A group of settings.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigSection {
    /// Its name: `Core` for settings at the top of a file, else the member that contains them.
    pub name: String,
    /// The member that contains them; `None` at the top of a file.
    pub path: Option<String>,
    /// The settings.
    pub fields: Vec<ConfigField>,
}

/// A client's change: `None` leaves a setting unchanged, `Some(None)` removes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigChange {
    /// The default model.
    pub model: Option<Option<String>>,
    /// Key for `end_point`.
    pub api_key: Option<Option<String>>,
    /// Address of a provider.
    pub end_point: Option<Option<String>>,
    /// Whether first inputs are suggested.
    pub welcome_suggestions: Option<Option<bool>>,
    /// Whether skills are learned.
    pub skills_self_learning: Option<Option<bool>>,
    /// Whether memory is consolidated.
    pub memory_auto_consolidate: Option<Option<bool>>,
    /// The policy of Threads without their own, as files spell it.
    pub default_approval_policy: Option<Option<&'static str>>,
    /// A provider, in the user's own file.
    pub provider: Option<ProviderChange>,
    /// Whether the model and the policy are set for all the user's folders instead of this workspace.
    pub for_all_folders: bool,
}

/// A provider of models that a client sets up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderChange {
    /// Its name, the prefix of its models' names.
    pub name: String,
    /// Its wire format; `None` for a new provider means [`ProviderWire::Chat`].
    pub wire: Option<ProviderWire>,
    /// Its address; a built-in provider has its own.
    pub base_url: Option<String>,
    /// Its key. A new address without a key removes an earlier key.
    pub api_key: Option<String>,
}

/// Wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderWire {
    /// Chat Completions.
    Chat,
    /// Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

impl ProviderWire {
    /// Returns its name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }
}

/// The values of the same settings in the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigValues {
    /// The default model.
    pub model: Option<String>,
    /// Key for `end_point`; also `None` if this connection may not read it.
    pub api_key: Option<String>,
    /// Address of a provider.
    pub end_point: Option<String>,
    /// Whether first inputs are suggested.
    pub welcome_suggestions: Option<bool>,
    /// Whether skills are learned.
    pub skills_self_learning: Option<bool>,
    /// Whether memory is consolidated.
    pub memory_auto_consolidate: Option<bool>,
    /// The policy of Threads without their own, as files spell it.
    pub default_approval_policy: Option<String>,
}

/// Reason why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigChangeError {
    /// The files would be invalid.
    #[error("{0}")]
    Unusable(String),
    /// A file cannot be read or written.
    #[error("{0}")]
    Unwritable(String),
}

/// The owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigOwner {
    /// The user, for all workspaces.
    User,
    /// The workspace.
    Workspace,
}

/// One configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigLayer {
    /// Its owner.
    pub owner: ConfigOwner,
    /// Its path.
    pub file: PathBuf,
    /// Equal for equal content.
    pub version: String,
    /// Its content without secrets.
    pub config: Value,
}

/// The configuration files and their result.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigReading {
    /// The settings that count, without secrets and defaults.
    pub config: Value,
    /// The layer of each value, by its dotted path, as an index of `layers`.
    pub origins: BTreeMap<String, usize>,
    /// The files: the user's first.
    pub layers: Vec<ConfigLayer>,
}

/// One change of a configuration file.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigEdit {
    /// The dotted path of the member.
    pub key_path: String,
    /// Its value; `null` removes it.
    pub value: Value,
    /// Whether an object is merged with the present one.
    pub merges: bool,
}

/// Changes of one configuration file, made together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigWrite {
    /// The method that makes them.
    pub source: &'static str,
    /// The changes, in order.
    pub edits: Vec<ConfigEdit>,
    /// The file; `None` for the workspace's.
    pub file: Option<PathBuf>,
    /// The version that the file must have.
    pub expected_version: Option<String>,
}

/// A file after its change.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigWritten {
    /// The file.
    pub file: PathBuf,
    /// Its version.
    pub version: String,
    /// The layer whose value counts instead, and that value without secrets.
    pub hidden_by: Option<(ConfigLayer, Value)>,
}

/// Reason why a configuration file was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigWriteError {
    /// The file is no layer, or clients of this server may not write it.
    #[error("{0}")]
    ReadOnly(String),
    /// The file has another version.
    #[error("The file has changed since it was read. Read it again.")]
    VersionConflict,
    /// The value is invalid, or only another method may set it.
    #[error("{0}")]
    Invalid(String),
    /// No setting has this name.
    #[error("{0:?} is not a setting.")]
    UnknownKey(String),
    /// The file cannot be read or written.
    #[error("{0}")]
    Unwritable(String),
}

/// Reads and writes configuration files.
pub trait WorkspaceConfig: Send + Sync + 'static {
    /// Returns every setting of the files, with its value.
    fn schema(&self) -> BoxFuture<'_, Vec<ConfigSection>>;

    /// Writes settings, applies them and notifies every client. Returns the values of the files after it.
    ///
    /// # Errors
    /// [`ConfigChangeError`]; the files are unchanged.
    fn update(&self, change: ConfigChange) -> BoxFuture<'_, Result<ConfigValues, ConfigChangeError>>;

    /// Returns the files and their result.
    ///
    /// # Errors
    /// The reason why a file cannot be read, for the user.
    fn read(&self) -> BoxFuture<'_, Result<ConfigReading, String>>;

    /// Changes one file, applies what counts at once and notifies every client.
    ///
    /// # Errors
    /// [`ConfigWriteError`]; the file is unchanged.
    fn write(&self, write: ConfigWrite) -> BoxFuture<'_, Result<ConfigWritten, ConfigWriteError>>;
}
