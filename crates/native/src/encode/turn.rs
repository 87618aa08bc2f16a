//! Notifications of Turns and Items, in the order of the protocol's reference trace (03 §15).

use bobbin_core::{Frame, View, WireMessage};
use bobbin_model::{
    ContextUsage, DecidedBy, Delta, DeltaChannel, Event, Item, ItemBody, ItemStatus, Outcome, ThreadId, Turn,
    TurnDiff, TurnId, TurnStatus,
};
use bobbin_native_wire::item::delta::{
    AgentMessageDeltaNotification, CommandOutputDeltaNotification, DeltaKind, ReasoningDeltaNotification,
    ToolCallArgumentsDeltaNotification,
};
use bobbin_native_wire::item::usage::UsageDeltaNotification;
use bobbin_native_wire::item::user_input_types::UserInputResolvedNotification;
use bobbin_native_wire::system::types::{SystemEventKind, SystemEventNotification};
use bobbin_native_wire::turn::diff::TurnDiffUpdatedNotification;
use bobbin_native_wire::turn::notifications::{
    ApprovalResolvedNotification, ItemNotification, TurnCancelledNotification, TurnFailedNotification,
    TurnNotification,
};
use bobbin_native_wire::turn::revert_types::TurnRevertedNotification;

use super::{Kind, message};
use crate::convert;
use crate::groups::item::{
    ITEM_AGENT_MESSAGE_DELTA, ITEM_APPROVAL_RESOLVED, ITEM_COMMAND_EXECUTION_OUTPUT_DELTA, ITEM_COMPLETED,
    ITEM_REASONING_DELTA, ITEM_STARTED, ITEM_TOOL_CALL_ARGUMENTS_DELTA,
    ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED, ITEM_USAGE_DELTA,
};
use crate::groups::system::SYSTEM_EVENT;
use crate::groups::turn::{
    TURN_CANCELLED, TURN_COMPLETED, TURN_DIFF_UPDATED, TURN_FAILED, TURN_REVERTED, TURN_STARTED,
};

