//! What the engine's tests share: a core over a temporary workspace, a model that follows a script, a tool
//! that never ends, and the record of a Turn in short words.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::model::{
    Message, Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, ModelUsage, Stop,
};
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_agent_api::undo::{ChangedSince, Undone};
use bobbin_children::{Children, Environment, Shell};
use bobbin_core::engine::Answer;
use bobbin_core::{
    Command, CoreError, Enqueued, Frame, FrameBody, Guidance, Newest, Read, Reply, Reverted, Settings,
    Snapshot, StartedTurn, Steered, ThreadHandle, Threads,
};
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{
    Approval, ContextWindow, Decision, Event, HistoryMode, Identity, InputPart, Item, ItemBody, Json, Mode,
    Seq, ThreadConfig, TokenUsage, Turn, TurnFeatures,
};
use bobbin_policy::RulesPolicy;
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use bobbin_undo::FileUndo;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

/// A core with one Thread.
pub(crate) struct Bench {
    pub(crate) threads: Arc<Threads>,
    pub(crate) thread: Arc<ThreadHandle>,
    pub(crate) features: TurnFeatures,
}

pub(crate) fn built_in() -> ToolSet {
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/bin:/bin");
    ToolSet::built_in(Children::new(None), environment, Shell::Posix)
}

impl Bench {
    pub(crate) async fn open(workspace: &TestWorkspace, model: Arc<dyn Model>, tools: ToolSet) -> Self {
        Self::open_in(workspace, model, tools, Mode::Agent).await
    }

    pub(crate) async fn open_in(
        workspace: &TestWorkspace,
        model: Arc<dyn Model>,
        tools: ToolSet,
        mode: Mode,
    ) -> Self {
        let config = ThreadConfig {
            mode: Some(mode),
            ..ThreadConfig::default()
        };
        Self::open_with(workspace, model, tools, config).await
    }

    /// Opens a Thread with a configuration.
    pub(crate) async fn open_with(
        workspace: &TestWorkspace,
        model: Arc<dyn Model>,
        tools: ToolSet,
        config: ThreadConfig,
    ) -> Self {
        Self::open_engine(workspace, AgentEngine::new(model, tools), config).await
    }

    /// Opens a Thread with an engine.
    pub(crate) async fn open_engine(
        workspace: &TestWorkspace,
        engine: AgentEngine,
        config: ThreadConfig,
    ) -> Self {
        Self::open_under(workspace, engine, config, Arc::new(RulesPolicy::default())).await
    }

    /// Opens a Thread with an engine, under rules.
    pub(crate) async fn open_under(
        workspace: &TestWorkspace,
        engine: AgentEngine,
        config: ThreadConfig,
        policy: Arc<RulesPolicy>,
    ) -> Self {
        let under = |settings: &mut Settings| settings.policy = policy;
        let threads = workspace.open_with(Arc::new(engine), under).await;
        Self::on(threads, config).await
    }

    /// Opens a Thread of a core whose Turns' clients answer questions.
    pub(crate) async fn on(threads: Arc<Threads>, config: ThreadConfig) -> Self {
        let (tx, rx) = oneshot::channel();
        let request = NewThread {
            id: threads.fresh_thread_id(),
            identity: Identity {
                channel_name: "test".into(),
                ..Identity::default()
            },
            config: Some(config),
            history_mode: HistoryMode::Server,
            display_name: Some("test".into()),
        };
        threads.start_thread(request, Box::new(move |result| drop(tx.send(result))));
        let started: Snapshot = rx.await.unwrap().unwrap();
        let thread = threads.thread(&started.state.header.id).await.unwrap();
        Self {
            threads,
            thread,
            features: TurnFeatures {
                approvals: true,
                ..TurnFeatures::default()
            },
        }
    }

    /// Opens a Thread whose Turns ask nobody and can be undone; what is kept lies in `place`.
    pub(crate) async fn open_kept(
        workspace: &TestWorkspace,
        place: &std::path::Path,
        model: Arc<dyn Model>,
        tools: ToolSet,
    ) -> Self {
        Self::over(Self::hub_kept(workspace, place, model, tools).await).await
    }

    /// Opens another Thread of the same core.
    pub(crate) async fn another(&self) -> Self {
        Self::over(self.threads.clone()).await
    }

    /// Waits until something is kept of a Turn.
    pub(crate) async fn until_kept(&self, place: &std::path::Path) {
        self.until(|_| place.join("refs/undo").exists()).await;
    }

