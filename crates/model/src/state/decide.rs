//! Wishes about the Thread as a whole: start, rename, status, configuration, queue.

use std::sync::Arc;

use super::{
    LiveTurn, MAX_DISPLAY_NAME, MAX_LABEL, MAX_LABELS, MAX_QUEUED_BYTES, MAX_QUEUED_INPUTS, ThreadState,
};
use crate::input::{display_text, typed_text};
use crate::thread::title_of;
use crate::{
    DeliveryMode, DynamicTool, EdgeStatus, Event, GivenMessage, HistoryMode, Identity, InputPart, Item,
    ItemBody, ItemId, Mode, QueueStatus, QueuedInput, QueuedInputId, Refusal, Sender, ThreadConfig,
    ThreadHeader, ThreadId, ThreadSource, ThreadStatus, TurnFeatures, TurnId, UnixMillis, given, item,
};

/// A Thread to be.
#[derive(Debug, Clone)]
pub struct NewThread {
    /// Its fresh id.
    pub id: ThreadId,
    /// Who wants it.
    pub identity: Identity,
    /// Initial configuration.
    pub config: Option<ThreadConfig>,
    /// Who keeps the history.
    pub history_mode: HistoryMode,
    /// Title; blank means none.
    pub display_name: Option<String>,
}

/// A Turn to be.
#[derive(Debug, Clone)]
pub struct StartTurn {
    /// What the user says; never empty.
    pub input: Vec<InputPart>,
    /// Who says it.
    pub sender: Option<Sender>,
    /// Channel it came through.
    pub channel: Option<String>,
    /// What the starting client can do.
    pub features: TurnFeatures,
}

/// A change of a Thread's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusChange {
    /// Take no Turns for now.
    Pause,
    /// Put away.
    Archive,
    /// Take up again after archiving.
    Unarchive,
}

impl NewThread {
    /// Decides on a new Thread of a person or a channel.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] when the channel name is blank.
    pub fn decide(self, workspace: &str, now: UnixMillis) -> Result<Event, Refusal> {
        self.decide_from(ThreadSource::User, workspace, now)
    }

    /// Decides on a new Thread, wherever it comes from.
    ///
    /// # Errors
    /// As [`NewThread::decide`].
    pub fn decide_from(
        self,
        source: ThreadSource,
        workspace: &str,
        now: UnixMillis,
    ) -> Result<Event, Refusal> {
        let identity = self.identity;
        if identity.channel_name.trim().is_empty() {
            return Err(Refusal::Invalid(
                "'identity.channelName' must not be blank.".into(),
            ));
        }
        let display_name = self
            .display_name
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty());
        if display_name
            .as_ref()
            .is_some_and(|name| name.len() > MAX_DISPLAY_NAME)
        {
            return Err(Refusal::Invalid(format!(
                "'displayName' is longer than {MAX_DISPLAY_NAME} bytes."
            )));
        }
        let metadata = identity
            .channel_context
            .iter()
            .map(|context| ("channelContext".to_owned(), context.clone()))
            .collect();
        let thread = ThreadHeader {
            id: self.id,
            workspace_path: identity
                .workspace_path
                .filter(|path| !path.trim().is_empty())
                .unwrap_or_else(|| workspace.to_owned()),
            user_id: identity.user_id,
            origin_channel: identity.channel_name,
            channel_context: identity.channel_context,
            display_name,
            source,
            status: ThreadStatus::Active,
            created_at: now,
            last_active_at: now,
            history_mode: self.history_mode,
            config: self.config,
            metadata,
        };
        Ok(Event::ThreadStarted {
            thread: Box::new(thread),
        })
    }
}

impl ThreadState {
    fn id(&self) -> &ThreadId {
        &self.header.id
    }

