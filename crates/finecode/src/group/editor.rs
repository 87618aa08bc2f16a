//! A client that applies edits of runners, while it is connected.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{ClientId, Editor, Json};
use bobbin_native::client::Client;
use bobbin_native::group::need::Need;
use bobbin_peer::PeerHandle;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use crate::group::{APPLY_EDIT, CAPABILITY, FineCode};

/// The capabilities that a client declares. `true` is a client that applies no edits.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Declared {
    apply_edit: bool,
}

struct Connected(PeerHandle);

impl Editor for Connected {
    fn apply(&self, params: Json) -> BoxFuture<'static, Result<Json, String>> {
        let peer = self.0.clone();
        async move {
            let answer = peer.call::<Json>(APPLY_EDIT, params).await;
            answer.map_err(|error| format!("the client did not apply it: {error}"))
        }
        .boxed()
    }
}

/// The number of this connection among those that apply edits.
struct Attached(ClientId);

/// Returns the number of a client that applies edits.
pub(crate) fn client_id(client: &Client) -> Option<ClientId> {
    let attached = client.peer().extensions().get::<Attached>();
    attached.map(|attached| attached.0)
}

/// Adds a client that applies edits, until its connection ends.
pub(crate) fn ready(client: &Client) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let Some(FineCode { host, .. }) = client.services().others.get::<FineCode>() else {
        return;
    };
    let declared = client.capabilities().extensions.get(CAPABILITY);
    let declared = declared.and_then(|declared| Declared::deserialize(declared).ok());
    if !declared.unwrap_or_default().apply_edit || !client.actor().may(Need::Own) {
        return;
    }
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let (host, peer) = (host.clone(), client.peer().clone());
    host.connect(id, Arc::new(Connected(peer.clone())));
    peer.extensions().insert(Attached(id));
    client.spawn(async move {
        peer.closed().await;
        host.disconnect(id);
    });
}
