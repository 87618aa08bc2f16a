//! Encodes frames as notifications. Pure: it takes a frame and the client's kind, and returns whole messages.
//!
//! Each kind is encoded once, and all connections of that kind share the encoding.

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
mod turn;

use bobbin_core::{Encoded, Ephemeral, Frame, FrameBody, SubagentQuestion, View, WireMessage};
use bobbin_model::{Event, ThreadHeader, ThreadStatus};
use bobbin_native_wire::encode_notification;
use bobbin_native_wire::system::types::{SubagentGraphChangedNotification, SubagentProgressNotification};
use bobbin_native_wire::thread::notifications::{
    ThreadArchivedNotification, ThreadConfiguredNotification, ThreadDeletedNotification,
    ThreadQueueUpdatedNotification, ThreadRenamedNotification, ThreadResumedNotification,
    ThreadRolledBackNotification, ThreadRuntimeChangedNotification, ThreadStartedNotification,
    ThreadStatusChangedNotification, ThreadSyncedNotification, ThreadUpdatedNotification,
};
use bobbin_native_wire::thread::types::Thread;
use bobbin_native_wire::turn::diff::TurnWaitingNotification;
use bobbin_native_wire::turn::plan::PlanUpdatedNotification;
use serde::Serialize;

use crate::convert::{self, ToolExecutions};
use crate::cursor;
use crate::group::Groups;
use crate::groups::subagent;
use crate::groups::subagent::{SUBAGENT_GRAPH_CHANGED, SUBAGENT_GRAPH_CHANGED_TODAY, SUBAGENT_PROGRESS};
use crate::groups::thread::{
    THREAD_ARCHIVED, THREAD_CONFIGURED, THREAD_DELETED, THREAD_QUEUE_UPDATED, THREAD_RENAMED, THREAD_RESUMED,
    THREAD_ROLLED_BACK, THREAD_RUNTIME_CHANGED, THREAD_STARTED, THREAD_STATUS_CHANGED,
    THREAD_STATUS_CHANGED_TODAY, THREAD_SYNCED, THREAD_UNARCHIVED, THREAD_UPDATED,
};
use crate::groups::turn::{PLAN_UPDATED, TURN_WAITING};

/// The properties of a client that its notifications depend on. Clients of one kind share one encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) tool_executions: ToolExecutions,
    pub(crate) numbers: Numbers,
}

/// Whether notifications of a Thread's events have `seq`: only for clients that declared `eventCursors`.
///
/// A number on the wire is the frame's Seq with the message's place in the frame. So a client may stop between any two
/// messages and resume there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    Shown,
    Hidden,
}

impl Kind {
    /// Returns the slot of this kind's encoding in a frame.
    pub(crate) fn slot(self) -> usize {
        let tool_executions = match self.tool_executions {
            ToolExecutions::Shown => 0,
            ToolExecutions::Hidden => 1,
        };
        let numbers = match self.numbers {
            Numbers::Shown => 2,
            Numbers::Hidden => 0,
        };
        tool_executions | numbers
    }

    /// Returns the number of a frame's message at `place`.
    fn seq(self, frame: &Frame, place: usize) -> Option<u64> {
        match self.numbers {
            Numbers::Shown => Some(cursor::number(frame, place)),
            Numbers::Hidden => None,
        }
    }
}

/// Returns the notifications of a frame.
pub(crate) fn encode(frame: &Frame, kind: Kind, groups: &Groups) -> Encoded {
    let mut messages = Vec::new();
    let thread_id = frame.thread.to_string();
    let seq = kind.seq(frame, 0);
    match &frame.body {
        FrameBody::Delta(delta) => messages.push(turn::delta(thread_id, delta, seq)),
        FrameBody::Ephemeral(Ephemeral::RuntimeChanged(runtime)) => {
            let runtime = *runtime;
            let params = ThreadRuntimeChangedNotification {
                thread_id,
                runtime,
                seq,
            };
            messages.push(message(THREAD_RUNTIME_CHANGED, &params));
            let seq = kind.seq(frame, messages.len());
            let params = ThreadRuntimeChangedNotification { seq, ..params };
            messages.push(message(THREAD_STATUS_CHANGED_TODAY, &params));
        }
        FrameBody::Ephemeral(Ephemeral::Synced) => messages.extend(seq.map(|seq| {
            let params = ThreadSyncedNotification { thread_id, seq };
            message(THREAD_SYNCED, &params)
        })),
        FrameBody::Ephemeral(Ephemeral::Broadcast(news)) => {
            messages.extend(groups.broadcast(news, frame.at));
        }
        // A question is a request to the clients that can answer it; Items say how it ends.
        FrameBody::Ephemeral(
            Ephemeral::QuestionOpened(_)
            | Ephemeral::QuestionClosed(_)
            | Ephemeral::Waiting { call: Some(_), .. },
        ) => {}
        FrameBody::Ephemeral(Ephemeral::Waiting { turn, text, .. }) => {
            let params = TurnWaitingNotification {
                thread_id,
                turn_id: turn.to_string(),
                message: text.to_string(),
                seq,
            };
            messages.push(message(TURN_WAITING, &params));
        }
        FrameBody::Ephemeral(Ephemeral::Subagent { question, .. }) => match question {
            // A request asks it.
            SubagentQuestion::Asked(_) => {}
            SubagentQuestion::Settled { turn, item, .. } => {
                messages.push(turn::of_answer(None, &frame.thread, *turn, item, None));
            }
        },
        FrameBody::Ephemeral(Ephemeral::SubAgents { turn, entries }) => {
            let params = SubagentProgressNotification {
                thread_id,
                turn_id: turn.to_string(),
                entries: entries.iter().map(subagent::convert::progress).collect(),
                seq,
            };
            messages.push(message(SUBAGENT_PROGRESS, &params));
        }
        FrameBody::Recorded(event) => match &**event {
            Event::ThreadStarted { thread } => {
                messages.extend(of_thread(thread_id, event, &frame.view, seq));
                messages.extend(graph_changed(thread).into_iter().flatten());
            }
            Event::EdgeChanged { .. } => {
                if let View::Thread(state) = &frame.view {
                    messages.extend(graph_changed(&state.header).into_iter().flatten());
                }
            }
            Event::ThreadResumed { .. }
            | Event::ThreadRenamed { .. }
            | Event::ThreadStatusChanged { .. }
            | Event::ThreadConfigured { .. }
            | Event::ThreadDeleted
            | Event::QueueChanged { .. }
            | Event::TurnsRolledBack { .. }
            | Event::PlanUpdated { .. } => {
                messages.extend(of_thread(thread_id, event, &frame.view, seq));
                let seq = kind.seq(frame, messages.len());
                messages.extend(todays(frame, event, seq));
            }
            _ => turn::encode(frame, event, kind, &mut messages),
        },
    }
    messages.retain(|message| !message.json.is_empty());
    messages.into()
}

