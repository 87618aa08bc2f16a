//! The pump: takes what lies between the cursors and what is shown, encodes it, writes it, and takes more
//! only after the flush.
//!
//! The slow-client ladder, from the top: a later cursor; joined Deltas; events read back from the store; a
//! close with code 1013 and a reason. The pump is the only task that ever waits for this client.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bobbin_core::{Backlog, BelowQuestion, CoreError, Ephemeral, Frame, FrameBody, ThreadHandle, join};
use bobbin_model::{Event, ThreadId};
use bytes::Bytes;
use tokio::time::Instant;

use crate::readers::Broken;
use crate::{Session, Through};

/// Frames' bytes taken per cursor and flush.
const BATCH_BYTES: usize = 64 << 10;
/// Frames behind from which Deltas are joined.
const JOIN_FROM: usize = 64;
/// A flush that took longer than this marks a slow client, whose Deltas are joined.
const SLOW_FLUSH: Duration = Duration::from_millis(20);
/// Close code of an ordinary end.
const NORMAL: u16 = 1000;
/// Close code "try again later" (RFC 6455 registry).
const TRY_AGAIN_LATER: u16 = 1013;
/// Close code "internal error".
const INTERNAL_ERROR: u16 = 1011;

/// What a batch is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// What the client follows, as it happens.
    Live,
    /// What it follows and had missed.
    Backlog,
    /// What concerns everyone.
    News,
}

impl Sent {
    fn through(self) -> Through {
        match self {
            Self::Live | Self::Backlog => Through::Thread,
            Self::News => Through::Everyone,
        }
    }
}

/// Serves one client until its connection is closed.
pub(crate) async fn run(session: Arc<Session>) {
    let closed = session.peer.closed();
    let served = async {
        let mut slow = false;
        loop {
            if !session.turn(&mut slow).await {
                break;
            }
        }
    };
    tokio::pin!(closed, served);
    tokio::select! {
        () = &mut closed => {}
        () = &mut served => closed.await,
    }
    session.readers.lock().close(session.hub.everyone());
    session.asks.close().await;
}

impl Session {
    /// Sends what there is, or waits for something. Returns whether there can be more.
    async fn turn(&self, slow: &mut bool) -> bool {
        let batch = self.readers.lock().take(&self.hub, BATCH_BYTES);
        let (news, below) = self.of_below(batch.news);
        let idle = !batch.moved && batch.behind.is_empty() && batch.greet.is_empty();
        if !self.send(batch.frames, slow, Sent::Live).await || !self.send(news, slow, Sent::News).await {
            return false;
        }
        self.ask_below(below).await;
        for thread in &batch.settled {
            self.asks.over(thread);
        }
        for thread in &batch.behind {
            if !self.catch_up(thread, slow).await {
                return false;
            }
        }
        for handle in &batch.greet {
            if !self.ask_open(handle).await {
                return false;
            }
        }
        if let Some(broken) = batch.broken {
            self.close(broken);
            return false;
        }
        if self.told.is_wanted() {
            self.readers.lock().note_sent();
            self.told.notify();
        }
        if idle {
            if self.hub.everyone().is_closed() && !self.dialect.outlives_core() {
                // The core has ended and everything it showed is written.
                self.peer.close_with(NORMAL, "Server shutting down");
                return false;
            }
            self.waker.woken().await;
        }
        true
    }

    async fn send(&self, frames: Vec<Arc<Frame>>, slow: &mut bool, sent: Sent) -> bool {
        if frames.is_empty() {
            return true;
        }
        let frames = if *slow || frames.len() > JOIN_FROM {
            join(frames)
        } else {
            frames
        };
        let mut messages: Vec<Bytes> = Vec::with_capacity(frames.len());
        for frame in &frames {
            let slot = self.dialect.slot(sent.through());
            let encoded = frame.encoded(slot, |frame| self.dialect.encode(frame, sent.through()));
            let missing = encoded.iter().skip(frame.skipped());
            let wanted = missing.filter(|message| self.dialect.wants(message));
            messages.extend(wanted.map(|message| message.json.clone()));
        }
        if !messages.is_empty() {
            let started = Instant::now();
            if !self.write(messages).await {
                return false;
            }
            *slow = started.elapsed() > SLOW_FLUSH;
        }
        self.follow_approvals(&frames, sent);
        self.follow_inquiries(&frames);
        true
    }

