//! `workspace/files/*`: the files of the workspace for users: found by name and by content, listed, read, and put there.
//!
//! Nothing outside of the folder is shown, nothing of git and of the server, and nothing that the rules would refuse an
//! agent, or ask about: files with secrets are for an editor.

mod find;
mod folder;
mod grep;
mod handlers;
mod read;
mod write;

use std::sync::Arc;

use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native_wire::file::types::{
    WorkspaceFilesFindParams, WorkspaceFilesFindResult, WorkspaceFilesGrepParams, WorkspaceFilesGrepResult,
    WorkspaceFilesListParams, WorkspaceFilesListResult, WorkspaceFilesReadParams, WorkspaceFilesReadResult,
    WorkspaceFilesWriteParams, WorkspaceFilesWriteResult,
};
use tokio::sync::Semaphore;

/// Most directories and files that are read at once for all clients; others wait.
const READS: usize = 2;
/// Most searches at once for all clients; others wait.
const SEARCHES: usize = 2;

/// The files of the workspace. Cheap to clone.
#[derive(Clone)]
pub struct Browse {
    reads: Arc<Semaphore>,
    searches: Arc<Semaphore>,
}

impl Default for Browse {
    fn default() -> Self {
        Self {
            reads: Arc::new(Semaphore::new(READS)),
            searches: Arc::new(Semaphore::new(SEARCHES)),
        }
    }
}

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        Page::WORKSPACE, Some("extensions.workspaceFiles");
        request "workspace/files/find" (WorkspaceFilesFindParams => WorkspaceFilesFindResult)
            [] wait_with(of Browse) handlers::find, needs Read:
            "Extension: finds files of the workspace by a part of their path. Ignored files are left out.",
            test "server/pictures: files_are_found_by_a_part_of_their_path";
        request "workspace/files/list" (WorkspaceFilesListParams => WorkspaceFilesListResult)
            [ThreadNotFound] wait_with(of Browse) handlers::list, needs Read:
            "Extension: lists a directory.",
            test "server/files: a_folder_is_listed_read_and_searched";
        request "workspace/files/read" (WorkspaceFilesReadParams => WorkspaceFilesReadResult)
            [ThreadNotFound] wait_with(of Browse) handlers::read, needs Read:
            "Extension: reads a text or a picture. Files that the rules refuse the agent, or ask about, are refused.",
            test "server/files: a_folder_is_listed_read_and_searched";
        request "workspace/files/grep" (WorkspaceFilesGrepParams => WorkspaceFilesGrepResult)
            [ThreadNotFound] wait_with(of Browse) handlers::grep, needs Read:
            "Extension: finds lines of files by their text.",
            test "server/files: a_folder_is_listed_read_and_searched";
        request "workspace/files/write" (WorkspaceFilesWriteParams => WorkspaceFilesWriteResult)
            [ThreadNotFound] wait_with(of Browse) handlers::write, needs Approve:
            "Extension: puts a new file into the folder. One that is there stays as it is.",
            test "server/files: a_file_is_put_into_the_folder";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<Browse>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert("workspaceFiles".to_owned(), true.into());
        }
    },
    ..Group::EMPTY
};