    /// Opens a Thread without a name.
    pub(crate) async fn unnamed(workspace: &TestWorkspace, engine: AgentEngine) -> Self {
        let threads = workspace.open_with(Arc::new(engine), with_rules).await;
        Self::named(threads, None).await
    }

    async fn over(threads: Arc<Threads>) -> Self {
        Self::named(threads, Some("test".into())).await
    }

    async fn named(threads: Arc<Threads>, display_name: Option<String>) -> Self {
        let (tx, rx) = oneshot::channel();
        let request = NewThread {
            id: threads.fresh_thread_id(),
            identity: Identity {
                channel_name: "test".into(),
                ..Identity::default()
            },
            config: None,
            history_mode: HistoryMode::Server,
            display_name,
        };
        threads.start_thread(request, Box::new(move |result| drop(tx.send(result))));
        let started: Snapshot = rx.await.unwrap().unwrap();
        let thread = threads.thread(&started.state.header.id).await.unwrap();
        Self {
            threads,
            thread,
            features: TurnFeatures::default(),
        }
    }

    /// Opens the same workspace once more, as after a crash, with what is kept in `place`.
    pub(crate) async fn reopen_kept(
        &self,
        workspace: &TestWorkspace,
        place: &std::path::Path,
        model: Arc<dyn Model>,
        tools: ToolSet,
    ) -> Self {
        let threads = Self::hub_kept(workspace, place, model, tools).await;
        let thread = threads.thread(self.thread.id()).await.unwrap();
        Self {
            threads,
            thread,
            features: self.features.clone(),
        }
    }

    async fn hub_kept(
        workspace: &TestWorkspace,
        place: &std::path::Path,
        model: Arc<dyn Model>,
        tools: ToolSet,
    ) -> Arc<Threads> {
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        let children = Children::new(None);
        let clock = Arc::new(bobbin_agent_api::SystemClock);
        let undo = FileUndo::open(place, workspace.path(), children, &environment, clock)
            .await
            .unwrap();
        let engine = AgentEngine::new(model, tools).with_undo(Some(undo.clone()));
        workspace
            .open_with(Arc::new(engine), |settings| {
                with_rules(settings);
                settings.approval_policy = bobbin_model::ApprovalPolicy::AutoApprove.into();
                settings.undo = Some(undo);
            })
            .await
    }

    /// Undoes a Turn.
    pub(crate) async fn revert(&self, turn: &str, changed_since: ChangedSince) -> Result<Undone, CoreError> {
        let (tx, rx) = oneshot::channel();
        let turn = turn.to_owned();
        let reply: Reply<Reverted> = Box::new(move |result| drop(tx.send(result)));
        let command = Command::Revert {
            turn,
            redo: false,
            changed_since,
            reply,
        };
        self.thread.send(command).await;
        rx.await.unwrap().map(|reverted| reverted.undone)
    }

    /// Opens the same workspace once more, as after a crash: nothing was stopped.
    pub(crate) async fn reopen(
        &self,
        workspace: &TestWorkspace,
        model: Arc<dyn Model>,
        tools: ToolSet,
    ) -> Self {
        self.reopen_engine(workspace, AgentEngine::new(model, tools))
            .await
    }

    /// The same with an engine.
    pub(crate) async fn reopen_engine(&self, workspace: &TestWorkspace, engine: AgentEngine) -> Self {
        let threads = workspace.open_with(Arc::new(engine), with_rules).await;
        let thread = threads.thread(self.thread.id()).await.unwrap();
        Self {
            threads,
            thread,
            features: self.features.clone(),
        }
    }

    pub(crate) async fn start(&self, text: &str) -> Log {
        self.start_parts(vec![InputPart::Text { text: text.into() }])
            .await
    }

    /// Runs a Turn of these parts to its end.
    pub(crate) async fn run_parts(&self, input: Vec<InputPart>) -> Vec<Arc<Frame>> {
        self.start_parts(input).await.end().await
    }

    async fn start_parts(&self, input: Vec<InputPart>) -> Log {
        let request = StartTurn {
            client_message_id: None,
            trigger: None,
            input,
            sender: None,
            channel: None,
            features: self.features.clone(),
        };
        let begun: StartedTurn = answer(&self.thread, |reply| Command::StartTurn { request, reply }).await;
        Log {
            thread: self.thread.clone(),
            next: begun.seq,
        }
    }

