//! One run of one Turn: rounds of model reply and calls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::tool::{ToolEnvironment, ToolSpec};
use bobbin_agent_api::undo::{FileChanges, Undo};
use bobbin_core::engine::{Billed, EngineFailure, TurnContext};
use bobbin_model::{CompactionTrigger, Item, ItemBody, ItemStatus, TokenUsage};
use bobbin_prompts::{Prompts, Skill};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::AgentSettings;
use super::below::watch_over;
use super::compaction::{Compacted, Fullness};
use super::conversation::messages;
use super::guides::{self, Guide};
use super::instructions::{Sources, assemble};
use super::limits::{Ledger, Spent, Stopwatch};
use super::listener::{Heard, Listener};
use super::one_item::OpenCall;
use super::past::PastTurns;
use super::pictures::Tell;
use super::recording::Recording;
use bobbin_agent_api::model::{
    Call, Instructions, Message, Model, ModelError, ModelRequest, ModelUsage, Pictures, Stop,
};
use bobbin_tools::ToolSet;
use bobbin_tools::{ASK_USER, ViewSkill, agent_tools, client_tools};
use bobbin_undo::Changes;

/// How long what runs may take to end when the time of a Turn is over.
const GRACE: Duration = Duration::from_secs(2);
/// Code of the note that a last reply was empty.
const EMPTY_REPLY: &str = "empty_reply";
/// What the user is told of a reply that was cut.
const CUT: &str = "The model's reply was cut at its limit of tokens. What it had said is kept: send a message to have it go \
                   on, or move the limit with MaxOutputTokens of its provider.";
/// Shortest time between two shown diffs while calls of one reply run (03 §9).
const DIFF_INTERVAL: Duration = Duration::from_millis(100);

/// One run of one Turn.
pub(super) struct TurnRun {
    pub(super) model: Arc<dyn Model>,
    /// The tools of the agent, sources included.
    all_tools: ToolSet,
    /// Those there were when the model was last asked: its calls are made with them in mind.
    pub(super) tools: ToolSet,
    /// Calls of theirs that are one Item each, by their ids, until they end.
    pub(super) open_calls: HashMap<String, OpenCall>,
    pub(super) turn: TurnContext,
    pub(super) settings: Arc<AgentSettings>,
    /// How full the model's window is.
    pub(super) full: Fullness,
    /// Ends what this run waits for; cancelled with the Turn.
    pub(super) stop: CancellationToken,
    /// What the model is told before the conversation; read once a run.
    pub(super) instructions: Instructions,
    /// The skills that it is told of.
    prompts: Option<Arc<Prompts>>,
    /// What is kept of Threads' finished Turns.
    pub(super) past: Arc<PastTurns>,
    /// The conversation, this Turn's part at the end.
    pub(super) messages: Vec<Message>,
    call_ids: HashSet<String>,
    /// Pictures that the conversation names.
    pub(super) pictures: Pictures,
    /// What the Turn has used.
    pub(super) ledger: Ledger,
    /// Counts the time it is at work.
    pub(super) watch: Stopwatch,
    /// The model was asked in this run.
    asked: bool,
    /// It was said that no price is known.
    priceless: bool,
    changes: Changes,
    /// Records what calls change in files.
    pub(super) recording: Recording,
    /// Changes were noted that no shown diff has.
    unshown: bool,
    shown_at: Option<Instant>,
}

impl TurnRun {
    pub(super) fn new(
        model: Arc<dyn Model>,
        tools: ToolSet,
        settings: Arc<AgentSettings>,
        undo: Option<Arc<dyn Undo>>,
        turn: TurnContext,
    ) -> Self {
        let begun = turn.begun();
        let environment = turn.environment();
        let present = tools.now_of(turn.thread());
        let own = client_tools(turn.declared_tools(), &environment.clients, turn.turn(), &present);
        let children = agent_tools(&*turn.sub_agents(), &environment.config);
        let tools = tools.and(own).and(children);
        let call_ids = begun
            .turn
            .items
            .iter()
            .filter_map(call_id)
            .map(ToOwned::to_owned)
            .collect();
        Self {
            changes: Changes::new(&turn.environment().root, begun.diff.as_ref()),
            tools: ToolSet::default(),
            all_tools: tools,
            open_calls: HashMap::new(),
            call_ids,
            messages: Vec::new(),
            pictures: Pictures::default(),
            ledger: Ledger::new(Spent {
                rounds: 0,
                usage: begun.turn.usage,
                cost_micros: begun.cost_micros,
            }),
            watch: Stopwatch::start(settings.limits.time),
            asked: false,
            priceless: false,
            recording: Recording::start(undo, &turn),
            unshown: false,
            shown_at: None,
            full: Fullness::of(model.window(turn.environment().config.model.as_deref())),
            stop: turn.cancelled().child_token(),
            model,
            settings,
            instructions: Instructions::default(),
            prompts: None,
            past: Arc::default(),
            turn,
        }
    }

