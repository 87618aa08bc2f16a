//! One run of one Turn: rounds of model reply and calls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::hook::{HookSaid, Hooks};
use bobbin_agent_api::tool::TurnScope;
use bobbin_agent_api::undo::{FileChanges, Undo};
use bobbin_core::engine::{Billed, EngineFailure, TurnContext};
use bobbin_model::{Effort, Item, ItemBody, ItemStatus, TokenUsage};
use bobbin_prompts::{Prompts, Skill};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::AgentSettings;
use super::checks::{Checked, Edits};
use super::compaction::Fullness;
use super::conversation::asks_to_compact;
use super::conversation::messages;
use super::fit::ResultLimits;
use super::git_states::GitStates;
use super::guides::{self, Guide};
use super::instructions::{Sources, assemble};
use super::limits::{Ledger, Spent, Stopwatch};
use super::listener::{Heard, Listener};
use super::offered::searches_web;
use super::one_item::OpenCall;
use super::past::PastTurns;
use super::pictures::PictureNotice;
use super::recording::Recording;
use super::refused::{Refused, failure};
use super::subagent_limits::watch_over;
use bobbin_agent_api::model::{
    Call, Instructions, Message, Model, ModelError, ModelRequest, ModelUsage, Pictures, Stop,
};
use bobbin_tools::ToolSet;
use bobbin_tools::{ViewSkill, agent_tools, client_tools};
use bobbin_undo::Changes;

/// How long running calls may take to end when the time of a Turn is over.
const GRACE: Duration = Duration::from_secs(2);
/// Code of the note that a last reply was empty.
const EMPTY_REPLY: &str = "empty_reply";
/// The message to the user about a reply that was cut.
const CUT: &str = "The model's reply was cut at its limit of tokens. Its text so far is saved: send a message to have it go \
                   on, or move the limit with MaxOutputTokens of its provider.";
/// Shortest time between two shown diffs while calls of one reply run (03 §9).
const DIFF_INTERVAL: Duration = Duration::from_millis(100);

/// One run of one Turn.
pub(super) struct TurnRun {
    pub(super) model: Arc<dyn Model>,
    /// The tools of the agent, sources included.
    pub(super) all_tools: ToolSet,
    /// The tools at the last request to the model: its calls refer to them.
    pub(super) tools: ToolSet,
    /// Single-Item calls of that reply, by their ids, until they end.
    pub(super) open_calls: HashMap<String, OpenCall>,
    pub(super) turn: TurnContext,
    pub(super) settings: Arc<AgentSettings>,
    /// How full the model's window is.
    pub(super) full: Fullness,
    /// How large results of calls may be.
    pub(super) result_limits: ResultLimits,
    /// Stops everything that this run waits for; cancelled with the Turn.
    pub(super) stop: CancellationToken,
    /// The model's instructions; read once a run.
    pub(super) instructions: Instructions,
    /// The skills that the model is offered.
    prompts: Option<Arc<Prompts>>,
    /// The cache of finished Turns.
    pub(super) past: Arc<PastTurns>,
    /// Says what git says of the repository.
    git: Option<Arc<GitStates>>,
    /// The conversation; this Turn's part is at the end.
    pub(super) messages: Vec<Message>,
    pub(super) call_ids: HashSet<String>,
    /// Pictures that the conversation names.
    pub(super) pictures: Pictures,
    /// Pictures of the last results, which the conversation does not have yet.
    pub(super) shown: Vec<String>,
    /// The use of the Turn.
    pub(super) ledger: Ledger,
    /// Counts the time it is at work.
    pub(super) watch: Stopwatch,
    /// Whether this run has asked the model.
    asked: bool,
    /// Whether the user was notified that no price is known.
    priceless: bool,
    changes: Changes,
    /// Records what calls change in files.
    pub(super) recording: Recording,
    /// Whether files have changed since the last checks.
    pub(super) edits: Edits,
    /// The hooks that run at certain moments of the Turn.
    pub(super) hooks: Option<Arc<dyn Hooks>>,
    /// The output of hooks about the calls of a reply, until the model gets it.
    pub(super) hook_context: Vec<HookSaid>,
    /// Why a hook ends the Turn.
    pub(super) hook_ends: Option<HookSaid>,
    /// How often hooks had the agent go on that had finished.
    pub(super) went_on: usize,
    /// Changes were noted that no shown diff has.
    unshown: bool,
    shown_at: Option<Instant>,
}