    /// Runs a Turn that asks nobody, to its end.
    pub(crate) async fn run(&self, text: &str) -> Vec<Arc<Frame>> {
        self.start(text).await.end().await
    }

    /// Reads what is still in the log of a Turn that goes on by itself, to its end.
    pub(crate) fn log(&self) -> Log {
        Log {
            thread: self.thread.clone(),
            next: self.thread.log().first(),
        }
    }

    pub(crate) async fn decide(&self, approval: &Approval, decision: Decision) {
        let given = Answer {
            approval: approval.id.clone(),
            decision,
            client: "test".into(),
            actor: bobbin_model::Actor::Owner,
        };
        answer(&self.thread, |reply| Command::Answer { answer: given, reply }).await;
    }

    /// Queues an input and makes it guidance for the Turn that runs.
    pub(crate) async fn guide(&self, text: &str) {
        let request = StartTurn {
            client_message_id: None,
            trigger: None,
            input: vec![InputPart::Text { text: text.into() }],
            sender: None,
            channel: None,
            features: self.features.clone(),
        };
        let queued: Enqueued = answer(&self.thread, |reply| Command::Enqueue { request, reply }).await;
        let expected = self.snapshot().await.state.live_turn().unwrap().to_string();
        let what = Guidance::Queued {
            id: queued.entry.id,
            sender: None,
        };
        let steered: Steered = answer(&self.thread, |reply| Command::Steer {
            what,
            expected,
            reply,
        })
        .await;
        assert_eq!(steered.queue.len(), 1);
    }

    pub(crate) async fn interrupt(&self) {
        answer(&self.thread, |reply| Command::Interrupt {
            turn: String::new(),
            reply,
        })
        .await;
    }

    /// Takes the newest Turns out of the conversation.
    pub(crate) async fn roll_back(&self, count: u32) {
        let which = Newest::Count(count);
        drop(
            answer(&self.thread, |reply| Command::RollBack {
                which,
                max_bytes: 0,
                reply,
            })
            .await,
        );
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        answer(&self.thread, |reply| Command::Read { reply }).await
    }

    /// Waits until the open Turn's record is as wanted.
    pub(crate) async fn until(&self, wanted: impl Fn(&Snapshot) -> bool) {
        let search = async {
            while !wanted(&self.snapshot().await) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), search)
            .await
            .expect("it comes in time");
    }

    /// Returns the last Turn once it has ended.
    pub(crate) async fn last_turn(&self) -> Turn {
        self.until(|now| now.state.live.is_none()).await;
        self.threads
            .turns_of(&self.snapshot().await, None, usize::MAX, usize::MAX)
            .await
            .unwrap()
            .0
            .pop()
            .unwrap()
    }
}

pub(crate) async fn answer<T: Send + 'static>(
    thread: &ThreadHandle,
    command: impl FnOnce(Reply<T>) -> Command,
) -> T {
    let (tx, rx) = oneshot::channel();
    thread
        .send(command(Box::new(move |result| drop(tx.send(result)))))
        .await;
    rx.await.expect("answered").expect("granted")
}

/// A cursor on a Thread's log.
pub(crate) struct Log {
    thread: Arc<ThreadHandle>,
    next: Seq,
}

impl Log {
    pub(crate) async fn end(&mut self) -> Vec<Arc<Frame>> {
        self.until(|event| matches!(event, Event::TurnEnded { .. })).await
    }

    pub(crate) async fn until_asked(&mut self) -> Approval {
        let frames = self
            .until(|event| matches!(event, Event::ApprovalOpened { .. }))
            .await;
        match recorded(frames.last().unwrap()) {
            Some(Event::ApprovalOpened { approval, .. }) => (**approval).clone(),
            _ => unreachable!(),
        }
    }

