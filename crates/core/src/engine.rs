//! The contract between a Thread's owner and the agent that runs a Turn.
//!
//! An engine never changes state. It requests changes through its [`TurnContext`]; the owner numbers, records and shows them.
//! Every method of the context returns [`TurnGone`] once the Turn accepts nothing more, and the engine should return then. If
//! the server finds a Turn open at its start, it runs the engine again with the recorded part in [`TurnContext::at_start`].
//! An engine decides from that part alone how to go on, so a resumed Turn is no special case.

mod request;

use std::path::Path;
use std::sync::Arc;

use bobbin_model::{
    Actor, ApprovalId, ApprovalPolicy, CallPreview, Compaction, ContextUsage, ContextWindow, Decision,
    DynamicTool, Inquiry, Item, ItemBody, ItemId, LiveTurn, Mode, Plan, PlanChange, Question, QuestionAnswer,
    SubAgentProgress, ThreadConfig, ThreadHeader, ThreadId, TokenUsage, Turn, TurnDiff, TurnId,
    UserInputRequest,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::error::CoreError;
use crate::handle::Shared;
use crate::threads::Threads;
use bobbin_agent_api::TurnGone;
use bobbin_agent_api::elicitation::{Elicitation, Elicited, NotElicited};
use bobbin_agent_api::sub_agent::SubAgents;
use bobbin_agent_api::tool::{CallContext, CallOrigin, OutputSink, PlanNow, Questions, ToolEnvironment};

pub use request::{Ask, Billed, WindowNote};
pub(crate) use request::{Asker, TurnRequest};

/// Runs Turns.
pub trait Engine: Send + Sync + 'static {
    /// Runs a Turn to its end. A panic counts as a failure of the Turn.
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>>;

    /// Returns the context window of a Thread's model before its first request; `model` is the Thread's choice. `None` if it
    /// is unknown.
    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        let _ = model;
        None
    }
}

/// Reason why a Turn was not finished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineFailure {
    /// The engine cannot go on; the text is for the user.
    #[error("{0}")]
    Failed(String),
    /// The Turn reached a bound; `code` names the bound for programs.
    #[error("{text}")]
    Stopped {
        /// Short name of the bound.
        code: &'static str,
        /// The reason and the next step, for the user.
        text: String,
    },
    /// Another party ended the Turn.
    #[error(transparent)]
    Gone(#[from] TurnGone),
}

