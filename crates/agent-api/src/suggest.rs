//! Small helps outside of any Turn (AppServer protocol 03 §14): the contract between the dialects and what asks a model
//! for them. Nothing of them is recorded.

use std::path::PathBuf;

use bobbin_model::UnixMillis;
use futures_util::future::BoxFuture;

/// Why there is no suggestion. The texts are for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuggestError {
    /// What was asked for cannot be suggested for.
    #[error("{0}")]
    Invalid(String),
    /// It cannot be done here, or not now: no repository, no model that answers.
    #[error("{0}")]
    Unusable(String),
}

/// A request for a commit message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRequest {
    /// Where the files are, absolute and free of symbolic links.
    pub root: PathBuf,
    /// The model to ask; none means the usual one.
    pub model: Option<String>,
    /// The files.
    pub paths: Vec<String>,
    /// Most characters of their changes that are shown to the model.
    pub max_diff_chars: usize,
}

/// A conversation that there was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Its title.
    pub title: String,
    /// When something last happened in it.
    pub last_active_at: UnixMillis,
}

/// A request for ideas for a first input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WelcomeRequest {
    /// The newest conversations, the newest first.
    pub conversations: Vec<Conversation>,
    /// Most ideas.
    pub max_items: usize,
}

/// An idea for a first input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// A short title.
    pub title: String,
    /// The input.
    pub prompt: String,
    /// Why it might be of use.
    pub reason: String,
}

/// Ideas, and a word that changes when what they were made from changes. None where there is too little to go by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The ideas.
    pub items: Vec<Suggestion>,
    /// The word.
    pub fingerprint: String,
}

/// Makes suggestions. Dropping a future ends what it had started.
pub trait Suggestions: Send + Sync + 'static {
    /// Suggests a commit message.
    fn commit_message(&self, request: CommitRequest) -> BoxFuture<'static, Result<String, SuggestError>>;

    /// Suggests first inputs.
    fn welcome(&self, request: WelcomeRequest) -> BoxFuture<'static, Result<Welcome, SuggestError>>;
}
