//! What runs a Turn: the seam between a Thread's owner and an agent.
//!
//! An engine never touches state. It says what it wants to happen through its [`TurnContext`]; the owner
//! numbers, records and shows it. Every method of the context returns [`TurnGone`] once the Turn takes
//! nothing more, which an engine answers by returning. A Turn that the server finds open when it starts is
//! run again with what was recorded in [`TurnContext::at_start`]; an engine decides from that alone where to
//! go on, so being resumed is no special case.

mod request;

use std::path::Path;
use std::sync::Arc;

use bobbin_model::{
    ApprovalId, ApprovalPolicy, CallPreview, Compaction, ContextUsage, ContextWindow, Decision, DynamicTool,
    Inquiry, Item, ItemBody, ItemId, LiveTurn, Plan, PlanChange, Question, QuestionAnswer, SubAgentProgress,
    ThreadHeader, ThreadId, TokenUsage, Turn, TurnDiff, TurnId,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::error::CoreError;
use crate::handle::Shared;
use crate::threads::Threads;
use bobbin_agent_api::TurnGone;
use bobbin_agent_api::sub_agent::SubAgents;
use bobbin_agent_api::tool::{CallContext, CallOrigin, OutputSink, PlanNow, Questions, ToolEnvironment};

pub use request::{Ask, Billed, WindowNote};
pub(crate) use request::{Asker, TurnRequest};

/// Runs Turns.
pub trait Engine: Send + Sync + 'static {
    /// Runs one Turn to its end. A panic inside counts as a failure of the Turn.
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>>;

    /// Returns the window of the model that a Thread is given, before it has been asked anything; the argument is the
    /// Thread's choice. `None` where nothing is known.
    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        let _ = model;
        None
    }
}

/// Why a Turn could not be finished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineFailure {
    /// It cannot go on; the text is for the user.
    #[error("{0}")]
    Failed(String),
    /// It was stopped at a bound; `code` names the bound for machines.
    #[error("{text}")]
    Stopped {
        /// Short name of the bound.
        code: &'static str,
        /// Why, and what to do, for the user.
        text: String,
    },
    /// The Turn was ended from outside.
    #[error(transparent)]
    Gone(#[from] TurnGone),
}

/// An engine's hold on the Turn it runs. Cheap to clone.
#[derive(Clone)]
pub struct TurnContext {
    pub(crate) threads: Arc<Threads>,
    pub(crate) header: Arc<ThreadHeader>,
    pub(crate) at_start: Arc<LiveTurn>,
    pub(crate) context: ContextUsage,
    pub(crate) environment: Arc<ToolEnvironment>,
    pub(crate) declared: Arc<[DynamicTool]>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) cancel: CancellationToken,
    pub(crate) sub_agents: Arc<dyn SubAgents>,
    pub(crate) requests: mpsc::Sender<(TurnId, TurnRequest)>,
}

impl TurnContext {
    /// Returns the Thread.
    pub fn thread(&self) -> &ThreadId {
        &self.header.id
    }

    /// Returns the Thread's header as it was when this run began.
    pub fn header(&self) -> &ThreadHeader {
        &self.header
    }

    /// Returns the core that runs the Turn.
    pub fn threads(&self) -> &Arc<Threads> {
        &self.threads
    }

    /// Returns the Turn.
    pub fn turn(&self) -> TurnId {
        self.at_start.turn.id
    }

    /// Returns the Turn as it was when this run began: the user's message alone, or, after a crash,
    /// everything that was recorded of it.
    pub fn at_start(&self) -> &LiveTurn {
        &self.at_start
    }

    /// Returns the occupancy of the model's window when this run began.
    pub fn context(&self) -> ContextUsage {
        self.context
    }

    /// Returns where and under which rules this Turn's calls run.
    pub fn environment(&self) -> &ToolEnvironment {
        &self.environment
    }

    /// Returns the server's workspace; a Thread's own folder stands in its environment.
    pub fn workspace(&self) -> &Path {
        &self.threads.settings().workspace
    }

    /// Returns the tools that a client brought along with the Thread. Whether it is there to run them is known by
    /// [`ToolEnvironment::clients`].
    pub fn declared_tools(&self) -> &[DynamicTool] {
        &self.declared
    }

    /// Returns the subagents of this Turn.
    pub fn sub_agents(&self) -> Arc<dyn SubAgents> {
        self.sub_agents.clone()
    }

    /// Returns this context with subagents.
    #[must_use]
    pub fn with_sub_agents(self, sub_agents: Arc<dyn SubAgents>) -> Self {
        Self { sub_agents, ..self }
    }

