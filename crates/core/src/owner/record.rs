//! Recording: events get their Seq, are hidden until their commit, and are then shown.
//!
//! The order is guaranteed: commit, answer, show, then act.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use bobbin_model::{
    ApprovalId, Decision, Delta, DeltaChannel, Event, Item, ItemId, Scope, Seq, Turn, TurnId, UnixMillis,
};
use bobbin_store::step::{Step, reached};
use bobbin_store::{AuditEntry, NamedRequest, Receipt, StoredEvent, Summary, TextPart, Write};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::weight::weight_of;
use super::{Owner, audit};
use crate::command::Reply;
use crate::{CoreError, Ephemeral, Frame, FrameBody, Snapshot, SubagentQuestion, View};

/// Seqs that Deltas of an open Turn may use before the next write; after a crash, numbering continues after them. More than
/// the fastest stream appends between two checkpoints.
const HEADROOM: u64 = 1 << 16;

/// Receives the outcome of a commit. Must not block.
pub(super) type Answering = Box<dyn FnOnce(Result<(), CoreError>) + Send>;

/// An action after events are committed and shown.
pub(super) enum After {
    /// Run the engine on this Turn.
    Run(TurnId),
    /// Answer the calls that asked.
    Decided(Vec<(ApprovalId, Decision)>),
    /// Stop the engine and end this Turn.
    CancelTurn(TurnId),
    /// Notify the engine that everything before is on disk.
    Done(oneshot::Sender<()>),
    /// Give the engine Items that it asked for.
    Items(oneshot::Sender<Vec<Item>>, Vec<Item>),
    /// Give the engine an earlier decision.
    Standing(oneshot::Sender<Decision>, Decision),
}

/// Effects of a commit.
#[derive(Default)]
pub(super) struct Effect {
    pub(super) answer: Option<Answering>,
    pub(super) after: Vec<After>,
    /// An `acceptAlways` to store in the same transaction.
    pub(super) remember: Option<Scope>,
    /// A caller that reads the Thread. Its snapshot is valid once the earlier commits are done.
    pub(super) read: Option<Reading>,
}

/// A snapshot from the time of a read, and the channel of its answer.
pub(super) type Reading = (Snapshot, Reply<Snapshot>);

impl Effect {
    pub(super) fn answer(answer: Answering) -> Self {
        Self {
            answer: Some(answer),
            ..Self::default()
        }
    }

    pub(super) fn read(reading: Reading) -> Self {
        Self {
            read: Some(reading),
            ..Self::default()
        }
    }

    pub(super) fn after(after: After) -> Self {
        Self {
            after: vec![after],
            ..Self::default()
        }
    }
}

/// Events that are applied and numbered, but not yet sent to the store.
#[derive(Default)]
pub(super) struct Staged {
    events: Vec<StoredEvent>,
    /// The entries of the audit about them.
    audit: Vec<AuditEntry>,
}

impl Staged {
    /// Returns the Seq of the first event.
    pub(super) fn first(&self) -> Option<Seq> {
        self.events.first().map(|event| event.seq)
    }

    /// Returns the Items that it adds.
    pub(super) fn items(&self) -> Vec<Item> {
        let added = self.events.iter().filter_map(|stored| match &*stored.event {
            Event::ItemAdded { item, .. } => Some((**item).clone()),
            _ => None,
        });
        added.collect()
    }

    pub(super) fn append(&mut self, mut later: Self) {
        self.events.append(&mut later.events);
        self.audit.append(&mut later.audit);
    }
}

/// A commit in flight, or an answer that waits for the commits before it.
pub(super) struct Commit {
    /// Its first recorded Seq. This Seq and all later ones stay hidden until the commit is done.
    first: Option<Seq>,
    ceiling: Seq,
    receipt: Option<Receipt>,
    answer: Option<Answering>,
    /// A reader, which can be answered even if the commit fails.
    pub(super) read: Option<Reading>,
    after: Vec<After>,
    /// Id of the named request that it executes.
    request: Option<String>,
}

