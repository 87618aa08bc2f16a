//! Trust in a folder as clients see and change it: the seam between the dialects and the place where the user's word lies.
//!
//! A folder may have come from anybody. What it brings along to run, to loosen or to instruct waits until its user has
//! said that it counts.

use futures_util::future::BoxFuture;

/// What a thing that a folder brings does once it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustKind {
    /// It starts a program, or sends something to an address.
    Server,
    /// It loosens what the user's own configuration says.
    Setting,
    /// It is read as an instruction.
    Text,
}

/// One thing that a folder brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustItem {
    /// What it does.
    pub kind: TrustKind,
    /// What it is called: `the MCP server pantry`, `Sandbox.Network`, `AGENTS.md`.
    pub name: String,
    /// What it says, for the user to judge; of a file of instructions, how long it is.
    pub detail: String,
    /// Stands for its content; texts have none, since they count with the folder.
    pub fingerprint: Option<String>,
    /// Whether it counts.
    pub trusted: bool,
}

/// What a folder brings, and what the user has said of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustStatus {
    /// Whether the user trusts the folder: its texts count then.
    pub trusted: bool,
    /// What it brings, what runs first.
    pub items: Vec<TrustItem>,
    /// Whether a setting counts, or does not count any more, only from the next start of the server.
    pub restart_needed: bool,
}

/// What a client says of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustChange {
    /// The folder is trusted, with all that it brings now.
    TrustAll,
    /// The folder is trusted, with exactly what has these fingerprints; what was trusted before stays.
    TrustOnly(Vec<String>),
    /// Nothing of the folder counts any more.
    Revoke,
}

/// Why what the user says was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// A fingerprint is of nothing that the folder brings now.
    #[error("what the folder brings has changed: look at it again")]
    Changed,
    /// The folder or the record cannot be read or written.
    #[error("{0}")]
    Unwritable(String),
}

/// Broadcast: the user has said something about the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustNews {
    /// Whether the folder is trusted now.
    pub trusted: bool,
}

/// Keeps what the user says about the workspace.
pub trait WorkspaceTrust: Send + Sync + 'static {
    /// Returns what the folder brings now.
    fn status(&self) -> BoxFuture<'_, Result<TrustStatus, TrustError>>;

    /// Takes what the user says: stores it, puts it into effect, tells every client, and returns what the folder brings then.
    ///
    /// # Errors
    /// [`TrustError`]; nothing has changed.
    fn set(&self, change: TrustChange) -> BoxFuture<'_, Result<TrustStatus, TrustError>>;

    /// Returns the sentence for a client that knows nothing of trust, if something waits.
    fn notice(&self) -> BoxFuture<'_, Option<String>>;
}