/// Returns what of a Turn decides which tools clients have for it.
fn scope(turn: &TurnContext) -> TurnScope<'_> {
    let items = turn.at_start().turn.items.iter();
    let mut senders = items.filter_map(|item| match &item.body {
        ItemBody::UserMessage(message) => Some(message.sender.as_ref()),
        _ => None,
    });
    let header = turn.header();
    TurnScope {
        thread: &header.id,
        channel: &header.origin_channel,
        channel_context: header.channel_context.as_deref(),
        sender: senders.next().flatten(),
    }
}

impl TurnRun {
    pub(super) fn new(
        model: Arc<dyn Model>,
        tools: ToolSet,
        settings: Arc<AgentSettings>,
        undo: Option<Arc<dyn Undo>>,
        turn: TurnContext,
    ) -> Self {
        let at_start = turn.at_start();
        let environment = turn.environment();
        let present = tools.now_of(turn.thread());
        let own = client_tools(turn.declared_tools(), &environment.clients, turn.turn(), &present);
        let children = agent_tools(&*turn.sub_agents(), &environment.config);
        let mut tools = tools.and(own);
        for of_client in tools.declared_for(&scope(&turn)) {
            let present = tools.now_of(turn.thread());
            let more = client_tools(&of_client.tools, &of_client.clients, turn.turn(), &present);
            tools = tools.and(more);
        }
        let tools = tools.and(children);
        let call_ids = at_start
            .turn
            .items
            .iter()
            .filter_map(call_id)
            .map(ToOwned::to_owned)
            .collect();
        let window = model.window(environment.config.model.as_deref());
        Self {
            changes: Changes::new(&turn.environment().root, at_start.diff.as_ref()),
            tools: ToolSet::default(),
            all_tools: tools,
            open_calls: HashMap::new(),
            call_ids,
            messages: Vec::new(),
            pictures: Pictures::default(),
            shown: Vec::new(),
            ledger: Ledger::new(Spent {
                rounds: 0,
                usage: at_start.turn.usage,
                cost_micros: at_start.turn.cost_micros,
            }),
            watch: Stopwatch::start(settings.limits.time),
            asked: false,
            priceless: false,
            recording: Recording::start(undo, &turn),
            edits: Edits::Checked,
            hooks: None,
            hook_context: Vec::new(),
            hook_ends: None,
            went_on: 0,
            unshown: false,
            shown_at: None,
            full: Fullness::of(window),
            result_limits: ResultLimits::of(window),
            stop: turn.cancelled().child_token(),
            model,
            settings,
            instructions: Instructions::default(),
            prompts: None,
            past: Arc::default(),
            git: None,
            turn,
        }
    }

    /// Adds the skills that the model is offered.
    pub(super) fn with_prompts(self, prompts: Option<Arc<Prompts>>) -> Self {
        Self { prompts, ..self }
    }

    /// Adds the cache of finished Turns.
    pub(super) fn with_past(self, past: Arc<PastTurns>) -> Self {
        Self { past, ..self }
    }

    /// Adds the state of the repository to the instructions.
    pub(super) fn with_git(self, git: Option<Arc<GitStates>>) -> Self {
        Self { git, ..self }
    }

    /// Adds what is asked at moments of the Turn.
    pub(super) fn with_hooks(self, hooks: Option<Arc<dyn Hooks>>) -> Self {
        Self { hooks, ..self }
    }

