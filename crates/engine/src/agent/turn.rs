//! One run of one Turn: rounds of model reply and calls.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bobbin_core::engine::{EngineFailure, TurnContext, TurnGone};
use bobbin_core::tool::{ChangedFile, ToolEnvironment, ToolSpec};
use bobbin_model::{Item, ItemBody, ItemStatus, TokenUsage};
use tokio::time::Instant;

use super::conversation::{history, messages};
use super::guides;
use super::instructions::{Sources, assemble};
use super::listener::Listener;
use super::{AgentSettings, Call, Instructions, Message, Model, ModelError, ModelRequest, Stop};
use crate::ToolSet;
use crate::diff::Changes;

/// Most replies with calls in one Turn (guess: beyond that a model goes in circles).
pub(super) const MAX_ROUNDS: usize = 50;
/// Shortest time between two shown diffs while calls of one reply run (03 §9).
const DIFF_INTERVAL: Duration = Duration::from_millis(100);

/// One run of one Turn.
pub(super) struct TurnRun {
    pub(super) model: Arc<dyn Model>,
    /// The tools of the agent, sources included.
    all_tools: ToolSet,
    /// Those there were when the model was last asked: its calls are made with them in mind.
    pub(super) tools: ToolSet,
    pub(super) turn: TurnContext,
    settings: Arc<AgentSettings>,
    /// What the model is told before the conversation; read once a run.
    instructions: Instructions,
    /// The conversation, this Turn's part at the end.
    pub(super) messages: Vec<Message>,
    call_ids: HashSet<String>,
    rounds: usize,
    changes: Changes,
    /// Changes were noted that no shown diff has.
    unshown: bool,
    shown_at: Option<Instant>,
}

impl TurnRun {
    pub(super) fn new(
        model: Arc<dyn Model>,
        tools: ToolSet,
        settings: Arc<AgentSettings>,
        turn: TurnContext,
    ) -> Self {
        let begun = turn.begun();
        let call_ids = begun
            .turn
            .items
            .iter()
            .filter_map(call_id)
            .map(ToOwned::to_owned)
            .collect();
        Self {
            changes: Changes::new(&turn.environment().root, begun.diff.as_ref()),
            model,
            tools: ToolSet::default(),
            all_tools: tools,
            call_ids,
            messages: Vec::new(),
            rounds: 0,
            unshown: false,
            shown_at: None,
            settings,
            instructions: Instructions::default(),
            turn,
        }
    }

    pub(super) async fn run(mut self) -> Result<(), EngineFailure> {
        let result = self.rounds().await;
        // However it ended, what the files are like now is the last thing said of them.
        self.show_changes().await?;
        result
    }

    async fn rounds(&mut self) -> Result<(), EngineFailure> {
        if is_over(&self.turn.begun().turn.items) {
            return Ok(());
        }
        self.read_instructions().await;
        self.read_conversation().await?;
        let turn = self.turn.clone();
        tokio::select! {
            biased;
            () = turn.cancelled().cancelled() => return Err(TurnGone.into()),
            () = self.all_tools.settled() => {}
        }
        self.tools = self.all_tools.now_of(self.turn.thread());
        self.settle_after_restart().await?;
        if self.rounds > 0 {
            self.take_guidance().await?;
        }
        loop {
            self.show_changes().await?;
            if self.rounds == MAX_ROUNDS {
                return Err(EngineFailure::Failed(format!(
                    "The model made calls in {MAX_ROUNDS} replies without coming to an end."
                )));
            }
            let calls = self.ask_model().await?;
            if calls.is_empty() {
                return Ok(());
            }
            self.rounds += 1;
            for call in &calls {
                self.call(call).await?;
            }
            self.take_guidance().await?;
        }
    }

    /// Tells the model what people have said meanwhile.
    async fn take_guidance(&mut self) -> Result<(), TurnGone> {
        let said = self.turn.guidance().await?;
        self.messages.extend(messages(&said));
        Ok(())
    }