    /// Writes messages. Returns whether the client can be told more.
    async fn write(&self, messages: Vec<Bytes>) -> bool {
        let Err(error) = self.peer.send_batch(messages).await else {
            return true;
        };
        // A client that would be told nothing more must not believe that nothing happens. One that is gone, or going,
        // keeps the reason it has.
        tracing::debug!(%error, "a client cannot be told more");
        self.peer
            .close_with(INTERNAL_ERROR, "a message could not be sent; reconnect");
        false
    }

    /// Stops asking what these frames settle, and asks what they open and leave open.
    fn follow_approvals(&self, frames: &[Arc<Frame>], sent: Sent) {
        let events = || {
            frames.iter().filter_map(|frame| match &frame.body {
                FrameBody::Recorded(event) => Some((frame, &**event)),
                FrameBody::Delta(_) | FrameBody::Ephemeral(_) => None,
            })
        };
        for frame in frames {
            // Of a Thread that is not followed nothing else tells that its questions are settled.
            if sent == Sent::News && says_nothing_is_open(frame) {
                self.asks.forget_left(&frame.thread);
            }
        }
        let mut settled = HashSet::new();
        for (_, event) in events() {
            if let Event::ApprovalResolved { approval, .. } = event {
                self.asks.settled(approval);
                settled.insert(approval);
            }
        }
        for (frame, event) in events().filter(|_| sent == Sent::Live) {
            if let Event::ApprovalOpened { approval, .. } = event
                && !settled.contains(&approval.id)
            {
                let asking = self.readers.lock().asking(frame);
                if let Some(handle) = asking {
                    let approval = (**approval).clone();
                    self.asks.ask(&self.dialect, &self.peer, &handle, None, approval);
                }
            }
        }
    }

    /// Has what models want to know asked, and stops asking what is settled.
    fn follow_inquiries(&self, frames: &[Arc<Frame>]) {
        for frame in frames {
            match &frame.body {
                FrameBody::Ephemeral(Ephemeral::QuestionOpened(question)) => {
                    self.readers.lock().inquire(&question.thread);
                }
                FrameBody::Ephemeral(Ephemeral::QuestionClosed(question)) => self.asks.settled(&question.id),
                _ => {}
            }
        }
    }

    /// Asks the questions that were open before this client came. Returns whether it can be told more.
    async fn ask_open(&self, handle: &Arc<ThreadHandle>) -> bool {
        if self.dialect.is_asked() {
            for question in self.hub.open_questions(handle.id()) {
                self.asks.inquire(&self.dialect, &self.peer, &self.hub, &question);
            }
        }
        match self.hub.snapshot(handle).await {
            Ok(snapshot) => {
                for approval in snapshot.state.approvals() {
                    let approval = approval.clone();
                    self.asks.ask(&self.dialect, &self.peer, handle, None, approval);
                }
            }
            Err(error) => tracing::debug!(thread = %handle.id(), %error, "open approvals are not known"),
        }
        let mut shown = Vec::new();
        for (child, approval) in self.hub.questions_below(handle.id()).await {
            // Whether it is open is seen by the task that tells that it is settled: it is not shown behind that.
            let reminder = self.dialect.remind(handle.id(), &approval);
            shown.extend(reminder.iter().map(|message| message.json.clone()));
            let via = Some(handle.id());
            self.asks.ask(&self.dialect, &self.peer, &child, via, approval);
        }
        shown.is_empty() || self.write(shown).await
    }

    /// Leaves those of the questions of subagents that concern this client, and returns them. That a model's question is
    /// settled is left for those whom it was put to, or could have been.
    fn of_below(&self, mut news: Vec<Arc<Frame>>) -> (Vec<Arc<Frame>>, Vec<Arc<Frame>>) {
        let readers = self.readers.lock();
        news.retain(|frame| match &frame.body {
            FrameBody::Ephemeral(Ephemeral::QuestionClosed(question)) => {
                self.dialect.is_asked()
                    && (readers.follows(&question.thread) || self.asks.was_asked(&question.id))
            }
            _ => true,
        });
        drop(readers);
        if !news.iter().any(|frame| below(frame).is_some()) {
            return (news, Vec::new());
        }
        let readers = self.readers.lock();
        news.retain(|frame| match below(frame) {
            None => true,
            Some((root, BelowQuestion::Asked(_))) => readers.answers_for(root),
            // Whoever was asked is told, whatever it follows by now.
            Some((root, BelowQuestion::Settled { approval, .. })) => {
                readers.follows(root) || self.asks.is_open(approval)
            }
        });
        let below = news
            .iter()
            .filter(|frame| below(frame).is_some())
            .cloned()
            .collect();
        (news, below)
    }

