//! The pump: takes the frames between the cursors and the end of their logs, encodes and writes them, and takes more
//! only after the flush.
//!
//! The ladder for a slow client, from the top: its cursor lags; its Deltas are joined; its events are read back from
//! the store; the connection closes with code 1013 and a reason. No other task waits for this client.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bobbin_core::{Backlog, CoreError, Ephemeral, Frame, FrameBody, SubagentQuestion, ThreadHandle, join};
use bobbin_model::{Event, ThreadId};
use bytes::Bytes;
use tokio::time::Instant;

use crate::pending_requests::When;
use crate::subscriptions::Broken;
use crate::{LogSource, Session};

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

/// The source of a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BatchKind {
    /// Live frames of the Threads that the client follows.
    Live,
    /// Missed frames of the Threads that the client follows.
    Backlog,
    /// Broadcasts.
    News,
}

impl BatchKind {
    fn source(self) -> LogSource {
        match self {
            Self::Live | Self::Backlog => LogSource::Thread,
            Self::News => LogSource::Workspace,
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
    session
        .subscriptions
        .lock()
        .close(session.threads.broadcasts().log());
    session.pending.close().await;
}

impl Session {
    /// Sends the next batch, or waits for news. Returns whether there can be more.
    async fn turn(&self, slow: &mut bool) -> bool {
        let batch = self.subscriptions.lock().take(&self.threads, BATCH_BYTES);
        if let Some(until) = batch.held_until {
            // Other wake-ups change nothing until then.
            drop(tokio::time::timeout_at(until, self.waker.woken()).await);
            return true;
        }
        let (news, below) = self.of_subagents(batch.news);
        let idle = !batch.moved && batch.behind.is_empty() && batch.greet.is_empty();
        if !self.send(batch.frames, slow, BatchKind::Live).await
            || !self.send(news, slow, BatchKind::News).await
        {
            return false;
        }
        self.ask_for_subagents(below).await;
        for thread in &batch.settled {
            self.pending.over(thread);
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
        if self.flushes.is_wanted() {
            self.subscriptions.lock().note_sent();
            self.flushes.notify();
        }
        if idle {
            if self.threads.broadcasts().log().is_closed() {
                // The core has ended, and all its frames are written.
                self.peer.close_with(NORMAL, "Server shutting down");
                return false;
            }
            self.waker.woken().await;
        }
        true
    }

    async fn send(&self, frames: Vec<Arc<Frame>>, slow: &mut bool, kind: BatchKind) -> bool {
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
            let slot = self.dialect.slot(kind.source());
            let encoded = frame.encoded(slot, |frame| self.dialect.encode(frame, kind.source()));
            let missing = encoded.iter().skip(frame.skipped());
            let wanted = missing.filter(|message| self.dialect.wants(message, &frame.thread));
            messages.extend(wanted.map(|message| message.json.clone()));
        }
        if !messages.is_empty() {
            let started = Instant::now();
            if !self.write(messages).await {
                return false;
            }
            *slow = started.elapsed() > SLOW_FLUSH;
        }
        self.follow_approvals(&frames, kind);
        self.follow_inquiries(&frames);
        true
    }

    /// Writes messages. Returns whether more can be sent.
    async fn write(&self, messages: Vec<Bytes>) -> bool {
        let Err(error) = self.peer.send_batch(messages).await else {
            return true;
        };
        // The connection closes, so that the client does not believe that nothing happens. If it is closing already,
        // its first reason stays.
        tracing::debug!(%error, "nothing more can be sent to a client");
        self.peer
            .close_with(INTERNAL_ERROR, "a message could not be sent; reconnect");
        false
    }

    /// Stops asking the Approvals that these frames settle, and asks those that they open and do not settle.
    fn follow_approvals(&self, frames: &[Arc<Frame>], kind: BatchKind) {
        let events = || {
            frames.iter().filter_map(|frame| match &frame.body {
                FrameBody::Recorded(event) => Some((frame, &**event)),
                FrameBody::Delta(_) | FrameBody::Ephemeral(_) => None,
            })
        };
        for frame in frames {
            // The client does not follow this Thread, so nothing else says that its questions are settled.
            if kind == BatchKind::News && says_nothing_is_open(frame) {
                self.pending.forget_left(&frame.thread);
            }
        }
        let mut settled = HashSet::new();
        for (frame, event) in events() {
            if let Event::ApprovalResolved { approval, .. } = event {
                self.pending.settled(approval);
                settled.insert(approval);
                if self.dialect.asks_one_by_one() {
                    self.subscriptions.lock().ask_again(&frame.thread);
                }
            }
        }
        for (frame, event) in events().filter(|_| kind == BatchKind::Live) {
            if let Event::ApprovalOpened { approval, .. } = event
                && !settled.contains(&approval.id)
            {
                let asking = self.subscriptions.lock().asking(frame);
                if let Some(handle) = asking {
                    let approval = (**approval).clone();
                    self.pending
                        .ask(&self.dialect, &self.peer, &handle, None, approval, When::Now);
                }
            }
        }
    }

    /// Asks the questions of models that these frames open, and stops asking those that they settle.
    fn follow_inquiries(&self, frames: &[Arc<Frame>]) {
        for frame in frames {
            match &frame.body {
                FrameBody::Ephemeral(Ephemeral::QuestionOpened(question)) => {
                    self.subscriptions.lock().inquire(&question.thread);
                }
                FrameBody::Ephemeral(Ephemeral::QuestionClosed(question)) => {
                    self.pending.settled(&question.id);
                }
                _ => {}
            }
        }
    }

    /// Asks the questions that were open before this client came. Returns whether more can be sent.
    async fn ask_open(&self, handle: &Arc<ThreadHandle>) -> bool {
        if self.dialect.is_asked() {
            for question in self.threads.open_questions(handle.id()) {
                self.pending
                    .inquire(&self.dialect, &self.peer, &self.threads, &question);
            }
        }
        match self.threads.snapshot(handle).await {
            Ok(snapshot) => {
                let most = if self.dialect.asks_one_by_one() {
                    1
                } else {
                    usize::MAX
                };
                for approval in snapshot.state.approvals().iter().take(most) {
                    let approval = approval.clone();
                    self.pending
                        .ask(&self.dialect, &self.peer, handle, None, approval, When::Answered);
                }
            }
            Err(error) => tracing::debug!(thread = %handle.id(), %error, "open approvals are not known"),
        }
        let mut shown = Vec::new();
        for (child, approval) in self.threads.questions_of_descendants(handle.id()).await {
            // This task also sends the settlement, so the reminder cannot come after it.
            let reminder = self.dialect.remind(handle.id(), &approval);
            shown.extend(reminder.iter().map(|message| message.json.clone()));
            let via = Some(handle.id());
            self.pending
                .ask(&self.dialect, &self.peer, &child, via, approval, When::Answered);
        }
        shown.is_empty() || self.write(shown).await
    }

    /// Removes the questions of subagents that do not concern this client. Returns the remaining news, and its part
    /// about subagents.
    fn of_subagents(&self, mut news: Vec<Arc<Frame>>) -> (Vec<Arc<Frame>>, Vec<Arc<Frame>>) {
        if !news.iter().any(|frame| below(frame).is_some()) {
            return (news, Vec::new());
        }
        let subscriptions = self.subscriptions.lock();
        news.retain(|frame| match below(frame) {
            None => true,
            Some((root, SubagentQuestion::Asked(_))) => subscriptions.answers_for(root),
            // A client that was asked gets the outcome, even if it follows other Threads by now.
            Some((root, SubagentQuestion::Settled { approval, .. })) => {
                subscriptions.follows(root) || self.pending.is_open(approval)
            }
        });
        let below = news
            .iter()
            .filter(|frame| below(frame).is_some())
            .cloned()
            .collect();
        (news, below)
    }

    /// Asks the Approvals that subagents open, and stops asking those that are settled.
    async fn ask_for_subagents(&self, frames: Vec<Arc<Frame>>) {
        let mut settled = HashSet::new();
        for frame in &frames {
            if let Some((_, SubagentQuestion::Settled { approval, .. })) = below(frame) {
                self.pending.settled(approval);
                settled.insert(approval);
            }
        }
        for frame in &frames {
            let Some((root, SubagentQuestion::Asked(approval))) = below(frame) else {
                continue;
            };
            if settled.contains(&approval.id) {
                continue;
            }
            match self.threads.thread(&frame.thread).await {
                Ok(child) => {
                    let approval = (**approval).clone();
                    self.pending
                        .ask(&self.dialect, &self.peer, &child, Some(root), approval, When::Now);
                }
                Err(error) => {
                    tracing::debug!(thread = %frame.thread, %error, "a subagent cannot be asked for");
                }
            }
        }
    }

    /// Reads the frames that a cursor missed from the store. Returns whether the client can go on.
    async fn catch_up(&self, thread: &ThreadId, slow: &mut bool) -> bool {
        let Some((handle, next, shown, whole)) = self.subscriptions.lock().behind(thread) else {
            return true;
        };
        let known = |turn, item| {
            shown
                .iter()
                .find(|known| (known.0, known.1) == (turn, item))
                .map(|known| known.2)
                .or(whole.then_some(0))
        };
        match self.threads.backlog(&handle, next, known).await {
            Ok(Backlog::Frames { frames, next }) => {
                let now = self.threads.clock().now();
                let frames = self.subscriptions.lock().caught_up(thread, frames, next, now);
                for part in parts(frames) {
                    if !self.send(part, slow, BatchKind::Backlog).await {
                        return false;
                    }
                }
                true
            }
            Ok(Backlog::TooFar) => {
                // A client that has been sent nothing yet has missed nothing.
                let live = self.threads.snapshot(&handle).await.ok();
                let live = live.and_then(|snapshot| snapshot.state.live_turn());
                let everyone = self.threads.broadcasts().log();
                if self.subscriptions.lock().begin_later(thread, live, everyone) {
                    return true;
                }
                self.close(Broken::TooFarBehind);
                false
            }
            // The Thread has ended meanwhile, which is broadcast. A server that stops closes the connection by itself.
            Err(CoreError::Refused(_) | CoreError::Stopping) => {
                self.subscriptions
                    .lock()
                    .remove(thread, self.threads.broadcasts().log());
                self.pending.over(thread);
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

/// Returns a subagent's question and the root of its tree.
fn below(frame: &Frame) -> Option<(&ThreadId, &SubagentQuestion)> {
    match &frame.body {
        FrameBody::Ephemeral(Ephemeral::Subagent { root, question }) => Some((root, question)),
        FrameBody::Ephemeral(_) | FrameBody::Recorded(_) | FrameBody::Delta(_) => None,
    }
}

/// Whether a frame of the workspace's log says that its Thread has no open Approval any more.
fn says_nothing_is_open(frame: &Frame) -> bool {
    match &frame.body {
        FrameBody::Ephemeral(Ephemeral::RuntimeChanged(runtime)) => !runtime.waiting_on_approval,
        FrameBody::Recorded(event) => matches!(**event, Event::ThreadDeleted),
        FrameBody::Ephemeral(
            Ephemeral::Synced
            | Ephemeral::Broadcast(_)
            | Ephemeral::QuestionOpened(_)
            | Ephemeral::QuestionClosed(_)
            | Ephemeral::Subagent { .. }
            | Ephemeral::SubAgents { .. }
            | Ephemeral::Waiting { .. },
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
