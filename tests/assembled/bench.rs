//! A core over a temporary workspace with the real engine, tools, tool servers and a model behind a provider.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::SystemClock;
use bobbin_agent_api::tool::{Tool, ToolSource};
use bobbin_agent_api::undo::Undo;
use bobbin_children::{Children, Environment, ProcessSpec, Shell};
use bobbin_core::engine::Answer;
use bobbin_core::{Command, Reply, Settings, Snapshot, StartedTurn, ThreadHandle, Threads, Waker};
use bobbin_mcp::{Host, Launch, ServerSpec};
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{Decision, HistoryMode, Identity, InputPart, Reach, ServerOrigin, Turn, TurnFeatures};
use bobbin_models::{Limits, ModelFacts, ModelSet, Network, Provider, ProviderSettings, Proxies, Wire};
use bobbin_policy::RulesPolicy;
use bobbin_testkit::{EndlessLook, TestWorkspace, tea_server};
use bobbin_tools::ToolSet;
use bobbin_undo::FileUndo;
use tokio::sync::oneshot;

/// How long, in real time, what must happen may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A core with one Thread.
pub(crate) struct Bench {
    pub(crate) threads: Arc<Threads>,
    pub(crate) thread: Arc<ThreadHandle>,
    /// The look at the changes of calls, if the parts ask for an endless one.
    pub(crate) look: Option<Arc<EndlessLook>>,
    workspace: TestWorkspace,
    host: Arc<Host>,
}

/// Tools that are always there.
struct Given(Vec<Arc<dyn Tool>>);

impl ToolSource for Given {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.0.clone()
    }
}

/// What a bench is made of.
#[derive(Default)]
pub(crate) struct Parts {
    /// Tools beside the usual ones.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// What is known of the model.
    pub(crate) facts: ModelFacts,
    /// An MCP server, with the milliseconds that its start takes.
    pub(crate) pantry: Option<u64>,
    /// Whether Turns can be undone, with a look at the changes of a call that never ends by itself.
    pub(crate) endless_look: bool,
}

impl Bench {
    /// Opens one whose model is behind this address.
    pub(crate) async fn open(base_url: &str, parts: Parts) -> Self {
        let workspace = TestWorkspace::default();
        let host = Host::new(Children::new(None), Arc::new(|_| {}));
        if let Some(slow) = parts.pantry {
            host.set(pantry(&workspace, slow)).unwrap();
        }
        let host = Arc::new(host);
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        let tools = ToolSet::built_in(Children::new(None), environment, Shell::Posix)
            .with_source(Arc::new(Given(parts.tools)))
            .with_source(host.clone());
        let look = if parts.endless_look {
            Some(EndlessLook::new(undo(&workspace).await))
        } else {
            None
        };
        let undo = look.clone().map(|look| look as Arc<dyn Undo>);
        let engine = AgentEngine::new(Arc::new(models(base_url, parts.facts)), tools).with_undo(undo);
        let rules = |settings: &mut Settings| settings.policy = Arc::new(RulesPolicy::default());
        let threads = workspace.open_with(Arc::new(engine), rules).await;
        let (tx, rx) = oneshot::channel();
        let request = NewThread {
            id: threads.fresh_thread_id(),
            identity: Identity {
                channel_name: "test".into(),
                ..Identity::default()
            },
            config: None,
            history_mode: HistoryMode::Server,
            display_name: Some("test".into()),
        };
        threads.start_thread(request, Box::new(move |result| drop(tx.send(result))));
        let started: Snapshot = rx.await.unwrap().unwrap();
        let thread = threads.thread(&started.state.header.id).await.unwrap();
        Self {
            threads,
            thread,
            look,
            workspace,
            host,
        }
    }

    /// Starts a Turn whose client answers questions and sees everything.
    pub(crate) async fn start(&self, text: &str) {
        let request = StartTurn {
            client_message_id: None,
            trigger: None,
            input: vec![InputPart::Text { text: text.into() }],
            sender: None,
            channel: None,
            features: TurnFeatures {
                approvals: true,
                command_execution: true,
                tool_execution: true,
                ..TurnFeatures::default()
            },
        };
        let started: StartedTurn = answer(&self.thread, |reply| Command::StartTurn { request, reply }).await;
        drop(started);
    }

