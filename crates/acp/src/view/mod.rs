//! A session as one client sees it: turns events into updates.
//!
//! Updates repeat parts of earlier events. The view remembers these for the open Turn: its calls, and the sent length of
//! its open texts. It decides nothing.

mod call;
mod diff;
mod items;
mod output;
mod subagent_questions;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_acp_wire::{
    CompactionStatus, ContentBlock, Cost, PlanEntry, PlanPriority, PlanStatus, SessionUpdate, Severity,
    StopReason, ToolCall,
};
use bobbin_core::{Frame, FrameBody};
use bobbin_model::plan::{TodoPriority, TodoStatus};
use bobbin_model::{
    ContextNote, Event, ItemId, Outcome, Plan, Seq, Spent, ThreadConfig, TokenUsage, TurnId, UnixMillis,
};
use bobbin_peer::ErrorObject;

use crate::errors;
use call::{Call, CallEnd};
use output::Output;

pub(crate) use call::{kind, wire_id};
pub(crate) use subagent_questions::key as subagent_key;

/// Facts about a session's model and workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    /// The workspace.
    pub(crate) root: Arc<PathBuf>,
    /// Tokens of the model's window, if known.
    pub(crate) window: Option<u64>,
    /// The currency of prices, if it is named.
    pub(crate) currency: Option<String>,
}

/// The news that only some clients show.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Shows {
    /// Notices.
    pub(crate) notices: bool,
    /// Compactions.
    pub(crate) compaction: bool,
}

/// How a Turn ended, as the answer of its prompt.
pub(crate) type End = Result<StopReason, ErrorObject>;

/// The state of a session's updates at one client.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) facts: Facts,
    shows: Shows,
    /// Frames up to this Seq were already shown.
    shown: Seq,
    /// The open Turn.
    live: Option<TurnId>,
    /// Number of sent bytes of each open text.
    streamed: HashMap<ItemId, usize>,
    /// The output of the commands that run.
    outputs: HashMap<ItemId, Output>,
    calls: Vec<Call>,
    /// Questions of subagents, as calls.
    questions: Vec<Call>,
    /// Tokens and costs of the session.
    spent: Spent,
    /// Tokens in the model's window after its last reply.
    in_window: u64,
    /// The code of the error that ends the Turn.
    failed_with: Option<String>,
    /// The compaction that is under way.
    compacting: Option<String>,
}

impl View {
    /// Returns the view of a session of which nothing was shown.
    pub(crate) fn new(facts: Facts, shows: Shows) -> Self {
        Self {
            facts,
            shows,
            ..Self::default()
        }
    }

    /// Starts anew, up to a Seq. `spent` and `in_window` are the figures at that Seq.
    pub(crate) fn restart(&mut self, up_to: Seq, spent: Spent, in_window: u64) {
        *self = Self {
            shown: up_to,
            spent,
            in_window,
            ..Self::new(self.facts.clone(), self.shows)
        };
    }

    /// Returns the Turn that runs, as far as the client knows.
    pub(crate) fn live(&self) -> Option<TurnId> {
        self.live
    }

    /// Whether a frame is new to the client.
    pub(crate) fn is_new(&self, frame: &Frame) -> bool {
        frame.seq > self.shown
    }

    /// Shows a frame. `is_own` says whether a prompt of this client is a Turn's input.
    pub(crate) fn frame(
        &mut self,
        frame: &Frame,
        is_own: impl Fn(TurnId) -> bool,
        out: &mut Vec<SessionUpdate>,
    ) -> Option<(TurnId, End)> {
        match &frame.body {
            FrameBody::Delta(delta) => self.delta(delta, frame.at, out),
            FrameBody::Recorded(event) => return self.event(event, frame.at, is_own, out),
            FrameBody::Ephemeral(_) => {}
        }
        None
    }