    /// Decides on another title; no event when it is the same.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for a blank one and for one over [`MAX_DISPLAY_NAME`].
    pub fn decide_rename(&self, display_name: &str) -> Result<Vec<Event>, Refusal> {
        let name = display_name.trim();
        if name.is_empty() {
            return Err(Refusal::Invalid("'displayName' must not be blank.".into()));
        }
        if name.len() > MAX_DISPLAY_NAME {
            return Err(Refusal::Invalid(format!(
                "'displayName' is longer than {MAX_DISPLAY_NAME} bytes."
            )));
        }
        if self.header.display_name.as_deref() == Some(name) {
            return Ok(Vec::new());
        }
        Ok(vec![Event::ThreadRenamed {
            display_name: name.to_owned(),
        }])
    }

    /// Decides on setting a label, or (`None`) taking it away; no event when nothing changes.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for a label that is too long, [`Refusal::NotNow`] for one too many.
    pub fn decide_label(&self, name: &str, value: Option<&str>) -> Result<Vec<Event>, Refusal> {
        let labels = &self.header.metadata;
        if labels.get(name).map(String::as_str) == value {
            return Ok(Vec::new());
        }
        if value.is_some_and(|value| name.len() + value.len() > MAX_LABEL) {
            return Err(Refusal::Invalid(format!(
                "A label is longer than {MAX_LABEL} bytes."
            )));
        }
        if value.is_some() && !labels.contains_key(name) && labels.len() >= MAX_LABELS {
            return Err(Refusal::NotNow(format!(
                "There are {MAX_LABELS} labels already; take one away first."
            )));
        }
        Ok(vec![Event::ThreadLabelled {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        }])
    }

    /// Decides on pausing, archiving, unarchiving; no event when nothing changes.
    ///
    /// An archived Thread cannot be paused: that is a change of nothing too.
    pub fn decide_status(&self, change: StatusChange) -> Vec<Event> {
        let new = match (change, self.header.status) {
            (StatusChange::Pause, ThreadStatus::Active) => ThreadStatus::Paused,
            (StatusChange::Archive, ThreadStatus::Active | ThreadStatus::Paused) => ThreadStatus::Archived,
            (StatusChange::Unarchive, ThreadStatus::Archived) => ThreadStatus::Active,
            _ => return Vec::new(),
        };
        vec![Event::ThreadStatusChanged {
            previous: self.header.status,
            new,
        }]
    }

    /// Decides on taking the Thread up again, with the tools that its client brings along.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotActive`] when it is archived.
    pub fn decide_resume(&self, by: &str, tools: Option<Arc<[DynamicTool]>>) -> Result<Vec<Event>, Refusal> {
        let mut events = Vec::new();
        match self.header.status {
            ThreadStatus::Archived => return Err(self.not_active()),
            ThreadStatus::Paused => events.push(Event::ThreadStatusChanged {
                previous: ThreadStatus::Paused,
                new: ThreadStatus::Active,
            }),
            ThreadStatus::Active => {}
        }
        let others = tools.filter(|tools| *tools != self.tools);
        events.extend(others.map(|tools| Event::ToolsDeclared { tools }));
        events.push(Event::ThreadResumed { by: by.to_owned() });
        Ok(events)
    }

    /// Decides on the edge to the Thread above; no event when nothing changes. Closing stops what runs.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] where no Thread is above, [`Refusal::ThreadNotActive`] for opening one that is archived.
    pub fn decide_edge(&self, status: EdgeStatus, now: UnixMillis) -> Result<Vec<Event>, Refusal> {
        let Some(edge) = self.edge else {
            return Err(Refusal::Invalid(format!("Thread {} is no subagent.", self.id())));
        };
        if status == EdgeStatus::Open && self.header.status == ThreadStatus::Archived {
            return Err(self.not_active());
        }
        let mut events = match status {
            EdgeStatus::Closed => self.decide_cancel("Cancelled by request", now),
            EdgeStatus::Open => Vec::new(),
        };
        if edge.status != status {
            events.push(Event::EdgeChanged { status });
        }
        Ok(events)
    }