/// An engine's access to its Turn. Cheap to clone.
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

    /// Returns the Thread's header at the start of this run.
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

    /// Returns the Turn at the start of this run: the user's message alone, or everything that was recorded before a crash.
    pub fn at_start(&self) -> &LiveTurn {
        &self.at_start
    }

    /// Returns the usage of the context window at the start of this run.
    pub fn context(&self) -> ContextUsage {
        self.context
    }

    /// Returns the directory and the rules of this Turn's calls.
    pub fn environment(&self) -> &ToolEnvironment {
        &self.environment
    }

    /// Returns the server's workspace. The environment has the Thread's own folder.
    pub fn workspace(&self) -> &Path {
        &self.threads.settings().workspace
    }

    /// Returns the tools that a client declared for the Thread. [`ToolEnvironment::clients`] knows whether that client is
    /// connected.
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

    /// Returns the context of a call of this Turn; `cancel` stops the call.
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

    /// Reads up to `limit` ended Turns before the Turn `before`, oldest first.
    ///
    /// # Errors
    /// The store could not read.
    pub async fn history(&self, before: TurnId, limit: u32) -> Result<Vec<Turn>, CoreError> {
        self.threads.turns_before(self.thread(), before, limit).await
    }

    /// Opens an Item, which gets text or is completed later.
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

    /// Adds a complete Item.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn add(&self, body: ItemBody) -> Result<(), TurnGone> {
        self.request(TurnRequest::Add { body, plan: None }).await
    }

    /// Adds a complete Item and changes the Thread's plan with it. A change that does not fit the present plan has no effect.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn add_with_plan(&self, body: ItemBody, plan: PlanChange) -> Result<(), TurnGone> {
        let plan = Some(plan);
        self.request(TurnRequest::Add { body, plan }).await
    }

    /// Shows the change that a call would make to a file.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn preview(&self, call_id: &str, preview: CallPreview) -> Result<(), TurnGone> {
        let call_id = call_id.to_owned();
        self.request(TurnRequest::CallPreviewed { call_id, preview })
            .await
    }

    /// Records that a call is about to have its effect, and waits until that is on disk. After a crash, a call with this
    /// record and without a result is never run again.
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

    /// Waits until everything requested before is on disk.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn commit(&self) -> Result<(), TurnGone> {
        let (reply, done) = oneshot::channel();
        self.request(TurnRequest::Commit { reply }).await?;
        done.await.map_err(|_| TurnGone)
    }

    /// Takes the inputs that users gave to this running Turn, as Items that are on disk. Call it between a finished round of
    /// calls and the next request to the model.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn guidance(&self) -> Result<Vec<Item>, TurnGone> {
        let (reply, items) = oneshot::channel();
        self.request(TurnRequest::Guidance { reply }).await?;
        items.await.map_err(|_| TurnGone)
    }

    /// Asks a user, unless there is an earlier decision: the policy, an answer for the session or for ever, or an answer to
    /// this call before a crash. Waits until a user answers. The answer is on disk when this returns.
    ///
    /// # Errors
    /// [`TurnGone`], also if the answer ends the Turn.
    pub async fn ask(&self, ask: Ask) -> Result<Decision, TurnGone> {
        let (reply, answer) = oneshot::channel();
        self.request(TurnRequest::Ask { ask, asker: reply }).await?;
        answer.await.map_err(|_| TurnGone)
    }

    /// Whether a model's question can be asked: a client that answers such questions follows the Thread, and its policy asks
    /// users.
    pub fn can_inquire(&self) -> bool {
        self.environment.approvals != ApprovalPolicy::Interrupt && self.shared.asked() > 0
    }

    /// Asks users a model's question, once it is on disk; clients that subscribe meanwhile get it too. Returns the first
    /// answer, or `None` if none comes in time, and records it.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn inquire(&self, call_id: &str, inquiry: Inquiry) -> Result<Option<QuestionAnswer>, TurnGone> {
        let mode = self.header.config.as_ref().map(ThreadConfig::mode);
        let request = UserInputRequest {
            request_id: self.threads.ids.approval(),
            call_id: call_id.to_owned(),
            blocking: mode == Some(Mode::Plan),
            inquiry,
        };
        let (reply, items) = oneshot::channel();
        self.request(TurnRequest::Inquire { request, reply }).await?;
        let item = items.await.map_err(|_| TurnGone)?.pop().ok_or(TurnGone)?;
        let ItemBody::UserInputRequest(request) = item.body else {
            return Err(TurnGone);
        };
        let question = Question {
            id: request.request_id.clone(),
            thread: self.thread().clone(),
            turn: self.turn(),
            item: item.id,
            call_id: request.call_id,
            blocking: request.blocking,
            inquiry: request.inquiry,
        };
        let answer = self.threads.inquire(question).await;
        let text = match &answer {
            Some(QuestionAnswer::Text(text)) => Some(text.clone()),
            Some(QuestionAnswer::None) | None => None,
        };
        self.add(ItemBody::UserInputResponse {
            request_id: request.request_id,
            answer: text,
        })
        .await?;
        Ok(answer)
    }

    /// Replaces the Thread's plan.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn plan(&self, plan: Plan) -> Result<(), TurnGone> {
        self.request(TurnRequest::Plan { plan }).await
    }

    /// Returns the Thread's present plan.
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

    /// Adds the usage of one request to the model.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn usage(&self, billed: Billed) -> Result<(), TurnGone> {
        self.request(TurnRequest::Usage(billed)).await
    }

    /// Shows clients the progress of this Turn's subagents.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn show_sub_agents(&self, entries: Arc<[SubAgentProgress]>) -> Result<(), TurnGone> {
        self.request(TurnRequest::Below { entries }).await
    }

    /// Shows clients the reason of a wait, until the Turn goes on.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn show_waiting(&self, call: Option<&str>, text: &str) -> Result<(), TurnGone> {
        let (call, text) = (call.map(str::to_owned), text.into());
        self.request(TurnRequest::Waiting { call, text }).await
    }

    /// Adds the usage of a subagent's ended Turn.
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

    /// Notifies clients of an event of the context window.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn note_window(&self, note: WindowNote) -> Result<(), TurnGone> {
        self.request(TurnRequest::Note(note)).await
    }

    /// Records a compaction of the conversation, in one commit with the usage of its model request. The summarized part
    /// stays in the record.
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

    /// Returns the Turn's recorded Items, including everything requested before.
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

/// Asks the users of a Turn, for one of its calls.
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

    fn can_ask(&self) -> bool {
        self.turn.can_inquire()
    }

    fn elicit(&self, asked: Elicitation) -> BoxFuture<'_, Result<Elicited, NotElicited>> {
        async move {
            let threads = &self.turn.threads;
            let limit = threads.settings().approval_max_wait;
            let root = self.turn.header.root();
            tokio::select! {
                biased;
                () = self.turn.cancelled().cancelled() => Ok(Elicited::CANCELLED),
                answer = threads.elicitors().elicit(&asked, root, limit) => answer,
            }
        }
        .boxed()
    }
}

/// An open Item.
#[must_use = "an open item is completed by its turn's end only"]
pub struct OpenItem {
    id: ItemId,
    turn: TurnContext,
}

impl OpenItem {
    /// Continues an Item that was open when the server stopped.
    pub fn resume(turn: &TurnContext, item: &Item) -> Self {
        Self {
            id: item.id,
            turn: turn.clone(),
        }
    }

    /// Streams text of a message, of reasoning or of a command's output. An empty text has no effect.
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

    /// Streams a part of a call's arguments. `call` is the tool's name and the call's id.
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

    /// Completes the Item, with its present or a final body.
    ///
    /// # Errors
    /// [`TurnGone`].
    pub async fn complete(self, body: Option<ItemBody>) -> Result<(), TurnGone> {
        self.turn
            .request(TurnRequest::Complete { item: self.id, body })
            .await
    }
}

/// A client's answer to an Approval, on its way to the owner.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The question.
    pub approval: ApprovalId,
    /// The decision.
    pub decision: Decision,
    /// Name of the client that gave it.
    pub client: String,
    /// On whose behalf.
    pub actor: Actor,
}
