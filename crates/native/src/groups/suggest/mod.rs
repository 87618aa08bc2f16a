//! `workspace/commitMessage/suggest` and `welcome/suggestions` (AppServer protocol 03 §14).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};
use crate::wire::ServerExtensions;

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: rows! {
        request "workspace/commitMessage/suggest" (CommitMessageSuggestParams => CommitMessageSuggestResult)
            [ThreadNotFound] wait_with(suggestions) handlers::commit_message:
            "Suggests a commit message for changed files.";
        request "welcome/suggestions" (WelcomeSuggestionsParams => WelcomeSuggestionsResult)
            [] now_with(suggestions) handlers::welcome:
            "Suggests first inputs.";
    },
    capabilities: |server, capabilities| {
        let suggests = server.services.suggestions.is_some();
        capabilities.extensions = suggests.then_some(ServerExtensions {
            welcome_suggestions: true,
        });
    },
    ..Group::EMPTY
};
