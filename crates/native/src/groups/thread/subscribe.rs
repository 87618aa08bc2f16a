//! Subscribes to a Thread, and ends a subscription.

use std::sync::Arc;

use bobbin_core::{Backlog, CoreError, ThreadHandle};
use bobbin_native_wire::handshake::types::EmptyResult;
use bobbin_native_wire::thread::params::{
    SubscribeMode, ThreadSubscribeParams, ThreadSubscribeResult, ThreadUnsubscribeParams,
};
use bobbin_peer::Responder;
use bobbin_session::{Lifetime, Start, SubscribeOptions};

use crate::client::{Client, fail, handle};
use crate::cursor::{self, Stopped};

pub(super) async fn subscribe(client: &Client, params: ThreadSubscribeParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let (start, mode) = match start_of(client, &thread, &params).await {
        Ok(start) => start,
        Err(error) => return fail(responder, &error),
    };
    // The answer and the subscription start at the same place.
    let visible = thread.log().visible();
    responder.ok(ThreadSubscribeResult {
        seq: client.native.numbers().then(|| cursor::behind(visible)),
        mode,
    });
    let start = match start {
        Start::Now => Start::At(visible.next()),
        start => start,
    };
    follow(client, thread, start);
}

/// Subscribes to a Thread and asks what is open in it, even if the client has lost a question (07 §6.1).
fn follow(client: &Client, thread: Arc<ThreadHandle>, start: Start) {
    let id = thread.id().clone();
    client.session.subscribe(&SubscribeOptions {
        handle: thread,
        start,
        lifetime: Lifetime::Unsubscribed,
    });
    client.session.ask_again(&id);
}

pub(super) async fn subscribe_quietly(client: &Client, params: ThreadSubscribeParams) {
    let id = bobbin_model::ThreadId::new(params.thread_id.as_str());
    let Ok(thread) = client.threads().thread(&id).await else {
        return;
    };
    if let Ok((start, _)) = start_of(client, &thread, &params).await {
        follow(client, thread, start);
    }
}

pub(super) fn unsubscribe(
    client: &Client,
    ThreadUnsubscribeParams { thread_id }: ThreadUnsubscribeParams,
    responder: Responder,
) {
    client
        .session
        .unsubscribe(&bobbin_model::ThreadId::new(thread_id));
    responder.ok(EmptyResult {});
}

async fn start_of(
    client: &Client,
    thread: &ThreadHandle,
    params: &ThreadSubscribeParams,
) -> Result<(Start, Option<SubscribeMode>), CoreError> {
    if let Some(after) = params.after_seq.filter(|_| client.native.numbers()) {
        let start = after_seq(client, thread, after).await?;
        let mode = match start {
            Start::Now => SubscribeMode::Snapshot,
            Start::Replay(_) | Start::At(_) | Start::After(..) => SubscribeMode::Replay,
        };
        return Ok((start, Some(mode)));
    }
    if !params.replay_recent {
        return Ok((Start::Now, None));
    }
    // From the start of a Turn (02 §5.5): clients print replayed text again, and build a whole text from its pieces
    // alone.
    let start = client.threads().recent_start(thread).await?;
    Ok((start.map_or(Start::Now, Start::Replay), None))
}

/// Returns the start for a client that says where it stopped; [`Start::Now`] if the missed events cannot be sent
/// exactly.
async fn after_seq(client: &Client, thread: &ThreadHandle, after: u64) -> Result<Start, CoreError> {
    let (start, skip) = match cursor::stopped(after) {
        Stopped::Within(seq, skip) => (seq, skip),
        Stopped::Behind(seq) => (seq.next(), 0),
        Stopped::Unknown => return Ok(Start::Now),
    };
    let log = thread.log();
    if start > log.visible().next() {
        // The numbers come from an earlier Thread of this id.
        return Ok(Start::Now);
    }
    let begin = Start::After(start, skip);
    if start >= log.first() {
        return Ok(begin);
    }
    // Reading the backlog shows whether it can be read. The pump reads it again to send it.
    Ok(
        match client.threads().backlog(thread, start, |_, _| None).await? {
            Backlog::Frames { .. } => begin,
            Backlog::TooFar => Start::Now,
        },
    )
}
