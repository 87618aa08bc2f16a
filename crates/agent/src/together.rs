//! Runs the calls of one reply in order; adjacent calls that only read run concurrently.
//!
//! Calls run together if they are adjacent, their tools only read, and none needs an approval. As for any other call,
//! each one's intent is on disk before its effect; results are recorded in the order of the calls. At most
//! [`MAX_TOGETHER`] run at a time. A call that changes something runs alone, but users are asked about all calls of the
//! reply at once. Calls that a stopped Turn abandons do not
//! run together with calls that it waits for.

use std::collections::HashSet;
use std::path::PathBuf;

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::hook::HookEvent;
use bobbin_agent_api::permission::permission_of;
use bobbin_agent_api::tool::{Effect, Permission, PreparedCall, ToolOutput, Touches};
use bobbin_agent_api::undo::FileChanges;
use bobbin_core::engine::{Ask, TurnContext};
use bobbin_model::ApprovalPolicy;
use bobbin_tools::ToolSet;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream;

use super::call::{GRACE, prepare, stopped_for};
use super::execution::Execution;
use super::turn::TurnRun;
use bobbin_agent_api::model::Call;

/// Most calls at a time (guess: disks and tool servers gain little beyond).
const MAX_TOGETHER: usize = 8;

impl TurnRun {
    /// Runs the calls of a reply. Meanwhile users are asked about all of those that need it.
    pub(super) async fn calls(&mut self, calls: &[Call]) -> Result<(), TurnGone> {
        // A hook may block a call, and then nobody is to be asked about it.
        if calls
            .iter()
            .any(|call| self.has_hooks(HookEvent::PreToolUse, &call.tool))
        {
            return self.in_order(calls).await;
        }
        let asking = ask_ahead(self.turn.clone(), self.tools.clone(), calls);
        let running = self.in_order(calls);
        tokio::pin!(asking, running);
        tokio::select! {
            biased;
            done = &mut running => return done,
            () = &mut asking => {}
        }
        running.await
    }

    async fn in_order(&mut self, calls: &[Call]) -> Result<(), TurnGone> {
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
            if !reads || self.has_hooks_of(call) {
                break;
            }
            let Ok(prepared) = self.prepare(call).await else {
                break;
            };
            let permission = permission_of(self.turn.environment(), &call.tool, &*prepared);
            if prepared.inquiry().is_some() || permission != Permission::Free {
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

/// Asks users about the calls behind the first one that need it. Each asks again when it is its turn to run, and finds
/// the answer if it is still about the same; then the answers here are of no more use.
///
/// A file that an earlier call changes is asked about later, since what would be shown of it is not what would happen.
async fn ask_ahead(turn: TurnContext, tools: ToolSet, calls: &[Call]) {
    // The first question ends the Turn.
    let ends = turn.environment().approvals == ApprovalPolicy::Interrupt;
    let only_reads = |call: &Call| {
        let tool = tools.get(&call.tool);
        tool.is_some_and(|tool| tool.spec().effect == Effect::Reads)
    };
    if calls.len() < 2 || ends || calls.iter().all(only_reads) {
        return;
    }
    let mut changed: HashSet<PathBuf> = HashSet::new();
    let mut asks = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let Ok(prepared) = prepare(turn.environment(), &tools, call).await else {
            continue;
        };
        let files = match prepared.touches() {
            Touches::Files(files) => files,
            Touches::Nothing | Touches::Anything => Vec::new(),
        };
        let is_known = !files.iter().any(|file| changed.contains(file));
        changed.extend(files);
        let permission = permission_of(turn.environment(), &call.tool, &*prepared);
        if let Permission::Ask { scope, reason } = permission
            && at > 0
            && is_known
        {
            if let Some(preview) = prepared.preview().await
                && turn.preview(&call.id, preview).await.is_err()
            {
                return;
            }
            let call_id = call.id.clone();
            asks.push(turn.ask(Ask {
                call_id,
                scope,
                reason,
            }));
        }
    }
    // The answers are recorded where they are given.
    drop(join_all(asks).await);
}