/// Encodes an event of a Turn.
pub(super) fn encode(frame: &Frame, event: &Event, kind: Kind, out: &mut Vec<WireMessage>) {
    let thread = &frame.thread;
    // The number of the next message.
    let seq = kind.seq(frame, out.len());
    match event {
        Event::TurnStarted {
            turn,
            user_item,
            origin_channel,
            ..
        } => {
            let turn = Turn {
                id: *turn,
                status: TurnStatus::Running,
                items: user_item.iter().map(|item| (**item).clone()).collect(),
                started_at: frame.at,
                completed_at: None,
                usage: bobbin_model::TokenUsage::default(),
                cost_micros: 0,
                files_changed: 0,
                files_undone: false,
                error: None,
                origin_channel: origin_channel.clone(),
            };
            let turn = convert::turn(thread, &turn, kind.tool_executions);
            let params = TurnNotification {
                seq,
                ..TurnNotification::new(turn)
            };
            out.push(message(TURN_STARTED, &params));
        }
        Event::TurnRecovered { .. } | Event::ContextNoted { .. } => {
            out.extend(of_system(thread, event, seq));
        }
        Event::ItemStarted { turn, item } if kind.tool_executions.shows(item) => {
            out.push(of_item(seq, ITEM_STARTED, thread, *turn, item));
        }
        Event::ItemCompleted { turn, item } if kind.tool_executions.shows(item) => {
            out.push(of_item(seq, ITEM_COMPLETED, thread, *turn, item));
        }
        Event::ItemAdded { turn, item } if kind.tool_executions.shows(item) => {
            out.push(of_item(seq, ITEM_STARTED, thread, *turn, &opened(item)));
            if let ItemBody::UserInputResponse { request_id, .. } = &item.body {
                let params = UserInputResolvedNotification {
                    thread_id: thread.to_string(),
                    turn_id: turn.to_string(),
                    request_id: request_id.to_string(),
                    item: convert::item(*turn, item),
                    seq: kind.seq(frame, out.len()),
                };
                out.push(message(ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED, &params));
            }
            let seq = kind.seq(frame, out.len());
            out.push(of_item(seq, ITEM_COMPLETED, thread, *turn, item));
        }
        Event::ApprovalOpened { item, approval } => {
            out.push(of_item(seq, ITEM_STARTED, thread, approval.turn, &opened(item)));
            let seq = kind.seq(frame, out.len());
            out.push(of_item(seq, ITEM_COMPLETED, thread, approval.turn, item));
        }
        Event::ApprovalResolved { turn, item, by, .. } => {
            out.push(of_item(seq, ITEM_STARTED, thread, *turn, &opened(item)));
            let seq = kind.seq(frame, out.len());
            out.push(of_answer(seq, thread, *turn, item, Some(by)));
            let seq = kind.seq(frame, out.len());
            out.push(of_item(seq, ITEM_COMPLETED, thread, *turn, item));
        }
        Event::UsageAdded {
            turn,
            usage,
            context_tokens,
            turn_output_tokens,
            context_window,
            cost_micros,
        } => out.push(message(
            ITEM_USAGE_DELTA,
            &UsageDeltaNotification {
                thread_id: thread.to_string(),
                turn_id: turn.to_string(),
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cached_input_tokens: convert::known(usage.cached_input_tokens),
                reasoning_output_tokens: convert::known(usage.reasoning_output_tokens),
                cost: convert::cost(*cost_micros),
                total_input_tokens: Some(*context_tokens),
                total_output_tokens: *turn_output_tokens,
                context_usage: Some(convert::context(ContextUsage {
                    tokens: *context_tokens,
                    window: context_window.unwrap_or_default(),
                })),
                seq,
            },
        )),
        Event::TurnReverted { .. } => out.extend(of_revert(seq, thread, event)),
        Event::DiffUpdated { turn, diff } => out.push(of_diff(seq, thread, *turn, diff)),
        Event::TurnEnded { outcome, .. } => out.extend(of_end(frame, outcome, kind)),
        _ => {}
    }
}

/// Encodes an action of the server itself.
fn of_system(thread: &ThreadId, event: &Event, seq: Option<u64>) -> Option<WireMessage> {
    let base = |turn: &TurnId, kind, words: &String| SystemEventNotification {
        thread_id: Some(thread.to_string()),
        turn_id: Some(turn.to_string()),
        kind,
        message: Some(words.clone()),
        percent_left: None,
        token_count: None,
        channel_name: None,
        seq,
    };
    let params = match event {
        Event::TurnRecovered { turn, reason, .. } => base(turn, SystemEventKind::TurnResumed, reason),
        Event::ContextNoted {
            turn,
            note,
            tokens,
            window,
            message,
        } => SystemEventNotification {
            percent_left: Some(window.left(*tokens)),
            token_count: Some(*tokens),
            ..base(turn, convert::context_note(*note), message)
        },
        _ => return None,
    };
    Some(message(SYSTEM_EVENT, &params))
}

/// Encodes a piece of streamed text.
pub(super) fn delta(thread_id: String, delta: &Delta, seq: Option<u64>) -> WireMessage {
    let (turn_id, item_id, text) = (
        delta.turn.to_string(),
        delta.item.to_string(),
        delta.text.to_string(),
    );
    match delta.channel {
        DeltaChannel::AgentMessage => {
            let params = AgentMessageDeltaNotification {
                seq,
                ..AgentMessageDeltaNotification::new(thread_id, turn_id, item_id, text)
            };
            message(ITEM_AGENT_MESSAGE_DELTA, &params)
        }
        DeltaChannel::Reasoning => {
            let params = ReasoningDeltaNotification {
                seq,
                ..ReasoningDeltaNotification::new(thread_id, turn_id, item_id, text)
            };
            message(ITEM_REASONING_DELTA, &params)
        }
        DeltaChannel::ToolArguments => message(
            ITEM_TOOL_CALL_ARGUMENTS_DELTA,
            &ToolCallArgumentsDeltaNotification {
                thread_id,
                turn_id,
                item_id,
                delta_kind: DeltaKind::ToolCallArguments,
                tool_name: delta.call.as_ref().map(|call| call.0.clone()),
                call_id: delta.call.as_ref().map(|call| call.1.clone()),
                delta: text,
                seq,
            },
        ),
        DeltaChannel::CommandOutput => {
            let params = CommandOutputDeltaNotification {
                thread_id,
                turn_id,
                item_id,
                delta: text,
                seq,
            };
            message(ITEM_COMMAND_EXECUTION_OUTPUT_DELTA, &params)
        }
    }
}

