//! A core over a temporary workspace whose model is behind one of the wires.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent::{AgentEngine, AgentSettings};
use bobbin_agent_api::tool::ToolSource;
use bobbin_children::{Children, Environment, Shell};
use bobbin_core::engine::Answer;
use bobbin_core::{Command, Reply, Snapshot, StartedTurn, ThreadHandle, Threads};
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{
    Approval, ClientKeys, Decision, Effort, HistoryMode, Identity, InputPart, ThreadConfig, Turn,
    TurnFeatures,
};
use bobbin_models::{Key, Limits, ModelFacts, ModelSet, Network, Provider, ProviderSettings, Proxies, Wire};
use bobbin_testkit::{ModelServer, TestWorkspace};
use bobbin_tools::ToolSet;
use serde_json::Map;
use tokio::sync::oneshot;

pub(crate) const WIRES: [Wire; 3] = [Wire::ChatCompletions, Wire::Responses, Wire::Messages];
/// The key of every test.
pub(crate) const KEY: &str = "sk-sesame-0123456789";

/// Returns settings for a provider `p` at an address, with short pauses.
pub(crate) fn settings(wire: Wire, base_url: &str) -> ProviderSettings {
    ProviderSettings {
        name: "p".into(),
        wire,
        base_url: base_url.into(),
        models: Vec::new(),
        offered: true,
        key: Some(Key::new(KEY)),
        key_variable: None,
        needs_key: false,
        key_source: "the variable P_KEY".into(),
        headers: Vec::new(),
        max_output_tokens: None,
        web_search: false,
        body: Map::new(),
        facts: ModelFacts::default(),
        model_facts: std::collections::BTreeMap::new(),
        limits: Limits {
            attempts: 2,
            pause: Duration::from_millis(1),
            ..Limits::default()
        },
    }
}

pub(crate) fn models(settings: ProviderSettings) -> ModelSet {
    let network = Network::new(&Proxies::default()).unwrap();
    let provider = Provider::new(settings, &network).unwrap();
    ModelSet::new(
        std::sync::Arc::new(bobbin_offline::Offline),
        vec![provider],
        Some("p/m".into()),
    )
}

fn engine(models: ModelSet, source: Option<Arc<dyn ToolSource>>) -> AgentEngine {
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/bin:/bin");
    let mut tools = ToolSet::built_in(Children::new(None), environment, Shell::Posix);
    if let Some(source) = source {
        tools = tools.with_source(source);
    }
    // These tests count the offered tools.
    let settings = AgentSettings {
        tool_search: false,
        ..AgentSettings::default()
    };
    AgentEngine::new(Arc::new(models), tools).with_settings(settings)
}

/// A core with one Thread.
pub(crate) struct Bench {
    threads: Arc<Threads>,
    thread: Arc<ThreadHandle>,
}

impl Bench {
    pub(crate) async fn of(workspace: &TestWorkspace, wire: Wire, server: &ModelServer) -> Self {
        Self::with(workspace, settings(wire, &server.base_url()), None).await
    }

    pub(crate) async fn with(
        workspace: &TestWorkspace,
        settings: ProviderSettings,
        model: Option<&str>,
    ) -> Self {
        Self::with_models(workspace, models(settings), model).await
    }

    pub(crate) async fn with_models(
        workspace: &TestWorkspace,
        models: ModelSet,
        model: Option<&str>,
    ) -> Self {
        Self::with_source(workspace, models, model, None).await
    }

    /// Opens the same workspace once more, as after a crash, with models that remember nothing.
    pub(crate) async fn reopen(&self, workspace: &TestWorkspace, models: ModelSet) -> Self {
        let threads = workspace.open(Arc::new(engine(models, None))).await;
        let thread = threads.thread(self.thread.id()).await.unwrap();
        Self { threads, thread }
    }