    /// Reads what the project says; a run keeps what it began with.
    async fn read_instructions(&mut self) {
        let turn = self.turn.clone();
        let (workspace, root) = (turn.workspace().to_owned(), turn.environment().root.clone());
        let policy = turn.environment().policy.clone();
        let reading = tokio::task::spawn_blocking(move || guides::read(&workspace, &root, &*policy));
        let guides = reading.await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot read the instructions of a project");
            Vec::new()
        });
        let environment = turn.environment();
        let thread = environment.config.extra.get("agentInstructions");
        self.instructions = assemble(Sources {
            guides: &guides,
            thread: thread.and_then(|text| text.as_str()),
            workspace: &environment.root.to_string_lossy(),
            platform: &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            commands: self.settings.commands,
            mode: environment.mode,
            began: turn.begun().turn.started_at,
        });
    }

    async fn read_conversation(&mut self) -> Result<(), EngineFailure> {
        let begun = self.turn.begun();
        let wanted = self
            .model
            .history_turns(self.turn.environment().config.model.as_deref());
        let earlier = if wanted == 0 {
            Vec::new()
        } else {
            self.turn.history(begun.turn.id, wanted).await.map_err(|error| {
                tracing::error!(thread = %self.turn.thread(), %error, "cannot read a thread's history");
                EngineFailure::Failed("The conversation so far could not be read.".to_owned())
            })?
        };
        let complete = begun.turn.items.iter().filter(|item| {
            // A message that was cut off is said again.
            item.status == ItemStatus::Completed || !item.body.is_prose()
        });
        let own = messages(complete);
        let is_round =
            |message: &&Message| matches!(message, Message::Agent { calls, .. } if !calls.is_empty());
        self.rounds = own.iter().filter(is_round).count();
        self.messages = history(&earlier);
        self.messages.extend(own);
        Ok(())
    }

    /// Asks the model once; returns the calls it made.
    async fn ask_model(&mut self) -> Result<Vec<Call>, EngineFailure> {
        let turn = self.turn.clone();
        self.tools = self.all_tools.now_of(self.turn.thread());
        let specs = offered(&self.tools, turn.environment());
        let mut listener = Listener::new(&turn, &mut self.call_ids);
        let request = ModelRequest {
            turn: turn.turn(),
            model: turn.environment().config.model.as_deref(),
            instructions: &self.instructions,
            messages: &self.messages,
            tools: &specs,
        };
        let reply = tokio::select! {
            biased;
            () = turn.cancelled().cancelled() => return Err(TurnGone.into()),
            reply = self.model.respond(request, &mut listener) => reply.map_err(failure)?,
        };
        let (text, calls) = listener.finish().await?;
        if let Some(usage) = reply.usage.filter(|usage| usage.tokens != TokenUsage::default()) {
            turn.usage(usage.tokens, usage.context_tokens).await?;
        }
        if reply.stop == Stop::Length {
            return Err(EngineFailure::Failed(
                "The model's reply was cut at its limit of tokens; MaxOutputTokens of its provider moves it."
                    .to_owned(),
            ));
        }
        if text.is_empty() && calls.is_empty() {
            return Err(EngineFailure::Failed("The model gave an empty reply.".to_owned()));
        }
        self.messages.push(Message::Agent {
            text,
            calls: calls.clone(),
        });
        Ok(calls)
    }

    /// Follows files that a call has changed, and shows the diff unless one was shown a moment ago.
    pub(super) async fn note_changes(&mut self, changed: Vec<ChangedFile>) -> Result<(), TurnGone> {
        if changed.is_empty() {
            return Ok(());
        }
        let mut changes = self.changes.clone();
        let noted = tokio::task::spawn_blocking(move || {
            changes.note(changed);
            changes
        });
        match noted.await {
            Ok(changes) => self.changes = changes,
            // The call itself stands; only its diff is missing.
            Err(error) => tracing::error!(%error, "cannot follow a changed file"),
        }
        self.unshown = true;
        if self.shown_at.is_none_or(|at| at.elapsed() >= DIFF_INTERVAL) {
            self.show_changes().await?;
        }
        Ok(())
    }

    /// Shows the diff if it is not what was shown last.
    pub(super) async fn show_changes(&mut self) -> Result<(), TurnGone> {
        if !std::mem::take(&mut self.unshown) {
            return Ok(());
        }
        self.shown_at = Some(Instant::now());
        self.turn.diff(self.changes.diff()).await
    }
}

/// Returns the tools that the mode and the Thread's own lists leave.
fn offered(tools: &ToolSet, environment: &ToolEnvironment) -> Vec<ToolSpec> {
    let mut specs = tools.specs(environment.mode);
    specs.retain(|spec| environment.config.offers(&spec.name));
    specs
}

fn failure(error: ModelError) -> EngineFailure {
    match error {
        ModelError::Failed(text) => EngineFailure::Failed(text),
        ModelError::Gone(gone) => gone.into(),
    }
}

fn call_id(item: &Item) -> Option<&str> {
    match &item.body {
        ItemBody::ToolCall { call_id, .. } => Some(call_id),
        _ => None,
    }
}

/// Whether a record ends with a whole reply that made no call (see `listener`): the server stopped before it
/// could record the Turn's end.
fn is_over(items: &[Item]) -> bool {
    items.last().is_some_and(|last| {
        last.status == ItemStatus::Completed && matches!(last.body, ItemBody::AgentMessage { .. })
    })
}
