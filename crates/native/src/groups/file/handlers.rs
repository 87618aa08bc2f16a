//! The handler of `workspace/files/find`. A search is bounded, and waits for a permit.

use crate::client::{Client, refuse};
use bobbin_files::search::{MAX_FILES, search};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::file::types::{WorkspaceFile, WorkspaceFilesFindParams, WorkspaceFilesFindResult};
use bobbin_peer::Responder;

use super::FileNames;

/// Default limit of files in an answer.
const USUAL: usize = 50;
/// Longest query, in bytes: paths are rarely longer.
const MAX_QUERY: usize = 1000;

pub(super) fn find(
    client: &Client,
    names: &FileNames,
    params: WorkspaceFilesFindParams,
    responder: Responder,
) {
    let limit = params.limit.map_or(USUAL, |limit| limit as usize);
    let refused = if !(1..=MAX_FILES).contains(&limit) {
        Some(format!("'limit' must be 1 to {MAX_FILES}."))
    } else if params.query.len() > MAX_QUERY {
        Some(format!("'query' is longer than {MAX_QUERY} bytes."))
    } else {
        None
    };
    if let Some(detail) = refused {
        return refuse(responder, RpcError::invalid_params(detail));
    }
    let (root, permits) = (names.root.clone(), names.permits.clone());
    client.spawn(async move {
        let Ok(permit) = permits.acquire_owned().await else {
            return refuse(responder, RpcError::internal_error("The server ends."));
        };
        let searching = tokio::task::spawn_blocking(move || {
            let found = search(&root, &params.query);
            drop(permit);
            let file = |entry: bobbin_files::search::FoundPath| {
                let path = entry.path.strip_prefix(&*root).ok()?;
                Some(WorkspaceFile {
                    path: path.to_str()?.to_owned(),
                    is_directory: entry.is_directory,
                })
            };
            found.into_iter().filter_map(file).take(limit).collect::<Vec<_>>()
        });
        match searching.await {
            Ok(files) => responder.ok(WorkspaceFilesFindResult { files }),
            Err(error) => {
                tracing::error!(%error, "a search for files ended badly");
                refuse(
                    responder,
                    RpcError::internal_error("The files could not be listed."),
                );
            }
        }
    });
}