    /// Shows an event. Returns how its Turn ended, if it has.
    pub(crate) fn event(
        &mut self,
        event: &Event,
        at: UnixMillis,
        is_own: impl Fn(TurnId) -> bool,
        out: &mut Vec<SessionUpdate>,
    ) -> Option<(TurnId, End)> {
        match event {
            Event::ThreadRenamed { display_name } => out.push(SessionUpdate::SessionInfoUpdate {
                title: Some(Some(display_name.clone())),
                updated_at: Some(Some(rfc3339(at))),
            }),
            Event::TurnStarted { turn, .. } => {
                self.forget_turn();
                self.live = Some(*turn);
            }
            Event::ItemStarted { turn, item } => self.opened(*turn, item, out),
            Event::ItemCompleted { turn, item } => self.completed(*turn, item, out),
            Event::ItemAdded { turn, item } => self.added(*turn, item, is_own(*turn), out),
            Event::CallPreviewed { call_id, preview, .. } => {
                self.change_call(call_id, out, |call| {
                    call.preview(preview);
                    call.described()
                });
            }
            Event::CallStarted { call_id, .. } => {
                self.change_call(call_id, out, |call| {
                    call.start();
                    ToolCall {
                        status: call.whole().status,
                        ..ToolCall::default()
                    }
                });
            }
            Event::UsageAdded {
                usage,
                cost_micros,
                context_tokens,
                ..
            } => {
                self.in_window = *context_tokens;
                self.spend(*usage, *cost_micros, out);
            }
            // These tokens are in other windows.
            Event::SubAgentUsed {
                usage, cost_micros, ..
            }
            | Event::HelperUsed {
                usage, cost_micros, ..
            } => self.spend(*usage, *cost_micros, out),
            Event::PlanUpdated { plan } => out.extend(plan_update(plan)),
            Event::ContextNoted { turn, note, .. } => self.noted(*turn, *note, at, out),
            Event::TurnEnded { turn, outcome, .. } => return Some((*turn, self.ended(outcome, out))),
            _ => {}
        }
        None
    }

    /// Forgets the state of a Turn.
    pub(crate) fn forget_turn(&mut self) {
        self.live = None;
        self.streamed.clear();
        self.outputs.clear();
        self.calls.clear();
        self.failed_with = None;
    }

    /// Returns a call as the client knows it, by its id on the wire.
    pub(crate) fn call(&self, wire: &str) -> Option<ToolCall> {
        let calls = self.calls.iter().chain(&self.questions);
        calls.map(Call::whole).find(|call| call.tool_call_id == wire)
    }

    /// Shows the tokens in the window and the costs of the session; nothing while the window's size is not known.
    pub(crate) fn usage(&self, out: &mut Vec<SessionUpdate>) {
        let Some(size) = self.facts.window.filter(|_| self.in_window > 0) else {
            return;
        };
        let cost = (self.spent.cost_micros, &self.facts.currency);
        out.push(SessionUpdate::UsageUpdate {
            used: self.in_window,
            size,
            cost: match cost {
                (micros, Some(currency)) if micros > 0 => Some(Cost {
                    amount: amount(micros),
                    currency: currency.clone(),
                }),
                _ => None,
            },
        });
    }

    /// Returns a message to the user that is no part of the conversation: a notice, or a text where the client shows none.
    pub(crate) fn notice(&self, severity: Severity, text: impl Into<String>) -> SessionUpdate {
        let text = text.into();
        if self.shows.notices {
            SessionUpdate::Notice {
                severity,
                title: text,
                description: None,
            }
        } else {
            SessionUpdate::AgentMessageChunk {
                content: ContentBlock::text(format!("{text}\n\n")),
                message_id: None,
            }
        }
    }

