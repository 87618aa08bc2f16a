//! The first steps of a run whose Turn was open when the server stopped.
//!
//! Open Items are completed. A call whose effect may have started is never run again: its result says so, and the model
//! decides. A call that was complete but had not started is run now; `core` finds its approval request or the answer.

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::tool::ToolOutput;
use bobbin_core::engine::{OpenItem, WindowNote};
use bobbin_model::item::ExecutionStatus;
use bobbin_model::{
    CommandStatus, ContextNote, DynamicToolError, Item, ItemBody, ItemStatus, Json, ToolAnswer,
};

use super::call::not_run;
use super::one_item::OpenCall;
use super::turn::TurnRun;
use bobbin_agent_api::model::Call;

/// Result of a call that may have had its effect.
const INTERRUPTED: &str = "interrupted_by_restart: the server stopped while this call ran; it may have had some \
                           or all of its effect, and it was not run again";
/// Result of a call whose arguments are incomplete.
const UNFINISHED: &str =
    "interrupted_by_restart: the server stopped before this call was complete; it was not run";

impl TurnRun {
    /// Completes what a stop of the server left open; does nothing for a new Turn.
    pub(super) async fn settle_after_restart(&mut self) -> Result<(), TurnGone> {
        let turn = self.turn.clone();
        let at_start = turn.at_start();
        // A command's view was opened after its lifecycle Item, and closes before it.
        if at_start.compacting {
            let message = "The server restarted while the conversation was compacted; it is as it was.";
            let context = turn.context();
            turn.note_window(WindowNote {
                note: ContextNote::CompactFailed,
                tokens: context.tokens,
                window: context.window,
                message: message.to_owned(),
            })
            .await?;
        }
        let open: Vec<&Item> = at_start.open_items().collect();
        if open.iter().any(|item| item.body.is_prose()) {
            // Without this note a partial answer would look complete if the server stopped again now.
            let note = ItemBody::Error {
                message: "The server restarted in the middle of an answer; it is given again.".to_owned(),
                code: "interrupted_by_restart".to_owned(),
                fatal: false,
            };
            turn.add(note).await?;
        }
        for item in open.into_iter().rev() {
            // Single-Item calls are settled with the others afterwards.
            if let Some(call) = OpenCall::resume(&turn, item) {
                self.open_calls.insert(call.id().to_owned(), call);
                continue;
            }
            OpenItem::resume(&turn, item).complete(closing_body(item)).await?;
        }
        for (call_id, item) in at_start.pending_calls() {
            let (tool_name, arguments, complete) = match &item.body {
                ItemBody::ToolCall {
                    tool_name, arguments, ..
                } => (tool_name, arguments, item.status == ItemStatus::Completed),
                // A single-Item call is opened when its arguments are complete.
                ItemBody::DynamicToolCall(call) => (&call.offered_as, &call.arguments, true),
                _ => continue,
            };
            if !complete {
                self.add_result(call_id, not_run(UNFINISHED)).await?;
            } else if at_start.started_calls.contains(call_id) {
                let output = self
                    .found_interrupted(call_id, tool_name, arguments.as_ref())
                    .await;
                self.add_result(call_id, output).await?;
            } else {
                let call = Call {
                    id: call_id.to_owned(),
                    tool: tool_name.clone(),
                    arguments: arguments.clone(),
                    provider_state: None,
                };
                self.call(&call).await?;
            }
        }
        Ok(())
    }
}

impl TurnRun {
    /// Returns the result of a call that may have had its effect, with what its tool knows of the effect.
    async fn found_interrupted(&self, call: &str, tool: &str, arguments: Option<&Json>) -> ToolOutput {
        let known = self.tools.get(tool).zip(arguments);
        match known
            .and_then(|(tool, arguments)| tool.found_interrupted(arguments, call, self.turn.sub_agents()))
        {
            Some(known) => ToolOutput {
                text: known.await,
                ..interrupted()
            },
            None => interrupted(),
        }
    }
}

/// Returns the result of a call that may have had its effect.
fn interrupted() -> ToolOutput {
    let answer = ToolAnswer::failed(DynamicToolError::Interrupted, INTERRUPTED);
    ToolOutput {
        answer: Some(Box::new(answer)),
        ..not_run(INTERRUPTED)
    }
}

/// Returns the final body of an open Item; `None` leaves the body unchanged.
fn closing_body(item: &Item) -> Option<ItemBody> {
    match item.body.clone() {
        ItemBody::CommandExecution(mut run) => {
            run.status = CommandStatus::Lost;
            Some(ItemBody::CommandExecution(run))
        }
        ItemBody::ToolExecution {
            call_id, tool_name, ..
        } => Some(ItemBody::ToolExecution {
            call_id,
            tool_name,
            status: ExecutionStatus::Failed,
            success: Some(false),
            duration_ms: None,
            result_preview: None,
            error_message: Some(INTERRUPTED.to_owned()),
        }),
        _ => None,
    }
}