    /// Whether the Thread may be archived, unarchived or deleted by itself: a subagent is so with the Thread above.
    ///
    /// # Errors
    /// [`Refusal::Invalid`].
    pub fn check_stands_alone(&self) -> Result<(), Refusal> {
        match self.header.source.sub_agent() {
            None => Ok(()),
            Some(source) => Err(Refusal::Invalid(format!(
                "Thread {} is a subagent: it is archived, unarchived and deleted with thread {}.",
                self.id(),
                source.root
            ))),
        }
    }

    /// Decides on another configuration, replacing the whole.
    pub fn decide_configure(&self, config: ThreadConfig) -> Vec<Event> {
        vec![Event::ThreadConfigured { config }]
    }

    /// Decides on another mode, keeping the rest of the configuration.
    pub fn decide_mode(&self, mode: Mode) -> Vec<Event> {
        let mut config = self.header.config.clone().unwrap_or_default();
        if config.mode == Some(mode) {
            return Vec::new();
        }
        config.mode = Some(mode);
        vec![Event::ThreadConfigured { config }]
    }

    /// Decides on a new Turn.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotActive`], [`Refusal::TurnInProgress`], [`Refusal::Invalid`] for an empty input and where
    /// the client keeps the history.
    pub fn decide_start_turn(&self, wish: StartTurn, now: UnixMillis) -> Result<Vec<Event>, Refusal> {
        self.check_keeps_history()?;
        self.decide_turn(wish, now)
    }

    /// Decides on a new Turn after a conversation that its client hands in.
    ///
    /// # Errors
    /// As [`ThreadState::decide_start_turn`]; [`Refusal::Invalid`] also for messages that make no conversation, and
    /// where the server keeps the history.
    pub fn decide_start_turn_after(
        &self,
        messages: Arc<[GivenMessage]>,
        wish: StartTurn,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        if self.header.history_mode == HistoryMode::Server {
            return Err(Refusal::Invalid(
                "'messages' is for threads whose history the client keeps ('historyMode' \"client\").".into(),
            ));
        }
        given::check(&messages).map_err(Refusal::Invalid)?;
        let mut events = self.decide_turn(wish, now)?;
        let given = Event::HistoryGiven {
            turn: TurnId(self.last_turn.0 + 1),
            count: u32::try_from(messages.len()).unwrap_or(u32::MAX),
            messages,
        };
        events.insert(1, given);
        Ok(events)
    }

    fn decide_turn(&self, wish: StartTurn, now: UnixMillis) -> Result<Vec<Event>, Refusal> {
        self.check_active()?;
        self.check_idle()?;
        if wish.input.is_empty() {
            return Err(Refusal::Invalid("'input' has no usable part.".into()));
        }
        Ok(self.turn_events(wish, None, now))
    }

    /// Decides on the Turn of the queue's head, if the Thread is ready for it.
    pub fn decide_start_queued(&self, now: UnixMillis) -> Option<Vec<Event>> {
        self.start_queued(0, now)
    }

    /// Decides on the Turn of the first entry that does not wait for a good end, likewise.
    pub fn decide_start_following(&self, now: UnixMillis) -> Option<Vec<Event>> {
        let first = self.queue.iter().position(|entry| entry.follows_any_end)?;
        self.start_queued(first, now)
    }

    fn start_queued(&self, at: usize, now: UnixMillis) -> Option<Vec<Event>> {
        if self.live.is_some() || self.header.status != ThreadStatus::Active {
            return None;
        }
        let mut queue = self.queue.clone();
        let head = (at < queue.len()).then(|| queue.remove(at))?;
        let origin = || self.header.origin_channel.clone();
        let wish = StartTurn {
            input: head.native,
            sender: head.sender,
            channel: Some(head.channel.unwrap_or_else(origin)),
            features: head.features,
        };
        let mut events = self.turn_events(wish, Some(head.id), now);
        events.push(Event::QueueChanged { queue });
        Some(events)
    }

