//! Applies events to the state. Never refuses: a recorded event has happened.

use std::sync::Arc;

use super::{LiveTurn, ThreadState};
use crate::{
    ApprovalId, ContextNote, ContextUsage, Decision, DeltaChannel, Edge, Event, GivenMessage, Item, ItemBody,
    ItemId, ItemStatus, Mode, Outcome, QueuedInputId, TokenUsage, Turn, TurnDiff, TurnId, TurnStatus,
    UnixMillis,
};

/// Most answers for the session that a Thread records.
const MAX_GRANTS: usize = 256;
/// What [`LiveTurn::crashes`] is after an orderly stop.
const LEFT_IN_ORDER: i32 = -1;

impl ThreadState {
    /// Applies one event. Returns the whole Turn when the event ended it.
    pub fn apply(&mut self, event: &Event, at: UnixMillis) -> Option<Turn> {
        match event {
            Event::ThreadStarted { thread } => *self = Self::new((**thread).clone()),
            // Undoing a Turn changes files; the conversation stays. A helper's figures are in the store alone.
            Event::ThreadResumed { .. }
            | Event::TurnReverted { .. }
            | Event::ThreadDeleted
            | Event::HelperUsed { .. } => {}
            Event::ThreadRenamed { display_name } => self.header.display_name = Some(display_name.clone()),
            Event::ThreadLabelled { name, value } => self.label(name, value.as_ref()),
            Event::ThreadStatusChanged { new, .. } => self.header.status = *new,
            Event::ThreadConfigured { config } => {
                // Outside plan mode there is no plan to confirm (02 §2.6).
                self.plan_pending &= config.mode() == Mode::Plan;
                self.header.config = Some(config.clone());
            }
            Event::EdgeChanged { status } => self.edge = Some(Edge::at(*status, at)),
            Event::ToolsDeclared { tools } => self.tools = tools.clone(),
            Event::QueueChanged { queue } => self.queue.clone_from(queue),
            Event::PlanUpdated { plan } => self.plan = Some(plan.clone()),
            Event::TurnStarted {
                turn,
                origin_channel,
                features,
                from_queue,
                ..
            } => {
                self.header.last_active_at = at;
                self.last_turn = *turn;
                self.turn_count += 1;
                self.plan_pending = false;
                self.drop_queued(from_queue.as_ref());
                self.live = Some(LiveTurn::new(*turn, at, origin_channel.clone(), features.clone()));
            }
            Event::HistoryGiven { messages, .. } => self.put_history(messages),
            Event::TurnRecovered { crashed, .. } => self.set_crashes(|before| before + i32::from(*crashed)),
            Event::TurnLeftOpen { .. } => self.set_crashes(|_| LEFT_IN_ORDER),
            Event::TurnCancelling { reason, .. } => {
                if let Some(live) = &mut self.live {
                    live.cancelling = Some(reason.clone());
                }
            }
            Event::ItemStarted { item, .. }
            | Event::ItemCompleted { item, .. }
            | Event::ItemAdded { item, .. } => {
                self.put_item(item);
            }
            Event::CallPreviewed { call_id, preview, .. } => {
                if let Some(live) = &mut self.live {
                    live.previews.insert(call_id.clone(), preview.clone());
                }
            }
            Event::CallStarted { call_id, .. } => {
                if let Some(live) = &mut self.live {
                    live.started_calls.insert(call_id.clone());
                }
            }
            Event::ApprovalOpened { item, approval } => {
                self.put_item(item);
                if let Some(live) = &mut self.live {
                    live.approvals.push((**approval).clone());
                    live.set_status();
                }
            }
            Event::ApprovalResolved {
                approval,
                decision,
                item,
                ..
            } => {
                self.put_item(item);
                self.close_approval(approval, *decision);
            }
            Event::UsageAdded { .. } | Event::SubAgentUsed { .. } | Event::ContextNoted { .. } => {
                self.apply_to_window(event);
            }
            Event::DiffUpdated { diff, .. } => self.put_diff(diff),
            Event::TurnsRolledBack { count, .. } => {
                self.turn_count = self.turn_count.saturating_sub(*count);
                self.plan_pending = false;
                // The next model call gives the figure again.
                self.context.tokens = 0;
            }
            Event::TurnEnded {
                outcome,
                completed_at,
                usage,
                plan_pending,
                ..
            } => {
                self.header.last_active_at = at;
                self.plan_pending = *plan_pending;
                let mut turn = self.live.take()?.turn;
                turn.status = outcome.status();
                turn.completed_at = Some(*completed_at);
                turn.usage = *usage;
                if let Outcome::Failed { error } = outcome {
                    turn.error = Some(error.clone());
                }
                return Some(turn);
            }
        }
        None
    }

    fn set_crashes(&mut self, new: impl FnOnce(i32) -> i32) {
        if let Some(live) = &mut self.live {
            live.crashes = new(live.crashes);
        }
    }