    /// Returns the token that is cancelled when the Turn is interrupted.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Returns what a call of this Turn is given to run, with the token that stops it.
    pub fn call_context(
        &self,
        call: &str,
        cancel: CancellationToken,
        output: Arc<dyn OutputSink>,
    ) -> CallContext {
        CallContext {
            origin: CallOrigin {
                thread: self.thread().clone(),
                turn: self.turn(),
                call: call.to_owned(),
            },
            cancel,
            plan: Arc::new(self.clone()),
            agents: self.sub_agents(),
            questions: Arc::new(CallQuestions {
                turn: self.clone(),
                call: call.to_owned(),
            }),
            output,
            max_bytes: bobbin_agent_api::tool::MAX_RESULT_BYTES,
        }
    }

    /// Reads up to `limit` finished Turns that came before this one, oldest first, ending with the one
    /// just before `before`.
    ///
    /// # Errors
    /// The store could not read.
    pub async fn history(&self, before: TurnId, limit: u32) -> Result<Vec<Turn>, CoreError> {
        self.threads.turns_before(self.thread(), before, limit).await
    }

    /// Opens an Item that text or a later completion will follow.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn open(&self, body: ItemBody) -> Result<OpenItem, TurnGone> {
        let (reply, id) = oneshot::channel();
        self.request(TurnRequest::Open { body, reply }).await?;
        Ok(OpenItem {
            id: id.await.map_err(|_| TurnGone)?,
            turn: self.clone(),
        })
    }

    /// Adds an Item that is final at once.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn add(&self, body: ItemBody) -> Result<(), TurnGone> {
        self.request(TurnRequest::Add { body, plan: None }).await
    }

    /// Adds an Item that is final at once, and with it changes the Thread's plan. A change that does not fit the
    /// plan there is by then changes nothing.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn add_with_plan(&self, body: ItemBody, plan: PlanChange) -> Result<(), TurnGone> {
        let plan = Some(plan);
        self.request(TurnRequest::Add { body, plan }).await
    }

    /// Shows what a call would do to a file.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn preview(&self, call_id: &str, preview: CallPreview) -> Result<(), TurnGone> {
        let call_id = call_id.to_owned();
        self.request(TurnRequest::CallPreviewed { call_id, preview })
            .await
    }

    /// Records that a call's effect is about to begin, and returns once that is on disk. After a crash a
    /// call with this record and without a result is never run again.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn start_call(&self, call_id: &str) -> Result<(), TurnGone> {
        let (reply, done) = oneshot::channel();
        self.request(TurnRequest::CallStarted {
            call_id: call_id.to_owned(),
            reply,
        })
        .await?;
        done.await.map_err(|_| TurnGone)
    }

    /// Returns once everything requested before is on disk.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn commit(&self) -> Result<(), TurnGone> {
        let (reply, done) = oneshot::channel();
        self.request(TurnRequest::Commit { reply }).await?;
        done.await.map_err(|_| TurnGone)
    }

    /// Takes the inputs that users gave to this Turn while it ran, as Items that are on disk. To be asked for
    /// between a finished round of calls and the next model call.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn guidance(&self) -> Result<Vec<Item>, TurnGone> {
        let (reply, items) = oneshot::channel();
        self.request(TurnRequest::Guidance { reply }).await?;
        items.await.map_err(|_| TurnGone)
    }

    /// Asks a user, or finds the standing answer: the policy, an earlier answer for the session or for
    /// ever, an answer this very call got before a crash. Waits as long as users take. The answer is on
    /// disk when this returns.
    ///
    /// # Errors
    /// [`TurnGone`], also when the answer ends the Turn.
    pub async fn ask(&self, ask: Ask) -> Result<Decision, TurnGone> {
        let (reply, answer) = oneshot::channel();
        self.request(TurnRequest::Ask { ask, asker: reply }).await?;
        answer.await.map_err(|_| TurnGone)
    }

    /// Whether a model's question can be asked: a client that takes such questions follows the Thread, and its policy asks
    /// users at all.
    pub fn can_inquire(&self) -> bool {
        self.environment.approvals != ApprovalPolicy::Interrupt && self.shared.asked() > 0
    }

    /// Asks users a model's question, once its call is on disk; clients that subscribe meanwhile are asked too. Returns the first
    /// answer, `None` when there is none in time. Nothing of it is recorded here: the result of the call is, after.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn inquire(&self, call_id: &str, inquiry: Inquiry) -> Result<Option<QuestionAnswer>, TurnGone> {
        self.commit().await?;
        let question = Question {
            id: self.threads.ids.approval(),
            thread: self.thread().clone(),
            turn: self.turn(),
            call_id: call_id.to_owned(),
            inquiry,
        };
        Ok(self.threads.inquire(question).await)
    }

    /// Replaces the Thread's plan.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn plan(&self, plan: Plan) -> Result<(), TurnGone> {
        self.request(TurnRequest::Plan { plan }).await
    }

    /// Returns the Thread's plan as it is.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn plan_now(&self) -> Result<Option<Plan>, TurnGone> {
        let (reply, plan) = oneshot::channel();
        self.request(TurnRequest::ReadPlan { reply }).await?;
        plan.await.map_err(|_| TurnGone)
    }

    /// Shows all file changes of the Turn so far.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn diff(&self, diff: TurnDiff) -> Result<(), TurnGone> {
        self.request(TurnRequest::Diff { diff }).await
    }

    /// Adds one model call's figures.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn usage(&self, billed: Billed) -> Result<(), TurnGone> {
        self.request(TurnRequest::Usage(billed)).await
    }

    /// Shows clients how far the subagents of this Turn are.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn show_sub_agents(&self, entries: Arc<[SubAgentProgress]>) -> Result<(), TurnGone> {
        self.request(TurnRequest::Below { entries }).await
    }

    /// Shows clients what the Turn waits for, until it goes on.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn show_waiting(&self, call: Option<&str>, text: &str) -> Result<(), TurnGone> {
        let (call, text) = (call.map(str::to_owned), text.into());
        self.request(TurnRequest::Waiting { call, text }).await
    }

    /// Adds what a Turn of a subagent has used, once that Turn has ended.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn sub_agent_used(
        &self,
        child: ThreadId,
        usage: TokenUsage,
        cost_micros: u64,
    ) -> Result<(), TurnGone> {
        self.request(TurnRequest::BelowUsed {
            child,
            usage,
            cost_micros,
        })
        .await
    }

    /// Tells clients what happened to the window.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn note_window(&self, note: WindowNote) -> Result<(), TurnGone> {
        self.request(TurnRequest::Note(note)).await
    }

    /// Records that the conversation was compacted, in one commit with the model call that it took. What the
    /// summary covers stays in the record.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn compacted(
        &self,
        body: Compaction,
        billed: Option<Billed>,
        window: ContextWindow,
    ) -> Result<(), TurnGone> {
        self.request(TurnRequest::Compacted { body, billed, window })
            .await
    }

    /// Returns the Turn's Items as they are recorded, everything requested before among them.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn items(&self) -> Result<Vec<Item>, TurnGone> {
        let (reply, items) = oneshot::channel();
        self.request(TurnRequest::Items { reply }).await?;
        items.await.map_err(|_| TurnGone)
    }

    async fn request(&self, request: TurnRequest) -> Result<(), TurnGone> {
        self.requests
            .send((self.turn(), request))
            .await
            .map_err(|_| TurnGone)
    }
}