    pub(super) async fn run(mut self) -> Result<(), EngineFailure> {
        let (watch, stop, limits) = (self.watch.clone(), self.stop.clone(), self.settings.limits);
        let subagents = watch_over(self.turn.clone(), limits, self.ledger.clone(), watch.clone());
        let result = {
            let rounds = self.rounds();
            tokio::pin!(rounds, subagents);
            let over = tokio::select! {
                biased;
                result = &mut rounds => Ok(result),
                () = watch.over() => Err(limits.over_time()),
                over = &mut subagents => Err(over),
            };
            match over {
                Ok(result) => result,
                Err(over) => {
                    // Running calls end as by an interrupt, with their results on record.
                    stop.cancel();
                    drop(tokio::time::timeout(GRACE, rounds).await);
                    Err(over)
                }
            }
        };
        // However the run ended, the last diff shows the files as they are now.
        self.show_changes().await?;
        result
    }

    async fn rounds(&mut self) -> Result<(), EngineFailure> {
        if is_over(&self.turn.at_start().turn.items) {
            return Ok(());
        }
        let reading = self.read_instructions();
        self.read_conversation().await?;
        let git = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone.into()),
            git = self.git_state() => git,
        };
        self.instruct(reading, git.as_deref()).await;
        // A resumed Turn has notified the user before.
        let is_new = self.turn.at_start().turn.items.len() == 1;
        self.read_pictures(if is_new {
            PictureNotice::New
        } else {
            PictureNotice::No
        })
        .await?;
        self.take_tools();
        if !self.turn.at_start().started_calls.is_empty() {
            let changes = self.recording.resume().await;
            self.note_changes(changes).await?;
        }
        self.settle_after_restart().await?;
        if self.turn.at_start().turn.items.iter().any(asks_to_compact) {
            return self.compact_now().await;
        }
        if is_new {
            Box::pin(self.hooks_of_start()).await?;
        }
        if self.ledger.now().rounds > 0 {
            self.take_guidance().await?;
        }
        loop {
            self.show_changes().await?;
            self.settings
                .limits
                .check(self.ledger.with(self.turn.sub_agents().used()))?;
            let calls = self.ask_model().await?;
            if calls.is_empty() {
                if self.check_edits().await? == Checked::Clean && !Box::pin(self.hooks_of_end()).await? {
                    return Ok(());
                }
                self.ledger.change(|spent| spent.rounds += 1);
                self.take_guidance().await?;
                continue;
            }
            self.ledger.change(|spent| spent.rounds += 1);
            self.await_tools(&calls).await?;
            self.calls(&calls).await?;
            Box::pin(self.hear_hooks_of_calls()).await?;
            self.show_pictures().await?;
            self.take_guidance().await?;
        }
    }

    /// Gives the model the inputs that users sent as guidance.
    async fn take_guidance(&mut self) -> Result<(), EngineFailure> {
        let said = self.turn.guidance().await?;
        self.messages.extend(messages(&said));
        Box::pin(self.hooks_of_prompt(&said)).await?;
        Ok(self.read_pictures(PictureNotice::Yes).await?)
    }

    /// Returns what git says of the Thread's folder, if its user trusts it.
    async fn git_state(&self) -> Option<Arc<str>> {
        let root = &self.turn.environment().root;
        let prompts = self.prompts.as_ref();
        if prompts.is_some_and(|prompts| !prompts.folder_counts(root)) {
            return None;
        }
        self.git.as_ref()?.of(self.turn.thread(), root).await
    }

    /// Starts to read the project's instructions and skills.
    fn read_instructions(&self) -> JoinHandle<(Vec<Guide>, Vec<Skill>)> {
        let turn = self.turn.clone();
        let (workspace, root) = (turn.workspace().to_owned(), turn.environment().root.clone());
        let policy = turn.environment().policy.clone();
        let prompts = self.prompts.clone();
        tokio::task::spawn_blocking(move || {
            let is_trusted = prompts
                .as_ref()
                .is_none_or(|prompts| prompts.folder_counts(&root));
            let guides = guides::read(&workspace, &root, &*policy, is_trusted);
            let skills = prompts.map(|prompts| prompts.skills()).unwrap_or_default();
            (guides, skills)
        })
    }

    /// Assembles the model's instructions; a run uses the same ones to its end.
    async fn instruct(&mut self, reading: JoinHandle<(Vec<Guide>, Vec<Skill>)>, git: Option<&str>) {
        let (guides, mut skills) = reading.await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot read the instructions of a project");
            Default::default()
        });
        skills.retain(|skill| skill.enabled && skill.unavailable.is_none());
        if let Some(prompts) = self.prompts.clone().filter(|_| !skills.is_empty()) {
            let tools = std::mem::take(&mut self.all_tools);
            self.all_tools = tools.and(vec![Arc::new(ViewSkill::new(prompts))]);
        }
        let turn = self.turn.clone();
        let environment = turn.environment();
        let said = ["agentInstructions", "roleInstructions"].iter();
        let said = said.filter_map(|member| environment.config.extra.get(*member)?.as_str());
        let said: Vec<&str> = said.filter(|text| !text.trim().is_empty()).collect();
        let thread = said.join("\n\n");
        self.instructions = assemble(Sources {
            guides: &guides,
            skills: &skills,
            servers: &self.all_tools.instructions(),
            thread: Some(&thread),
            workspace: &environment.root.to_string_lossy(),
            platform: &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            commands: self.settings.commands(turn.at_start().features.sandbox),
            git,
            mode: environment.mode,
            began: turn.at_start().turn.started_at,
        });
    }

    /// Asks the model once.
    pub(super) async fn ask_once(&mut self) -> Result<Vec<Call>, Refused> {
        let turn = self.turn.clone();
        self.take_tools();
        let specs = self.specs();
        let effort = self.effort();
        let mut listener = Listener::new(&turn, &mut self.call_ids, &self.tools, self.ledger.now().rounds);
        let request = ModelRequest {
            turn: turn.turn(),
            is_first: !std::mem::replace(&mut self.asked, true),
            conversation: Some(turn.thread().as_str()),
            model: turn.environment().config.model.as_deref(),
            keys: Some(&turn.at_start().features.keys),
            effort,
            instructions: &self.instructions,
            messages: &self.messages,
            pictures: &self.pictures,
            tools: &specs,
            web_search: searches_web(turn.environment()),
        };
        let reply = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone.into()),
            reply = self.model.respond(request, &mut listener) => reply,
        };
        let reply = match reply {
            Ok(reply) => reply,
            // Text that was shown is not repeated.
            Err(ModelError::ContextExceeded(why)) if listener.heard_nothing() => {
                return Err(Refused::TooLong(why));
            }
            Err(ModelError::Refused(why)) if listener.heard_nothing() => return Err(Refused::Request(why)),
            Err(error) => return Err(failure(error).into()),
        };
        let heard = match reply.stop {
            Stop::Done => Some(listener.finish().await?),
            // The open Item stays open until the end of the Turn, which completes it: a partial reply must not look
            // complete.
            Stop::Length => None,
        };
        let usage = reply.usage.filter(|usage| usage.tokens != TokenUsage::default());
        if let Some(usage) = usage {
            let billed = self.billed(usage);
            self.spend(billed);
            turn.usage(billed).await?;
            self.note_missing_price(usage).await?;
        }
        let Some(Heard { text, calls, open }) = heard else {
            return Err(EngineFailure::Failed(CUT.to_owned()).into());
        };
        self.open_calls.extend(open);
        if text.is_empty() && calls.is_empty() {
            return self.end_with_nothing().await;
        }
        self.messages.push(Message::Agent {
            text,
            calls: calls.clone(),
        });
        if let Some(usage) = usage {
            self.full.counted = Some((usage.context_tokens, self.messages.len()));
            self.full.stuck = false;
            self.warn_of_window().await?;
        }
        Ok(calls)
    }

    /// Returns how much the model is to reason: what the Turn's client wants, else what the Thread's configuration says.
    fn effort(&self) -> Option<Effort> {
        let own = self.turn.at_start().features.reasoning_effort;
        own.or(self.turn.environment().config.reasoning_effort)
    }

    /// Ends a reply without text and calls. After results of calls, some models end this way; as a first answer it is
    /// an error.
    async fn end_with_nothing(&mut self) -> Result<Vec<Call>, Refused> {
        if self.ledger.now().rounds == 0 {
            return Err(EngineFailure::Failed("The model gave an empty reply.".to_owned()).into());
        }
        // No model is behind a user's own command.
        if self.turn.at_start().features.command.is_some() {
            return Ok(Vec::new());
        }
        let note = ItemBody::Error {
            message: "The model said nothing more after its last calls.".to_owned(),
            code: EMPTY_REPLY.to_owned(),
            fatal: false,
        };
        self.turn.add(note).await?;
        Ok(Vec::new())
    }

    /// Returns the figures of a reply for the record.
    pub(super) fn billed(&self, usage: ModelUsage) -> Billed {
        Billed {
            usage: usage.tokens,
            context_tokens: usage.context_tokens,
            window: self.full.window,
            cost_micros: usage.cost_micros.unwrap_or(0),
        }
    }

    /// Adds figures to the use of the Turn.
    pub(super) fn spend(&self, billed: Billed) {
        self.ledger.change(|spent| {
            spent.usage.add(billed.usage);
            spent.cost_micros = spent.cost_micros.saturating_add(billed.cost_micros);
        });
    }

    /// Notifies the user once that a limit of money cannot be checked.
    async fn note_missing_price(&mut self, usage: ModelUsage) -> Result<(), TurnGone> {
        let is_enforceable = self.settings.limits.cost_micros.is_none() || usage.cost_micros.is_some();
        if is_enforceable || std::mem::replace(&mut self.priceless, true) {
            return Ok(());
        }
        let message = "Limits.Cost cannot be enforced: no price of this model is known. Set Price of its provider in \
                       ~/.craft/config.json.";
        let note = ItemBody::Error {
            message: message.to_owned(),
            code: "price_unknown".to_owned(),
            fatal: false,
        };
        self.turn.add(note).await
    }

    /// Notes files that a call has changed, and shows the diff unless a diff was shown a moment ago.
    pub(super) async fn note_changes(&mut self, found: FileChanges) -> Result<(), TurnGone> {
        let FileChanges { changed, unshown } = found;
        if changed.is_empty() && unshown.is_empty() {
            return Ok(());
        }
        let mut changes = self.changes.clone();
        let noted = tokio::task::spawn_blocking(move || {
            changes.note(changed);
            changes.note_omitted(unshown);
            changes
        });
        match noted.await {
            Ok(changes) => self.changes = changes,
            // The call remains valid; only its diff is missing.
            Err(error) => tracing::error!(%error, "cannot follow a changed file"),
        }
        self.unshown = true;
        self.edits = Edits::Unchecked;
        if self.shown_at.is_none_or(|at| at.elapsed() >= DIFF_INTERVAL) {
            self.show_changes().await?;
        }
        Ok(())
    }

    /// Shows the diff if it differs from the last shown one.
    pub(super) async fn show_changes(&mut self) -> Result<(), TurnGone> {
        if !std::mem::take(&mut self.unshown) {
            return Ok(());
        }
        self.shown_at = Some(Instant::now());
        self.turn.diff(self.changes.diff()).await
    }
}

fn call_id(item: &Item) -> Option<&str> {
    match &item.body {
        ItemBody::ToolCall { call_id, .. } => Some(call_id),
        ItemBody::DynamicToolCall(call) => Some(&call.call_id),
        _ => None,
    }
}

/// Returns whether a record ends with a complete reply without calls (see the invariant of `listener`): the server
/// stopped before it could record the Turn's end.
fn is_over(items: &[Item]) -> bool {
    items.last().is_some_and(|last| match &last.body {
        ItemBody::AgentMessage { .. } => last.status == ItemStatus::Completed,
        ItemBody::Error { code, .. } => code == EMPTY_REPLY,
        _ => false,
    })
}
