//! The visible side of a running call: its lifecycle Item, its terminal view, its output while it appears.
//!
//! The client that started the Turn chooses which of them exist (AppServer protocol 01 §5).

use std::sync::Arc;

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::tool::{CallContext, CommandLine, OutputSink, PreparedCall, ToolOutput};
use bobbin_core::engine::{OpenItem, TurnContext};
use bobbin_model::ItemBody;
use bobbin_model::item::ExecutionStatus;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use bobbin_agent_api::model::Call;

/// Pieces of output on their way to the record; a full queue slows the call down.
const OUTPUT_QUEUE: usize = 16;
/// Most streamed output of one call. Output beyond it is counted, and cut in the final Item only.
const MAX_STREAMED_BYTES: usize = 1 << 20;
/// Longest preview, characters (03 §5.7).
const PREVIEW_CHARS: usize = 4096;

/// Says in the log and in the counters how a call ended. Its tool is named by the span.
fn report(success: bool, cancelled: bool, began: Instant) {
    let outcome = match (success, cancelled) {
        (true, _) => "ok",
        (false, true) => "cancelled",
        (false, false) => "failed",
    };
    metrics::counter!("bobbin_tool_calls_total", "outcome" => outcome).increment(1);
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(outcome, ms, "tool call ended");
}

/// One running call.
pub(super) struct Execution<'a> {
    turn: &'a TurnContext,
    call: &'a Call,
    lifecycle: Option<OpenItem>,
    terminal: Option<(CommandLine, OpenItem)>,
    streamed: usize,
    /// Ends the call.
    stop: CancellationToken,
}

impl<'a> Execution<'a> {
    /// Opens the call's Items.
    pub(super) async fn open(
        turn: &'a TurnContext,
        call: &'a Call,
        command: Option<CommandLine>,
        stop: &CancellationToken,
    ) -> Result<Self, TurnGone> {
        let features = &turn.at_start().features;
        let lifecycle = if features.tool_execution {
            Some(
                turn.open(lifecycle(call, ExecutionStatus::InProgress, None))
                    .await?,
            )
        } else {
            None
        };
        let terminal = match command.filter(|_| features.command_execution) {
            Some(line) => {
                let item = turn
                    .open(ItemBody::CommandExecution(line.started(&call.id)))
                    .await?;
                Some((line, item))
            }
            None => None,
        };
        Ok(Self {
            turn,
            call,
            lifecycle,
            terminal,
            streamed: 0,
            stop: stop.clone(),
        })
    }

    /// Returns an execution without Items, for a call that has an Item of its own.
    pub(super) fn unseen(turn: &'a TurnContext, call: &'a Call, stop: &CancellationToken) -> Self {
        Self {
            turn,
            call,
            lifecycle: None,
            terminal: None,
            streamed: 0,
            stop: stop.clone(),
        }
    }

    /// Runs the call and completes its Items. The model gets at most `max_bytes` of the result.
    pub(super) async fn run(
        mut self,
        prepared: Box<dyn PreparedCall>,
        max_bytes: usize,
    ) -> Result<ToolOutput, TurnGone> {
        let began = Instant::now();
        let (pieces, mut queue) = mpsc::channel(OUTPUT_QUEUE);
        let output = Arc::new(Queue(pieces));
        let context = CallContext {
            max_bytes,
            ..self.turn.call_context(&self.call.id, self.stop.clone(), output)
        };
        let span = tracing::info_span!("tool_call", tool = self.call.tool);
        let mut running = prepared.run(context).instrument(span.clone());
        let output = loop {
            tokio::select! {
                biased;
                Some(piece) = queue.recv() => self.stream(piece).await?,
                output = &mut running => break output,
            }
        };
        while let Ok(piece) = queue.try_recv() {
            self.stream(piece).await?;
        }
        span.in_scope(|| report(output.success, self.stop.is_cancelled(), began));
        self.complete(&output, began).await?;
        Ok(output)
    }

    /// Shows a note of the server in the call's terminal view, if the call has a view. The completed Item omits the
    /// note.
    pub(super) async fn note(&self, text: &str) -> Result<(), TurnGone> {
        match &self.terminal {
            Some((_, item)) => item.text(text).await,
            None => Ok(()),
        }
    }

    async fn stream(&mut self, piece: String) -> Result<(), TurnGone> {
        let Some((_, item)) = &self.terminal else {
            return Ok(());
        };
        // Only the beginning of the output is streamed; the completed Item says the rest.
        let room = MAX_STREAMED_BYTES.saturating_sub(self.streamed);
        self.streamed += piece.len();
        let shown = &piece[..piece.floor_char_boundary(room)];
        item.text(shown).await
    }

    async fn complete(self, output: &ToolOutput, began: Instant) -> Result<(), TurnGone> {
        let cancelled = self.stop.is_cancelled();
        if let Some((line, item)) = self.terminal {
            let body = line.ended(&self.call.id, output.command.as_ref());
            item.complete(Some(ItemBody::CommandExecution(body))).await?;
        }
        if let Some(item) = self.lifecycle {
            let status = if output.success {
                ExecutionStatus::Completed
            } else if cancelled {
                ExecutionStatus::Cancelled
            } else {
                ExecutionStatus::Failed
            };
            let body = lifecycle(self.call, status, Some((output, began)));
            item.complete(Some(body)).await?;
        }
        Ok(())
    }
}

/// Sends output to the loop that shows it.
struct Queue(mpsc::Sender<String>);

impl OutputSink for Queue {
    fn write(&self, text: String) -> BoxFuture<'_, ()> {
        // The receiver is gone once the Turn is gone.
        self.0.send(text).map(drop).boxed()
    }
}

fn lifecycle(call: &Call, status: ExecutionStatus, end: Option<(&ToolOutput, Instant)>) -> ItemBody {
    let preview = |wanted: bool| {
        let (output, _) = end.filter(|(output, _)| output.success == wanted)?;
        Some(clean(&output.text))
    };
    ItemBody::ToolExecution {
        call_id: call.id.clone(),
        tool_name: call.tool.clone(),
        status,
        success: end.map(|(output, _)| output.success),
        duration_ms: end.map(|(_, began)| millis(began.elapsed())),
        result_preview: preview(true),
        error_message: preview(false),
    }
}

/// Returns the beginning of a text without control characters.
fn clean(text: &str) -> String {
    let shown = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(shown).take(PREVIEW_CHARS).collect()
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
