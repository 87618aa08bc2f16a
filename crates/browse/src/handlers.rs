//! The handlers. What reads the disk runs on blocking threads, a few at a time.

use bobbin_model::TurnFeatures;
use bobbin_native::client::{Client, fail, handle, refuse};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::file::types::{
    WorkspaceFilesFindParams, WorkspaceFilesGrepParams, WorkspaceFilesListParams, WorkspaceFilesReadParams,
};
use bobbin_peer::Responder;
use serde::Serialize;

use crate::Browse;
use crate::place::Place;
use crate::{find, grep, read};

pub(crate) async fn find(
    client: &Client,
    all: &Browse,
    params: WorkspaceFilesFindParams,
    responder: Responder,
) {
    serve(client, all, None, responder, move |place| {
        find::find(place, &params)
    })
    .await;
}

pub(crate) async fn list(
    client: &Client,
    all: &Browse,
    params: WorkspaceFilesListParams,
    responder: Responder,
) {
    let path = params.path.filter(|path| !path.is_empty());
    serve(client, all, params.thread_id, responder, move |place| {
        read::list(place, path.as_deref())
    })
    .await;
}

pub(crate) async fn read(
    client: &Client,
    all: &Browse,
    params: WorkspaceFilesReadParams,
    responder: Responder,
) {
    serve(client, all, params.thread_id, responder, move |place| {
        read::read(place, &params.path)
    })
    .await;
}

pub(crate) async fn grep(
    client: &Client,
    all: &Browse,
    params: WorkspaceFilesGrepParams,
    responder: Responder,
) {
    serve(client, all, params.thread_id, responder, move |place| {
        grep::grep(place, &params.query)
    })
    .await;
}

/// Answers with what `work` finds in the folder of a Thread, or in the workspace.
async fn serve<T: Serialize + Send + 'static>(
    client: &Client,
    all: &Browse,
    thread: Option<String>,
    responder: Responder,
    work: impl FnOnce(&Place) -> Result<T, RpcError> + Send + 'static,
) {
    let (thread, responder) = match thread {
        None => (None, responder),
        Some(thread) => match handle(client, &thread, responder).await {
            Some((thread, responder)) => (Some(thread), responder),
            None => return,
        },
    };
    let (threads, permits) = (client.threads().clone(), all.permits.clone());
    client.answer_large(responder, async move |responder| {
        let settings = threads.settings();
        let place = match thread {
            None => settings.environment_of(None, &TurnFeatures::default()),
            Some(thread) => match threads.snapshot(&thread).await {
                Ok(snapshot) => {
                    let config = snapshot.state.header.config.as_ref();
                    settings.environment_of(config, &TurnFeatures::default())
                }
                Err(error) => return fail(responder, &error),
            },
        };
        let place = Place {
            root: place.root,
            policy: place.policy,
        };
        let Ok(permit) = permits.acquire_owned().await else {
            return refuse(responder, RpcError::internal_error("The server ends."));
        };
        let looking = tokio::task::spawn_blocking(move || {
            let found = work(&place);
            drop(permit);
            found
        });
        match looking.await {
            Ok(Ok(found)) => responder.ok(found),
            Ok(Err(error)) => refuse(responder, error),
            Err(error) => {
                tracing::error!(%error, "a look at files ended badly");
                refuse(
                    responder,
                    RpcError::internal_error("The files could not be read."),
                );
            }
        }
    });
}
