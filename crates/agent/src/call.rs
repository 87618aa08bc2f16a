//! One call, from the model's request to its result (AppServer protocol 03 §7 and §15): permission, intent on disk,
//! effect, result.

use std::path::PathBuf;
use std::time::Duration;

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::hook::{HookEvent, HookSaid};
use bobbin_agent_api::permission::permission_of;
use bobbin_agent_api::policy::Judgement;
use bobbin_agent_api::tool::{
    Effect, Permission, PreparedCall, ToolEnvironment, ToolOutput, ToolRefusal, Touches,
};
use bobbin_agent_api::undo::FileChanges;
use bobbin_core::engine::Ask;
use bobbin_model::ItemBody;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::execution::Execution;
use super::fit::cut;
use super::hooks::{Before, with_hook};
use super::recording::RecordedCall;
use super::turn::TurnRun;
use bobbin_agent_api::cut::head;
use bobbin_agent_api::model::{Call, Message};
use bobbin_tools::{ToolSet, is_allowed};

/// Most bytes of tool names in the answer to a call of an unknown tool.
const MAX_NAMES: usize = 4 << 10;
/// How long a stopped Turn waits for the changes of its last call: a user who stops a Turn waits for its end. Changes
/// found later can still be undone, but are not in the Turn's diff.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long a call that only reads may take to end after its stop is requested; it has nothing to undo.
pub(super) const GRACE: Duration = Duration::from_millis(50);
/// How long a snapshot may take before the user is notified why the call waits.
const NOTICED: Duration = Duration::from_millis(400);
/// The text of that notification.
const WAITING: &str = "(waiting for the snapshot of the workspace, so that this can be undone)\n";
/// Calls that are prepared at a time in the whole server. Judging one command can take 30 ms of a core; a second one
/// would take the core that serves other clients.
static PREPARING: Semaphore = Semaphore::const_new(1);

/// The result that the model gets for a call that no user allowed.
pub(super) const DECLINED: &str = "refused: this call was not approved; it was not run";

