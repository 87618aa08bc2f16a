//! The workspace's configuration as clients see and change it: the seam between the dialects and the files.

use futures_util::future::BoxFuture;
use serde_json::Value;

/// When a changed setting counts.
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
    /// Its name, with those of the objects around it in the section: `WebSocket.Port`.
    pub key: String,
    /// How it is entered: `text`, `number`, `bool`, `password`, `select`, `stringList`, `keyValueMap` or `json`.
    pub kind: &'static str,
    /// What it says, for its user.
    pub hint: Option<String>,
    /// Whether its value is a secret.
    pub sensitive: bool,
    /// The words that it can be.
    pub options: Vec<String>,
    /// The least number.
    pub min: Option<Value>,
    /// The greatest number.
    pub max: Option<Value>,
    /// What counts where no file says anything.
    pub default: Option<Value>,
    /// When a change counts.
    pub reload: Reload,
    /// What the files say, as far as it counts. `None` too for what can have a secret in it.
    pub value: Option<Value>,
}

/// Settings that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigSection {
    /// Its name: `Core` for those at the top of a file, else the member that they are in.
    pub name: String,
    /// The member that they are in; `None` at the top of a file.
    pub path: Option<String>,
    /// They.
    pub fields: Vec<ConfigField>,
}

/// What a client sets: `None` leaves a setting as it is, `Some(None)` removes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigChange {
    /// The usual model.
    pub model: Option<Option<String>>,
    /// Key for the address.
    pub api_key: Option<Option<String>>,
    /// Address of a provider.
    pub end_point: Option<Option<String>>,
    /// Whether a welcome is suggested.
    pub welcome_suggestions: Option<Option<bool>>,
    /// Whether skills are learned.
    pub skills_self_learning: Option<Option<bool>>,
    /// Whether memory is consolidated.
    pub memory_auto_consolidate: Option<Option<bool>>,
    /// The policy of Threads that have none, as files spell it.
    pub default_approval_policy: Option<Option<&'static str>>,
    /// A provider, in the user's own file.
    pub provider: Option<ProviderChange>,
    /// Whether the model and the policy become those of all the user's folders instead of the workspace's.
    pub for_all_folders: bool,
}

/// A provider of models that a client sets up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderChange {
    /// Its name, in front of those of its models.
    pub name: String,
    /// What it speaks; a new provider without it speaks [`ProviderWire::Chat`].
    pub wire: Option<ProviderWire>,
    /// Its address; a built-in provider has one.
    pub base_url: Option<String>,
    /// Its key. With a new address and without a key, an earlier key is removed.
    pub api_key: Option<String>,
}

/// What a provider speaks.
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
    /// Returns the word of configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }
}

/// What the files say of the same settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigValues {
    /// The usual model.
    pub model: Option<String>,
    /// Key for the address; `None` too where this connection may not read it.
    pub api_key: Option<String>,
    /// Address of a provider.
    pub end_point: Option<String>,
    /// Whether a welcome is suggested.
    pub welcome_suggestions: Option<bool>,
    /// Whether skills are learned.
    pub skills_self_learning: Option<bool>,
    /// Whether memory is consolidated.
    pub memory_auto_consolidate: Option<bool>,
    /// The policy of Threads that have none, as the file spells it.
    pub default_approval_policy: Option<String>,
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigChangeError {
    /// The files would say something that cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// A file cannot be read or written.
    #[error("{0}")]
    Unwritable(String),
}

/// Reads and writes configuration files.
pub trait WorkspaceConfig: Send + Sync + 'static {
    /// Returns every setting that files can have, with what they say.
    fn schema(&self) -> BoxFuture<'_, Vec<ConfigSection>>;

    /// Writes settings, makes them count and tells every client. Returns what the files say then.
    ///
    /// # Errors
    /// [`ConfigChangeError`]; the files are as before.
    fn update(&self, change: ConfigChange) -> BoxFuture<'_, Result<ConfigValues, ConfigChangeError>>;
}