    /// Shows how far a compaction is.
    fn noted(&mut self, turn: TurnId, note: ContextNote, at: UnixMillis, out: &mut Vec<SessionUpdate>) {
        let status = match note {
            ContextNote::Compacting => {
                self.compacting = Some(format!("{turn}.compaction_{}", at.0));
                CompactionStatus::InProgress
            }
            ContextNote::CompactFailed => CompactionStatus::Failed,
            ContextNote::CompactSkipped => CompactionStatus::Cancelled,
            // The summary comes with its Item.
            ContextNote::Compacted | ContextNote::Warning | ContextNote::Error => return,
        };
        let compaction = match status {
            CompactionStatus::InProgress => self.compacting.clone(),
            _ => self.compacting.take(),
        };
        out.extend(compaction.and_then(|id| self.compaction(id, status, None)));
    }

    /// Returns the state of a compaction, for clients that show them.
    fn compaction(
        &self,
        id: String,
        status: CompactionStatus,
        summary: Option<&str>,
    ) -> Option<SessionUpdate> {
        self.shows.compaction.then(|| SessionUpdate::CompactionUpdate {
            compaction_id: id,
            status: Some(status),
            summary: summary.map(|text| vec![ContentBlock::text(text)]),
            error: None,
        })
    }

    fn spend(&mut self, usage: TokenUsage, cost_micros: u64, out: &mut Vec<SessionUpdate>) {
        self.spent.add(usage, cost_micros);
        self.usage(out);
    }

    /// Changes a call that has not ended, and shows the change.
    fn change_call(
        &mut self,
        call_id: &str,
        out: &mut Vec<SessionUpdate>,
        change: impl FnOnce(&mut Call) -> ToolCall,
    ) {
        let calls = self.calls.iter_mut();
        if let Some(call) = calls.rev().find(|call| call.key == call_id && !call.has_ended()) {
            changed(call, out, change);
        }
    }

    fn ended(&mut self, outcome: &Outcome, out: &mut Vec<SessionUpdate>) -> End {
        for call in self.calls.iter_mut().filter(|call| !call.has_ended()) {
            changed(call, out, |call| call.end(CallEnd::Failed, ""));
        }
        let end = match outcome {
            Outcome::Completed => Ok(StopReason::EndTurn),
            Outcome::Cancelled { .. } => Ok(StopReason::Cancelled),
            Outcome::Failed { error } => match self.failed_with.as_deref().and_then(stop_reason) {
                Some(reason) => {
                    out.push(self.notice(Severity::Warning, error.clone()));
                    Ok(reason)
                }
                None => Err(errors::failed(error.clone())),
            },
        };
        self.forget_turn();
        end
    }
}

/// Changes a call and shows the change.
fn changed(call: &mut Call, out: &mut Vec<SessionUpdate>, change: impl FnOnce(&mut Call) -> ToolCall) {
    let change = change(call);
    out.push(match call.news(|_| change) {
        (true, whole) => SessionUpdate::ToolCall(whole),
        (false, changed) => SessionUpdate::ToolCallUpdate(changed),
    });
}

/// Returns the reason that the code of a Turn's error stands for, where it is one of the protocol's.
fn stop_reason(code: &str) -> Option<StopReason> {
    match code {
        "limit_rounds" => Some(StopReason::MaxTurnRequests),
        "limit_tokens" => Some(StopReason::MaxTokens),
        "hook_blocked" => Some(StopReason::Refusal),
        _ => None,
    }
}

/// Returns a plan's steps; `None` for a plan without any. Abandoned steps are left out.
pub(crate) fn plan_update(plan: &Plan) -> Option<SessionUpdate> {
    let entries = plan.todos.iter().filter_map(|todo| {
        let status = match todo.status {
            TodoStatus::Pending => PlanStatus::Pending,
            TodoStatus::InProgress => PlanStatus::InProgress,
            TodoStatus::Completed => PlanStatus::Completed,
            TodoStatus::Cancelled => return None,
        };
        Some(PlanEntry {
            content: todo.content.clone(),
            priority: match todo.priority {
                TodoPriority::High => PlanPriority::High,
                TodoPriority::Medium => PlanPriority::Medium,
                TodoPriority::Low => PlanPriority::Low,
            },
            status,
        })
    });
    let entries: Vec<_> = entries.collect();
    (!plan.todos.is_empty()).then_some(SessionUpdate::Plan { entries })
}