    /// Asks what subagents ask, and stops asking what is settled.
    async fn ask_below(&self, frames: Vec<Arc<Frame>>) {
        let mut settled = HashSet::new();
        for frame in &frames {
            if let Some((_, BelowQuestion::Settled { approval, .. })) = below(frame) {
                self.asks.settled(approval);
                settled.insert(approval);
            }
        }
        for frame in &frames {
            let Some((root, BelowQuestion::Asked(approval))) = below(frame) else {
                continue;
            };
            if settled.contains(&approval.id) {
                continue;
            }
            match self.hub.thread(&frame.thread).await {
                Ok(child) => {
                    let approval = (**approval).clone();
                    self.asks
                        .ask(&self.dialect, &self.peer, &child, Some(root), approval);
                }
                Err(error) => {
                    tracing::debug!(thread = %frame.thread, %error, "a subagent cannot be asked for");
                }
            }
        }
    }

    /// Reads back what a cursor missed. Returns whether the client can go on.
    async fn catch_up(&self, thread: &ThreadId, slow: &mut bool) -> bool {
        let Some((handle, next, shown, whole)) = self.readers.lock().behind(thread) else {
            return true;
        };
        let known = |turn, item| {
            shown
                .iter()
                .find(|known| (known.0, known.1) == (turn, item))
                .map(|known| known.2)
                .or(whole.then_some(0))
        };
        match self.hub.backlog(&handle, next, known).await {
            Ok(Backlog::Frames { frames, next }) => {
                let now = self.hub.clock().now();
                let frames = self.readers.lock().caught_up(thread, frames, next, now);
                for part in parts(frames) {
                    if !self.send(part, slow, Sent::Backlog).await {
                        return false;
                    }
                }
                true
            }
            Ok(Backlog::TooFar) => {
                // Who has been told nothing yet has missed nothing either.
                let live = self.hub.snapshot(&handle).await.ok();
                let live = live.and_then(|snapshot| snapshot.state.live_turn());
                let everyone = self.hub.everyone();
                if self.readers.lock().begin_later(thread, live, everyone) {
                    return true;
                }
                self.close(Broken::TooFarBehind);
                false
            }
            // It has ended meanwhile, which everyone is told; a server that stops closes by itself.
            Err(CoreError::Refused(_) | CoreError::Stopping) => {
                self.readers.lock().remove(thread, self.hub.everyone());
                self.asks.over(thread);
                true
            }
            Err(error) => {
                tracing::warn!(%thread, %error, "a backlog cannot be read");
                self.close(Broken::ThreadFailed);
                false
            }
        }
    }

    fn close(&self, broken: Broken) {
        let (code, reason) = match broken {
            Broken::TooFarBehind => (TRY_AGAIN_LATER, "too far behind; reconnect and read the thread"),
            Broken::ThreadFailed => (INTERNAL_ERROR, "a thread could not be stored; reconnect"),
        };
        self.peer.close_with(code, reason);
    }
}

/// Returns what a subagent asks, and the Thread at the top of its tree.
fn below(frame: &Frame) -> Option<(&ThreadId, &BelowQuestion)> {
    match &frame.body {
        FrameBody::Ephemeral(Ephemeral::Below { root, question }) => Some((root, question)),
        FrameBody::Ephemeral(_) | FrameBody::Recorded(_) | FrameBody::Delta(_) => None,
    }
}

/// Whether a frame of what concerns everyone says that its Thread asks nothing any more.
fn says_nothing_is_open(frame: &Frame) -> bool {
    match &frame.body {
        FrameBody::Ephemeral(Ephemeral::RuntimeChanged(runtime)) => !runtime.waiting_on_approval,
        FrameBody::Recorded(event) => matches!(**event, Event::ThreadDeleted),
        FrameBody::Ephemeral(
            Ephemeral::Synced
            | Ephemeral::Broadcast(_)
            | Ephemeral::QuestionOpened(_)
            | Ephemeral::QuestionClosed(_)
            | Ephemeral::Below { .. }
            | Ephemeral::SubAgents { .. },
        )
        | FrameBody::Delta(_) => false,
    }
}

/// Cuts a backlog into batches.
fn parts(frames: Vec<Arc<Frame>>) -> Vec<Vec<Arc<Frame>>> {
    let mut parts: Vec<Vec<Arc<Frame>>> = Vec::new();
    let mut bytes = BATCH_BYTES;
    for frame in frames {
        bytes += frame.bytes();
        match parts.last_mut() {
            Some(part) if bytes <= BATCH_BYTES => part.push(frame),
            _ => {
                bytes = frame.bytes();
                parts.push(vec![frame]);
            }
        }
    }
    parts
}