    /// Gives it the skills that the model is told of.
    pub(super) fn with_prompts(self, prompts: Option<Arc<Prompts>>) -> Self {
        Self { prompts, ..self }
    }

    /// Gives it what is kept of the Turns before.
    pub(super) fn with_past(self, past: Arc<PastTurns>) -> Self {
        Self { past, ..self }
    }

    pub(super) async fn run(mut self) -> Result<(), EngineFailure> {
        let (watch, stop, limits) = (self.watch.clone(), self.stop.clone(), self.settings.limits);
        let below = watch_over(self.turn.clone(), limits, self.ledger.clone(), watch.clone());
        let result = {
            let rounds = self.rounds();
            tokio::pin!(rounds, below);
            let over = tokio::select! {
                biased;
                result = &mut rounds => Ok(result),
                () = watch.over() => Err(limits.over_time()),
                over = &mut below => Err(over),
            };
            match over {
                Ok(result) => result,
                Err(over) => {
                    // What runs ends as by an interrupt, with its results on record.
                    stop.cancel();
                    drop(tokio::time::timeout(GRACE, rounds).await);
                    Err(over)
                }
            }
        };
        // However it ended, what the files are like now is the last thing said of them.
        self.show_changes().await?;
        result
    }

    async fn rounds(&mut self) -> Result<(), EngineFailure> {
        if is_over(&self.turn.begun().turn.items) {
            return Ok(());
        }
        let reading = self.begin_instructions();
        self.read_conversation().await?;
        self.instruct(reading).await;
        // Of a Turn that is taken up again it was told.
        let is_new = self.turn.begun().turn.items.len() == 1;
        self.read_pictures(if is_new { Tell::Yes } else { Tell::No })
            .await?;
        tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone.into()),
            () = self.all_tools.settled() => {}
        }
        self.tools = self.all_tools.now_of(self.turn.thread());
        if !self.turn.begun().started_calls.is_empty() {
            let changes = self.recording.resume().await;
            self.note_changes(changes).await?;
        }
        self.settle_after_restart().await?;
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
                return Ok(());
            }
            self.ledger.change(|spent| spent.rounds += 1);
            self.calls(&calls).await?;
            self.take_guidance().await?;
        }
    }

    /// Tells the model what people have said meanwhile.
    async fn take_guidance(&mut self) -> Result<(), TurnGone> {
        let said = self.turn.guidance().await?;
        self.messages.extend(messages(&said));
        self.read_pictures(Tell::Yes).await
    }

    /// Begins to read what the project says.
    fn begin_instructions(&self) -> JoinHandle<(Vec<Guide>, Vec<Skill>)> {
        let turn = self.turn.clone();
        let (workspace, root) = (turn.workspace().to_owned(), turn.environment().root.clone());
        let policy = turn.environment().policy.clone();
        let prompts = self.prompts.clone();
        tokio::task::spawn_blocking(move || {
            // What a folder says that nobody trusts is no instruction.
            let guides = if prompts
                .as_ref()
                .is_none_or(|prompts| prompts.folder_counts(&root))
            {
                guides::read(&workspace, &root, &*policy)
            } else {
                Vec::new()
            };
            let skills = prompts.map(|prompts| prompts.skills()).unwrap_or_default();
            (guides, skills)
        })
    }

    /// Puts together what the model is told before the conversation; a run keeps what it began with.
    async fn instruct(&mut self, reading: JoinHandle<(Vec<Guide>, Vec<Skill>)>) {
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
            thread: Some(&thread),
            workspace: &environment.root.to_string_lossy(),
            platform: &format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            commands: self.settings.commands,
            mode: environment.mode,
            began: turn.begun().turn.started_at,
        });
    }

    /// Asks the model, with room made in its window where that is needed; returns the calls it made.
    async fn ask_model(&mut self) -> Result<Vec<Call>, EngineFailure> {
        self.make_room().await?;
        let too_long = match self.ask_once().await {
            Err(Refused::TooLong(why)) => why,
            answered => return answered.map_err(Refused::into_failure),
        };
        // A history that the client keeps is the client's to shorten.
        let kept_here = self.turn.begun().history.is_none();
        if !self.settings.compaction || !kept_here || std::mem::replace(&mut self.full.reacted, true) {
            return Err(EngineFailure::Failed(too_long));
        }
        let window = self.full.window.unwrap_or_default();
        match self.compact(CompactionTrigger::Reactive, window).await? {
            Compacted::Done => self.ask_once().await.map_err(Refused::into_failure),
            Compacted::Not => Err(EngineFailure::Failed(too_long)),
        }
    }

    /// Asks the model once.
    async fn ask_once(&mut self) -> Result<Vec<Call>, Refused> {
        let turn = self.turn.clone();
        self.tools = self.all_tools.now_of(self.turn.thread());
        let specs = self.specs();
        let mut listener = Listener::new(&turn, &mut self.call_ids, &self.tools);
        let request = ModelRequest {
            turn: turn.turn(),
            begins: !std::mem::replace(&mut self.asked, true),
            model: turn.environment().config.model.as_deref(),
            instructions: &self.instructions,
            messages: &self.messages,
            pictures: &self.pictures,
            tools: &specs,
        };
        let reply = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(TurnGone.into()),
            reply = self.model.respond(request, &mut listener) => reply,
        };
        let reply = match reply {
            Ok(reply) => reply,
            // What was shown is not said twice.
            Err(ModelError::ContextExceeded(why)) if listener.heard_nothing() => {
                return Err(Refused::TooLong(why));
            }
            Err(error) => return Err(failure(error).into()),
        };
        let heard = match reply.stop {
            Stop::Done => Some(listener.finish().await?),
            // What came of it stays open until the Turn ends, which keeps it: half a reply must not look like a whole one.
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

    /// A reply said nothing and made no call. Behind results of calls that is how some models say that they are done;
    /// as a first answer it is none.
    async fn end_with_nothing(&mut self) -> Result<Vec<Call>, Refused> {
        if self.ledger.now().rounds == 0 {
            return Err(EngineFailure::Failed("The model gave an empty reply.".to_owned()).into());
        }
        let note = ItemBody::Error {
            message: "The model said nothing more after its last calls.".to_owned(),
            code: EMPTY_REPLY.to_owned(),
            fatal: false,
        };
        self.turn.add(note).await?;
        Ok(Vec::new())
    }

    /// Returns a reply's figures for the record.
    pub(super) fn billed(&self, usage: ModelUsage) -> Billed {
        Billed {
            usage: usage.tokens,
            context_tokens: usage.context_tokens,
            window: self.full.window,
            cost_micros: usage.cost_micros.unwrap_or(0),
        }
    }

    /// Counts them against what the Turn may use.
    pub(super) fn spend(&self, billed: Billed) {
        self.ledger.change(|spent| {
            spent.usage.add(billed.usage);
            spent.cost_micros = spent.cost_micros.saturating_add(billed.cost_micros);
        });
    }

    /// Says once that a limit of money cannot be held.
    async fn note_missing_price(&mut self, usage: ModelUsage) -> Result<(), TurnGone> {
        let held = self.settings.limits.cost_micros.is_none() || usage.cost_micros.is_some();
        if held || std::mem::replace(&mut self.priceless, true) {
            return Ok(());
        }
        let message = "Limits.Cost cannot be held: no price of this model is known. Set Price of its provider in \
                       ~/.craft/config.json.";
        let note = ItemBody::Error {
            message: message.to_owned(),
            code: "price_unknown".to_owned(),
            fatal: false,
        };
        self.turn.add(note).await
    }

    /// Returns the tools that the model is offered.
    pub(super) fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = offered(&self.tools, self.turn.environment());
        if !self.turn.can_inquire() {
            specs.retain(|spec| *spec.name != *ASK_USER);
        }
        specs
    }

    /// Follows files that a call has changed, and shows the diff unless one was shown a moment ago.
    pub(super) async fn note_changes(&mut self, found: FileChanges) -> Result<(), TurnGone> {
        let FileChanges { changed, unshown } = found;
        if changed.is_empty() && unshown.is_empty() {
            return Ok(());
        }
        let mut changes = self.changes.clone();
        let noted = tokio::task::spawn_blocking(move || {
            changes.note(changed);
            changes.note_untold(unshown);
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

/// Why a model was asked in vain.
enum Refused {
    /// The conversation does not fit; the words are for the user.
    TooLong(String),
    Failure(EngineFailure),
}

impl Refused {
    fn into_failure(self) -> EngineFailure {
        match self {
            Self::TooLong(why) => EngineFailure::Failed(why),
            Self::Failure(failure) => failure,
        }
    }
}

impl<E: Into<EngineFailure>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Failure(error.into())
    }
}

fn failure(error: ModelError) -> EngineFailure {
    match error {
        ModelError::Failed(text) | ModelError::ContextExceeded(text) => EngineFailure::Failed(text),
        ModelError::Gone(gone) => gone.into(),
    }
}

fn call_id(item: &Item) -> Option<&str> {
    match &item.body {
        ItemBody::ToolCall { call_id, .. } => Some(call_id),
        ItemBody::DynamicToolCall(call) => Some(&call.call_id),
        _ => None,
    }
}

/// Whether a record ends with a whole reply that made no call (see the invariant of `listener`): the server stopped
/// before it could record the Turn's end.
fn is_over(items: &[Item]) -> bool {
    items.last().is_some_and(|last| match &last.body {
        ItemBody::AgentMessage { .. } => last.status == ItemStatus::Completed,
        ItemBody::Error { code, .. } => code == EMPTY_REPLY,
        _ => false,
    })
}
