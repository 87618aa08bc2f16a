//! `workspace/commitMessage/suggest` and `welcome/suggestions` (AppServer protocol 03 §14).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::ServerExtensions;
use crate::wire::{self, ErrorCode};

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::CommitMessageSuggestParams, wire::CommitMessageSuggestResult>(
            "workspace/commitMessage/suggest",
            "Suggests a commit message for changed files.",
            &[ErrorCode::ThreadNotFound],
            |call| call.wait_with(|of| of.suggestions.as_ref(), handlers::commit_message),
        ),
        Method::request::<wire::WelcomeSuggestionsParams, wire::WelcomeSuggestionsResult>(
            "welcome/suggestions",
            "Suggests first inputs.",
            &[],
            |call| call.now_with(|of| of.suggestions.as_ref(), handlers::welcome),
        ),
    ],
    capabilities: |server, capabilities| {
        let suggests = server.services.suggestions.is_some();
        capabilities.extensions = suggests.then_some(ServerExtensions {
            welcome_suggestions: true,
        });
    },
    ..Group::EMPTY
};
