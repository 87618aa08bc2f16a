//! The engine of the open Turn: its start, its stop and its end.

use std::future::pending;
use std::sync::Arc;

use bobbin_model::{Event, ItemBody, Outcome, TurnId, UnixMillis};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::Owner;
use super::record::{After, Effect};
use crate::CoreError;
use crate::engine::{EngineFailure, TurnContext};
use bobbin_agent_api::sub_agent::NoSubAgents;
use bobbin_agent_api::tool::ToolEnvironment;

/// Reason of a Turn that a client interrupted (03 §7).
pub(super) const BY_REQUEST: &str = "Cancelled by request";
/// Reason of a Turn that its Thread, its parent or its policy ended.
pub(super) const BY_CALLER: &str = "Caller cancelled";

/// A run of the engine.
pub(super) struct Run {
    pub(super) turn: TurnId,
    task: JoinHandle<Result<(), EngineFailure>>,
    cancel: CancellationToken,
    /// Time at which a cancelled run is aborted.
    pub(super) abort_at: Option<Instant>,
}

impl Run {
    pub(super) async fn abort(self) {
        self.cancel.cancel();
        self.task.abort();
        // The task is joined; its result no longer matters.
        drop(self.task.await);
    }
}

/// The end of a run.
pub(super) enum Ran {
    Finished(Result<(), EngineFailure>),
    Panicked,
    Aborted,
}

/// Waits for the run to end; for ever if there is none.
pub(super) async fn ended(run: &mut Option<Run>) -> Ran {
    let Some(run) = run else { return pending().await };
    match (&mut run.task).await {
        Ok(result) => Ran::Finished(result),
        Err(error) if error.is_panic() => Ran::Panicked,
        Err(_) => Ran::Aborted,
    }
}

impl Owner {
    /// Runs the engine on the open Turn, unless that Turn has ended meanwhile.
    pub(super) fn start_engine(&mut self, turn: TurnId) {
        let Some(live) = self.state.live.as_ref().filter(|live| live.turn.id == turn) else {
            return;
        };
        if self.run.is_some() || self.threads.stopping.is_cancelled() {
            return;
        }
        self.stalled = None;
        let cancel = CancellationToken::new();
        let context = TurnContext {
            threads: self.threads.clone(),
            header: Arc::new(self.state.header.clone()),
            at_start: Arc::new(live.clone()),
            context: self.state.context,
            environment: Arc::new(ToolEnvironment {
                // An editor knows only the root of the tree.
                clients: self.threads.clients().of(self.state.header.root()),
                ..self
                    .threads
                    .settings
                    .environment_of(self.state.header.config.as_ref(), &live.features)
            }),
            sub_agents: Arc::new(NoSubAgents),
            declared: self.state.tools.clone(),
            shared: self.shared.clone(),
            cancel: cancel.clone(),
            requests: self.request_sender.clone(),
        };
        let engine = self.threads.engine.clone();
        let environment = &context.environment;
        // The folder would otherwise be made anew, by the first file that is written in it.
        let is_gone = environment.config.worktree.is_some() && !environment.root.is_dir();
        // The engine is called within the task, so that its panic fails the Turn.
        let span = tracing::info_span!("turn", thread = %self.state.header.id, turn = %turn);
        span.in_scope(|| tracing::info!("turn started"));
        let run = async move {
            if is_gone {
                let why = format!(
                    "The worktree of this thread is gone: {}",
                    context.environment.root.display()
                );
                return Err(EngineFailure::Failed(why));
            }
            engine.run(context).await
        };
        let task = tokio::spawn(run.instrument(span));
        self.run = Some(Run {
            turn,
            task,
            cancel,
            abort_at: None,
        });
    }

    /// Records that the Turn is being stopped, settles its open Approvals as `cancel` and stops the engine. The Turn ends
    /// after its engine.
    pub(super) async fn cancel_turn(&mut self, reason: &str, effect: Effect) -> Result<(), CoreError> {
        let events = self.state.decide_cancel(reason, self.now());
        let staged = self.stage(events);
        self.commit(staged, effect).await?;
        self.stop_engine().await
    }

    /// Stops the engine of a Turn whose stop is recorded.
    pub(super) async fn stop_engine(&mut self) -> Result<(), CoreError> {
        let Some(reason) = self.cancelling() else {
            return Ok(());
        };
        self.askers.clear();
        match &mut self.run {
            Some(run) => {
                run.abort_at
                    .get_or_insert_with(|| Instant::now() + self.threads.settings.cancel_grace);
                run.cancel.cancel();
                Ok(())
            }
            None => self.end_turn(Outcome::Cancelled { reason }).await,
        }
    }

    /// Ends the engine of a stopping server, and leaves the Turn, its questions and its text as after a crash. The Turn goes
    /// on at the next start. A Turn that a client has stopped ends.
    pub(super) async fn leave_turn_open(&mut self) -> Result<(), CoreError> {
        let Some(live) = &self.state.live else {
            return Ok(());
        };
        if live.cancelling.is_some() {
            return Ok(());
        }
        let (turn, questions) = (live.turn.id, live.approvals.len());
        self.askers.clear();
        if let Some(run) = self.run.take() {
            run.abort().await;
        }
        self.threads.note_left_open(questions);
        self.checkpoint().await?;
        self.record(vec![Event::TurnLeftOpen { turn }]).await
    }