    async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Vec<Arc<Frame>> {
        let waker = bobbin_core::Waker::default();
        self.thread.log().watch(&waker);
        let mut seen: Vec<Arc<Frame>> = Vec::new();
        let search = async {
            loop {
                let Read::Entries { entries, .. } = self.thread.log().read(self.next, usize::MAX) else {
                    panic!("the log dropped what was not read");
                };
                for frame in entries {
                    self.next = frame.seq.next();
                    seen.push(frame.clone());
                    if recorded(&frame).is_some_and(&wanted) {
                        return;
                    }
                }
                waker.woken().await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(20), search).await;
        assert!(found.is_ok(), "it did not come; seen {:#?}", words(&seen));
        self.thread.log().unwatch(&waker);
        seen
    }
}

pub(crate) fn recorded(frame: &Frame) -> Option<&Event> {
    match &frame.body {
        FrameBody::Recorded(event) => Some(event),
        FrameBody::Delta(_) | FrameBody::Ephemeral(_) => None,
    }
}

/// Returns frames as short words; runs of deltas as one.
pub(crate) fn words(frames: &[Arc<Frame>]) -> Vec<String> {
    let mut words: Vec<String> = frames
        .iter()
        .filter_map(|frame| match &frame.body {
            FrameBody::Delta(_) => Some("delta".to_owned()),
            FrameBody::Ephemeral(_) => None,
            FrameBody::Recorded(event) => Some(match &**event {
                Event::ItemStarted { item, .. } => format!("+{}", kind(item)),
                Event::ItemCompleted { item, .. } => format!("-{}", kind(item)),
                Event::ItemAdded { item, .. } => format!("={}", kind(item)),
                event => event.kind().to_owned(),
            }),
        })
        .collect();
    words.dedup_by(|a, b| a == b && a == "delta");
    words
}

fn kind(item: &Item) -> &'static str {
    match &item.body {
        ItemBody::UserMessage(_) => "user",
        ItemBody::AgentMessage { .. } => "message",
        ItemBody::Reasoning { .. } => "reasoning",
        ItemBody::ToolCall { .. } => "call",
        ItemBody::ToolResult { .. } => "result",
        ItemBody::DynamicToolCall(_) => "dynamic",
        ItemBody::CommandExecution(_) => "command",
        ItemBody::ToolExecution { .. } => "execution",
        ItemBody::ApprovalRequest { .. } => "request",
        ItemBody::ApprovalResponse { .. } => "response",
        ItemBody::UserInputRequest(_) => "question",
        ItemBody::UserInputResponse { .. } => "answer",
        ItemBody::Forked { .. } => "forked",
        ItemBody::Compaction(_) => "compaction",
        ItemBody::Error { .. } => "error",
    }
}

/// Returns the results of a Turn's calls, in order: text and whether it went well.
pub(crate) fn results(turn: &Turn) -> Vec<(String, bool)> {
    let results = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::ToolResult { result, success, .. } => Some((result.clone(), *success)),
        _ => None,
    });
    results.collect()
}

/// Returns the agent's last message.
pub(crate) fn message(turn: &Turn) -> &str {
    let last = turn.items.iter().rev().find_map(|item| match &item.body {
        ItemBody::AgentMessage { text } => Some(text.as_str()),
        _ => None,
    });
    last.expect("the agent said something")
}

