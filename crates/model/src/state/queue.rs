//! Decisions about inputs that wait: queueing, removing, giving to the running Turn, starting.

use std::collections::BTreeSet;

use super::decide::StartTurn;
use super::{LiveTurn, MAX_QUEUED_BYTES, MAX_QUEUED_INPUTS, ThreadState};
use crate::{
    DeliveryMode, Event, InputPart, Item, ItemBody, ItemId, QueueStatus, QueuedInput, QueuedInputId, Refusal,
    Sender, ThreadStatus, TurnId, UnixMillis, item,
};

/// A user's change of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueChange {
    /// Remove an entry.
    Remove(QueuedInputId),
    /// Set the order; each entry once.
    Reorder(Vec<QueuedInputId>),
    /// Give an entry to the running Turn.
    Guide {
        /// The entry.
        id: QueuedInputId,
        /// The Turn that must run.
        expected: String,
    },
    /// Make an entry wait for a Turn of its own again.
    TakeBack {
        /// The entry.
        id: QueuedInputId,
        /// The Turn that the entry must be bound to.
        expected: String,
    },
}

impl ThreadState {
    /// Decides on the Turn of the queue's head, if the Thread is ready for it.
    pub fn decide_start_queued(&self, now: UnixMillis) -> Option<Vec<Event>> {
        let first = self.queue.iter().position(|entry| !entry.is_message)?;
        self.start_queued(first, now)
    }

    /// Decides on the Turn of the first entry that does not wait for a good end, if the Thread is ready for it.
    pub fn decide_start_following(&self, now: UnixMillis) -> Option<Vec<Event>> {
        let first = self.queue.iter().position(|entry| entry.follows_any_end)?;
        self.start_queued(first, now)
    }

    fn start_queued(&self, at: usize, now: UnixMillis) -> Option<Vec<Event>> {
        if self.live.is_some() || self.header.status != ThreadStatus::Active {
            return None;
        }
        let mut queue = self.queue.clone();
        let head = queue.remove(at);
        let origin = || self.header.origin_channel.clone();
        let request = StartTurn {
            client_message_id: head.client_message_id,
            trigger: head.trigger,
            input: head.native,
            sender: head.sender,
            channel: Some(head.channel.unwrap_or_else(origin)),
            features: head.features.clone(),
        };
        let mut events = self.turn_events(request, Some(head.id), now);
        events.push(Event::QueueChanged { queue });
        Some(events)
    }

    /// Decides on a new queue entry.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotActive`], [`Refusal::QueueFull`], [`Refusal::Invalid`] for an empty input and where the
    /// client stores the history: no Turn can start without that history.
    pub fn decide_enqueue(
        &self,
        id: QueuedInputId,
        request: StartTurn,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        self.check_keeps_history()?;
        self.enqueued(id, request, now)
    }

    /// Decides on a new queue entry whose Turn starts however the Turn before it ends.
    ///
    /// # Errors
    /// As [`ThreadState::decide_enqueue`].
    pub fn decide_enqueue_next(
        &self,
        id: QueuedInputId,
        request: StartTurn,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        let mut events = self.decide_enqueue(id, request, now)?;
        for event in &mut events {
            if let Event::QueueChanged { queue } = event
                && let Some(entry) = queue.last_mut()
            {
                entry.follows_any_end = true;
            }
        }
        Ok(events)
    }

    /// Decides on an input that starts no Turn: the next model call gets it, of the running Turn or of a later one.
    ///
    /// # Errors
    /// As [`ThreadState::decide_enqueue`].
    pub fn decide_message(
        &self,
        id: QueuedInputId,
        request: StartTurn,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        let mut events = self.decide_enqueue(id, request, now)?;
        for event in &mut events {
            if let Event::QueueChanged { queue } = event
                && let Some(entry) = queue.last_mut()
            {
                entry.status = QueueStatus::GuidancePending;
                entry.is_message = true;
            }
        }
        Ok(events)
    }

    fn enqueued(
        &self,
        id: QueuedInputId,
        request: StartTurn,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        self.check_active()?;
        if request.input.is_empty() {
            return Err(Refusal::Invalid("'input' has no usable part.".into()));
        }
        let parts = self
            .queue
            .iter()
            .flat_map(|entry| &entry.native)
            .chain(&request.input);
        let bytes: usize = parts.map(InputPart::bytes).sum();
        if self.queue.len() >= MAX_QUEUED_INPUTS || bytes > MAX_QUEUED_BYTES {
            return Err(Refusal::QueueFull(self.id().clone()));
        }
        let mut queue = self.queue.clone();
        queue.push(QueuedInput {
            id,
            native: request.input,
            sender: request.sender,
            client_message_id: request.client_message_id,
            channel: request.channel,
            features: request.features,
            status: QueueStatus::Queued,
            lapses: false,
            is_message: false,
            trigger: request.trigger,
            follows_any_end: false,
            created_at: now,
            ready_after: self.live.as_ref().map(|live| live.turn.id),
        });
        Ok(vec![Event::QueueChanged { queue }])
    }

    /// Decides on an input that is meant for the running Turn only. If an earlier such input still waits, the new
    /// one is appended to its text.
    ///
    /// # Errors
    /// As [`ThreadState::decide_enqueue`]; [`Refusal::NotNow`] when no Turn runs.
    pub fn decide_guidance(
        &self,
        id: QueuedInputId,
        mut request: StartTurn,
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
            let parts = std::mem::take(&mut request.input);
            request.input = joined(earlier.native, parts);
        }
        let mut events = without.enqueued(id, request, now)?;
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