impl Commit {
    /// Makes a commit without a frame and an answer.
    pub(super) fn unseen(receipt: Receipt, ceiling: Seq, request: Option<String>) -> Self {
        Self {
            first: None,
            ceiling,
            receipt: Some(receipt),
            answer: None,
            read: None,
            after: vec![],
            request,
        }
    }

    /// Whether it executes the request with this id.
    pub(super) fn is_of(&self, id: &str) -> bool {
        self.request.as_deref() == Some(id)
    }

    pub(super) fn fail(self, error: &CoreError) {
        if let Some(answer) = self.answer {
            answer(Err(error.clone()));
        }
        if let Some((_, reply)) = self.read {
            reply(Err(error.clone()));
        }
    }
}

/// Waits for the oldest commit.
pub(super) async fn front(commits: &mut VecDeque<Commit>) -> Result<(), CoreError> {
    match commits.front_mut() {
        None => pending().await,
        Some(Commit { receipt: None, .. }) => Ok(()),
        Some(Commit {
            receipt: Some(receipt),
            ..
        }) => receipt.await.map_err(CoreError::from),
    }
}

/// Streamed text that is not stored yet; bounded by the size of a checkpoint.
#[derive(Default)]
pub(super) struct Unstored {
    parts: Vec<(TurnId, ItemId, String)>,
    bytes: usize,
    /// Time of the next checkpoint.
    pub(super) due: Option<Instant>,
}

impl Unstored {
    fn push(&mut self, turn: TurnId, item: ItemId, text: &str) {
        self.bytes += text.len();
        match self.parts.iter_mut().find(|part| part.1 == item) {
            Some((.., known)) => known.push_str(text),
            None => self.parts.push((turn, item, text.to_owned())),
        }
    }

    /// Removes the text of an Item whose final form is being recorded.
    fn forget(&mut self, item: ItemId) {
        self.parts.retain(|part| part.1 != item);
        self.bytes = self.parts.iter().map(|part| part.2.len()).sum();
        if self.bytes == 0 {
            self.due = None;
        }
    }
}

impl Owner {
    /// Applies events and appends their frames, which stay hidden.
    pub(super) fn stage(&mut self, events: Vec<Event>) -> Staged {
        let at = self.now();
        self.not_before = at;
        let mut staged = Staged::default();
        for event in events {
            let before = self.state.runtime();
            staged.audit.extend(audit::entry(&self.state, &event, at));
            staged.events.push(self.stage_one(event, at));
            let after = self.state.runtime();
            if before != after {
                self.append(
                    at,
                    FrameBody::Ephemeral(Ephemeral::RuntimeChanged(after)),
                    View::None,
                    0,
                );
            }
        }
        staged
    }

    /// Like [`Owner::stage`], for past events, which need no live frames.
    pub(super) fn stage_past(&mut self, events: Vec<(Event, UnixMillis)>) -> Staged {
        let staged = events.into_iter().map(|(event, at)| self.stage_one(event, at));
        Staged {
            events: staged.collect(),
            audit: Vec::new(),
        }
    }

    fn stage_one(&mut self, event: Event, at: UnixMillis) -> StoredEvent {
        let ended = self.state.apply(&event, at);
        self.asking
            .set(self.state.approvals().len(), self.state.live.is_some());
        if matches!(
            event,
            Event::ThreadStarted { .. } | Event::ThreadConfigured { .. }
        ) {
            self.expect_window();
        }
        if matches!(
            event,
            Event::ThreadStarted { .. }
                | Event::ThreadConfigured { .. }
                | Event::TurnStarted { .. }
                | Event::TurnEnded { .. }
        ) {
            self.shared.set_policy(self.threads.policy_of(&self.state));
        }
        if let Event::ItemCompleted { item, .. } = &event {
            self.unstored.forget(item.id);
        }
        let view = self.view_of(&event, ended);
        let event = Arc::new(event);
        let weight = weight_of(&event, &view);
        let seq = self.append(at, FrameBody::Recorded(event.clone()), view, weight);
        self.broadcast_question(seq, at, &event);
        StoredEvent { seq, at, event }
    }

