//! `workspace/commitMessage/suggest` and `welcome/suggestions` (AppServer protocol 03 §14).

pub(crate) mod handlers;

use bobbin_native_wire::suggest::types::{
    CommitMessageSuggestParams, CommitMessageSuggestResult, WelcomeSuggestionsParams,
    WelcomeSuggestionsResult,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::WORKSPACE, None;
        request "workspace/commitMessage/suggest" (CommitMessageSuggestParams => CommitMessageSuggestResult)
            [ThreadNotFound] wait_with(suggestions) handlers::commit_message, needs Prompt:
            "Suggests a commit message for changed files.", spec "03 §14.1",
            test "native/suggesting: a_commit_message_is_made_of_what_has_changed",
            note "one question to the Thread's model, without a turn; of the offline model the names of the files";
        request "welcome/suggestions" (WelcomeSuggestionsParams => WelcomeSuggestionsResult)
            [] now_with(suggestions) handlers::welcome, needs Prompt:
            "Suggests first inputs.", capability Some("extensions.welcomeSuggestions"), spec "03 §14.2",
            test "native/suggesting: ideas_come_from_the_conversations_that_there_were",
            note "of the offline model what was asked before";
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