/// Returns what clients of today are sent directly after an event's earlier notification (07 §2.2).
fn todays(frame: &Frame, event: &Event, seq: Option<u64>) -> Option<WireMessage> {
    let archived = |method| {
        let thread_id = frame.thread.to_string();
        message(method, &ThreadArchivedNotification { thread_id, seq })
    };
    match (event, &frame.view) {
        (Event::ThreadStatusChanged { new, .. }, _) if *new == ThreadStatus::Archived => {
            Some(archived(THREAD_ARCHIVED))
        }
        (Event::ThreadStatusChanged { previous, .. }, _) if *previous == ThreadStatus::Archived => {
            Some(archived(THREAD_UNARCHIVED))
        }
        (Event::ThreadConfigured { .. }, View::Thread(state)) => {
            let thread = convert::thread(state);
            Some(message(
                THREAD_UPDATED,
                &ThreadUpdatedNotification { thread, seq },
            ))
        }
        _ => None,
    }
}

/// Returns the notifications that the edge to a Thread's parent was added or changed, if there is an edge: the earlier
/// name and today's.
fn graph_changed(header: &ThreadHeader) -> Option<[WireMessage; 2]> {
    let source = header.source.sub_agent()?;
    let params = SubagentGraphChangedNotification {
        parent_thread_id: source.parent.to_string(),
        child_thread_id: header.id.to_string(),
    };
    Some([SUBAGENT_GRAPH_CHANGED, SUBAGENT_GRAPH_CHANGED_TODAY].map(|method| message(method, &params)))
}

fn of_thread(thread_id: String, event: &Event, view: &View, seq: Option<u64>) -> Option<WireMessage> {
    Some(match (event, view) {
        (Event::ThreadStarted { .. }, View::Thread(state)) => {
            let thread = Thread {
                turns: Some(Vec::new()),
                ..convert::thread(state)
            };
            message(THREAD_STARTED, &ThreadStartedNotification { thread, seq })
        }
        (Event::ThreadResumed { by }, View::Thread(state)) => {
            let (thread, resumed_by) = (convert::thread(state), by.clone());
            message(
                THREAD_RESUMED,
                &ThreadResumedNotification {
                    thread,
                    resumed_by,
                    seq,
                },
            )
        }
        (Event::ThreadRenamed { display_name }, _) => {
            let display_name = display_name.clone();
            message(
                THREAD_RENAMED,
                &ThreadRenamedNotification {
                    thread_id,
                    display_name,
                    seq,
                },
            )
        }
        (Event::ThreadStatusChanged { previous, new }, _) => message(
            THREAD_STATUS_CHANGED,
            &ThreadStatusChangedNotification {
                thread_id,
                previous_status: *previous,
                new_status: *new,
                seq,
            },
        ),
        (Event::ThreadDeleted, _) => message(THREAD_DELETED, &ThreadDeletedNotification { thread_id, seq }),
        (Event::QueueChanged { queue }, _) => {
            let queued_inputs = convert::queue(&thread_id, queue);
            let params = ThreadQueueUpdatedNotification {
                thread_id,
                queued_inputs,
                seq,
            };
            message(THREAD_QUEUE_UPDATED, &params)
        }
        // Version 1 has no notification for these two. A client that reads by number would miss the event without one.
        (Event::ThreadConfigured { .. }, _) => {
            let params = ThreadConfiguredNotification { thread_id, seq: seq? };
            message(THREAD_CONFIGURED, &params)
        }
        (Event::TurnsRolledBack { first, count }, _) => {
            let params = ThreadRolledBackNotification {
                thread_id,
                first_turn_id: first.to_string(),
                num_turns: *count,
                seq: seq?,
            };
            message(THREAD_ROLLED_BACK, &params)
        }
        (Event::PlanUpdated { plan }, _) => {
            let params = PlanUpdatedNotification {
                seq,
                ..PlanUpdatedNotification::new(thread_id, plan.clone())
            };
            message(PLAN_UPDATED, &params)
        }
        _ => return None,
    })
}

/// Encodes one notification. A shape that cannot be encoded is a bug of `wire`; its message is empty and is not sent.
pub fn message<P: Serialize>(method: &'static str, params: &P) -> WireMessage {
    let json = encode_notification(method, params).unwrap_or_else(|error| {
        tracing::error!(%error, "a notification was left out");
        Vec::new()
    });
    WireMessage {
        method,
        json: json.into(),
    }
}