    /// Sets the context window of an empty conversation to that of its model.
    fn expect_window(&mut self) {
        if self.state.context.tokens > 0 {
            return;
        }
        let config = self.state.header.config.as_ref();
        let model = config.and_then(|config| config.model.as_deref());
        if let Some(window) = self.threads.engine.window(model) {
            self.state.context.window = window;
        }
    }

    /// Broadcasts a subagent's question to the clients that follow the root of its tree.
    fn broadcast_question(&mut self, seq: Seq, at: UnixMillis, event: &Event) {
        let header = &self.state.header;
        let Some(source) = header.source.sub_agent() else {
            return;
        };
        let question = match event {
            Event::ApprovalOpened { approval, .. } => SubagentQuestion::Asked(Arc::new((**approval).clone())),
            Event::ApprovalResolved {
                turn, approval, item, ..
            } => SubagentQuestion::Settled {
                turn: *turn,
                approval: approval.clone(),
                item: Arc::new((**item).clone()),
            },
            _ => return,
        };
        let notice = Ephemeral::Subagent {
            root: source.root.clone(),
            question,
        };
        let (thread, weight) = (header.id.clone(), notice.weight());
        let frame = Frame::new(thread, seq, at, FrameBody::Ephemeral(notice), View::None, weight);
        self.broadcasts.push_back(Arc::new(frame));
    }

    /// Sends staged events to the store. Without events, the effect waits for the earlier commits.
    pub(super) async fn commit(&mut self, staged: Staged, effect: Effect) -> Result<(), CoreError> {
        reached(Step::Staged);
        let first = staged.first();
        let request = first.and_then(|_| self.once.as_ref().map(|once| once.id.clone()));
        let receipt = match first {
            None => None,
            Some(_) => Some(self.submit(staged, Vec::new(), effect.remember).await?),
        };
        let commit = Commit {
            first,
            ceiling: self.next_ceiling(),
            receipt,
            answer: effect.answer,
            read: effect.read,
            after: effect.after,
            request,
        };
        if commit.receipt.is_none() && self.commits.is_empty() {
            self.finish_commit(commit);
        } else {
            self.commits.push_back(commit);
        }
        Ok(())
    }

    /// Finishes the oldest commit.
    pub(super) fn committed(&mut self, done: Result<(), CoreError>) -> Result<(), CoreError> {
        let Some(commit) = self.commits.pop_front() else {
            return Ok(());
        };
        match done {
            Ok(()) => {
                if commit.receipt.is_some() {
                    self.ceiling = self.ceiling.max(commit.ceiling);
                }
                self.finish_commit(commit);
                Ok(())
            }
            Err(error) => {
                commit.fail(&error);
                Err(error)
            }
        }
    }

    fn finish_commit(&mut self, commit: Commit) {
        reached(Step::BeforeReply);
        if let Some(answer) = commit.answer {
            answer(Ok(()));
        }
        if let Some((snapshot, reply)) = commit.read {
            reply(Ok(snapshot));
        }
        reached(Step::BeforeShow);
        self.reveal();
        reached(Step::BeforeEffect);
        self.todo.extend(commit.after);
    }

    /// Shows all frames before the oldest uncommitted event.
    pub(super) fn reveal(&mut self) {
        let appended = self.log.appended();
        let hidden = self.commits.iter().find_map(|commit| commit.first);
        let target = hidden.map_or(appended, Seq::prev);
        if target > self.ceiling && hidden.is_none() {
            // Deltas have used up the headroom; a write raises the ceiling.
            self.unstored.due = Some(Instant::now());
        }
        let target = target.min(self.ceiling);
        // The workspace's log comes first, so that a reader of this log can rely on its twin there.
        while let Some(frame) = self.broadcasts.pop_front_if(|frame| frame.seq <= target) {
            self.threads.broadcasts().append(frame);
        }
        self.log.show(target);
    }