    /// The same, with tools of a source beside the built-in ones.
    pub(crate) async fn with_source(
        workspace: &TestWorkspace,
        models: ModelSet,
        model: Option<&str>,
        source: Option<Arc<dyn ToolSource>>,
    ) -> Self {
        let engine = engine(models, source);
        let threads = workspace.open(Arc::new(engine)).await;
        let (tx, rx) = oneshot::channel();
        let request = NewThread {
            id: threads.fresh_thread_id(),
            identity: Identity {
                channel_name: "test".into(),
                ..Identity::default()
            },
            config: model.map(|model| ThreadConfig {
                model: Some(model.to_owned()),
                ..ThreadConfig::default()
            }),
            history_mode: HistoryMode::Server,
            display_name: Some("test".into()),
        };
        threads.start_thread(request, Box::new(move |result| drop(tx.send(result))));
        let started: Snapshot = rx.await.unwrap().unwrap();
        let thread = threads.thread(&started.state.header.id).await.unwrap();
        Self { threads, thread }
    }

    pub(crate) async fn start(&self, text: &str) {
        self.start_parts(vec![InputPart::Text { text: text.into() }])
            .await;
    }

    /// Runs a Turn of these parts to its end.
    pub(crate) async fn run_parts(&self, input: Vec<InputPart>) -> Turn {
        self.start_parts(input).await;
        self.end().await
    }

    /// Runs a Turn with an effort to its end.
    pub(crate) async fn run_with(&self, text: &str, effort: Effort) -> Turn {
        let features = TurnFeatures {
            reasoning_effort: Some(effort),
            ..TurnFeatures::default()
        };
        self.start_with(vec![InputPart::Text { text: text.into() }], features)
            .await;
        self.end().await
    }

    /// Runs a Turn of a client that has these keys to its end.
    pub(crate) async fn run_with_keys(&self, text: &str, keys: ClientKeys) -> Turn {
        let features = TurnFeatures {
            keys,
            ..TurnFeatures::default()
        };
        self.start_with(vec![InputPart::Text { text: text.into() }], features)
            .await;
        self.end().await
    }

    async fn start_parts(&self, input: Vec<InputPart>) {
        self.start_with(input, TurnFeatures::default()).await;
    }

    async fn start_with(&self, input: Vec<InputPart>, features: TurnFeatures) {
        let request = StartTurn {
            client_message_id: None,
            trigger: None,
            input,
            sender: None,
            channel: None,
            features: TurnFeatures {
                approvals: true,
                ..features
            },
        };
        answer::<StartedTurn>(&self.thread, |reply| Command::StartTurn { request, reply }).await;
    }

    /// Runs a Turn to its end and approves every request.
    pub(crate) async fn run(&self, text: &str) -> Turn {
        self.start(text).await;
        self.end().await
    }

    pub(crate) async fn end(&self) -> Turn {
        let ending = async {
            loop {
                let now = self.snapshot().await;
                let Some(live) = &now.state.live else {
                    let turns = self
                        .threads
                        .turns_of(&now, None, usize::MAX, usize::MAX)
                        .await
                        .unwrap();
                    return turns.0.into_iter().next_back().unwrap();
                };
                if let Some(open) = live.approvals.first() {
                    self.accept(open).await;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), ending)
            .await
            .expect("the turn ends")
    }

    async fn accept(&self, approval: &Approval) {
        let given = Answer {
            approval: approval.id.clone(),
            decision: Decision::Accept,
            client: "test".into(),
            actor: bobbin_model::Actor::Owner,
        };
        answer(&self.thread, |reply| Command::Answer { answer: given, reply }).await;
    }

    pub(crate) async fn interrupt(&self) {
        let turn = String::new();
        answer(&self.thread, |reply| Command::Interrupt { turn, reply }).await;
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        answer(&self.thread, |reply| Command::Read { reply }).await
    }
}

async fn answer<T: Send + 'static>(thread: &ThreadHandle, command: impl FnOnce(Reply<T>) -> Command) -> T {
    let (tx, rx) = oneshot::channel();
    thread
        .send(command(Box::new(move |result| drop(tx.send(result)))))
        .await;
    rx.await.expect("answered").expect("granted")
}
