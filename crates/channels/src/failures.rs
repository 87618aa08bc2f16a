//! Sends a sentence to the chat of a failed Turn, since adapters write failures only to their logs.
//!
//! One task of the core reads the broadcasts. It sends one message at a time, each within the time limit of a delivery.
//! Nothing is queued: a failure in a missed broadcast is not reported.

use std::sync::{Arc, Weak};

use bobbin_agent_api::channel::{ChannelDelivery as _, ChatAddress, ChatMessage};
use bobbin_core::{Ephemeral, FrameBody, Read, Threads, Waker};
use bobbin_model::{ItemBody, Lines, ThreadId, Turn, TurnId, TurnStatus, visible};

use crate::host::Host;

/// Bytes of broadcasts read at once.
const BATCH_BYTES: usize = 64 << 10;
/// Most characters of the reason in the message.
const MAX_REASON: usize = 300;

/// Reports failed Turns until the core stops.
pub(crate) async fn report_failures(host: Arc<Host>, threads: Weak<Threads>) {
    let Some((log, stopping)) = threads
        .upgrade()
        .map(|threads| (threads.broadcasts().log().clone(), threads.stopping().clone()))
    else {
        return;
    };
    let waker = Waker::default();
    log.watch(&waker);
    let mut next = log.visible().next();
    let reporting = async {
        loop {
            let entries = match log.read(next, BATCH_BYTES) {
                Read::Entries { entries, next: after } => {
                    next = after;
                    entries
                }
                Read::Gone { first } => {
                    next = first;
                    continue;
                }
            };
            if entries.is_empty() {
                waker.woken().await;
            }
            for frame in entries {
                let ended = matches!(&frame.body,
                    FrameBody::Ephemeral(Ephemeral::RuntimeChanged(runtime)) if !runtime.running);
                // Without an adapter, the end of a Turn costs no read of the store.
                if ended && host.delivers() {
                    report(&host, &threads, &frame.thread).await;
                }
            }
        }
    };
    tokio::select! {
        () = stopping.cancelled() => {}
        () = reporting => {}
    }
    log.unwatch(&waker);
}

/// Reports the newest Turn of a Thread, if it came from a chat and has failed.
async fn report(host: &Host, threads: &Weak<Threads>, thread: &ThreadId) {
    let Some(threads) = threads.upgrade() else { return };
    let turn = match threads.turns_before(thread, TurnId(u32::MAX), 1).await {
        Ok(turns) => turns.into_iter().next(),
        Err(error) => {
            tracing::warn!(%thread, %error, "a turn that may have failed cannot be read");
            return;
        }
    };
    let Some(turn) = turn.filter(|turn| turn.status == TurnStatus::Failed) else {
        return;
    };
    let Ok(handle) = threads.thread(thread).await else {
        return;
    };
    let Ok(state) = threads.snapshot(&handle).await.map(|snapshot| snapshot.state) else {
        return;
    };
    let Some(chat) = chat_of(&turn, &state.header.origin_channel) else {
        return;
    };
    let takes = host
        .adapter(&chat.channel)
        .is_some_and(|adapter| adapter.can.delivers);
    if !takes {
        return;
    }
    let reason = turn.error.as_deref().unwrap_or_default();
    let channel = chat.channel.clone();
    let sent = host
        .deliver(chat, ChatMessage::Text(sentence(reason)), None)
        .await;
    if let Err(error) = sent {
        tracing::warn!(channel, code = %error.code, %error, "a chat does not get to know that its turn failed");
    }
}

/// Returns the chat that started a Turn. `origin` is the channel of its Thread; the message's context belongs to it.
fn chat_of(turn: &Turn, origin: &str) -> Option<ChatAddress> {
    let ItemBody::UserMessage(said) = &turn.items.first()?.body else {
        return None;
    };
    let sender = said.sender.as_ref()?;
    let channel = said.channel_name.clone()?;
    let context = said
        .channel_context
        .as_ref()
        .filter(|context| origin.eq_ignore_ascii_case(&channel) && !context.trim().is_empty());
    let target = context.or(sender.group_id.as_ref()).unwrap_or(&sender.sender_id);
    Some(ChatAddress {
        target: target.clone(),
        channel,
    })
}

/// Returns the text for the chat.
fn sentence(reason: &str) -> String {
    let reason = visible(reason.trim(), Lines::One);
    let mut reason: String = reason.chars().take(MAX_REASON).collect();
    if reason.is_empty() {
        reason.push_str("the server's log says why");
    }
    let end = if reason.ends_with(['.', '!', '?']) {
        ""
    } else {
        "."
    };
    format!("I could not answer: {reason}{end} Send your message again once that is mended.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_reads_a_bounded_reason_on_one_line() {
        let said = sentence("the provider does not answer\u{1b}[2J\nagain.");
        assert_eq!(
            said,
            "I could not answer: the provider does not answer\\u{1b}[2J\\nagain. Send your message again once that is \
             mended."
        );
        assert!(sentence(&"x".repeat(9_000)).len() < 400);
        assert!(sentence("").contains("log"));
    }
}