/// Returns a moment as the protocol writes it.
pub(crate) fn rfc3339(at: UnixMillis) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.to_string()
}

/// Returns millionths of a currency as an amount.
#[expect(
    clippy::cast_precision_loss,
    reason = "the wire has a fraction; nobody pays 2^53 millionths"
)]
fn amount(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Returns the model that a configuration names, as far as it names one.
pub(crate) fn model_of(config: Option<&ThreadConfig>) -> Option<&str> {
    config.and_then(|config| config.model.as_deref())
}

#[cfg(test)]
mod tests {
    use bobbin_model::item::CompactionTrigger;
    use bobbin_model::{Compaction, ContextWindow, Item, ItemBody};

    use super::*;

    /// Returns the updates about a compaction that is noted and then recorded.
    fn compacted(shows: Shows) -> Vec<SessionUpdate> {
        let mut view = View::new(Facts::default(), shows);
        let (turn, at, mut out) = (TurnId(1), UnixMillis(7), Vec::new());
        let noted = Event::ContextNoted {
            turn,
            note: ContextNote::Compacting,
            tokens: 9,
            window: ContextWindow::default(),
            message: "Compacting".to_owned(),
        };
        view.event(&noted, at, |_| false, &mut out);
        let compaction = Compaction {
            trigger: CompactionTrigger::Auto,
            tokens_before: 9,
            tokens_after: 1,
            left_after: 0.5,
            cleared_results: 0,
            summary: "Tea was made.".to_owned(),
            kept_from: (turn, ItemId(1)),
        };
        let item = Item::whole(ItemId(2), at, ItemBody::Compaction(Box::new(compaction)));
        let item = Box::new(item);
        view.event(&Event::ItemAdded { turn, item }, at, |_| false, &mut out);
        out
    }

    #[test]
    fn a_compaction_is_shown_under_one_id_to_clients_that_offered_it() {
        assert_eq!(compacted(Shows::default()), []);
        let shown = compacted(Shows {
            compaction: true,
            notices: false,
        });
        let update = |status, summary: Option<&str>| SessionUpdate::CompactionUpdate {
            compaction_id: "turn_001.compaction_7".to_owned(),
            status: Some(status),
            summary: summary.map(|text| vec![ContentBlock::text(text)]),
            error: None,
        };
        assert_eq!(
            shown,
            [
                update(CompactionStatus::InProgress, None),
                update(CompactionStatus::Completed, Some("Tea was made."))
            ]
        );
    }

    #[test]
    fn limits_and_refusals_are_reasons_to_stop_and_other_failures_are_errors() {
        for (code, reason) in [
            ("limit_rounds", Some(StopReason::MaxTurnRequests)),
            ("limit_tokens", Some(StopReason::MaxTokens)),
            ("hook_blocked", Some(StopReason::Refusal)),
            ("agent_error", None),
        ] {
            let mut view = View::new(Facts::default(), Shows::default());
            let (turn, at, mut out) = (TurnId(1), UnixMillis(7), Vec::new());
            let body = ItemBody::Error {
                message: "It stopped.".to_owned(),
                code: code.to_owned(),
                fatal: true,
            };
            let item = Box::new(Item::whole(ItemId(2), at, body));
            view.event(&Event::ItemAdded { turn, item }, at, |_| false, &mut out);
            let ended = Event::TurnEnded {
                turn,
                outcome: Outcome::Failed {
                    error: "It stopped.".to_owned(),
                },
                completed_at: at,
                usage: TokenUsage::default(),
                plan_pending: false,
            };
            let (_, end) = view.event(&ended, at, |_| false, &mut out).unwrap();
            match reason {
                Some(reason) => assert_eq!((end, out.len()), (Ok(reason), 1), "{code}"),
                None => assert_eq!((end.unwrap_err().code, out.len()), (-32603, 0), "{code}"),
            }
        }
    }
}
