//! A Thread as one client sees it: turns events into notifications.
//!
//! An item of the client is a whole call, so the view remembers the calls of the open Turn. It decides nothing.

use std::collections::HashMap;

use bobbin_core::{Ephemeral, Frame, FrameBody};
use bobbin_model::plan::TodoStatus;
use bobbin_model::state::{LiveTurn, ThreadState};
use bobbin_model::{
    Delta, DeltaChannel, Event, Item, ItemBody, ItemId, Outcome, Plan, Seq, ThreadStatus, TokenUsage, TurnId,
    UnixMillis,
};
use serde_json::{Value, json};

use crate::items::{self, Call};
use crate::turns;

/// Notifications: methods and their parameters.
pub(crate) type Out = Vec<(&'static str, Value)>;

/// The state of a Thread's notifications at one client.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// The Thread's UUID.
    uuid: String,
    root: String,
    /// Frames up to this Seq are in the history that the client reads.
    shown: Seq,
    calls: HashMap<String, Call>,
    /// Calls of open commands, by the Items of their output.
    streams: HashMap<ItemId, String>,
    /// Reasoning whose part was announced.
    thoughts: Vec<ItemId>,
    total: TokenUsage,
    live: Option<TurnId>,
    plan: Option<Plan>,
}

impl View {
    /// Returns the view of a Thread from a state on.
    pub(crate) fn new(uuid: String, root: String, state: &ThreadState, at: Seq) -> Self {
        let mut view = Self {
            uuid,
            root,
            shown: at,
            plan: state.plan.clone(),
            ..Self::default()
        };
        if let Some(live) = &state.live {
            view.total = live.turn.usage;
            view.live = Some(live.turn.id);
            view.join(live);
        }
        view
    }

    /// Notes the calls of a running Turn.
    fn join(&mut self, live: &LiveTurn) {
        let mut ignored = Vec::new();
        for item in &live.turn.items {
            let at = item.created_at;
            match &item.body {
                ItemBody::AgentMessage { .. } => {}
                ItemBody::Reasoning { .. } => self.thoughts.push(item.id),
                _ => self.item(live.turn.id, item, at, &mut ignored),
            }
        }
        for (call, preview) in &live.previews {
            self.change(
                live.turn.id,
                call,
                |call| call.preview(preview),
                live.turn.started_at,
                &mut ignored,
            );
        }
    }

    /// Returns the items of the calls that are open, for the history.
    pub(crate) fn call(&self, call: &str) -> Option<&Call> {
        self.calls.get(call)
    }

    fn params(&self, turn: TurnId) -> Value {
        json!({ "threadId": self.uuid, "turnId": turn.to_string() })
    }

    fn with(&self, turn: TurnId, members: Value) -> Value {
        let mut params = self.params(turn);
        if let (Some(params), Value::Object(members)) = (params.as_object_mut(), members) {
            params.extend(members);
        }
        params
    }

    fn start(&self, turn: TurnId, item: &Value, at: UnixMillis, out: &mut Out) {
        out.push((
            "item/started",
            self.with(turn, json!({ "item": item, "startedAtMs": at.0 })),
        ));
    }

    fn complete(&self, turn: TurnId, item: &Value, at: UnixMillis, out: &mut Out) {
        out.push((
            "item/completed",
            self.with(turn, json!({ "item": item, "completedAtMs": at.0 })),
        ));
    }

    fn whole(&self, turn: TurnId, item: &Value, at: UnixMillis, out: &mut Out) {
        self.start(turn, item, at, out);
        self.complete(turn, item, at, out);
    }

    /// Shows a frame of the Thread's own log.
    pub(crate) fn frame(&mut self, frame: &Frame, out: &mut Out) {
        if frame.seq <= self.shown {
            return;
        }
        match &frame.body {
            FrameBody::Recorded(event) => self.event(event, frame.at, out),
            FrameBody::Delta(delta) => self.delta(delta, out),
            FrameBody::Ephemeral(Ephemeral::Waiting { turn, text, .. }) => {
                let error = json!({ "error": { "message": &**text }, "willRetry": true });
                out.push(("error", self.with(*turn, error)));
            }
            FrameBody::Ephemeral(_) => {}
        }
    }

