//! The node's own methods, for its page at `/node/ws` and for programs of the user at its socket.

use std::sync::Arc;

use anyhow::Context as _;
use bobbin_model::Actor;
use bobbin_page::Invited;
use bobbin_peer::{CallError, ErrorObject, HandlerError, Handlers, Peer, PeerOptions, Transport, code};
use bobbin_session::NO_LONGER_ADMITTED;
use bobbin_transport::{Caller, Connections, connect_local};
use bobbin_workspace::{StateDirectory, Workspace};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::node::{SOCKET, Shared};
use crate::wire::{self, AddParams, Invitation, InviteParams, Named, Workspaces};

/// The clients of the node itself.
pub(crate) struct NodeClients(pub(crate) Arc<Shared>);

impl Connections for NodeClients {
    fn serve(&self, transport: Transport, caller: Caller) -> BoxFuture<'static, ()> {
        let shared = self.0.clone();
        async move {
            let own = |_| {
                if caller.actor.is_owner() {
                    handlers(&shared)
                } else {
                    // The others watch.
                    Handlers::new()
                }
            };
            let peer = match Peer::start(transport, PeerOptions::default(), own) {
                Ok(peer) => peer,
                Err(error) => return tracing::error!(%error, "a connection cannot be served"),
            };
            let mut readings = shared.list.watch();
            let news = async {
                while readings.changed().await.is_ok() {
                    let list = readings.borrow_and_update().clone();
                    let list = list.map(|list| seen_by(&shared, &caller.actor, &list));
                    if let Some(list) = list
                        && peer.notify(wire::LIST_CHANGED, &list).await.is_err()
                    {
                        return;
                    }
                }
            };
            tokio::select! {
                () = peer.closed() => {}
                () = news => {}
                () = caller.until.cancelled() => {
                    peer.close_with(1008, NO_LONGER_ADMITTED);
                    peer.closed().await;
                }
                () = shared.stop.cancelled() => {}
            }
            peer.shutdown().await;
        }
        .boxed()
    }
}

/// Returns the workspaces in which an actor has a role.
fn seen_by(shared: &Shared, actor: &Actor, list: &Workspaces) -> Workspaces {
    let mut list = list.clone();
    list.workspaces
        .retain(|workspace| shared.people.role_in(actor, &workspace.name).is_some());
    list
}

fn handlers(shared: &Arc<Shared>) -> Handlers {
    let (adds, removes, invites) = (shared.clone(), shared.clone(), shared.clone());
    Handlers::new()
        .on_call(wire::ADD, move |_, params: AddParams| {
            let shared = adds.clone();
            async move { blocking(move || add(&shared, &params)).await }
        })
        .on_call(wire::REMOVE, move |_, params: Named| {
            let shared = removes.clone();
            async move { blocking(move || remove(&shared, params)).await }
        })
        .on_call(wire::INVITE, move |_, params: InviteParams| {
            let shared = invites.clone();
            async move { invite(&shared, &params).map_err(|error| refusal(&error)) }
        })
}

async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> anyhow::Result<R> + Send + 'static,
) -> Result<R, HandlerError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(error.into()))
        .map_err(|error| refusal(&error))
}

fn refusal(error: &anyhow::Error) -> HandlerError {
    ErrorObject::new(code::INVALID_PARAMS, format!("{error:#}")).into()
}

fn add(shared: &Shared, params: &AddParams) -> anyhow::Result<Named> {
    anyhow::ensure!(params.path.is_absolute(), "the folder's path must be absolute");
    let state = &shared.settings.state;
    let workspace = Workspace::find(Some(&params.path), state.clone())?;
    let name = state.add_name(&workspace, params.name.as_deref())?;
    shared.list.changed();
    Ok(Named { name })
}

fn remove(shared: &Shared, params: Named) -> anyhow::Result<Named> {
    let state = &shared.settings.state;
    let named = state.named()?.into_iter().find(|named| named.name == params.name);
    let named = named.with_context(|| format!("no workspace has the name {}", params.name))?;
    state.remove_name(&named.root)?;
    shared.list.changed();
    Ok(params)
}

fn invite(shared: &Shared, params: &InviteParams) -> anyhow::Result<Invitation> {
    let shown = &shared.shown;
    let page_url = shown.page.clone().context("this build has no page")?;
    let code = if shown.is_guarded {
        let invited = Invited {
            label: params.label.clone(),
            person: params.person.clone(),
        };
        Some(shown.devices.invite(invited)?.text)
    } else {
        None
    };
    Ok(Invitation {
        code,
        page_url,
        remote_urls: shown.elsewhere.clone(),
    })
}

/// Asks the node that runs with a state directory.
///
/// # Errors
/// None runs, or it refuses.
pub async fn ask<R: DeserializeOwned>(
    state: &StateDirectory,
    method: &str,
    params: &(impl Serialize + Sync),
) -> anyhow::Result<R> {
    let transport = connect_local(state.path(), SOCKET).await;
    let transport = transport.context("no node runs: start one with `bobbin node`")?;
    let peer = Peer::start(transport, PeerOptions::default(), |_| Handlers::new())?;
    let answer = peer.call(method, params).await;
    peer.shutdown().await;
    match answer {
        Ok(answer) => Ok(answer),
        Err(CallError::Remote(error)) => anyhow::bail!("{}", error.message),
        Err(error) => Err(error).context("the node gave no answer"),
    }
}
