//! Recording: events get their Seq, wait hidden for their commit, and are shown.
//!
//! The order is the promise: committed, then answered, then shown, then acted upon.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use bobbin_model::{
    ApprovalId, Decision, Delta, DeltaChannel, Event, Item, ItemId, Scope, Seq, Turn, TurnId, UnixMillis,
};
use bobbin_store::step::{Step, reached};
use bobbin_store::{NamedRequest, Receipt, StoredEvent, Summary, TextPart, Write};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Owner;
use super::weight::weight_of;
use crate::command::Reply;
use crate::{CoreError, Ephemeral, Frame, FrameBody, Snapshot, SubagentQuestion, View};

/// Seqs that Deltas of an open Turn may use before the next write: after a crash the numbering goes on
/// above it. More than the fastest stream appends between two checkpoints.
const HEADROOM: u64 = 1 << 16;

/// Takes the outcome of a commit. Must not wait.
pub(super) type Answering = Box<dyn FnOnce(Result<(), CoreError>) + Send>;

/// What is done once events are committed and shown.
pub(super) enum After {
    /// Run the engine on this Turn.
    Run(TurnId),
    /// Tell the calls that asked.
    Decided(Vec<(ApprovalId, Decision)>),
    /// Stop the engine and end this Turn.
    CancelTurn(TurnId),
    /// Tell the engine that everything before is on disk.
    Done(oneshot::Sender<()>),
    /// Give the engine the guidance that has come.
    Guided(oneshot::Sender<Vec<Item>>, Vec<Item>),
    /// Give the engine a standing answer.
    Standing(oneshot::Sender<Decision>, Decision),
}

/// What a commit brings with it.
#[derive(Default)]
pub(super) struct Effect {
    pub(super) answer: Option<Answering>,
    pub(super) after: Vec<After>,
    /// An `acceptAlways` to store in the same transaction.
    pub(super) remember: Option<Scope>,
    /// A caller that asked for the state of the Thread, which holds once the commits before are done.
    pub(super) read: Option<Reading>,
}

/// The state of a Thread when a caller asked, and where the answer goes.
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

/// Events that are applied and numbered but not yet on their way to the store.
#[derive(Default)]
pub(super) struct Staged {
    events: Vec<StoredEvent>,
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
    }
}

/// One commit in flight, or an answer that waits for those before it.
pub(super) struct Commit {
    /// First recorded Seq of it, which with all that follow stays hidden until it is done.
    first: Option<Seq>,
    ceiling: Seq,
    receipt: Option<Receipt>,
    answer: Option<Answering>,
    /// Who only reads can be answered whatever becomes of the commit.
    pub(super) read: Option<Reading>,
    after: Vec<After>,
    /// Name of the request it carries out.
    request: Option<String>,
}

impl Commit {
    /// A commit that causes no frame and no answer.
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

    /// Whether it carries out the request of this name.
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

/// Streamed text that is in memory only: at most a checkpoint's worth.
#[derive(Default)]
pub(super) struct Unstored {
    parts: Vec<(TurnId, ItemId, String)>,
    bytes: usize,
    /// When the next checkpoint is due.
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

    /// Forgets the text of an Item whose final form is being recorded.
    fn forget(&mut self, item: ItemId) {
        self.parts.retain(|part| part.1 != item);
        self.bytes = self.parts.iter().map(|part| part.2.len()).sum();
        if self.bytes == 0 {
            self.due = None;
        }
    }
}

impl Owner {
    /// Applies events and appends their frames, hidden.
    pub(super) fn stage(&mut self, events: Vec<Event>) -> Staged {
        let at = self.now();
        self.not_before = at;
        let mut staged = Staged::default();
        for event in events {
            let before = self.state.runtime();
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

    /// As [`Owner::stage`], of what happened earlier and needs no live frames.
    pub(super) fn stage_past(&mut self, events: Vec<(Event, UnixMillis)>) -> Staged {
        let staged = events.into_iter().map(|(event, at)| self.stage_one(event, at));
        Staged {
            events: staged.collect(),
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

    /// Measures a conversation that has not begun against the model it is going to have.
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

    /// Sends a subagent's question to the clients that follow the root of its tree.
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

    /// Sends staged events to the store. Without events, the effect waits for the commits before it.
    pub(super) async fn commit(&mut self, staged: Staged, effect: Effect) -> Result<(), CoreError> {
        reached(Step::Staged);
        let first = staged.first();
        let request = first.and_then(|_| self.once.as_ref().map(|once| once.id.clone()));
        let receipt = match first {
            None => None,
            Some(_) => Some(self.submit(staged.events, Vec::new(), effect.remember).await?),
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

    /// Releases the oldest commit.
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

    /// Shows what may be shown: everything before the oldest event that is not committed.
    pub(super) fn reveal(&mut self) {
        let appended = self.log.appended();
        let hidden = self.commits.iter().find_map(|commit| commit.first);
        let target = hidden.map_or(appended, Seq::prev);
        if target > self.ceiling && hidden.is_none() {
            // Deltas have used up the headroom: a write raises it.
            self.unstored.due = Some(Instant::now());
        }
        let target = target.min(self.ceiling);
        // The log of the workspace first: a reader that has seen a frame here can rely on its twin being there already.
        while let Some(frame) = self.broadcasts.pop_front_if(|frame| frame.seq <= target) {
            let broadcasts = self.threads.broadcasts();
            broadcasts.append(|_| frame);
            broadcasts.show(broadcasts.appended());
        }
        self.log.show(target);
    }

    /// Shows something that is stored nowhere.
    pub(super) fn note(&mut self, notice: Ephemeral) {
        let (at, weight) = (self.now(), notice.weight());
        self.append(at, FrameBody::Ephemeral(notice), View::None, weight);
    }

    /// Streams text into an open Item. Shown at once, stored with the next checkpoint.
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

    /// Stores the text that is in memory only, and raises the ceiling.
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
        let receipt = self.submit(Vec::new(), text, None).await?;
        let ceiling = self.next_ceiling();
        self.commits.push_back(Commit::unseen(receipt, ceiling, None));
        Ok(())
    }

    /// `&mut`, as everything that waits here: what the owner holds may not be looked at from two threads.
    pub(super) async fn submit(
        &mut self,
        events: Vec<StoredEvent>,
        text: Vec<TextPart>,
        remember: Option<Scope>,
    ) -> Result<Receipt, CoreError> {
        let at = self.now();
        // Text alone carries nothing out.
        let once = if text.is_empty() { self.once.take() } else { None };
        let request = once.map(|once| NamedRequest {
            id: once.id,
            body: once.body,
            at,
        });
        let write = Write {
            thread: self.state.header.id.clone(),
            owner: self.number,
            state: Summary::of(&self.state, &events),
            events,
            head_seq: self.next_ceiling(),
            text,
            remember,
            request,
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
            Event::ThreadStarted { .. } | Event::ThreadResumed { .. } | Event::EdgeChanged { .. } => {
                View::Thread(Arc::new(self.state.clone()))
            }
            _ => View::None,
        }
    }
}