/// What a scripted model does when it is asked.
pub(crate) enum Script {
    /// Hand over these and end.
    Reply(Vec<ModelEvent>),
    /// Hand over these and never end.
    Hang(Vec<ModelEvent>),
    /// Fail.
    Fail(&'static str),
    /// Reach the limit of tokens.
    Cut(&'static str),
    /// Hand over these and end, with figures.
    Counted(Vec<ModelEvent>, ModelUsage),
    /// Refuse the conversation as too long.
    TooLong,
    /// Hand over these, and then refuse the conversation as too long.
    TooLongBehind(Vec<ModelEvent>),
}

/// A model that follows a script, one entry a request, and remembers what it was asked.
pub(crate) struct Scripted {
    script: Mutex<VecDeque<Script>>,
    asked: Mutex<Vec<Vec<Message>>>,
    offered: Mutex<Vec<Vec<String>>>,
    told: Mutex<Vec<String>>,
    window: Option<ContextWindow>,
    turns: u32,
}

impl Scripted {
    pub(crate) fn new(script: impl IntoIterator<Item = Script>) -> Arc<Self> {
        Self::with_window(script, None)
    }

    pub(crate) fn with_window(
        script: impl IntoIterator<Item = Script>,
        window: Option<ContextWindow>,
    ) -> Arc<Self> {
        Self::with_turns(script, window, 8)
    }

    /// Returns one that is given so many earlier Turns.
    pub(crate) fn with_turns(
        script: impl IntoIterator<Item = Script>,
        window: Option<ContextWindow>,
        turns: u32,
    ) -> Arc<Self> {
        Arc::new(Self {
            window,
            turns,
            script: Mutex::new(script.into_iter().collect()),
            asked: Mutex::default(),
            offered: Mutex::default(),
            told: Mutex::default(),
        })
    }
}

impl Scripted {
    /// Returns the conversation of each request so far.
    pub(crate) fn asked(&self) -> Vec<Vec<Message>> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the instructions of each request so far.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// Returns the tools that the last request offered.
    pub(crate) fn offered(&self) -> Vec<String> {
        self.offers().pop().unwrap_or_default()
    }

    /// Returns the tools that each request so far offered.
    pub(crate) fn offers(&self) -> Vec<Vec<String>> {
        self.offered.lock().unwrap().clone()
    }
}

impl Model for Scripted {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        self.turns
    }

    fn window(&self, _: Option<&str>) -> Option<ContextWindow> {
        self.window
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.asked.lock().unwrap().push(request.messages.to_vec());
        self.told.lock().unwrap().push(request.instructions.whole());
        let names = request.tools.iter().map(|tool| tool.name.to_string());
        self.offered.lock().unwrap().push(names.collect());
        let next = self
            .script
            .lock()
            .unwrap()
            .pop_front()
            .expect("the script goes on");
        async move {
            let done = |stop| Ok(ModelReply { stop, usage: None });
            match next {
                Script::Reply(events) => {
                    hand_over(sink, events).await?;
                    done(Stop::Done)
                }
                Script::Hang(events) => {
                    hand_over(sink, events).await?;
                    std::future::pending().await
                }
                Script::Counted(events, usage) => {
                    hand_over(sink, events).await?;
                    Ok(ModelReply {
                        stop: Stop::Done,
                        usage: Some(usage),
                    })
                }
                Script::TooLongBehind(events) => {
                    hand_over(sink, events).await?;
                    Err(ModelError::ContextExceeded("It is too long.".to_owned()))
                }
                Script::TooLong => Err(ModelError::ContextExceeded("It is too long.".to_owned())),
                Script::Fail(why) => Err(ModelError::Failed(why.to_owned())),
                Script::Cut(text) => {
                    hand_over(sink, vec![ModelEvent::Text(text.to_owned())]).await?;
                    done(Stop::Length)
                }
            }
        }
        .boxed()
    }
}

async fn hand_over(sink: &mut dyn ModelSink, events: Vec<ModelEvent>) -> Result<(), ModelError> {
    for event in events {
        sink.event(event).await?;
    }
    Ok(())
}

pub(crate) fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

pub(crate) fn say(said: &str) -> Script {
    Script::Reply(vec![text(said)])
}

/// Returns figures of a reply.
pub(crate) fn figures(input: u64, output: u64, context_tokens: u64, cost_micros: Option<u64>) -> ModelUsage {
    ModelUsage {
        tokens: TokenUsage::of(input, output),
        context_tokens,
        cost_micros,
    }
}

/// Returns the events of one whole call.
pub(crate) fn call(id: &str, tool: &str, arguments: &serde_json::Value) -> Vec<ModelEvent> {
    let id = id.to_owned();
    vec![
        ModelEvent::CallStarted {
            id: id.clone(),
            tool: tool.to_owned(),
        },
        ModelEvent::CallArguments {
            id: id.clone(),
            text: arguments.to_string(),
        },
        ModelEvent::CallEnded { id },
    ]
}

/// A tool whose calls never end, and which counts them.
pub(crate) struct Stuck {
    spec: ToolSpec,
    pub(crate) runs: Arc<Mutex<usize>>,
}

impl Stuck {
    pub(crate) fn new() -> Self {
        let input_schema = Json::of(&serde_json::json!({ "type": "object" })).unwrap();
        let spec = ToolSpec {
            name: "stuck".into(),
            description: "".into(),
            input_schema,
            effect: Effect::Writes,
        };
        Self {
            spec,
            runs: Arc::default(),
        }
    }
}

impl Tool for Stuck {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        Ok(Box::new(StuckCall(self.runs.clone())))
    }
}

struct StuckCall(Arc<Mutex<usize>>);

impl PreparedCall for StuckCall {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutput> {
        *self.0.lock().unwrap() += 1;
        std::future::pending().boxed()
    }
}

/// Gives a core the rules that are there when nobody has written any.
pub(crate) fn with_rules(settings: &mut Settings) {
    settings.policy = Arc::new(RulesPolicy::default());
}
