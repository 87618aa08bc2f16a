//! Decisions about the Thread as a whole: start, rename, status, configuration, a new Turn.

use std::sync::Arc;

use super::{MAX_DISPLAY_NAME, MAX_LABEL, MAX_LABELS, ThreadState};
use crate::thread::title_of_input;
use crate::{
    DeliveryMode, DynamicTool, EdgeStatus, Event, GivenMessage, HistoryMode, Identity, InputPart, Item,
    ItemBody, ItemId, Mode, QueuedInputId, Refusal, Sender, ThreadConfig, ThreadHeader, ThreadId,
    ThreadSource, ThreadStatus, Trigger, TurnFeatures, TurnId, UnixMillis, given, item,
};

/// A request for a new Thread.
#[derive(Debug, Clone)]
pub struct NewThread {
    /// Its fresh id.
    pub id: ThreadId,
    /// The user and channel that want it.
    pub identity: Identity,
    /// Initial configuration.
    pub config: Option<ThreadConfig>,
    /// Which side stores the history.
    pub history_mode: HistoryMode,
    /// Title; blank means none.
    pub display_name: Option<String>,
}

/// A request for a new Turn.
#[derive(Debug, Clone)]
pub struct StartTurn {
    /// The user's input; never empty.
    pub input: Vec<InputPart>,
    /// Who sent it.
    pub sender: Option<Sender>,
    /// The client's own id of it.
    pub client_message_id: Option<String>,
    /// What sent it, where no user did.
    pub trigger: Option<Box<Trigger>>,
    /// Channel it came through.
    pub channel: Option<String>,
    /// What the starting client can do.
    pub features: TurnFeatures,
}

/// A change of a Thread's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusChange {
    /// Accept no Turns until resumed.
    Pause,
    /// Archive.
    Archive,
    /// Return from the archive.
    Unarchive,
}

impl NewThread {
    /// Decides on a new Thread of a user or a channel.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] when the channel name is blank.
    pub fn decide(self, workspace: &str, now: UnixMillis) -> Result<Event, Refusal> {
        self.decide_from(ThreadSource::User, workspace, now)
    }

    /// Decides on a new Thread of any source.
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
    pub(super) fn id(&self) -> &ThreadId {
        &self.header.id
    }

    /// Decides on a new title. Returns no event when the title is the same.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for a blank title and for one over [`MAX_DISPLAY_NAME`].
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

    /// Decides on setting a label or, with `None`, removing it. Returns no event when nothing changes.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for a label that is too long, [`Refusal::NotNow`] when the Thread has the most labels
    /// already.
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

    /// Decides on pausing, archiving or unarchiving. Returns no event when nothing changes.
    ///
    /// Pausing an archived Thread changes nothing.
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

    /// Decides on resuming the Thread, with the tools that its client declares.
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

    /// Decides on the edge to the parent Thread. Returns no event when nothing changes. Closing stops the running
    /// Turn.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for a Thread without a parent, [`Refusal::ThreadNotActive`] for opening the edge of an
    /// archived Thread.
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

    /// Checks that the Thread may be archived, unarchived or deleted by itself. A subagent may not: it follows its
    /// parent.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for a subagent.
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

    /// Decides on replacing the whole configuration, except for the worktree: only the server gives a Thread one.
    pub fn decide_configure(&self, mut config: ThreadConfig) -> Vec<Event> {
        let own = self.header.config.as_ref();
        config.worktree = own.and_then(|own| own.worktree.clone());
        vec![Event::ThreadConfigured { config }]
    }

    /// Decides on another mode; the rest of the configuration stays.
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
    /// the client stores the history.
    pub fn decide_start_turn(&self, request: StartTurn, now: UnixMillis) -> Result<Vec<Event>, Refusal> {
        self.check_keeps_history()?;
        self.decide_turn(request, now)
    }

    /// Decides on a new Turn after a conversation that its client sends.
    ///
    /// # Errors
    /// As [`ThreadState::decide_start_turn`]; [`Refusal::Invalid`] also for messages that are no valid
    /// conversation, and where the server stores the history.
    pub fn decide_start_turn_after(
        &self,
        messages: Arc<[GivenMessage]>,
        request: StartTurn,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        if self.header.history_mode == HistoryMode::Server {
            return Err(Refusal::Invalid(
                "'messages' is for threads whose history the client keeps ('historyMode' \"client\").".into(),
            ));
        }
        given::check(&messages).map_err(Refusal::Invalid)?;
        let mut events = self.decide_turn(request, now)?;
        let given = Event::HistoryGiven {
            turn: TurnId(self.last_turn.0 + 1),
            count: u32::try_from(messages.len()).unwrap_or(u32::MAX),
            messages,
        };
        events.insert(1, given);
        Ok(events)
    }

    fn decide_turn(&self, request: StartTurn, now: UnixMillis) -> Result<Vec<Event>, Refusal> {
        self.check_active()?;
        self.check_idle()?;
        if request.input.is_empty() {
            return Err(Refusal::Invalid("'input' has no usable part.".into()));
        }
        Ok(self.turn_events(request, None, now))
    }

    pub(super) fn turn_events(
        &self,
        request: StartTurn,
        from_queue: Option<QueuedInputId>,
        now: UnixMillis,
    ) -> Vec<Event> {
        let title = if self.header.display_name.is_none() {
            title_of_input(&request.input)
        } else {
            None
        };
        let delivery = if from_queue.is_some() {
            DeliveryMode::Queued
        } else {
            DeliveryMode::Normal
        };
        let body = ItemBody::UserMessage(item::UserMessage {
            native: request.input,
            delivery,
            client_message_id: request.client_message_id,
            sender: request.sender,
            actor: request.features.actor.person().cloned(),
            trigger: request.trigger,
            channel_name: request.channel.clone(),
            channel_context: self.header.channel_context.clone(),
        });
        let turn = TurnId(self.last_turn.0 + 1);
        let user_item = Box::new(Item::whole(ItemId(1), now, body));
        let mut events = vec![
            Event::TurnStarted {
                turn,
                user_item: Some(user_item.clone()),
                origin_channel: request.channel,
                features: request.features,
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

    pub(super) fn check_idle(&self) -> Result<(), Refusal> {
        match &self.live {
            Some(live) => Err(Refusal::TurnInProgress {
                thread: self.id().clone(),
                turn: live.turn.id,
            }),
            None => Ok(()),
        }
    }

    pub(super) fn check_keeps_history(&self) -> Result<(), Refusal> {
        match self.header.history_mode {
            HistoryMode::Server => Ok(()),
            HistoryMode::Client => Err(Refusal::Invalid(
                "The client keeps this thread's history: start each turn with its 'messages'.".into(),
            )),
        }
    }

    pub(super) fn check_active(&self) -> Result<(), Refusal> {
        if self.header.status == ThreadStatus::Active {
            Ok(())
        } else {
            Err(self.not_active())
        }
    }

    pub(super) fn not_active(&self) -> Refusal {
        Refusal::ThreadNotActive {
            thread: self.id().clone(),
            status: self.header.status,
        }
    }
}