    fn label(&mut self, name: &str, value: Option<&String>) {
        let labels = &mut self.header.metadata;
        match value {
            Some(value) => labels.insert(name.to_owned(), value.clone()),
            None => labels.remove(name),
        };
    }

    /// Applies events about the model's window and the cost of its calls.
    fn apply_to_window(&mut self, event: &Event) {
        match event {
            Event::UsageAdded {
                turn,
                usage,
                context_tokens,
                context_window,
                cost_micros,
                ..
            } => {
                self.context.tokens = *context_tokens;
                self.context.window = context_window.unwrap_or(self.context.window);
                self.spend(*turn, *usage, *cost_micros);
            }
            // These tokens fill windows of their own.
            Event::SubAgentUsed {
                turn,
                usage,
                cost_micros,
                ..
            } => self.spend(*turn, *usage, *cost_micros),
            Event::ContextNoted {
                note, tokens, window, ..
            } => {
                if *note == ContextNote::Compacted {
                    self.context = ContextUsage {
                        tokens: *tokens,
                        window: *window,
                    };
                }
                if let Some(live) = &mut self.live {
                    live.compacting = match note {
                        ContextNote::Compacting => true,
                        ContextNote::Warning | ContextNote::Error => live.compacting,
                        ContextNote::Compacted | ContextNote::CompactSkipped | ContextNote::CompactFailed => {
                            false
                        }
                    };
                }
            }
            _ => {}
        }
    }

    /// Adds to the figures of the live Turn. Those of a Turn that is over are in the store alone.
    fn spend(&mut self, turn: TurnId, usage: TokenUsage, cost_micros: u64) {
        if let Some(live) = self.live.as_mut().filter(|live| live.turn.id == turn) {
            live.turn.usage.add(usage);
            live.turn.cost_micros = live.turn.cost_micros.saturating_add(cost_micros);
        }
    }

    /// Appends streamed text to an open Item. Returns the bytes that were there before, or `None` when the Item is
    /// not open or has no such stream.
    pub fn push_text(&mut self, id: ItemId, channel: DeltaChannel, text: &str) -> Option<usize> {
        let live = self.live.as_mut()?;
        let item = live
            .item_mut(id)
            .filter(|item| item.status != ItemStatus::Completed)?;
        let stream = if channel == DeltaChannel::ToolArguments {
            live.arguments.entry(id).or_default()
        } else {
            item.status = ItemStatus::Streaming;
            item.body.text_mut()?
        };
        let offset = stream.len();
        stream.push_str(text);
        Some(offset)
    }

    fn put_history(&mut self, messages: &Arc<[GivenMessage]>) {
        if let Some(live) = &mut self.live {
            live.history = Some(messages.clone());
        }
    }

    fn put_diff(&mut self, diff: &TurnDiff) {
        if let Some(live) = &mut self.live {
            live.turn.files_changed = diff.files_changed();
            live.diff = Some(diff.clone());
        }
    }

    fn put_item(&mut self, item: &Item) {
        let Some(live) = &mut self.live else { return };
        live.arguments.remove(&item.id);
        match live.item_mut(item.id) {
            Some(old) => *old = item.clone(),
            None => live.turn.items.push(item.clone()),
        }
        live.note_inquiry(item);
    }

    fn close_approval(&mut self, id: &ApprovalId, decision: Decision) {
        let Some(live) = &mut self.live else { return };
        let Some(index) = live.approvals.iter().position(|open| open.id == *id) else {
            return;
        };
        let approval = live.approvals.remove(index);
        live.decided
            .insert(approval.call_id.clone(), (approval.scope.clone(), decision));
        // Beyond the limit, the answer is not recorded and the user is asked again.
        let grant = approval.scope.grant_of(decision);
        self.grants
            .extend(grant.filter(|_| self.grants.len() < MAX_GRANTS));
        live.set_status();
    }

    fn drop_queued(&mut self, id: Option<&QueuedInputId>) {
        if let Some(id) = id {
            self.queue.retain(|entry| entry.id != *id);
        }
    }
}

impl LiveTurn {
    /// Notes that an Item opens or settles a question of the model.
    pub(super) fn note_inquiry(&mut self, item: &Item) {
        match &item.body {
            ItemBody::UserInputRequest(_) => self.inquiries.push(item.id),
            ItemBody::UserInputResponse { request_id, .. } => {
                let answered = self
                    .open_inquiries()
                    .find(|(_, request)| request.request_id == *request_id)
                    .map(|(id, _)| id);
                self.inquiries.retain(|id| Some(*id) != answered);
            }
            _ => return,
        }
        self.set_status();
    }

    /// Sets the Turn's status by its open questions.
    fn set_status(&mut self) {
        self.turn.status = match (self.approvals.is_empty(), self.inquiries.is_empty()) {
            (false, _) => TurnStatus::WaitingApproval,
            (true, false) => TurnStatus::WaitingInput,
            (true, true) => TurnStatus::Running,
        };
    }
}
