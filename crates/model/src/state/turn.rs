//! Decisions about the open Turn: its Items, its Approvals, its end.

use super::{LiveTurn, ThreadState};
use crate::item::{CommandStatus, ExecutionStatus};
use crate::plan::CREATE_PLAN;
use crate::{
    Approval, ApprovalId, ContextNote, DecidedBy, Decision, DynamicToolError, Event, Item, ItemBody, ItemId,
    ItemStatus, Json, Mode, Outcome, Refusal, ToolAnswer, TurnId, UnixMillis, UserInputRequest,
};

impl ThreadState {
    /// Decides on opening an Item. Opening prose completes prose that is still open (03 §7 rule 5).
    pub fn decide_open_item(&self, body: ItemBody, now: UnixMillis) -> Option<(ItemId, Vec<Event>)> {
        let live = self.live.as_ref()?;
        let mut events = if body.is_prose() {
            live.completed_prose(now)
        } else {
            Vec::new()
        };
        let id = live.next_item();
        let item = Item {
            id,
            status: ItemStatus::Started,
            created_at: now,
            completed_at: None,
            body,
        };
        events.push(Event::ItemStarted {
            turn: live.turn.id,
            item: Box::new(item),
        });
        Some((id, events))
    }

    /// Decides on completing an open Item, with another body when `body` is given. Returns no event when the Item
    /// is not open (any more).
    pub fn decide_complete_item(&self, id: ItemId, body: Option<ItemBody>, now: UnixMillis) -> Vec<Event> {
        let Some(live) = &self.live else { return Vec::new() };
        let Some(item) = live.item(id).filter(|item| item.status != ItemStatus::Completed) else {
            return Vec::new();
        };
        let ended = match &body {
            Some(ItemBody::DynamicToolCall(call)) => Some(call.call_id.clone()),
            _ => None,
        };
        let mut events = vec![live.completed(item, body, now)];
        events.extend(
            ended
                .into_iter()
                .flat_map(|call| live.unanswered(&call, live.next_item(), now)),
        );
        events
    }

    /// Decides on an Item that is final at once. A tool result completes open prose (03 §7 rule 5), and settles a
    /// question about its call that nobody has answered.
    pub fn decide_add_item(&self, body: ItemBody, now: UnixMillis) -> Option<(ItemId, Vec<Event>)> {
        let live = self.live.as_ref()?;
        let closes = matches!(body, ItemBody::ToolResult { .. });
        let mut events = if closes {
            live.completed_prose(now)
        } else {
            Vec::new()
        };
        let id = live.next_item();
        let ended = match &body {
            ItemBody::ToolResult { call_id, .. } => live.unanswered(call_id, ItemId(id.0 + 1), now),
            _ => Vec::new(),
        };
        events.push(Event::ItemAdded {
            turn: live.turn.id,
            item: Box::new(Item::whole(id, now, body)),
        });
        events.extend(ended);
        Some((id, events))
    }

    /// Decides on a question of the model, or finds the open question of the same call. Returns its Item, and the events if
    /// it is new.
    pub fn decide_inquire(&self, request: UserInputRequest, now: UnixMillis) -> Option<(Item, Vec<Event>)> {
        let live = self.live.as_ref()?;
        let known = live
            .open_inquiries()
            .find(|(_, open)| open.call_id == request.call_id);
        if let Some(item) = known.and_then(|(id, _)| live.item(id)) {
            return Some((item.clone(), Vec::new()));
        }
        let body = ItemBody::UserInputRequest(Box::new(request));
        let item = Item::whole(live.next_item(), now, body);
        let event = Event::ItemAdded {
            turn: live.turn.id,
            item: Box::new(item.clone()),
        };
        Some((item, vec![event]))
    }

    /// Decides on opening an Approval. Fills in `approval.item`.
    pub fn decide_ask(&self, mut approval: Approval) -> Option<Vec<Event>> {
        let live = self.live.as_ref()?;
        approval.turn = live.turn.id;
        approval.item = live.next_item();
        let body = ItemBody::ApprovalRequest {
            approval_type: approval.scope.kind,
            operation: approval.scope.operation.clone(),
            target: approval.scope.target.clone(),
            request_id: approval.id.clone(),
            scope_key: approval.scope.session_key(),
            reason: approval.reason.clone(),
            call_id: Some(approval.call_id.clone()),
        };
        let item = Item::whole(approval.item, approval.opened_at, body);
        Some(vec![Event::ApprovalOpened {
            item: Box::new(item),
            approval: Box::new(approval),
        }])
    }