impl TurnRun {
    /// Runs one call, or finds out why it cannot run, and adds its result.
    pub(super) async fn call(&mut self, call: &Call) -> Result<(), TurnGone> {
        if self.stop.is_cancelled() {
            return Err(TurnGone);
        }
        let prepared = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone),
            prepared = self.prepare(call) => prepared,
        };
        let (mut output, recorded) = match prepared {
            Ok(prepared) => match Box::pin(self.hooks_before(call)).await? {
                Before::Passes(asks) => self.run_if_allowed(call, prepared, asks).await?,
                Before::Blocked(why) => (refused(why), None),
            },
            Err(why) => (*why, None),
        };
        let heard = recorded.is_some() && self.has_hooks(HookEvent::PostToolUse, &call.tool);
        let heard = heard.then(|| (output.text.clone(), output.success));
        let mut changed = std::mem::take(&mut output.changed);
        // The result is recorded before anything else is awaited: a Turn that ends late loses what is not recorded.
        self.add_result(&call.id, output).await?;
        let mut found = self.see_changes(recorded.unwrap_or_default()).await;
        found.changed.append(&mut changed);
        self.note_changes(found).await?;
        if self.stop.is_cancelled() {
            // The effect is recorded; the Turn ends with it.
            return Err(TurnGone);
        }
        if let Some((text, success)) = heard {
            Box::pin(self.hooks_after(call, &text, success)).await?;
        }
        Ok(())
    }

    /// Returns what a finished call has changed. In a stopped Turn the wait is at most [`PATIENCE`].
    async fn see_changes(&self, recorded: RecordedCall) -> FileChanges {
        tokio::select! {
            biased;
            found = recorded.end() => found,
            () = stopped_for(&self.stop, PATIENCE) => FileChanges::default(),
        }
    }

    /// Adds a call's result, and the plan it made, to the record and to the conversation.
    pub(super) async fn add_result(&mut self, call_id: &str, output: ToolOutput) -> Result<(), TurnGone> {
        let limit = self.result_limits.next(&self.messages);
        if let Some(open) = self.open_calls.remove(call_id) {
            let success = output.success;
            let known = self.tools.get(open.offered_as()).is_some();
            let mut text = open.complete(output, known).await?;
            cut(&mut text, limit);
            self.messages.push(Message::Result {
                call_id: call_id.to_owned(),
                text,
                success,
            });
            return Ok(());
        }
        let ToolOutput {
            mut text,
            success,
            refused,
            plan,
            seen,
            pictures,
            ..
        } = output;
        cut(&mut text, limit);
        let result = ItemBody::ToolResult {
            call_id: call_id.to_owned(),
            result: text.clone(),
            success,
            refused,
            seen,
            pictures: pictures.clone(),
            change: None,
            tool_name: None,
        };
        match plan {
            Some(plan) => self.turn.add_with_plan(result, plan).await?,
            None => self.turn.add(result).await?,
        }
        self.shown.extend(pictures);
        self.messages.push(Message::Result {
            call_id: call_id.to_owned(),
            text,
            success,
        });
        Ok(())
    }

    /// Prepares a call, or returns the result that says why it cannot run.
    pub(super) async fn prepare(&self, call: &Call) -> Result<Box<dyn PreparedCall>, Box<ToolOutput>> {
        prepare(self.turn.environment(), &self.tools, call).await
    }

    /// Runs a call if it is allowed. Without a record it has not run.
    async fn run_if_allowed(
        &self,
        call: &Call,
        prepared: Box<dyn PreparedCall>,
        asks: Option<HookSaid>,
    ) -> Result<(ToolOutput, Option<RecordedCall>), TurnGone> {
        let must_know = prepared.must_know();
        if let Some(why) = self.unknown(must_know.clone()).await? {
            return Ok((not_run(why), None));
        }
        if let Some(preview) = prepared.preview().await {
            self.turn.preview(&call.id, preview).await?;
        }
        let permission = permission_of(self.turn.environment(), &call.tool, &*prepared);
        let permission = if prepared.allowed_in_advance() && self.is_check(call) {
            Permission::Free
        } else {
            permission
        };
        let permission = with_hook(permission, asks, &call.tool);
        if let Some(inquiry) = prepared.inquiry() {
            if !self.is_allowed(call, permission).await? {
                return Ok((refused(DECLINED), None));
            }
            let answered = self.inquire(&call.id, inquiry).await?;
            return Ok((answered, Some(RecordedCall::default())));
        }
        if !self.is_allowed(call, permission).await? {
            return Ok((refused(DECLINED), None));
        }
        // The file may have changed while a user was asked.
        if let Some(why) = self.unknown(must_know).await? {
            return Ok((not_run(why), None));
        }
        tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone),
            started = self.turn.start_call(&call.id) => started?,
        }
        let touches = self.touches(call, &*prepared);
        let execution = if self.open_calls.contains_key(&call.id) {
            Execution::unseen(&self.turn, call, &self.stop)
        } else {
            Execution::open(&self.turn, call, prepared.command(), &self.stop).await?
        };
        let recorded = self.record(call, touches, &execution).await?;
        let running = execution.run(prepared, self.result_limits.next(&self.messages));
        if !self.only_reads(call) || self.must_end(call) {
            return Ok((running.await?, Some(recorded)));
        }
        tokio::select! {
            biased;
            output = running => Ok((output?, Some(recorded))),
            () = stopped_for(&self.stop, GRACE) => Err(TurnGone),
        }
    }

    /// Returns why a call must not change its file now.
    async fn unknown(&self, file: Option<PathBuf>) -> Result<Option<String>, TurnGone> {
        match file {
            Some(file) => self.unknown_content(file).await,
            None => Ok(None),
        }
    }

    /// Asks for approval where a call needs it, and returns whether the call is allowed.
    async fn is_allowed(&self, call: &Call, permission: Permission) -> Result<bool, TurnGone> {
        let Permission::Ask { scope, reason } = permission else {
            return Ok(true);
        };
        let ask = Ask {
            call_id: call.id.clone(),
            scope,
            reason,
        };
        let _paused = self.watch.pause();
        let reason = ask.reason.clone();
        let decision = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone),
            decision = self.turn.ask(ask) => decision?,
            gone = Box::pin(self.hooks_of_question(&reason)) => return gone.map(|()| false),
        };
        Ok(decision.approves())
    }

    /// Records the files that a call may change, before it runs. When that takes long, the call's terminal view says
    /// so.
    async fn record(
        &self,
        call: &Call,
        touches: Touches,
        execution: &Execution<'_>,
    ) -> Result<RecordedCall, TurnGone> {
        let recording = self.recording.start_call(&call.id, touches);
        let waiting = async {
            tokio::time::sleep(NOTICED).await;
            execution.note(WAITING).await?;
            std::future::pending::<Result<(), TurnGone>>().await
        };
        tokio::pin!(recording, waiting);
        let recorded = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone),
            recorded = &mut recording => recorded,
            gone = &mut waiting => return Err(gone.err().unwrap_or(TurnGone)),
        };
        if let Some(message) = recorded.notice.clone() {
            let code = "checkpoint_skipped".to_owned();
            let fatal = false;
            self.turn.add(ItemBody::Error { message, code, fatal }).await?;
        }
        Ok(recorded)
    }

    /// Returns which files a call may change.
    fn touches(&self, call: &Call, prepared: &dyn PreparedCall) -> Touches {
        if self.only_reads(call) {
            return Touches::Nothing;
        }
        prepared.touches()
    }

    fn only_reads(&self, call: &Call) -> bool {
        let tool = self.tools.get(&call.tool);
        tool.is_some_and(|tool| tool.spec().effect == Effect::Reads)
    }

    pub(super) fn must_end(&self, call: &Call) -> bool {
        self.tools.get(&call.tool).is_some_and(|tool| tool.must_end())
    }
}