/// Returns an Item with its state at the start.
fn opened(item: &Item) -> Item {
    Item {
        status: ItemStatus::Started,
        completed_at: None,
        ..item.clone()
    }
}

fn of_revert(seq: Option<u64>, thread: &ThreadId, event: &Event) -> Option<WireMessage> {
    let Event::TurnReverted {
        turn,
        redone,
        files,
        notes,
    } = event
    else {
        return None;
    };
    let params = TurnRevertedNotification {
        thread_id: thread.to_string(),
        turn_id: turn.to_string(),
        redone: redone.then_some(true),
        files: files.clone(),
        notes: notes.clone(),
        seq,
    };
    Some(message(TURN_REVERTED, &params))
}

/// Returns the message that an approval is settled.
pub(super) fn of_answer(
    seq: Option<u64>,
    thread: &ThreadId,
    turn: TurnId,
    item: &Item,
    by: Option<&DecidedBy>,
) -> WireMessage {
    let answered_by = match by {
        Some(DecidedBy::Client(name) | DecidedBy::Person { client: name, .. }) => Some(name.clone()),
        _ => None,
    };
    let params = ApprovalResolvedNotification {
        thread_id: thread.to_string(),
        turn_id: turn.to_string(),
        item: convert::item(turn, item),
        answered_by,
        seq,
    };
    message(ITEM_APPROVAL_RESOLVED, &params)
}

pub(super) fn of_item(
    seq: Option<u64>,
    method: &'static str,
    thread: &ThreadId,
    turn: TurnId,
    item: &Item,
) -> WireMessage {
    let params = ItemNotification {
        seq,
        ..ItemNotification::new(thread.to_string(), convert::item(turn, item))
    };
    message(method, &params)
}

fn of_diff(seq: Option<u64>, thread: &ThreadId, turn: TurnId, diff: &TurnDiff) -> WireMessage {
    let params = TurnDiffUpdatedNotification {
        thread_id: thread.to_string(),
        turn_id: turn.to_string(),
        diff: diff.diff.clone(),
        files: Some(diff.files.clone()),
        truncated: diff.truncated.then_some(true),
        seq,
    };
    message(TURN_DIFF_UPDATED, &params)
}

fn of_end(frame: &Frame, outcome: &Outcome, kind: Kind) -> Option<WireMessage> {
    let (thread, seq) = (&frame.thread, kind.seq(frame, 0));
    let View::Turn(turn) = &frame.view else {
        tracing::error!(%thread, "the end of a turn has no turn to show");
        return None;
    };
    let turn = convert::turn(thread, turn, kind.tool_executions);
    let (thread_id, turn_id) = (thread.to_string(), turn.id.clone());
    Some(match outcome {
        Outcome::Completed => {
            let params = TurnNotification {
                seq,
                ..TurnNotification::new(turn)
            };
            message(TURN_COMPLETED, &params)
        }
        Outcome::Failed { error } => {
            let error = error.clone();
            let params = TurnFailedNotification {
                thread_id,
                turn_id,
                turn,
                error,
                seq,
            };
            message(TURN_FAILED, &params)
        }
        Outcome::Cancelled { reason } => {
            let reason = reason.clone();
            let params = TurnCancelledNotification {
                thread_id,
                turn_id,
                turn,
                reason,
                seq,
            };
            message(TURN_CANCELLED, &params)
        }
    })
}
