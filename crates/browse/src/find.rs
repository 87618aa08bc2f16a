//! Finds files by a part of their path.

use bobbin_files::search::{FoundPath, MAX_FILES, search};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::file::types::{WorkspaceFile, WorkspaceFilesFindParams, WorkspaceFilesFindResult};

use crate::folder::Folder;

/// Default limit of files in an answer.
const USUAL: usize = 50;
/// Longest query, in bytes: paths are rarely longer.
const MAX_QUERY: usize = 1000;

pub(crate) fn find(
    folder: &Folder,
    params: &WorkspaceFilesFindParams,
) -> Result<WorkspaceFilesFindResult, RpcError> {
    let limit = params.limit.map_or(USUAL, |limit| limit as usize);
    if !(1..=MAX_FILES).contains(&limit) {
        return Err(RpcError::invalid_params(format!(
            "'limit' must be 1 to {MAX_FILES}."
        )));
    }
    if params.query.len() > MAX_QUERY {
        return Err(RpcError::invalid_params(format!(
            "'query' is longer than {MAX_QUERY} bytes."
        )));
    }
    let file = |entry: FoundPath| {
        Some(WorkspaceFile {
            path: folder.name(&entry.path)?.to_owned(),
            is_directory: entry.is_directory,
        })
    };
    let found = search(&folder.root, &params.query);
    Ok(WorkspaceFilesFindResult {
        files: found.into_iter().filter_map(file).take(limit).collect(),
    })
}
