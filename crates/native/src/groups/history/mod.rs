//! History: searching it, a Turn's pictures and changes, undoing these, and a fork as a Thread of its own.

pub(crate) mod diff;
pub(crate) mod fork;
pub(crate) mod picture;
pub(crate) mod revert;
pub(crate) mod search;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{
    ThreadForkParams, ThreadResult, ThreadSearchParams, ThreadSearchResult, TurnDiffReadParams,
    TurnDiffReadResult, TurnPictureReadParams, TurnPictureReadResult, TurnRevertParams, TurnRevertResult,
};

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "thread/search" (ThreadSearchParams => ThreadSearchResult) [] now search::search:
            "Extension: finds text in the history of all Threads.";
        request "thread/fork" (ThreadForkParams => ThreadResult)
            [ThreadNotFound, TurnNotFound, TurnInProgress] wait fork::fork:
            "Extension: starts a Thread with a copy of another's conversation.";
        request "turn/revert" (TurnRevertParams => TurnRevertResult)
            [ThreadNotFound, TurnInProgress, TurnNotFound] wait revert::revert:
            "Extension: undoes what a Turn did to files. The conversation stays.";
        request "turn/diff/read" (TurnDiffReadParams => TurnDiffReadResult) [ThreadNotFound] wait diff::read:
            "Extension: reads what a Turn changed in files.";
        request "turn/picture/read" (TurnPictureReadParams => TurnPictureReadResult)
            [] now_with(pictures) picture::read:
            "Extension: reads a picture that was handed in as bytes.";
    },
    capabilities: |server, capabilities| {
        capabilities.thread_search = true;
        capabilities.turn_revert = server.threads().settings().undo.is_some();
        let extensions = capabilities.extensions.get_or_insert_default();
        extensions.others.insert("threadFork".to_owned(), true.into());
        if server.services().pictures.is_some() {
            extensions.others.insert("pictures".to_owned(), true.into());
        }
    },
    ..Group::EMPTY
};