    fn delta(&mut self, delta: &Delta, out: &mut Out) {
        let turn = delta.turn;
        let id = items::item_id(turn, delta.item);
        let text = &*delta.text;
        match delta.channel {
            DeltaChannel::AgentMessage => {
                let piece = json!({ "itemId": id, "delta": text });
                out.push(("item/agentMessage/delta", self.with(turn, piece)));
            }
            DeltaChannel::Reasoning => {
                if !self.thoughts.contains(&delta.item) {
                    self.thoughts.push(delta.item);
                    let part = json!({ "itemId": id, "summaryIndex": 0 });
                    out.push(("item/reasoning/summaryPartAdded", self.with(turn, part)));
                }
                let piece = json!({ "itemId": id, "summaryIndex": 0, "delta": text });
                out.push(("item/reasoning/summaryTextDelta", self.with(turn, piece)));
            }
            DeltaChannel::CommandOutput => {
                if let Some(call) = self.streams.get(&delta.item) {
                    let piece = json!({ "itemId": items::call_item_id(turn, call), "delta": text });
                    out.push(("item/commandExecution/outputDelta", self.with(turn, piece)));
                }
            }
            DeltaChannel::ToolArguments => {}
        }
    }

    fn event(&mut self, event: &Event, at: UnixMillis, out: &mut Out) {
        match event {
            Event::TurnStarted { turn, .. } => {
                self.calls.clear();
                self.streams.clear();
                self.thoughts.clear();
                self.total = TokenUsage::default();
                self.live = Some(*turn);
                let started = json!({ "threadId": self.uuid, "turn": turns::started(*turn, at) });
                out.push(("turn/started", started));
            }
            Event::ItemStarted { turn, item } => self.opened(*turn, item, at, out),
            Event::ItemCompleted { turn, item } | Event::ItemAdded { turn, item } => {
                self.item(*turn, item, at, out);
            }
            Event::CallPreviewed {
                turn,
                call_id,
                preview,
            } => self.change(*turn, call_id, |call| call.preview(preview), at, out),
            Event::CallStarted { turn, call_id } => self.show(*turn, call_id, at, out),
            Event::ApprovalOpened { approval, .. } => {
                // The dialog takes command and diff from the item.
                self.show(approval.turn, &approval.call_id, at, out);
            }
            Event::UsageAdded {
                turn,
                usage,
                context_tokens,
                context_window,
                ..
            } => {
                self.total.add(*usage);
                let mut last = turns::tokens(*usage);
                last["totalTokens"] = (*context_tokens).into();
                let tokens = json!({
                    "total": turns::tokens(self.total),
                    "last": last,
                    "modelContextWindow": context_window.map(|window| window.tokens),
                });
                out.push((
                    "thread/tokenUsage/updated",
                    self.with(*turn, json!({ "tokenUsage": tokens })),
                ));
            }
            Event::PlanUpdated { plan } => {
                out.extend(self.live.map(|turn| self.plan_of(turn, plan)));
                self.plan = Some(plan.clone());
            }
            Event::DiffUpdated { turn, diff } => {
                out.push((
                    "turn/diff/updated",
                    self.with(*turn, json!({ "diff": diff.diff })),
                ));
            }
            Event::TurnsRolledBack { .. } => {
                out.push(("thread/reverted", json!({ "threadId": self.uuid })));
            }
            Event::TurnEnded {
                turn,
                outcome,
                completed_at,
                plan_pending,
                ..
            } => self.ended(*turn, outcome, *completed_at, *plan_pending, out),
            _ => {}
        }
    }

    /// Returns the plan's steps.
    fn plan_of(&self, turn: TurnId, plan: &Plan) -> (&'static str, Value) {
        let steps: Vec<Value> = plan
            .todos
            .iter()
            .map(|todo| {
                let status = match todo.status {
                    TodoStatus::Pending | TodoStatus::Cancelled => "pending",
                    TodoStatus::InProgress => "inProgress",
                    TodoStatus::Completed => "completed",
                };
                json!({ "step": todo.content, "status": status })
            })
            .collect();
        (
            "turn/plan/updated",
            self.with(turn, json!({ "plan": steps, "explanation": null })),
        )
    }

    fn ended(&mut self, turn: TurnId, outcome: &Outcome, at: UnixMillis, plan_pending: bool, out: &mut Out) {
        self.live = None;
        let mut open: Vec<Call> = std::mem::take(&mut self.calls).into_values().collect();
        open.sort_by(|one, other| one.id().cmp(other.id()));
        for mut call in open {
            call.stop();
            if !call.is_shown {
                self.start(turn, &call.item(), call.started_at, out);
            }
            self.complete(turn, &call.item(), at, out);
        }
        if let Some(plan) = self.plan.as_ref().filter(|_| plan_pending) {
            let item = json!({ "type": "plan", "id": format!("{turn}/plan"), "text": plan.content });
            self.whole(turn, &item, at, out);
        }
        let error = match outcome {
            Outcome::Failed { error } => Some(error.as_str()),
            Outcome::Completed | Outcome::Cancelled { .. } => None,
        };
        let ended = turns::ended(turn, outcome.status(), error, at);
        out.push(("turn/completed", json!({ "threadId": self.uuid, "turn": ended })));
    }

