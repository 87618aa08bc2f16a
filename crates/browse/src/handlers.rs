//! The handlers. Blocking threads read the disk, a few at a time.

use bobbin_native::client::{Client, environment, refuse};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::file::types::{
    WorkspaceFilesFindParams, WorkspaceFilesGrepParams, WorkspaceFilesListParams, WorkspaceFilesReadParams,
    WorkspaceFilesWriteParams,
};
use bobbin_peer::Responder;
use serde::Serialize;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::Browse;
use crate::folder::Folder;
use crate::{find, grep, read, write};

pub(crate) async fn find(
    client: &Client,
    all: &Browse,
    params: WorkspaceFilesFindParams,
    responder: Responder,
) {
    let work = move |folder: &Folder| find::find(folder, &params);
    serve(client, &all.searches, None, responder, work).await;
}

pub(crate) async fn list(
    client: &Client,
    all: &Browse,
    params: WorkspaceFilesListParams,
    responder: Responder,
) {
    let path = params.path.filter(|path| !path.is_empty());
    let work = move |folder: &Folder| read::list(folder, path.as_deref());
    serve(client, &all.reads, params.thread_id.as_deref(), responder, work).await;
}

pub(crate) async fn read(
    client: &Client,
    all: &Browse,
    params: WorkspaceFilesReadParams,
    responder: Responder,
) {
    let work = move |folder: &Folder| read::read(folder, &params.path);
    serve(client, &all.reads, params.thread_id.as_deref(), responder, work).await;
}

pub(crate) async fn grep(
    client: &Client,
    all: &Browse,
    params: WorkspaceFilesGrepParams,
    responder: Responder,
) {
    let work = move |folder: &Folder| grep::grep(folder, &params.query);
    serve(
        client,
        &all.searches,
        params.thread_id.as_deref(),
        responder,
        work,
    )
    .await;
}

pub(crate) async fn write(
    client: &Client,
    all: &Browse,
    params: WorkspaceFilesWriteParams,
    responder: Responder,
) {
    let Some((environment, responder)) = environment(client, params.thread_id.as_deref(), responder).await
    else {
        return;
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let permits = all.reads.clone();
    tokio::spawn(async move {
        let folder = Folder {
            root: environment.root,
            policy: environment.policy,
            cancelled: CancellationToken::new(),
        };
        let Ok(_permit) = permits.acquire_owned().await else {
            return first.err(RpcError::internal_error("The server ends."));
        };
        let writing = tokio::task::spawn_blocking(move || write::write(&folder, &params.path, &params.data));
        match writing.await {
            Ok(Ok(result)) => first.ok(&result),
            Ok(Err(error)) => first.err(error),
            Err(error) => {
                tracing::error!(%error, "a file could not be written");
                first.err(RpcError::internal_error("The file could not be written."));
            }
        }
    });
}

/// Answers with what `work` finds in the folder of a Thread, or in the workspace.
async fn serve<T: Serialize + Send + 'static>(
    client: &Client,
    permits: &Arc<Semaphore>,
    thread: Option<&str>,
    responder: Responder,
    work: impl FnOnce(&Folder) -> Result<T, RpcError> + Send + 'static,
) {
    let Some((environment, responder)) = environment(client, thread, responder).await else {
        return;
    };
    let permits = permits.clone();
    client.answer_large(responder, async move |responder| {
        let folder = Folder {
            root: environment.root,
            policy: environment.policy,
            cancelled: responder.token().clone(),
        };
        let Ok(permit) = permits.acquire_owned().await else {
            return refuse(responder, RpcError::internal_error("The server ends."));
        };
        if folder.cancelled.is_cancelled() {
            return drop(responder);
        }
        let looking = tokio::task::spawn_blocking(move || {
            let found = work(&folder);
            drop(permit);
            found
        });
        match looking.await {
            Ok(Ok(found)) => responder.ok(found),
            Ok(Err(error)) => refuse(responder, error),
            Err(error) => {
                tracing::error!(%error, "files could not be read");
                refuse(
                    responder,
                    RpcError::internal_error("The files could not be read."),
                );
            }
        }
    });
}
