//! Runs the calls of one reply in order; adjacent calls that only read run concurrently.
//!
//! Calls run together if they are adjacent, their tools only read, and none needs an approval. As for any other call,
//! each one's intent is on disk before its effect; results are recorded in the order of the calls. At most
//! [`MAX_TOGETHER`] run at a time. A call that changes something runs alone. Calls that a stopped Turn abandons do not
//! run together with calls that it waits for.

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::tool::{Effect, Permission, PreparedCall, ToolOutput};
use bobbin_agent_api::undo::FileChanges;
use futures_util::StreamExt as _;
use futures_util::stream;

use super::call::{GRACE, stopped_for, with_rule};
use super::execution::Execution;
use super::turn::TurnRun;
use bobbin_agent_api::model::Call;

/// Most calls at a time (guess: disks and tool servers gain little beyond).
const MAX_TOGETHER: usize = 8;

impl TurnRun {
    /// Runs the calls of a reply.
    pub(super) async fn calls(&mut self, calls: &[Call]) -> Result<(), TurnGone> {
        let mut rest = calls;
        while let Some((first, others)) = rest.split_first() {
            let readers = self.readers(rest).await;
            if readers.len() > 1 {
                let (now, later) = rest.split_at(readers.len());
                self.run_together(now, readers).await?;
                rest = later;
            } else {
                self.call(first).await?;
                rest = others;
            }
        }
        Ok(())
    }

    /// Prepares the calls at the beginning of `calls` that may run together.
    async fn readers(&self, calls: &[Call]) -> Vec<Box<dyn PreparedCall>> {
        let mut readers = Vec::new();
        let must_end = calls.first().is_some_and(|first| self.must_end(first));
        for call in calls {
            let reads = self.tools.get(&call.tool).is_some_and(|tool| {
                tool.spec().effect == Effect::Reads && !tool.runs_alone() && tool.must_end() == must_end
            });
            if !reads {
                break;
            }
            let Ok(prepared) = self.prepare(call).await else {
                break;
            };
            let said = self.turn.environment().policy.tool(&call.tool);
            let asks = prepared.inquiry().is_some();
            if asks || with_rule(prepared.permission(), said, &call.tool) != Permission::Free {
                break;
            }
            readers.push(prepared);
        }
        readers
    }

    async fn run_together(
        &mut self,
        calls: &[Call],
        readers: Vec<Box<dyn PreparedCall>>,
    ) -> Result<(), TurnGone> {
        let (turn, stop) = (self.turn.clone(), self.stop.clone());
        let must_end = calls.first().is_some_and(|first| self.must_end(first));
        let max_bytes = self.result_limits.next(&self.messages);
        let run = async |at: usize, call: &Call, reader: Box<dyn PreparedCall>| {
            turn.start_call(&call.id).await?;
            let execution = Execution::open(&turn, call, reader.command(), &stop).await?;
            Ok::<_, TurnGone>((at, execution.run(reader, max_bytes).await?))
        };
        let runs = calls.iter().zip(readers).enumerate();
        let runs = runs.map(|(at, (call, reader))| run(at, call, reader));
        let mut outputs = stream::iter(runs).buffer_unordered(MAX_TOGETHER).boxed();
        let let_go = async {
            if must_end {
                std::future::pending::<()>().await;
            }
            stopped_for(&stop, GRACE).await;
        };
        tokio::pin!(let_go);
        // Results that wait for the result of an earlier call.
        let mut done: Vec<Option<ToolOutput>> = calls.iter().map(|_| None).collect();
        let mut recorded = 0;
        loop {
            let output = tokio::select! {
                biased;
                output = outputs.next() => output,
                () = &mut let_go => break,
            };
            let Some(output) = output else { break };
            let (at, output) = output?;
            done[at] = Some(output);
            while let Some(output) = done.get_mut(recorded).and_then(Option::take) {
                self.add_reading(&calls[recorded], output).await?;
                recorded += 1;
            }
        }
        // Finished calls are recorded, even if an earlier call was abandoned.
        for (call, output) in calls.iter().zip(done) {
            if let Some(output) = output {
                self.add_reading(call, output).await?;
            }
        }
        if stop.is_cancelled() {
            return Err(TurnGone);
        }
        Ok(())
    }

    async fn add_reading(&mut self, call: &Call, mut output: ToolOutput) -> Result<(), TurnGone> {
        let changed = std::mem::take(&mut output.changed);
        self.add_result(&call.id, output).await?;
        let changes = FileChanges {
            changed,
            ..FileChanges::default()
        };
        self.note_changes(changes).await
    }
}
