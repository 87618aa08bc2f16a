//! The handlers. Git runs in tasks that end with the connection.

use bobbin_model::TurnFeatures;
use bobbin_native::client::{Client, fail, handle, refuse};
use bobbin_native_wire::RpcError;
use bobbin_peer::Responder;
use serde::Serialize;

use crate::Repositories;
use crate::push;
use crate::repository::Repository;
use crate::types::{
    GitBranchesParams, GitCommitParams, GitDiffParams, GitPushParams, GitPushPlanParams, GitStatusParams,
};

pub(crate) async fn status(
    client: &Client,
    all: &Repositories,
    params: GitStatusParams,
    responder: Responder,
) {
    serve(
        client,
        all,
        params.thread_id,
        responder,
        move |repository| async move { repository.status().await },
    )
    .await;
}

pub(crate) async fn diff(client: &Client, all: &Repositories, params: GitDiffParams, responder: Responder) {
    serve(
        client,
        all,
        params.thread_id,
        responder,
        move |repository| async move { repository.diff(params.base.as_deref(), &params.paths).await },
    )
    .await;
}

pub(crate) async fn branches(
    client: &Client,
    all: &Repositories,
    params: GitBranchesParams,
    responder: Responder,
) {
    serve(
        client,
        all,
        params.thread_id,
        responder,
        move |repository| async move { repository.branches().await },
    )
    .await;
}

pub(crate) async fn commit(
    client: &Client,
    all: &Repositories,
    params: GitCommitParams,
    responder: Responder,
) {
    serve(
        client,
        all,
        params.thread_id,
        responder,
        move |repository| async move { repository.commit(&params.message, &params.paths).await },
    )
    .await;
}

pub(crate) async fn push_plan(
    client: &Client,
    all: &Repositories,
    params: GitPushPlanParams,
    responder: Responder,
) {
    serve(
        client,
        all,
        params.thread_id,
        responder,
        move |repository| async move {
            let ready = push::plan(&repository, params.remote.as_deref()).await?;
            Ok(ready.plan)
        },
    )
    .await;
}

pub(crate) async fn push(
    client: &Client,
    all: &Repositories,
    mut params: GitPushParams,
    responder: Responder,
) {
    let thread = params.thread_id.take();
    serve(client, all, thread, responder, move |repository| async move {
        push::push(&repository, &params).await
    })
    .await;
}

/// Answers with what `work` makes of the repository of a Thread's folder, or of the workspace.
async fn serve<T, F>(
    client: &Client,
    all: &Repositories,
    thread: Option<String>,
    responder: Responder,
    work: impl FnOnce(Repository) -> F + Send + 'static,
) where
    T: Serialize + Send + 'static,
    F: Future<Output = Result<T, RpcError>> + Send + 'static,
{
    let (thread, responder) = match thread {
        None => (None, responder),
        Some(thread) => match handle(client, &thread, responder).await {
            Some((thread, responder)) => (Some(thread), responder),
            None => return,
        },
    };
    let (threads, all) = (client.threads().clone(), all.clone());
    client.answer_large(responder, async move |responder| {
        let settings = threads.settings();
        let root = match thread {
            None => settings.workspace.clone(),
            Some(thread) => match threads.snapshot(&thread).await {
                Ok(snapshot) => {
                    let config = snapshot.state.header.config.as_ref();
                    settings.environment_of(config, &TurnFeatures::default()).root
                }
                Err(error) => return fail(responder, &error),
            },
        };
        let cancelled = responder.token().clone();
        let work = async {
            let _permit = all.permits.acquire().await;
            work(Repository { git: all.git, root }).await
        };
        tokio::select! {
            biased;
            // The client no longer waits.
            () = cancelled.cancelled() => drop(responder),
            done = work => match done {
                Ok(result) => responder.ok(result),
                Err(error) => refuse(responder, error),
            },
        }
    });
}