    /// Returns the reason for which the open Turn is being stopped, if it is.
    pub(super) fn cancelling(&self) -> Option<String> {
        self.state.live.as_ref()?.cancelling.clone()
    }

    pub(super) fn abort_if_stuck(&mut self, now: Instant) {
        if let Some(run) = &mut self.run
            && run.abort_at.is_some_and(|at| at <= now)
        {
            run.task.abort();
            run.abort_at = None;
        }
    }

    /// Ends the Turn after its engine has ended.
    pub(super) async fn ran(&mut self, ran: Ran) -> Result<(), CoreError> {
        // Requests from before its end come first.
        while let Ok((turn, request)) = self.requests.try_recv() {
            self.request(turn, request).await?;
        }
        let Some(run) = self.run.take() else { return Ok(()) };
        self.askers.clear();
        if self.state.live_turn() != Some(run.turn) {
            return Ok(());
        }
        if let Some(reason) = self.cancelling() {
            return self.end_turn(Outcome::Cancelled { reason }).await;
        }
        let mut code = "agent_error";
        let error = match ran {
            Ran::Finished(Ok(())) => return self.end_turn(Outcome::Completed).await,
            Ran::Finished(Err(EngineFailure::Failed(error))) => error,
            Ran::Finished(Err(EngineFailure::Stopped { code: bound, text })) => {
                code = bound;
                text
            }
            Ran::Finished(Err(EngineFailure::Gone(_))) | Ran::Aborted => {
                "The engine stopped early.".to_owned()
            }
            Ran::Panicked => {
                tracing::error!(thread = %self.state.header.id, turn = %run.turn, "the engine panicked");
                "The engine failed; this is a bug in the server. The conversation so far is kept.".to_owned()
            }
        };
        self.end_turn_with(Outcome::Failed { error }, code).await
    }

    /// Records the end of the Turn. The same commit starts the next queued Turn, so that no crash can come between them.
    /// After a failed or stopped Turn, only an input that does not mind starts.
    pub(super) async fn end_turn(&mut self, outcome: Outcome) -> Result<(), CoreError> {
        self.end_turn_with(outcome, "agent_error").await
    }

    /// Like [`Owner::end_turn`]; `code` is that of a failure's error Item.
    pub(super) async fn end_turn_with(&mut self, outcome: Outcome, code: &str) -> Result<(), CoreError> {
        let now = self.now();
        let mut events: Vec<Event> = Vec::new();
        if let Outcome::Failed { error } = &outcome {
            let body = ItemBody::Error {
                message: error.clone(),
                code: code.to_owned(),
                fatal: true,
            };
            events.extend(
                self.state
                    .decide_add_item(body, now)
                    .into_iter()
                    .flat_map(|(_, events)| events),
            );
        }
        let mut staged = self.stage(events);
        let go_on = self.delete.is_none() && !self.threads.stopping.is_cancelled();
        let is_good = outcome == Outcome::Completed;
        self.report_end(&outcome, code, now);
        let ended = self.state.decide_end_turn(outcome, now);
        staged.append(self.stage(ended));
        let mut effect = Effect::default();
        let next = match (go_on, is_good) {
            (false, _) => None,
            (true, true) => self.stage_queued(),
            (true, false) => self.stage_following(),
        };
        match next {
            Some((queued, turn)) => {
                staged.append(queued);
                effect.after.push(After::Run(turn));
            }
            // A stopping server continues with the queue at its next start.
            None if go_on => staged.append(self.stage_users_queue()),
            None => {}
        }
        self.commit(staged, effect).await
    }

    /// Writes the end of a Turn to the log and the metrics.
    fn report_end(&self, outcome: &Outcome, code: &str, now: UnixMillis) {
        let Some(turn) = self.state.live.as_ref().map(|live| &live.turn) else {
            return;
        };
        let (outcome, code) = match outcome {
            Outcome::Completed => ("completed", None),
            Outcome::Failed { .. } => ("failed", Some(code)),
            Outcome::Cancelled { .. } => ("cancelled", None),
        };
        metrics::counter!("bobbin_turns_total", "outcome" => outcome).increment(1);
        tracing::info!(
            thread = %self.state.header.id,
            turn = %turn.id,
            outcome,
            code,
            ms = now.0.saturating_sub(turn.started_at.0),
            input_tokens = turn.usage.input_tokens,
            output_tokens = turn.usage.output_tokens,
            "turn ended"
        );
    }

    /// Stages the Turn of the first queued input, if the Thread is ready.
    pub(super) fn stage_queued(&mut self) -> Option<(super::record::Staged, TurnId)> {
        let events = self.state.decide_start_queued(self.now());
        self.stage_turn(events)
    }

    /// Stages the Turn of the first queued input that also starts after a Turn that did not complete.
    fn stage_following(&mut self) -> Option<(super::record::Staged, TurnId)> {
        let events = self.state.decide_start_following(self.now());
        self.stage_turn(events)
    }

    fn stage_turn(&mut self, events: Option<Vec<Event>>) -> Option<(super::record::Staged, TurnId)> {
        let staged = self.stage(events?);
        Some((staged, self.state.live_turn()?))
    }
}
