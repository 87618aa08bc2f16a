//! A client as a screen: it gets requests for windows and dialogs while it is connected.

use crate::{ClientId, Screen, ScreenError, Shows};
use bobbin_native::client::Client;
use bobbin_native::group::need::Need;
use bobbin_peer::{CallError, PeerHandle};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize as _;
use serde_json::Value;
use std::sync::Arc;

use crate::group::wire::dialogs::HermesWindowClosedParams;
use crate::group::{CAPABILITY, Hermes};

struct Connected(PeerHandle);

impl Screen for Connected {
    fn request(&self, method: &'static str, params: Value) -> BoxFuture<'static, Result<Value, ScreenError>> {
        let peer = self.0.clone();
        async move {
            // No time limit, since a user reads. Dropping the call withdraws the request.
            peer.call::<Value>(method, params)
                .await
                .map_err(|error| match error {
                    CallError::Remote(error) => ScreenError::Refused(error.message.into_owned()),
                    CallError::ShutDown | CallError::Send(_) | CallError::TimedOut(_) => ScreenError::Gone,
                    CallError::Decode(_) => ScreenError::Refused("its answer cannot be read".to_owned()),
                })
        }
        .boxed()
    }

    fn notify(&self, method: &'static str, params: Value) {
        if let Err(error) = self.0.try_notify(method, params) {
            tracing::debug!(%error, method, "a client was not notified");
        }
    }
}

/// Returns the id of a client that declared `hermesUi`.
pub(crate) fn client_id(client: &Client) -> Option<ClientId> {
    client.peer().extensions().get::<ClientId>().map(|id| *id)
}

/// Adds a client that declared `hermesUi`, until its connection ends.
pub(crate) fn ready(client: &Client) {
    let Some(host) = client.services().others.get::<Hermes>() else {
        return;
    };
    let Some(declared) = client.capabilities().extensions.get(CAPABILITY) else {
        return;
    };
    // `true` means that the client shows nothing and only gets notifications.
    let declared = Some(declared).filter(|_| client.actor().may(Need::Approve));
    let shows = declared
        .and_then(|declared| Shows::deserialize(declared).ok())
        .unwrap_or_default();
    let (host, peer) = (host.clone(), client.peer().clone());
    let id = host.attach(Arc::new(Connected(peer.clone())), shows);
    peer.extensions().insert(id);
    client.spawn(async move {
        peer.closed().await;
        host.detach(id);
    });
}

/// Handles a [`WINDOW_CLOSED`](crate::group::WINDOW_CLOSED) of a client.
pub(crate) async fn window_closed(client: &Client, closed: HermesWindowClosedParams) {
    if let Some(host) = client.services().others.get::<Hermes>()
        && let Some(id) = client_id(client)
    {
        host.window_closed(id, &closed.window_id);
    }
}
