//! Subscribing to a Thread and ceasing to.

use bobbin_peer::{CallContext, Responder};
use bobbin_session::{Attach, Begin, Until};
use bobbin_wire as wire;
use bobbin_wire::decode;
use serde_json::value::RawValue;

use super::{Client, handle, params};

/// Frames given again with `replayRecent` (02 §5.5).
const RECENT: u64 = 32;

pub(super) async fn subscribe(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<wire::ThreadSubscribeParams>(request, responder) else {
        return;
    };
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    responder.ok(wire::ThreadSubscribeResult {
        seq: None,
        mode: None,
    });
    client.session.attach(Attach {
        handle: thread,
        begin: begin(&params),
        until: Until::Unsubscribed,
    });
}

pub(super) async fn subscribe_quietly(client: &Client, raw: Option<&RawValue>) {
    let Ok(params) = decode::params::<wire::ThreadSubscribeParams>(raw) else {
        return;
    };
    let id = bobbin_model::ThreadId::new(params.thread_id.as_str());
    if let Ok(thread) = client.hub.thread(&id).await {
        client.session.attach(Attach {
            handle: thread,
            begin: begin(&params),
            until: Until::Unsubscribed,
        });
    }
}

pub(super) fn unsubscribe(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<wire::ThreadUnsubscribeParams>(request, responder) else {
        return;
    };
    client
        .session
        .unsubscribe(&bobbin_model::ThreadId::new(params.thread_id.as_str()));
    responder.ok(wire::EmptyResult {});
}

fn begin(params: &wire::ThreadSubscribeParams) -> Begin {
    if params.replay_recent {
        Begin::Recent(RECENT)
    } else {
        Begin::Now
    }
}