    /// Decides on the end of open Approvals of a call that nobody waits for any more: the call asks anew, about something else.
    pub fn decide_withdraw(&self, ids: &[ApprovalId], now: UnixMillis) -> Vec<Event> {
        let Some(live) = &self.live else { return Vec::new() };
        let withdrawn = live.approvals.iter().filter(|open| ids.contains(&open.id));
        let numbers = (live.next_item().0..).map(ItemId);
        let events = withdrawn
            .zip(numbers)
            .map(|(open, item)| resolved(open, Decision::Cancel, DecidedBy::CallEnded, item, now));
        events.collect()
    }

    /// Decides on an answer. An answer for the session or for ever also settles the open Approvals that it covers.
    ///
    /// # Errors
    /// [`Refusal::ApprovalNotOpen`]: never opened, or another answer was first.
    pub fn decide_answer(
        &self,
        id: &ApprovalId,
        decision: Decision,
        by: &DecidedBy,
        now: UnixMillis,
    ) -> Result<Vec<Event>, Refusal> {
        let asked = self
            .approval(id)
            .ok_or_else(|| Refusal::ApprovalNotOpen(id.clone()))?;
        let settled = self
            .approvals()
            .iter()
            .filter(|open| open.id == *id || asked.scope.settles(decision, &open.scope));
        let mut next = self.live.as_ref().map_or(ItemId(1), LiveTurn::next_item);
        let events = settled.map(|open| {
            let by = if open.id == *id {
                by.clone()
            } else {
                DecidedBy::SameScope(id.clone())
            };
            let decision = if open.id == *id {
                decision
            } else {
                Decision::Accept
            };
            let event = resolved(open, decision, by, next, now);
            next = ItemId(next.0 + 1);
            event
        });
        Ok(events.collect())
    }

    /// Decides on the end of the open Turn: open Items become final as they are, open questions are settled
    /// without an answer, and the Turn's end is the last event.
    pub fn decide_end_turn(&self, outcome: Outcome, now: UnixMillis) -> Vec<Event> {
        let Some(live) = &self.live else { return Vec::new() };
        let mut events = self.decide_close_questions(now);
        events.extend(
            live.open_items()
                .map(|item| live.completed(item, stopped_body(item, &outcome), now)),
        );
        if live.compacting {
            // Clients that saw the start of a compaction must see its end.
            events.push(Event::ContextNoted {
                turn: live.turn.id,
                note: ContextNote::CompactFailed,
                tokens: self.context.tokens,
                window: self.context.window,
                message: "The turn ended before the conversation was compacted.".to_owned(),
            });
        }
        let plan_pending = outcome == Outcome::Completed
            && self
                .header
                .config
                .as_ref()
                .is_some_and(|config| config.mode() == Mode::Plan)
            && live.ended_with_a_plan();
        events.extend(
            self.queue_without_guidance()
                .map(|queue| Event::QueueChanged { queue }),
        );
        events.push(Event::TurnEnded {
            turn: live.turn.id,
            outcome,
            completed_at: now,
            usage: live.turn.usage,
            plan_pending,
        });
        events
    }

    /// Decides on stopping the open Turn. The stop is recorded before any client is notified, and the open
    /// Approvals are settled as `cancel`. Returns no event for a Turn that is being stopped already.
    pub fn decide_cancel(&self, reason: &str, now: UnixMillis) -> Vec<Event> {
        let Some(live) = self.live.as_ref().filter(|live| live.cancelling.is_none()) else {
            return Vec::new();
        };
        let mut events = vec![Event::TurnCancelling {
            turn: live.turn.id,
            reason: reason.to_owned(),
        }];
        events.extend(self.decide_close_questions(now));
        events
    }

    /// Settles every open Approval as `cancel`, and every open question of the model without an answer.
    pub fn decide_close_questions(&self, now: UnixMillis) -> Vec<Event> {
        let Some(live) = &self.live else { return Vec::new() };
        live.closed(|_| true, &DecidedBy::Interrupt, live.next_item(), now)
    }

    /// Returns the open Turn's number.
    pub fn live_turn(&self) -> Option<TurnId> {
        self.live.as_ref().map(|live| live.turn.id)
    }
}

impl LiveTurn {
    /// Settles the open Approvals and questions of a call that got its result. The first answer has the Item `first`.
    fn unanswered(&self, call_id: &str, first: ItemId, now: UnixMillis) -> Vec<Event> {
        self.closed(|call| call == call_id, &DecidedBy::CallEnded, first, now)
    }

