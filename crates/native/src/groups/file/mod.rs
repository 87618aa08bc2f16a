//! `workspace/files/*`: names of files, for menus.

pub(crate) mod handlers;

use std::path::PathBuf;
use std::sync::Arc;

use crate::group::page::Page;
use crate::group::{Group, rows};
use bobbin_native_wire::file::types::{WorkspaceFilesFindParams, WorkspaceFilesFindResult};
use tokio::sync::Semaphore;

/// Limit of concurrent searches of all clients; others wait.
const AT_ONCE: usize = 2;

/// The names of the workspace's files.
pub struct FileNames {
    root: Arc<PathBuf>,
    permits: Arc<Semaphore>,
}

impl FileNames {
    /// Returns the names of the files in the workspace's root.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root: Arc::new(root),
            permits: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::WORKSPACE, Some("extensions.workspaceFiles");
        request "workspace/files/find" (WorkspaceFilesFindParams => WorkspaceFilesFindResult)
            [] now_with(of FileNames) handlers::find, needs Read:
            "Extension: finds files of the workspace by a part of their path. Those that ignore files name are left out.",
            test "server/pictures: files_are_found_by_a_part_of_their_path";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<FileNames>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert("workspaceFiles".to_owned(), true.into());
        }
    },
    ..Group::EMPTY
};