    fn turn_events(&self, wish: StartTurn, from_queue: Option<QueuedInputId>, now: UnixMillis) -> Vec<Event> {
        let text = display_text(&wish.input);
        let title = if self.header.display_name.is_none() {
            title_of(&typed_text(&wish.input)).or_else(|| title_of(&text))
        } else {
            None
        };
        let delivery = if from_queue.is_some() {
            DeliveryMode::Queued
        } else {
            DeliveryMode::Normal
        };
        let body = ItemBody::UserMessage(item::UserMessage {
            text,
            native: wish.input,
            delivery,
            sender: wish.sender,
            channel_name: wish.channel.clone(),
            channel_context: self.header.channel_context.clone(),
        });
        let turn = TurnId(self.last_turn.0 + 1);
        let user_item = Box::new(Item::whole(ItemId(1), now, body));
        let mut events = vec![
            Event::TurnStarted {
                turn,
                user_item: user_item.clone(),
                origin_channel: wish.channel,
                features: wish.features,
                from_queue,
            },
            Event::ItemAdded {
                turn,
                item: user_item,
            },
        ];
        events.extend(title.map(|display_name| Event::ThreadRenamed { display_name }));
        events
    }

    /// Decides on one more queue entry.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotActive`], [`Refusal::QueueFull`], [`Refusal::Invalid`] for an empty input and where the
    /// client keeps the history, without which no Turn can begin by itself.
    pub fn decide_enqueue(
        &self,
        id: QueuedInputId,
        wish: StartTurn,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        self.check_keeps_history()?;
        self.enqueued(id, wish, now)
    }

    /// The same, for an entry whose Turn follows however the one before it ends.
    ///
    /// # Errors
    /// As [`ThreadState::decide_enqueue`].
    pub fn decide_enqueue_next(
        &self,
        id: QueuedInputId,
        wish: StartTurn,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        let mut events = self.decide_enqueue(id, wish, now)?;
        for event in &mut events {
            if let Event::QueueChanged { queue } = event
                && let Some(entry) = queue.last_mut()
            {
                entry.follows_any_end = true;
            }
        }
        Ok(events)
    }

    fn enqueued(&self, id: QueuedInputId, wish: StartTurn, now: UnixMillis) -> Result<Vec<Event>, Refusal> {
        self.check_active()?;
        if wish.input.is_empty() {
            return Err(Refusal::Invalid("'input' has no usable part.".into()));
        }
        let parts = self
            .queue
            .iter()
            .flat_map(|entry| &entry.native)
            .chain(&wish.input);
        let bytes: usize = parts.map(InputPart::bytes).sum();
        if self.queue.len() >= MAX_QUEUED_INPUTS || bytes > MAX_QUEUED_BYTES {
            return Err(Refusal::QueueFull(self.id().clone()));
        }
        let mut queue = self.queue.clone();
        queue.push(QueuedInput {
            id,
            native: wish.input,
            sender: wish.sender,
            channel: wish.channel,
            features: wish.features,
            status: QueueStatus::Queued,
            lapses: false,
            follows_any_end: false,
            created_at: now,
            ready_after: self.live.as_ref().map(|live| live.turn.id),
        });
        Ok(vec![Event::QueueChanged { queue }])
    }

    /// Decides on an input that is for the Turn that runs and for no other; it takes the place of an earlier
    /// one if that still waits, with what that said in front.
    ///
    /// # Errors
    /// As [`ThreadState::decide_enqueue`]; [`Refusal::NotNow`] when no Turn runs.
    pub fn decide_guidance(
        &self,
        id: QueuedInputId,
        mut wish: StartTurn,
        turn: TurnId,
        replaces: Option<&QueuedInputId>,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        let closed = |live: &LiveTurn| live.turn.id != turn || live.cancelling.is_some();
        if self.live.as_ref().is_none_or(closed) {
            return Err(Refusal::NotNow(format!("{turn} does not run any more.")));
        }
        let mut without = self.clone();
        let earlier = without
            .queue
            .extract_if(.., |entry| Some(&entry.id) == replaces)
            .next();
        if let Some(earlier) = earlier {
            let parts = std::mem::take(&mut wish.input);
            wish.input = joined(earlier.native, parts);
        }
        let mut events = without.enqueued(id, wish, now)?;
        for event in &mut events {
            if let Event::QueueChanged { queue } = event
                && let Some(entry) = queue.last_mut()
            {
                entry.status = QueueStatus::GuidancePending;
                entry.lapses = true;
            }
        }
        Ok(events)
    }