    /// Settles the open Approvals and questions of some calls: no answer will come.
    fn closed(
        &self,
        is_of: impl Fn(&str) -> bool,
        by: &DecidedBy,
        first: ItemId,
        now: UnixMillis,
    ) -> Vec<Event> {
        let mut ids = (first.0..).map(ItemId);
        let mut next = || ids.next().unwrap_or(first);
        let approvals = self.approvals.iter().filter(|open| is_of(&open.call_id));
        let mut events: Vec<Event> = approvals
            .map(|open| resolved(open, Decision::Cancel, by.clone(), next(), now))
            .collect();
        let inquiries = self.open_inquiries().filter(|(_, open)| is_of(&open.call_id));
        events.extend(inquiries.map(|(_, open)| {
            let body = ItemBody::UserInputResponse {
                request_id: open.request_id.clone(),
                answer: None,
            };
            Event::ItemAdded {
                turn: self.turn.id,
                item: Box::new(Item::whole(next(), now, body)),
            }
        }));
        events
    }

    fn completed(&self, item: &Item, body: Option<ItemBody>, now: UnixMillis) -> Event {
        let item = Item {
            id: item.id,
            status: ItemStatus::Completed,
            created_at: item.created_at,
            completed_at: Some(now),
            body: body.unwrap_or_else(|| self.so_far(item)),
        };
        Event::ItemCompleted {
            turn: self.turn.id,
            item: Box::new(item),
        }
    }

    /// Returns the body of an Item with what has been streamed so far: a call gets the arguments that were shown.
    fn so_far(&self, item: &Item) -> ItemBody {
        let mut body = item.body.clone();
        if let ItemBody::ToolCall {
            arguments: arguments @ None,
            arguments_text,
            ..
        } = &mut body
            && let Some(text) = self.arguments.get(&item.id)
        {
            *arguments = Json::object(text);
            *arguments_text = arguments.is_none().then(|| text.clone());
        }
        body
    }

    fn completed_prose(&self, now: UnixMillis) -> Vec<Event> {
        self.open_items()
            .filter(|item| item.body.is_prose())
            .map(|item| self.completed(item, None, now))
            .collect()
    }

    fn ended_with_a_plan(&self) -> bool {
        let last_call = self.turn.items.iter().rev().find_map(|item| match &item.body {
            ItemBody::ToolCall {
                tool_name, call_id, ..
            } => Some((tool_name, call_id)),
            _ => None,
        });
        last_call.is_some_and(|(tool, call)| {
            tool == CREATE_PLAN
                && self
                    .result_of(call)
                    .is_some_and(|item| matches!(item.body, ItemBody::ToolResult { success: true, .. }))
        })
    }
}

fn resolved(open: &Approval, decision: Decision, by: DecidedBy, item: ItemId, now: UnixMillis) -> Event {
    let body = ItemBody::ApprovalResponse {
        request_id: open.id.clone(),
        approved: decision.approves(),
        decision,
        actor: match &by {
            DecidedBy::Person { person, .. } => Some(person.clone()),
            _ => None,
        },
    };
    Event::ApprovalResolved {
        turn: open.turn,
        approval: open.id.clone(),
        decision,
        by,
        item: Box::new(Item::whole(item, now, body)),
    }
}

/// Returns the final body of an Item that was still open when its Turn ended.
fn stopped_body(item: &Item, outcome: &Outcome) -> Option<ItemBody> {
    let cancelled = matches!(outcome, Outcome::Cancelled { .. });
    match item.body.clone() {
        ItemBody::CommandExecution(mut run) => {
            run.status = if cancelled {
                CommandStatus::Cancelled
            } else {
                CommandStatus::Failed
            };
            Some(ItemBody::CommandExecution(run))
        }
        ItemBody::ToolExecution {
            call_id, tool_name, ..
        } => Some(ItemBody::ToolExecution {
            call_id,
            tool_name,
            status: if cancelled {
                ExecutionStatus::Cancelled
            } else {
                ExecutionStatus::Failed
            },
            success: Some(false),
            duration_ms: None,
            result_preview: None,
            error_message: Some(if cancelled { "cancelled" } else { "the turn failed" }.to_owned()),
        }),
        ItemBody::DynamicToolCall(mut call) => {
            let why = if cancelled {
                "cancelled: the call was given up; it may have had some or all of its effect"
            } else {
                "the turn failed before this call ended"
            };
            call.answer = Some(ToolAnswer::failed(DynamicToolError::Cancelled, why));
            Some(ItemBody::DynamicToolCall(call))
        }
        _ => None,
    }
}
