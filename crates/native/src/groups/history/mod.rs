//! History: searching it, a Turn's pictures and changes, undoing these, and a fork as a Thread of its own.

pub(crate) mod diff;
pub(crate) mod fork;
pub(crate) mod picture;
pub(crate) mod revert;
pub(crate) mod search;

use bobbin_native_wire::history::types::{
    ThreadForkParams, ThreadSearchAnswer, ThreadSearchParams, TurnDiffReadParams, TurnDiffReadResult,
    TurnPictureReadParams, TurnPictureReadResult, TurnRevertParams, TurnRevertResult,
};
use bobbin_native_wire::thread::params::ThreadResult;

use crate::group::page::Page;
use crate::group::{Group, rows};
use crate::groups::thread::LOOSENING;

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::TURNS, Some("threadSearch");
        request "thread/search" (ThreadSearchParams => ThreadSearchAnswer) [] now search::search, needs Read:
            "Finds Threads by what was said in them. Extension: with `query`, places in their history.",
            page Page::THREADS, spec "07 §6.6",
            test "native/searching: threads_are_found_by_what_was_said_in_them";
        request "thread/fork" (ThreadForkParams => ThreadResult)
            [ThreadNotFound, TurnNotFound, TurnInProgress] wait fork::fork, needs Prompt:
            "Starts a Thread with a copy of another's conversation.", members LOOSENING, page Page::THREADS,
            capability Some("threadFork"), spec "07 §6.5",
            test "server/threads: a_fork_has_the_turns_up_to_one_and_a_title_of_its_own";
        request "turn/revert" (TurnRevertParams => TurnRevertResult)
            [ThreadNotFound, TurnInProgress, TurnNotFound] wait revert::revert, needs Own:
            "Extension: undoes what a Turn did to files. The conversation stays.", capability Some("turnRevert"),
            test "agent/revert: what_a_turn_did_is_undone_file_by_file",
            note "where the server finds no `git` the capability `turnRevert` is absent and the answer -32603";
        request "turn/diff/read" (TurnDiffReadParams => TurnDiffReadResult)
            [ThreadNotFound] wait diff::read, needs Read:
            "Extension: reads what a Turn changed in files.", capability None,
            test "server/revert: the_diff_of_a_turn_is_read_again_after_a_restart";
        request "turn/picture/read" (TurnPictureReadParams => TurnPictureReadResult)
            [] now_with(pictures) picture::read, needs Read:
            "Extension: reads a picture that was handed in as bytes.", capability Some("extensions.pictures"),
            test "native/groups/turn/picture: a_picture_that_comes_as_bytes_becomes_a_file_of_its_thread",
            note "pictures that were handed in as bytes; those of the workspace are files";
    },
    capabilities: |server, capabilities| {
        capabilities.thread_search = true;
        capabilities.thread_fork = true;
        capabilities.turn_revert = server.threads().settings().undo.is_some();
        let extensions = capabilities.extensions.get_or_insert_default();
        extensions.others.insert("threadFork".to_owned(), true.into());
        if server.services().pictures.is_some() {
            extensions.others.insert("pictures".to_owned(), true.into());
        }
    },
    ..Group::EMPTY
};