    /// Decides on taking an entry out of the queue.
    ///
    /// # Errors
    /// [`Refusal::QueuedInputNotFound`].
    pub fn decide_unqueue(&self, id: &QueuedInputId) -> Result<Vec<Event>, Refusal> {
        let queue: Vec<_> = self
            .queue
            .iter()
            .filter(|entry| entry.id != *id)
            .cloned()
            .collect();
        if queue.len() == self.queue.len() {
            return Err(Refusal::QueuedInputNotFound(id.clone()));
        }
        Ok(vec![Event::QueueChanged { queue }])
    }

    /// Decides on giving a queued input to the Turn that runs. `sender` replaces the one it was queued with.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotActive`], [`Refusal::QueuedInputNotFound`], [`Refusal::NotNow`] when that Turn does
    /// not run or the entry is on its way already.
    pub fn decide_steer(
        &self,
        id: &QueuedInputId,
        expected: &str,
        sender: Option<Sender>,
    ) -> Result<Vec<Event>, Refusal> {
        self.check_active()?;
        let mut queue = self.queue.clone();
        let Some(entry) = queue.iter_mut().find(|entry| entry.id == *id) else {
            return Err(Refusal::QueuedInputNotFound(id.clone()));
        };
        let live = self.live.as_ref().filter(|live| live.cancelling.is_none());
        let Some(live) = live else {
            return Err(Refusal::NotNow(
                "No turn is running that could be guided; the input stays queued.".into(),
            ));
        };
        if expected != live.turn.id.to_string() {
            return Err(Refusal::NotNow(format!(
                "{} is running, not '{expected}'; the input stays queued.",
                live.turn.id
            )));
        }
        if entry.status != QueueStatus::Queued {
            return Err(Refusal::NotNow(format!("Queued input {id} is guidance already.")));
        }
        entry.status = QueueStatus::GuidancePending;
        if sender.is_some() {
            entry.sender = sender;
        }
        Ok(vec![Event::QueueChanged { queue }])
    }

    /// Decides on the guidance that waits for the open Turn: each entry leaves the queue and becomes an Item.
    pub fn decide_guide(&self, now: UnixMillis) -> Vec<Event> {
        let Some(live) = &self.live else { return Vec::new() };
        let (pending, queue): (Vec<_>, Vec<_>) = self
            .queue
            .iter()
            .cloned()
            .partition(|entry| entry.status == QueueStatus::GuidancePending);
        if pending.is_empty() {
            return Vec::new();
        }
        let items = (live.next_item().0..).zip(pending).map(|(id, entry)| {
            let body = ItemBody::UserMessage(item::UserMessage {
                text: display_text(&entry.native),
                native: entry.native,
                delivery: DeliveryMode::Guidance,
                sender: entry.sender,
                channel_name: entry.channel,
                channel_context: self.header.channel_context.clone(),
            });
            Event::ItemAdded {
                turn: live.turn.id,
                item: Box::new(Item::whole(ItemId(id), now, body)),
            }
        });
        items.chain([Event::QueueChanged { queue }]).collect()
    }

