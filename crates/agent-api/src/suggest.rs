//! Suggestions outside of any Turn (AppServer protocol 03 §14, ECA 21.7): the contract between the dialects and the crate
//! that asks a model. Nothing is recorded.

use std::path::PathBuf;

use bobbin_model::{ClientKeys, Effort, UnixMillis};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

/// Reason why there is no suggestion. The texts are for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuggestError {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// No suggestion is possible here or now, for example without a repository or a model that replies.
    #[error("{0}")]
    Unusable(String),
}

/// A request for a commit message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRequest {
    /// Directory of the files, absolute and free of symbolic links.
    pub root: PathBuf,
    /// The model to ask; `None` means the default model.
    pub model: Option<String>,
    /// The files.
    pub paths: Vec<String>,
    /// Most characters of the changes that the model sees.
    pub max_diff_chars: usize,
}

/// An earlier conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Its title.
    pub title: String,
    /// Time of its last activity.
    pub last_active_at: UnixMillis,
}

/// A request for suggestions of a first input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WelcomeRequest {
    /// The latest conversations, newest first.
    pub conversations: Vec<Conversation>,
    /// Most suggestions.
    pub max_items: usize,
}

/// A suggestion for a first input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// A short title.
    pub title: String,
    /// The input.
    pub prompt: String,
    /// Why it may be useful.
    pub reason: String,
}

/// Suggestions, and a fingerprint of their source. Empty if the source has too little.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The suggestions.
    pub items: Vec<Suggestion>,
    /// The fingerprint.
    pub fingerprint: String,
}

/// The model that writes a text in an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writer {
    /// Its name.
    pub model: String,
    /// Keys of the client.
    pub keys: ClientKeys,
    /// Reasoning effort; `None` leaves it to the model.
    pub effort: Option<Effort>,
}

/// A request to rewrite a text of an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteRequest {
    /// The model that writes it.
    pub writer: Writer,
    /// The user's instruction.
    pub prompt: String,
    /// The text.
    pub text: String,
    /// The path of its file, which is not read.
    pub path: Option<String>,
}

/// A piece of a rewritten text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewritePiece {
    /// The model has started to reason. Comes once at most.
    Reasoning,
    /// More of the text.
    Text(String),
}

/// A request for the text at the cursor of an editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    /// The model that writes it.
    pub writer: Writer,
    /// The text before the cursor.
    pub before: String,
    /// The text after it.
    pub after: String,
    /// The path of the file, which is not read.
    pub path: Option<String>,
}

/// Makes suggestions. Dropping a future ends its work.
pub trait Suggestions: Send + Sync + 'static {
    /// Suggests a commit message.
    fn commit_message(&self, request: CommitRequest) -> BoxFuture<'static, Result<String, SuggestError>>;

    /// Suggests first inputs.
    fn welcome(&self, request: WelcomeRequest) -> BoxFuture<'static, Result<Welcome, SuggestError>>;

    /// Rewrites a text, and sends its pieces as they come.
    fn rewrite(
        &self,
        request: RewriteRequest,
        pieces: mpsc::Sender<RewritePiece>,
    ) -> BoxFuture<'static, Result<(), SuggestError>>;

    /// Completes the text at a cursor. An empty text is no completion.
    fn complete(&self, request: CompletionRequest) -> BoxFuture<'static, Result<String, SuggestError>>;
}