    /// Decides on a user's change of the queue. Returns no event where nothing changes.
    ///
    /// # Errors
    /// [`Refusal::QueuedInputNotFound`]; [`Refusal::Invalid`] for an order of other entries than those in the queue;
    /// [`Refusal::ThreadNotActive`] and [`Refusal::NotNow`] for an entry that cannot be given to the Turn or taken back
    /// from it.
    pub fn decide_change_queue(&self, change: &QueueChange) -> Result<Vec<Event>, Refusal> {
        let mut queue = self.queue.clone();
        let find = |id: &QueuedInputId| {
            let at = self.queue.iter().position(|entry| entry.id == *id);
            at.ok_or_else(|| Refusal::QueuedInputNotFound(id.clone()))
        };
        match change {
            QueueChange::Remove(id) => {
                queue.remove(find(id)?);
            }
            QueueChange::Reorder(ids) => {
                let at = ids.iter().map(find).collect::<Result<Vec<_>, _>>();
                let at =
                    at.map_err(|refusal| Refusal::Invalid(format!("The queue has changed: {refusal}.")))?;
                let different: BTreeSet<_> = at.iter().collect();
                if at.len() != queue.len() || different.len() != queue.len() {
                    return Err(Refusal::Invalid(
                        "'orderedQueuedInputIds' must have each input of the queue once.".into(),
                    ));
                }
                queue = at.into_iter().map(|at| self.queue[at].clone()).collect();
            }
            QueueChange::Guide { id, expected } => {
                let at = find(id)?;
                self.check_active()?;
                self.running(expected)?;
                queue[at].status = QueueStatus::GuidancePending;
            }
            QueueChange::TakeBack { id, expected } => {
                let entry = &mut queue[find(id)?];
                if entry.status == QueueStatus::GuidancePending {
                    let turn = self.live_turn().filter(|turn| turn.to_string() == *expected);
                    turn.ok_or_else(|| Refusal::NotNow(format!("The input is not bound to '{expected}'.")))?;
                    entry.status = QueueStatus::Queued;
                    entry.lapses = false;
                    entry.is_message = false;
                }
            }
        }
        if queue == self.queue {
            return Ok(Vec::new());
        }
        Ok(vec![Event::QueueChanged { queue }])
    }

    /// Decides on giving a queued input to the running Turn. `sender` replaces the original sender.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotActive`], [`Refusal::QueuedInputNotFound`], [`Refusal::NotNow`] when that Turn does not
    /// run or the entry is already given to it.
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
        self.running(expected)?;
        if entry.status != QueueStatus::Queued {
            return Err(Refusal::NotNow(format!("Queued input {id} is guidance already.")));
        }
        entry.status = QueueStatus::GuidancePending;
        if sender.is_some() {
            entry.sender = sender;
        }
        Ok(vec![Event::QueueChanged { queue }])
    }

    /// Decides on a new input for the running Turn. If the Turn ends first, the input waits in the queue.
    ///
    /// # Errors
    /// As [`ThreadState::decide_enqueue`]; [`Refusal::NotNow`] when that Turn does not run, and for a subagent.
    pub fn decide_steer_input(
        &self,
        id: QueuedInputId,
        expected: &str,
        request: StartTurn,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        self.check_active()?;
        if self.header.source.sub_agent().is_some() {
            return Err(Refusal::NotNow(
                "A subagent is guided by its parent; nothing was stored.".into(),
            ));
        }
        self.running(expected)?;
        let mut events = self.decide_enqueue(id, request, now)?;
        for event in &mut events {
            if let Event::QueueChanged { queue } = event
                && let Some(entry) = queue.last_mut()
            {
                entry.status = QueueStatus::GuidancePending;
            }
        }
        Ok(events)
    }

    /// Checks that a Turn runs and is not being stopped.
    fn running(&self, expected: &str) -> Result<(), Refusal> {
        let live = self.live.as_ref().filter(|live| live.cancelling.is_none());
        let Some(live) = live else {
            return Err(Refusal::NotNow(
                "No turn is running that could be guided; the input stays where it was.".into(),
            ));
        };
        if expected != live.turn.id.to_string() {
            return Err(Refusal::NotNow(format!(
                "{} is running, not '{expected}'; the input stays where it was.",
                live.turn.id
            )));
        }
        Ok(())
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
                native: entry.native,
                delivery: DeliveryMode::Guidance,
                client_message_id: entry.client_message_id,
                sender: entry.sender,
                actor: entry.features.actor.person().cloned(),
                trigger: entry.trigger,
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

    /// Returns the queue with guidance that came too late for the open Turn turned into ordinary entries; `None` if
    /// there is no such guidance.
    pub(super) fn queue_without_guidance(&self) -> Option<Vec<QueuedInput>> {
        let late = |entry: &QueuedInput| entry.status == QueueStatus::GuidancePending && !entry.is_message;
        self.queue.iter().any(late).then(|| {
            let mut queue = self.queue.clone();
            queue.retain(|entry| !entry.lapses);
            for entry in queue.iter_mut().filter(|entry| !entry.is_message) {
                entry.status = QueueStatus::Queued;
            }
            queue
        })
    }
}

/// Appends one input to another. Where two texts meet, they become lines of one text.
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