    /// Returns the queue in which guidance that came too late for the open Turn waits like the rest, if
    /// there is any.
    pub(super) fn queue_without_guidance(&self) -> Option<Vec<QueuedInput>> {
        let late = |entry: &QueuedInput| entry.status == QueueStatus::GuidancePending;
        self.queue.iter().any(late).then(|| {
            let mut queue = self.queue.clone();
            queue.retain(|entry| !entry.lapses);
            for entry in &mut queue {
                entry.status = QueueStatus::Queued;
            }
            queue
        })
    }

    /// Whether Turns may be taken out of the conversation now.
    ///
    /// # Errors
    /// [`Refusal::NotNow`] when the Thread is archived, a Turn runs, or there are not so many, or none.
    pub fn check_rollback(&self, count: u32) -> Result<(), Refusal> {
        if count == 0 {
            return Err(Refusal::NotNow("There is no such turn to roll back.".into()));
        }
        if self.header.status == ThreadStatus::Archived {
            return Err(Refusal::NotNow(
                "The thread is archived; unarchive it first.".into(),
            ));
        }
        if let Some(live) = &self.live {
            return Err(Refusal::NotNow(format!(
                "{} is still in progress; cancel it or wait for its end first.",
                live.turn.id
            )));
        }
        if count > self.turn_count {
            return Err(Refusal::NotNow(format!(
                "There are {} turns to roll back, not {count}.",
                self.turn_count
            )));
        }
        Ok(())
    }

    /// Finds the Turn an interrupt means; an empty text means the one that runs.
    ///
    /// # Errors
    /// [`Refusal::TurnNotFound`], [`Refusal::TurnNotRunning`].
    pub fn turn_to_interrupt(&self, text: &str) -> Result<TurnId, Refusal> {
        let live = self.live.as_ref().map(|live| live.turn.id);
        if text.is_empty() {
            return live.ok_or_else(|| Refusal::TurnNotRunning(text.to_owned()));
        }
        match text.parse::<TurnId>() {
            Ok(id) if Some(id) == live => Ok(id),
            Ok(id) if id.0 >= 1 && id <= self.last_turn => Err(Refusal::TurnNotRunning(text.to_owned())),
            _ => Err(Refusal::TurnNotFound(text.to_owned())),
        }
    }

    /// Finds the Turn whose file changes a wish wants undone.
    ///
    /// # Errors
    /// [`Refusal::TurnInProgress`], [`Refusal::TurnNotFound`].
    pub fn turn_to_revert(&self, text: &str) -> Result<TurnId, Refusal> {
        self.check_idle()?;
        text.parse::<TurnId>()
            .ok()
            .filter(|id| id.0 >= 1 && *id <= self.last_turn)
            .ok_or_else(|| Refusal::TurnNotFound(text.to_owned()))
    }

    pub(super) fn check_idle(&self) -> Result<(), Refusal> {
        match &self.live {
            Some(live) => Err(Refusal::TurnInProgress {
                thread: self.id().clone(),
                turn: live.turn.id,
            }),
            None => Ok(()),
        }
    }

    fn check_keeps_history(&self) -> Result<(), Refusal> {
        match self.header.history_mode {
            HistoryMode::Server => Ok(()),
            HistoryMode::Client => Err(Refusal::Invalid(
                "The client keeps this thread's history: start each turn with its 'messages'.".into(),
            )),
        }
    }

    fn check_active(&self) -> Result<(), Refusal> {
        if self.header.status == ThreadStatus::Active {
            Ok(())
        } else {
            Err(self.not_active())
        }
    }

    fn not_active(&self) -> Refusal {
        Refusal::ThreadNotActive {
            thread: self.id().clone(),
            status: self.header.status,
        }
    }
}

/// Puts one input behind another, texts that meet on lines of one text.
fn joined(mut parts: Vec<InputPart>, mut more: Vec<InputPart>) -> Vec<InputPart> {
    if let (Some(InputPart::Text { text }), Some(InputPart::Text { text: next })) =
        (parts.last_mut(), more.first())
    {
        text.push('\n');
        text.push_str(next);
        more.remove(0);
    }
    parts.append(&mut more);
    parts
}