impl PlanNow for TurnContext {
    fn plan(&self) -> BoxFuture<'_, Option<Plan>> {
        async { self.plan_now().await.ok().flatten() }.boxed()
    }
}

/// Asks the users of a Turn for one of its calls.
struct CallQuestions {
    turn: TurnContext,
    call: String,
}

impl Questions for CallQuestions {
    fn ask(&self, inquiry: Inquiry) -> BoxFuture<'_, Option<QuestionAnswer>> {
        async move {
            if !self.turn.can_inquire() {
                return None;
            }
            let asked = self.turn.inquire(&self.call, inquiry);
            tokio::select! {
                biased;
                () = self.turn.cancelled().cancelled() => None,
                answer = asked => answer.ok().flatten(),
            }
        }
        .boxed()
    }
}

/// An Item that is still open.
#[must_use = "an open item is completed by its turn's end only"]
pub struct OpenItem {
    id: ItemId,
    turn: TurnContext,
}

impl OpenItem {
    /// Takes up an Item that was open when the server stopped.
    pub fn resume(turn: &TurnContext, item: &Item) -> Self {
        Self {
            id: item.id,
            turn: turn.clone(),
        }
    }

    /// Streams a piece of text: of a message, of reasoning, or of a command's output. Empty is nothing.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn text(&self, text: impl Into<String>) -> Result<(), TurnGone> {
        let text = text.into();
        if text.is_empty() {
            return Ok(());
        }
        self.turn.request(TurnRequest::Text { item: self.id, text }).await
    }

    /// Streams a piece of a call's raw arguments. `call` is (tool name, call id).
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn arguments(
        &self,
        call: &Arc<(String, String)>,
        text: impl Into<String>,
    ) -> Result<(), TurnGone> {
        let text = text.into();
        if text.is_empty() {
            return Ok(());
        }
        self.turn
            .request(TurnRequest::Arguments {
                item: self.id,
                call: call.clone(),
                text,
            })
            .await
    }

    /// Completes the Item, as it stands or with a final body.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn complete(self, body: Option<ItemBody>) -> Result<(), TurnGone> {
        self.turn
            .request(TurnRequest::Complete { item: self.id, body })
            .await
    }
}

/// An answer to an Approval on its way to the owner.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The question.
    pub approval: ApprovalId,
    /// The word.
    pub decision: Decision,
    /// Name of the client that gave it.
    pub client: String,
}