/// Returns once `time` has passed since the Turn was asked to stop.
pub(super) async fn stopped_for(stop: &CancellationToken, time: Duration) {
    stop.cancelled().await;
    tokio::time::sleep(time).await;
}

/// The result of a call that cannot be run as it was made.
pub(super) fn not_run(why: impl Into<String>) -> ToolOutput {
    ToolOutput {
        text: why.into(),
        ..ToolOutput::default()
    }
}

/// The result of a call that a user or a rule refused.
fn refused(why: impl Into<String>) -> ToolOutput {
    ToolOutput {
        refused: true,
        ..not_run(why)
    }
}

/// Prepares a call, or returns the result that says why it cannot run.
///
/// Tools read the disk here and block, so preparing runs on a blocking thread.
pub(super) async fn prepare(
    environment: &ToolEnvironment,
    tools: &ToolSet,
    call: &Call,
) -> Result<Box<dyn PreparedCall>, Box<ToolOutput>> {
    let Some(tool) = tools.get(&call.tool) else {
        let names = tools.names(environment.mode);
        let names: Vec<&str> = names.filter(|name| environment.config.offers(name)).collect();
        return Err(Box::new(not_run(format!(
            "there is no tool {:?}; there are {}",
            call.tool,
            head(&names.join(", "), MAX_NAMES).0
        ))));
    };
    if !is_allowed(tool.spec(), environment.mode) {
        return Err(Box::new(refused(format!(
            "refused: {} can change things and is withheld in plan mode",
            call.tool
        ))));
    }
    if !environment.config.offers(&call.tool) {
        return Err(Box::new(refused(format!(
            "refused: this thread's configuration does not allow {}",
            call.tool
        ))));
    }
    let said = environment.policy.tool(&call.tool);
    if let Some(ruling) = said.filter(|ruling| ruling.judgement == Judgement::Deny) {
        return Err(Box::new(refused(format!("refused: {}", ruling.reason))));
    }
    let Some(arguments) = &call.arguments else {
        return Err(Box::new(not_run("the arguments are not a JSON object")));
    };
    let (tool, arguments, environment) = (tool.clone(), arguments.clone(), environment.clone());
    // The semaphore is never closed.
    let permit = PREPARING.acquire().await.ok();
    let prepared = tokio::task::spawn_blocking(move || {
        let prepared = tool.prepare(&arguments, &environment);
        drop(permit);
        prepared
    });
    let prepared = prepared.await;
    let prepared = prepared.map_err(|error| {
        tracing::error!(%error, tool = call.tool, "a call could not be prepared");
        Box::new(not_run("the tool failed; it was not run"))
    })?;
    prepared.map_err(|refusal| {
        Box::new(ToolOutput {
            refused: matches!(refusal, ToolRefusal::Denied(_)),
            ..not_run(refusal.to_string())
        })
    })
}
