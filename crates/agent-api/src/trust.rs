//! Trust in a folder: the contract between the dialects and the store of the user's decisions.
//!
//! Anybody may have made a folder. Its programs, its settings that loosen the user's, and its instructions have no effect
//! until the user trusts them.

use futures_util::future::BoxFuture;

/// Effect of an item once it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustKind {
    /// It starts a program, or sends data to an address.
    Server,
    /// It loosens the user's own configuration.
    Setting,
    /// It is read as an instruction.
    Text,
}

/// An item of a folder that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustItem {
    /// Its effect.
    pub kind: TrustKind,
    /// Its name: `the MCP server pantry`, `Sandbox.Network`, `AGENTS.md`.
    pub name: String,
    /// Its content, for the user to judge; the length of a file of instructions.
    pub detail: String,
    /// Identifies its content. Texts have none, since they are trusted with the folder.
    pub fingerprint: Option<String>,
    /// Whether it is trusted.
    pub trusted: bool,
}

/// The items of a folder, and the user's decisions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustStatus {
    /// Whether the user trusts the folder, and so its texts.
    pub trusted: bool,
    /// The items; those that start programs come first.
    pub items: Vec<TrustItem>,
    /// Whether a setting takes effect, or loses it, only at the next start of the server.
    pub restart_needed: bool,
}

/// A client's decision about a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustChange {
    /// The folder is trusted, with all its present items.
    TrustAll,
    /// The folder is trusted, with exactly the items of these fingerprints. Earlier trust remains.
    TrustOnly(Vec<String>),
    /// Nothing of the folder is trusted any more.
    Revoke,
}

/// Reason why a decision was not stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// A fingerprint belongs to no present item.
    #[error("what the folder brings has changed: look at it again")]
    Changed,
    /// The folder or the record cannot be read or written.
    #[error("{0}")]
    Unwritable(String),
}

/// Broadcast: the user has decided about the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustNews {
    /// Whether the folder is trusted now.
    pub trusted: bool,
}

/// Stores the user's decisions about the workspace.
pub trait WorkspaceTrust: Send + Sync + 'static {
    /// Returns the present items of the folder.
    fn status(&self) -> BoxFuture<'_, Result<TrustStatus, TrustError>>;

    /// Stores a decision, applies it and notifies every client. Returns the items after it.
    ///
    /// # Errors
    /// [`TrustError`]; nothing has changed.
    fn set(&self, change: TrustChange) -> BoxFuture<'_, Result<TrustStatus, TrustError>>;

    /// Returns a sentence for clients that do not know trust, if an item is not trusted yet.
    fn notice(&self) -> BoxFuture<'_, Option<String>>;
}