    /// Shows a frame that is never stored.
    pub(super) fn note(&mut self, notice: Ephemeral) {
        let (at, weight) = (self.now(), notice.weight());
        self.append(at, FrameBody::Ephemeral(notice), View::None, weight);
    }

    /// Streams text into an open Item. Readers see it at once; the next checkpoint stores it.
    pub(super) fn stream(
        &mut self,
        item: ItemId,
        channel: DeltaChannel,
        text: &str,
        call: Option<Arc<(String, String)>>,
    ) {
        let Some(turn) = self.state.live_turn() else {
            return;
        };
        let Some(offset) = self.state.push_text(item, channel, text) else {
            return;
        };
        self.unstored.push(turn, item, text);
        let due = Instant::now() + self.threads.settings.checkpoint_interval;
        self.unstored.due.get_or_insert(due);
        let delta = Delta {
            turn,
            item,
            channel,
            offset,
            text: text.into(),
            call,
        };
        let at = self.now();
        self.append(at, FrameBody::Delta(delta), View::None, text.len());
    }

    pub(super) async fn checkpoint_if_large(&mut self) -> Result<(), CoreError> {
        if self.unstored.bytes >= self.threads.settings.checkpoint_bytes {
            self.checkpoint().await
        } else {
            Ok(())
        }
    }

    /// Stores the streamed text and raises the ceiling.
    pub(super) async fn checkpoint(&mut self) -> Result<(), CoreError> {
        let unstored = std::mem::take(&mut self.unstored);
        reached(Step::Checkpoint);
        let parts = unstored.parts.into_iter();
        let text = parts
            .map(|(turn, item, text)| TextPart {
                turn,
                item,
                text: text.into(),
            })
            .collect();
        let receipt = self.submit(Staged::default(), text, None).await?;
        let ceiling = self.next_ceiling();
        self.commits.push_back(Commit::unseen(receipt, ceiling, None));
        Ok(())
    }

    /// Sends a write to the store. Takes `&mut self`, like all async methods here, since the owner is not `Sync`.
    pub(super) async fn submit(
        &mut self,
        staged: Staged,
        text: Vec<TextPart>,
        remember: Option<Scope>,
    ) -> Result<Receipt, CoreError> {
        let at = self.now();
        // A checkpoint of text executes no request.
        let once = if text.is_empty() { self.once.take() } else { None };
        let request = once.map(|once| NamedRequest {
            id: once.id,
            body: once.body,
            at,
        });
        let Staged { events, audit } = staged;
        let write = Write {
            thread: self.state.header.id.clone(),
            owner: self.number,
            state: Summary::of(&self.state, &events),
            events,
            head_seq: self.next_ceiling(),
            text,
            remember,
            request,
            audit,
        };
        Ok(self.threads.store.submit(write).await?)
    }

    fn next_ceiling(&self) -> Seq {
        let appended = self.log.appended();
        if self.state.live.is_some() {
            Seq(appended.0 + HEADROOM)
        } else {
            appended
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            at: self.log.appended(),
            state: Arc::new(self.state.clone()),
        }
    }

    fn append(&mut self, at: UnixMillis, body: FrameBody, view: View, weight: usize) -> Seq {
        let thread = self.state.header.id.clone();
        let frame = self
            .log
            .append(|seq| Arc::new(Frame::new(thread, seq, at, body, view, weight)));
        if frame.is_broadcast() {
            self.broadcasts.push_back(frame.clone());
        }
        frame.seq
    }

    fn view_of(&self, event: &Event, ended: Option<Turn>) -> View {
        match event {
            Event::TurnEnded { .. } => ended.map_or(View::None, |turn| View::Turn(Arc::new(turn))),
            Event::ThreadStarted { .. }
            | Event::ThreadResumed { .. }
            | Event::ThreadConfigured { .. }
            | Event::EdgeChanged { .. } => View::Thread(Arc::new(self.state.clone())),
            _ => View::None,
        }
    }
}