    /// Accepts the first thing that is asked.
    pub(crate) async fn accept(&self) {
        let asks = |now: &Snapshot| {
            now.state
                .live
                .as_ref()
                .is_some_and(|live| !live.approvals.is_empty())
        };
        self.until(asks).await;
        let open = self.snapshot().await.state.live.as_ref().unwrap().approvals[0]
            .id
            .clone();
        let given = Answer {
            approval: open,
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

    /// Waits until the Thread's record is as wanted; looks again whenever something is added to it.
    pub(crate) async fn until(&self, wanted: impl Fn(&Snapshot) -> bool) {
        let waker = Waker::default();
        self.thread.log().watch(&waker);
        let looking = async {
            while !wanted(&self.snapshot().await) {
                waker.woken().await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, looking).await;
        self.thread.log().unwatch(&waker);
        assert!(
            found.is_ok(),
            "it did not come: {:#?}",
            self.snapshot().await.state.live
        );
    }

    /// Waits for something that is seen elsewhere than in the record.
    pub(crate) async fn until_seen(&self, seen: impl Fn(&Self) -> bool) {
        let looking = async {
            while !seen(self) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking)
            .await
            .expect("it comes in time");
    }

    /// Returns the newest Turn once none is open.
    pub(crate) async fn ended(&self) -> Turn {
        self.until(|now| now.state.live.is_none()).await;
        let turns = self
            .threads
            .turns_of(&self.snapshot().await, None, usize::MAX, usize::MAX)
            .await;
        turns.unwrap().0.pop().unwrap()
    }

    /// Whether the MCP server has noted this.
    pub(crate) fn noted(&self, line: &str) -> bool {
        let text = std::fs::read_to_string(self.workspace.path().join("log")).unwrap_or_default();
        text.lines().any(|noted| noted == line)
    }

    pub(crate) async fn close(self) {
        self.threads.stop().await;
        self.host.end().await;
    }
}

fn models(base_url: &str, facts: ModelFacts) -> ModelSet {
    let settings = ProviderSettings {
        name: "p".into(),
        wire: Wire::ChatCompletions,
        base_url: base_url.into(),
        models: Vec::new(),
        offered: true,
        key: None,
        key_variable: None,
        needs_key: false,
        key_source: "the variable P_KEY".into(),
        headers: Vec::new(),
        max_output_tokens: None,
        web_search: false,
        body: serde_json::Map::new(),
        facts,
        model_facts: std::collections::BTreeMap::new(),
        limits: Limits::default(),
    };
    let network = Network::new(&Proxies::default()).unwrap();
    ModelSet::new(
        std::sync::Arc::new(bobbin_offline::Offline),
        vec![Provider::new(settings, &network).unwrap()],
        Some("p/m".into()),
    )
}

/// Records files of a workspace.
async fn undo(workspace: &TestWorkspace) -> Arc<FileUndo> {
    std::fs::write(workspace.path().join(".gitignore"), "bobbin.db*\n.gitignore\n").unwrap();
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let place = workspace.path().join(".shadow");
    let children = Children::new(None);
    let clock = Arc::new(SystemClock);
    let opened = FileUndo::open(&place, workspace.path(), children, &environment, clock).await;
    opened.unwrap()
}

fn pantry(workspace: &TestWorkspace, slow: u64) -> ServerSpec {
    let (command, args) = tea_server::command("interrupts::pantry");
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/bin:/bin");
    let mut process = ProcessSpec::new(&command, workspace.path(), environment).args(args.clone());
    process.env.set(tea_server::LOG, workspace.path().join("log"));
    process.env.set(tea_server::SLOW, slow.to_string());
    ServerSpec {
        name: "pantry".to_owned(),
        origin: ServerOrigin::User,
        read_only: true,
        reach: Reach::Stdio { command, args },
        launch: Launch::Child(Box::new(process)),
        check: None,
        start_timeout: PATIENCE,
        call_timeout: Duration::from_mins(10),
        secrets: Vec::new(),
        sandbox: None,
    }
}

async fn answer<T: Send + 'static>(thread: &ThreadHandle, command: impl FnOnce(Reply<T>) -> Command) -> T {
    let (tx, rx) = oneshot::channel();
    let reply: Reply<T> = Box::new(move |result| drop(tx.send(result)));
    thread.send(command(reply)).await;
    rx.await.expect("answered").expect("granted")
}
