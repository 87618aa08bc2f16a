//! The calls of one reply: in the order in which they were made, those that only look at the same time.
//!
//! Calls run together when they stand side by side, their tools say that they only read, and nobody has to be asked.
//! Each one's intent is on disk before its effect, as for any other; results are recorded in the order of the calls. At
//! most [`MAX_TOGETHER`] run at a time. What changes something runs alone.

use bobbin_core::engine::TurnGone;
use bobbin_core::tool::{Effect, Permission, PreparedCall};
use futures_util::StreamExt as _;
use futures_util::stream;

use super::Call;
use super::call::{GRACE, stopped_for, with_rule};
use super::execution::Execution;
use super::turn::TurnRun;
use crate::checkpoint::Ended;

/// Most calls at a time (guess: disks and tool servers gain little beyond).
const MAX_TOGETHER: usize = 8;

impl TurnRun {
    /// Runs the calls of a reply.
    pub(super) async fn calls(&mut self, calls: &[Call]) -> Result<(), TurnGone> {
        let mut rest = calls;
        while let Some((first, others)) = rest.split_first() {
            let readers = self.readers(rest);
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
    fn readers(&self, calls: &[Call]) -> Vec<Box<dyn PreparedCall>> {
        let mut readers = Vec::new();
        for call in calls {
            let reads = self
                .tools
                .get(&call.tool)
                .is_some_and(|tool| tool.spec().effect == Effect::Reads && !tool.runs_alone());
            let Some(prepared) = reads.then(|| self.prepare(call).ok()).flatten() else {
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
        let run = async |call: &Call, reader: Box<dyn PreparedCall>| {
            turn.start_call(&call.id).await?;
            let execution = Execution::open(&turn, call, reader.command(), &stop).await?;
            execution.run(reader).await
        };
        let runs = calls.iter().zip(readers).map(|(call, reader)| run(call, reader));
        let mut outputs = stream::iter(runs).buffered(MAX_TOGETHER).boxed();
        for call in calls {
            let output = tokio::select! {
                biased;
                output = outputs.next() => output,
                () = stopped_for(&stop, GRACE) => return Err(TurnGone),
            };
            let Some(output) = output else { break };
            let mut output = output?;
            let changed = std::mem::take(&mut output.changed);
            self.add_result(&call.id, output).await?;
            self.note_changes(Ended {
                changed,
                ..Ended::default()
            })
            .await?;
        }
        if stop.is_cancelled() {
            return Err(TurnGone);
        }
        Ok(())
    }
}
