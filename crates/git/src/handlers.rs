//! The handlers.

use bobbin_native::client::{Client, environment, refuse};
use bobbin_native_wire::RpcError;
use bobbin_peer::Responder;
use serde::Serialize;

use crate::Repositories;
use crate::repository::Repository;
use crate::types::{
    GitApplyParams, GitBranchesParams, GitCommitParams, GitDiffParams, GitFastForwardParams, GitFetchParams,
    GitFetchPlanParams, GitPullRequestParams, GitPullRequestPlanParams, GitPushParams, GitPushPlanParams,
    GitStatusParams,
};
use crate::{fetch, proposal, push};

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
        (responder, How::Reads),
        move |repository| async move { repository.status().await },
    )
    .await;
}

pub(crate) async fn diff(client: &Client, all: &Repositories, params: GitDiffParams, responder: Responder) {
    serve(
        client,
        all,
        params.thread_id,
        (responder, How::Reads),
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
        (responder, How::Reads),
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
        (responder, How::Writes),
        move |repository| async move { repository.commit(&params.message, &params.paths).await },
    )
    .await;
}

pub(crate) async fn apply(client: &Client, all: &Repositories, params: GitApplyParams, responder: Responder) {
    serve(
        client,
        all,
        params.thread_id,
        (responder, How::Writes),
        move |repository| async move { repository.apply(params.patch, params.reverse).await },
    )
    .await;
}

pub(crate) async fn fetch_plan(
    client: &Client,
    all: &Repositories,
    params: GitFetchPlanParams,
    responder: Responder,
) {
    serve(
        client,
        all,
        params.thread_id,
        (responder, How::Reads),
        move |repository| async move {
            let ready = fetch::plan(&repository, params.remote.as_deref()).await?;
            Ok(ready.plan)
        },
    )
    .await;
}

pub(crate) async fn fetch(
    client: &Client,
    all: &Repositories,
    mut params: GitFetchParams,
    responder: Responder,
) {
    let thread = params.thread_id.take();
    serve(
        client,
        all,
        thread,
        (responder, How::Writes),
        move |repository| async move { fetch::fetch(&repository, &params).await },
    )
    .await;
}

pub(crate) async fn fast_forward(
    client: &Client,
    all: &Repositories,
    params: GitFastForwardParams,
    responder: Responder,
) {
    serve(
        client,
        all,
        params.thread_id,
        (responder, How::Writes),
        move |repository| async move { repository.fast_forward().await },
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
        (responder, How::Reads),
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
    serve(
        client,
        all,
        thread,
        (responder, How::Writes),
        move |repository| async move { push::push(&repository, &params).await },
    )
    .await;
}

pub(crate) async fn pull_request_plan(
    client: &Client,
    all: &Repositories,
    params: GitPullRequestPlanParams,
    responder: Responder,
) {
    serve(
        client,
        all,
        params.thread_id,
        (responder, How::Reads),
        move |repository| async move { proposal::plan(&repository, params.remote.as_deref()).await },
    )
    .await;
}

pub(crate) async fn pull_request(
    client: &Client,
    all: &Repositories,
    mut params: GitPullRequestParams,
    responder: Responder,
) {
    let thread = params.thread_id.take();
    serve(
        client,
        all,
        thread,
        (responder, How::Writes),
        move |repository| async move { proposal::create(&repository, &params).await },
    )
    .await;
}

/// Answers with what `work` makes of the repository of a Thread's folder, or of the workspace. What only reads ends when its
/// client no longer waits. What writes goes on: a git that is killed leaves its lock behind.
async fn serve<T, F>(
    client: &Client,
    all: &Repositories,
    thread: Option<String>,
    (responder, how): (Responder, How),
    work: impl FnOnce(Repository) -> F + Send + 'static,
) where
    T: Serialize + Send + 'static,
    F: Future<Output = Result<T, RpcError>> + Send + 'static,
{
    let Some((environment, responder)) = environment(client, thread.as_deref(), responder).await else {
        return;
    };
    let repository = Repository {
        git: all.git.clone(),
        root: environment.root,
        policy: environment.policy,
    };
    if let How::Writes = how {
        let Some(first) = client.first_time(responder) else {
            return;
        };
        let Ok(permit) = all.writes.clone().try_acquire_owned() else {
            let why = "Git writes already, for you or another client. Try again when it has ended.";
            return first.err(RpcError::invalid_request(why));
        };
        tokio::spawn(async move {
            match work(repository).await {
                Ok(result) => first.ok(&result),
                Err(error) => first.err(error),
            }
            drop(permit);
        });
        return;
    }
    let permits = all.reads.clone();
    client.answer_large(responder, async move |responder| {
        let cancelled = responder.token().clone();
        let work = async move {
            let _permit = permits.acquire().await;
            work(repository).await
        };
        tokio::select! {
            biased;
            () = cancelled.cancelled() => drop(responder),
            done = work => match done {
                Ok(result) => responder.ok(result),
                Err(error) => refuse(responder, error),
            },
        }
    });
}

/// Whether a run of git only reads.
#[derive(Clone, Copy)]
enum How {
    Reads,
    Writes,
}
