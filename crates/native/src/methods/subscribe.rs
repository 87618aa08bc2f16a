//! Subscribing to a Thread and ceasing to.

use bobbin_core::{CoreError, ThreadHandle};
use bobbin_peer::{CallContext, Responder};
use bobbin_session::{Attach, Begin, Until};
use bobbin_wire as wire;
use bobbin_wire::decode;
use serde_json::value::RawValue;

use super::{Client, fail, handle, params};

/// Recorded events given again with `replayRecent` (02 §5.5).
const RECENT: u32 = 32;

pub(super) async fn subscribe(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<wire::ThreadSubscribeParams>(request, responder) else {
        return;
    };
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let begin = match begin(client, &thread, &params).await {
        Ok(begin) => begin,
        Err(error) => return fail(responder, &error),
    };
    responder.ok(wire::ThreadSubscribeResult {
        seq: None,
        mode: None,
    });
    client.session.attach(&Attach {
        handle: thread,
        begin,
        until: Until::Unsubscribed,
    });
}

pub(super) async fn subscribe_quietly(client: &Client, raw: Option<&RawValue>) {
    let Ok(params) = decode::params::<wire::ThreadSubscribeParams>(raw) else {
        return;
    };
    let id = bobbin_model::ThreadId::new(params.thread_id.as_str());
    let Ok(thread) = client.hub.thread(&id).await else {
        return;
    };
    if let Ok(begin) = begin(client, &thread, &params).await {
        client.session.attach(&Attach {
            handle: thread,
            begin,
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

async fn begin(
    client: &Client,
    thread: &ThreadHandle,
    params: &wire::ThreadSubscribeParams,
) -> Result<Begin, CoreError> {
    if !params.replay_recent {
        return Ok(Begin::Now);
    }
    let start = client.hub.recent_start(thread, RECENT).await?;
    Ok(start.map_or(Begin::Now, Begin::Replay))
}
