//! Notifications of Turns and Items, in the order of the protocol's reference trace (03 §15).

use bobbin_core::{Frame, View, WireMessage};
use bobbin_model::{
    ContextUsage, Delta, DeltaChannel, Event, Item, ItemStatus, Outcome, RevertedFile, ThreadId, Turn,
    TurnDiff, TurnId, TurnStatus,
};

use super::{Kind, message};
use crate::convert;
use crate::wire;

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
                items: vec![(**user_item).clone()],
                started_at: frame.at,
                completed_at: None,
                usage: bobbin_model::TokenUsage::default(),
                cost_micros: 0,
                files_changed: 0,
                error: None,
                origin_channel: origin_channel.clone(),
            };
            let turn = convert::turn(thread, &turn, kind.tool_executions);
            let params = wire::TurnNotification {
                seq,
                ..wire::TurnNotification::new(turn)
            };
            out.push(message(wire::TURN_STARTED, &params));
        }
        Event::TurnRecovered { .. } | Event::ContextNoted { .. } => {
            out.extend(of_system(thread, event, seq));
        }
        Event::ItemStarted { turn, item } if kind.tool_executions.shows(item) => {
            out.push(of_item(seq, wire::ITEM_STARTED, thread, *turn, item));
        }
        Event::ItemCompleted { turn, item } if kind.tool_executions.shows(item) => {
            out.push(of_item(seq, wire::ITEM_COMPLETED, thread, *turn, item));
        }
        Event::ItemAdded { turn, item } if kind.tool_executions.shows(item) => {
            out.push(of_item(seq, wire::ITEM_STARTED, thread, *turn, &opened(item)));
            let seq = kind.seq(frame, out.len());
            out.push(of_item(seq, wire::ITEM_COMPLETED, thread, *turn, item));
        }
        Event::ApprovalOpened { item, approval } => {
            out.push(of_item(
                seq,
                wire::ITEM_STARTED,
                thread,
                approval.turn,
                &opened(item),
            ));
            let seq = kind.seq(frame, out.len());
            out.push(of_item(seq, wire::ITEM_COMPLETED, thread, approval.turn, item));
        }
        Event::ApprovalResolved { turn, item, .. } => {
            out.push(of_item(seq, wire::ITEM_STARTED, thread, *turn, &opened(item)));
            let seq = kind.seq(frame, out.len());
            out.push(of_item(seq, wire::ITEM_APPROVAL_RESOLVED, thread, *turn, item));
            let seq = kind.seq(frame, out.len());
            out.push(of_item(seq, wire::ITEM_COMPLETED, thread, *turn, item));
        }
        Event::UsageAdded {
            turn,
            usage,
            context_tokens,
            turn_output_tokens,
            context_window,
            cost_micros,
        } => out.push(message(
            wire::ITEM_USAGE_DELTA,
            &wire::UsageDeltaNotification {
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
        Event::TurnReverted { turn, files, notes } => out.push(of_revert(seq, thread, *turn, files, notes)),
        Event::DiffUpdated { turn, diff } => out.push(of_diff(seq, thread, *turn, diff)),
        Event::TurnEnded { outcome, .. } => out.extend(of_end(frame, outcome, kind)),
        _ => {}
    }
}

/// Encodes an action of the server itself.
fn of_system(thread: &ThreadId, event: &Event, seq: Option<u64>) -> Option<WireMessage> {
    let base = |turn: &TurnId, kind, words: &String| wire::SystemEventNotification {
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
        Event::TurnRecovered { turn, reason, .. } => base(turn, wire::SystemEventKind::TurnResumed, reason),
        Event::ContextNoted {
            turn,
            note,
            tokens,
            window,
            message,
        } => wire::SystemEventNotification {
            percent_left: Some(window.left(*tokens)),
            token_count: Some(*tokens),
            ..base(turn, convert::context_note(*note), message)
        },
        _ => return None,
    };
    Some(message(wire::SYSTEM_EVENT, &params))
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
            let params = wire::AgentMessageDeltaNotification {
                seq,
                ..wire::AgentMessageDeltaNotification::new(thread_id, turn_id, item_id, text)
            };
            message(wire::ITEM_AGENT_MESSAGE_DELTA, &params)
        }
        DeltaChannel::Reasoning => {
            let params = wire::ReasoningDeltaNotification {
                seq,
                ..wire::ReasoningDeltaNotification::new(thread_id, turn_id, item_id, text)
            };
            message(wire::ITEM_REASONING_DELTA, &params)
        }
        DeltaChannel::ToolArguments => message(
            wire::ITEM_TOOL_CALL_ARGUMENTS_DELTA,
            &wire::ToolCallArgumentsDeltaNotification {
                thread_id,
                turn_id,
                item_id,
                delta_kind: wire::DeltaKind::ToolCallArguments,
                tool_name: delta.call.as_ref().map(|call| call.0.clone()),
                call_id: delta.call.as_ref().map(|call| call.1.clone()),
                delta: text,
                seq,
            },
        ),
        DeltaChannel::CommandOutput => {
            let params = wire::CommandOutputDeltaNotification {
                thread_id,
                turn_id,
                item_id,
                delta: text,
                seq,
            };
            message(wire::ITEM_COMMAND_EXECUTION_OUTPUT_DELTA, &params)
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

pub(super) fn of_item(
    seq: Option<u64>,
    method: &'static str,
    thread: &ThreadId,
    turn: TurnId,
    item: &Item,
) -> WireMessage {
    let params = wire::ItemNotification {
        seq,
        ..wire::ItemNotification::new(thread.to_string(), convert::item(turn, item))
    };
    message(method, &params)
}

fn of_revert(
    seq: Option<u64>,
    thread: &ThreadId,
    turn: TurnId,
    files: &[RevertedFile],
    notes: &[String],
) -> WireMessage {
    let params = wire::TurnRevertedNotification {
        thread_id: thread.to_string(),
        turn_id: turn.to_string(),
        files: files.to_vec(),
        notes: notes.to_vec(),
        seq,
    };
    message(wire::TURN_REVERTED, &params)
}

fn of_diff(seq: Option<u64>, thread: &ThreadId, turn: TurnId, diff: &TurnDiff) -> WireMessage {
    let params = wire::TurnDiffUpdatedNotification {
        thread_id: thread.to_string(),
        turn_id: turn.to_string(),
        diff: diff.diff.clone(),
        files: Some(diff.files.clone()),
        truncated: diff.truncated.then_some(true),
        seq,
    };
    message(wire::TURN_DIFF_UPDATED, &params)
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
            let params = wire::TurnNotification {
                seq,
                ..wire::TurnNotification::new(turn)
            };
            message(wire::TURN_COMPLETED, &params)
        }
        Outcome::Failed { error } => {
            let error = error.clone();
            let params = wire::TurnFailedNotification {
                thread_id,
                turn_id,
                turn,
                error,
                seq,
            };
            message(wire::TURN_FAILED, &params)
        }
        Outcome::Cancelled { reason } => {
            let reason = reason.clone();
            let params = wire::TurnCancelledNotification {
                thread_id,
                turn_id,
                turn,
                reason,
                seq,
            };
            message(wire::TURN_CANCELLED, &params)
        }
    })
}
