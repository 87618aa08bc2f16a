//! The providers of models in the user's own file: the contract between the dialects and the file.

use bobbin_model::ProviderProtocol;
use futures_util::future::BoxFuture;

use crate::model_catalog::{ListModelsError, ListedModel};

/// A provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredProvider {
    /// Its name in settings.
    pub id: String,
    /// Its name for users, if a setting has one.
    pub display_name: Option<String>,
    /// The protocol that it speaks.
    pub protocol: ProviderProtocol,
    /// Its address.
    pub base_url: String,
    /// Whether there is a key for it.
    pub has_key: bool,
    /// The source of its key.
    pub key_source: KeySource,
    /// Whether its models are offered. Those of a built-in provider are not until it has a key.
    pub offered: bool,
    /// Most tokens of one reply, if a setting has it.
    pub max_output_tokens: Option<u64>,
    /// Longest silence in a reply, in milliseconds.
    pub idle_ms: u64,
    /// How often a failed request is repeated.
    pub retries: u32,
}

/// The source of a provider's key in settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// No setting names one.
    Nowhere,
    /// The user's own file has it.
    Stored,
    /// A variable of the environment has it.
    Variable(String),
    /// A file of its own, or an editor's options have it.
    Elsewhere,
    /// The provider is in a project's file, and gets none.
    Withheld,
}

/// Settings of a provider by a client; `None` leaves one unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderDraft {
    /// Its name in settings.
    pub id: String,
    /// Its name for users.
    pub display_name: Option<String>,
    /// The protocol that it speaks.
    pub protocol: Option<ProviderProtocol>,
    /// Its address.
    pub base_url: Option<String>,
    /// Its key; `Some(None)` removes it. A new address without a key removes an earlier key.
    pub api_key: Option<Option<String>>,
    /// Most tokens of one reply.
    pub max_output_tokens: Option<u64>,
    /// Longest silence in a reply, in seconds.
    pub idle_seconds: Option<u64>,
    /// How often a request is tried.
    pub attempts: Option<u64>,
}

/// A change of a provider in the user's own file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderEdit {
    /// Adds a provider that the file does not have.
    Create(ProviderDraft),
    /// Changes a provider.
    Update(ProviderDraft),
    /// Removes a provider from the file.
    Delete(String),
}

/// Reason why a provider was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The draft is invalid, or the provider does not exist or is not the user's.
    #[error("{0}")]
    Invalid(String),
    /// The file cannot be read or written.
    #[error("{0}")]
    Unwritable(String),
}

/// The result of a test: the protocol, and the models or the reason why there are none.
pub type ProviderTest = (ProviderProtocol, Result<Vec<ListedModel>, ListModelsError>);

/// Reads, writes and tests providers.
pub trait ModelProviders: Send + Sync + 'static {
    /// Returns the providers of the files and the built-in ones.
    ///
    /// # Errors
    /// The reason why the files cannot be read, for the user.
    fn list(&self) -> BoxFuture<'_, Result<Vec<ConfiguredProvider>, String>>;

    /// Changes the user's own file, applies the change and notifies every client. Returns the provider; `None` if it
    /// is gone.
    ///
    /// # Errors
    /// [`ProviderError`]; the file is unchanged.
    fn edit(
        &self,
        source: &'static str,
        edit: ProviderEdit,
    ) -> BoxFuture<'_, Result<Option<ConfiguredProvider>, ProviderError>>;

    /// Asks a provider for its models, with the settings of the draft over those of the files. A key of the files is
    /// sent to their address only. Ends within 15 seconds.
    ///
    /// # Errors
    /// The draft is invalid.
    fn test(&self, draft: ProviderDraft) -> BoxFuture<'static, Result<ProviderTest, ProviderError>>;
}