    /// Shows an Item that was opened.
    fn opened(&mut self, turn: TurnId, item: &Item, at: UnixMillis, out: &mut Out) {
        match &item.body {
            ItemBody::CommandExecution(run) => {
                self.streams.insert(item.id, run.call_id.clone());
                self.change(turn, &run.call_id, |call| call.run(run), at, out);
                self.show(turn, &run.call_id, at, out);
            }
            ItemBody::DynamicToolCall(call) => {
                let shown = items::of_client(turn, call, &self.root, at);
                self.calls.insert(call.call_id.clone(), shown);
                self.show(turn, &call.call_id, at, out);
            }
            _ => {
                if let Some(shown) = items::of(turn, item) {
                    self.start(turn, &shown, at, out);
                }
            }
        }
    }

    /// Shows an Item that is final.
    fn item(&mut self, turn: TurnId, item: &Item, at: UnixMillis, out: &mut Out) {
        match &item.body {
            ItemBody::ToolCall {
                tool_name,
                call_id,
                arguments,
                ..
            } => {
                let id = items::call_item_id(turn, call_id);
                let call = Call::new(id, tool_name, arguments.as_ref(), &self.root, at);
                let waits = call.waits_for_change();
                self.calls.insert(call_id.clone(), call);
                if !waits {
                    self.show(turn, call_id, at, out);
                }
            }
            ItemBody::CommandExecution(run) => {
                self.change(turn, &run.call_id, |call| call.run(run), at, out);
            }
            ItemBody::ToolResult {
                call_id,
                result,
                success,
                refused,
                ..
            } => self.call_ended(
                turn,
                call_id,
                |call| call.end(result, *success, *refused),
                at,
                out,
            ),
            ItemBody::DynamicToolCall(call) => {
                let shown = items::of_client(turn, call, &self.root, at);
                let was_shown = self.calls.remove(&call.call_id).is_some_and(|call| call.is_shown);
                if !was_shown {
                    self.start(turn, &shown.item(), at, out);
                }
                self.complete(turn, &shown.item(), at, out);
            }
            ItemBody::AgentMessage { .. } | ItemBody::Reasoning { .. } => {
                if let Some(shown) = items::of(turn, item) {
                    self.complete(turn, &shown, at, out);
                }
            }
            ItemBody::Error { message, fatal, .. } if !fatal => {
                let warning = json!({ "threadId": self.uuid, "message": message });
                out.push(("warning", warning));
            }
            _ => {
                if let Some(shown) = items::of(turn, item) {
                    self.whole(turn, &shown, at, out);
                }
            }
        }
    }

    /// Changes a call, and shows it once its change of a file is known.
    fn change(
        &mut self,
        turn: TurnId,
        call: &str,
        change: impl FnOnce(&mut Call),
        at: UnixMillis,
        out: &mut Out,
    ) {
        let Some(known) = self.calls.get_mut(call) else {
            return;
        };
        change(known);
        if known.is_change() {
            self.show(turn, call, at, out);
        }
    }

    /// Shows the start of a call, unless it was shown.
    fn show(&mut self, turn: TurnId, call: &str, at: UnixMillis, out: &mut Out) {
        let Some(known) = self.calls.get_mut(call).filter(|call| !call.is_shown) else {
            return;
        };
        known.is_shown = true;
        let item = known.item();
        self.start(turn, &item, at, out);
    }

    fn call_ended(
        &mut self,
        turn: TurnId,
        call: &str,
        end: impl FnOnce(&mut Call),
        at: UnixMillis,
        out: &mut Out,
    ) {
        self.show(turn, call, at, out);
        if let Some(mut call) = self.calls.remove(call) {
            end(&mut call);
            self.complete(turn, &call.item(), at, out);
        }
    }
}

/// Returns the notifications of news that every client gets, whether it follows the Thread or not.
pub(crate) fn broadcast(uuid: impl FnOnce() -> String, body: &FrameBody, out: &mut Out) {
    match body {
        FrameBody::Ephemeral(Ephemeral::RuntimeChanged(runtime)) => {
            let status = json!({ "threadId": uuid(), "status": turns::status(*runtime) });
            out.push(("thread/status/changed", status));
        }
        FrameBody::Recorded(event) => match &**event {
            Event::ThreadRenamed { display_name } => {
                let params = json!({ "threadId": uuid(), "threadName": display_name });
                out.push(("thread/name/updated", params));
            }
            Event::ThreadStatusChanged { previous, new } => {
                let method = match (previous, new) {
                    (_, ThreadStatus::Archived) => "thread/archived",
                    (ThreadStatus::Archived, _) => "thread/unarchived",
                    _ => return,
                };
                out.push((method, json!({ "threadId": uuid() })));
            }
            Event::ThreadDeleted => out.push(("thread/deleted", json!({ "threadId": uuid() }))),
            _ => {}
        },
        _ => {}
    }
}
