//! `workspace/commitMessage/suggest` and `welcome/suggestions` (AppServer protocol 03 §14).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{
    CommitMessageSuggestParams, CommitMessageSuggestResult, WelcomeSuggestionsParams,
    WelcomeSuggestionsResult,
};

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "workspace/commitMessage/suggest" (CommitMessageSuggestParams => CommitMessageSuggestResult)
            [ThreadNotFound] wait_with(suggestions) handlers::commit_message:
            "Suggests a commit message for changed files.";
        request "welcome/suggestions" (WelcomeSuggestionsParams => WelcomeSuggestionsResult)
            [] now_with(suggestions) handlers::welcome:
            "Suggests first inputs.";
    },
    capabilities: |server, capabilities| {
        if server.services().suggestions.is_some() {
            capabilities
                .extensions
                .get_or_insert_default()
                .welcome_suggestions = true;
        }
    },
    ..Group::EMPTY
};
