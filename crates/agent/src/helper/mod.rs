//! Suggestions outside of any Turn: a commit message, ideas for a first input (AppServer protocol 03 §14), a text that an
//! editor rewrites or completes (ECA 21.7).
//!
//! Each asks the model once, without tools, and for a limited time. The offline model has commit messages and ideas of its
//! own, and writes nothing for editors. `git` reads files in a sandbox without write access. Nothing is recorded; the last
//! ideas are cached until something changes ([`welcome::CACHED`]).

pub(super) mod ask;
mod commit;
mod complete;
mod fence;
mod rewrite;
mod welcome;
#[cfg(test)]
mod writing_tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_agent_api::suggest::{
    CommitRequest, CompletionRequest, RewritePiece, RewriteRequest, SuggestError, Suggestions, Welcome,
    WelcomeRequest,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use bobbin_agent_api::model::Model;
use bobbin_tools::Git;

/// Makes suggestions with a model. Cheap to clone.
#[derive(Clone)]
pub struct Helpers {
    model: Arc<dyn Model>,
    git: Git,
    welcomes: Arc<welcome::SuggestionCache>,
    /// Whether ideas for a first input are switched off.
    without_welcome: Arc<AtomicBool>,
}

impl Helpers {
    /// Returns suggestions by `model` about what `git` says.
    pub fn new(model: Arc<dyn Model>, git: Git) -> Self {
        Self {
            model,
            git,
            welcomes: Arc::default(),
            without_welcome: Arc::default(),
        }
    }

    /// Switches ideas for a first input on or off, for every clone.
    pub fn set_welcome(&self, on: bool) {
        self.without_welcome.store(!on, Ordering::Relaxed);
    }
}

impl Suggestions for Helpers {
    fn commit_message(&self, request: CommitRequest) -> BoxFuture<'static, Result<String, SuggestError>> {
        let own = self.clone();
        async move { commit::suggest(&*own.model, &own.git, &request).await }.boxed()
    }

    fn welcome(&self, request: WelcomeRequest) -> BoxFuture<'static, Result<Welcome, SuggestError>> {
        let own = self.clone();
        if own.without_welcome.load(Ordering::Relaxed) {
            let nothing = Welcome {
                items: Vec::new(),
                fingerprint: String::new(),
            };
            return std::future::ready(Ok(nothing)).boxed();
        }
        async move { welcome::suggest(&*own.model, &own.welcomes, &request).await }.boxed()
    }

    fn rewrite(
        &self,
        request: RewriteRequest,
        pieces: mpsc::Sender<RewritePiece>,
    ) -> BoxFuture<'static, Result<(), SuggestError>> {
        let own = self.clone();
        async move { rewrite::rewrite(&*own.model, request, pieces).await }.boxed()
    }

    fn complete(&self, request: CompletionRequest) -> BoxFuture<'static, Result<String, SuggestError>> {
        let own = self.clone();
        async move { complete::complete(&*own.model, request).await }.boxed()
    }
}

impl fmt::Debug for Helpers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helpers").finish_non_exhaustive()
    }
}
