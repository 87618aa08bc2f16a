//! A host over a temporary directory, the changes that it announces, and calls as an engine makes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::tool::{
    CallContext, OutputSink, OutsideWorkspace, Permission, Tool, ToolEnvironment, ToolOutput,
    ToolSource as _, WholeAnswer,
};
use bobbin_children::{Children, Environment, ProcessSpec};
use bobbin_mcp::{Host, Launch, ServerSpec};
use bobbin_model::{Json, Mode, Reach, ServerOrigin, ServerState, ToolServer};
use bobbin_testkit::tea_server;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Bench {
    pub(crate) host: Host,
    news: mpsc::Receiver<Arc<ToolServer>>,
    directory: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let (tell, news) = mpsc::channel(1000);
        let announce = Arc::new(move |server: Arc<ToolServer>| tell.try_send(server).unwrap());
        Self {
            host: Host::new(Children::new(None), announce),
            news,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn with_root(self, folder: &str) -> Self {
        let host = self.host.with_root(Path::new(folder));
        Self { host, ..self }
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Returns the notes of the server.
    pub(crate) fn noted(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    pub(crate) async fn until_noted(&self, line: &str) {
        let looking = async {
            while !self.noted().iter().any(|noted| noted == line) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect(line);
    }

    pub(crate) fn pantry(&self) -> ServerSpec {
        let (command, args) = tea_server::command("pantry");
        let mut spec = self.program(&command, args);
        if let Launch::Child(process) = &mut spec.launch {
            process.env.set(tea_server::LOG, self.log());
        }
        spec
    }

    pub(crate) fn shell(&self, script: &str) -> ServerSpec {
        self.program("/bin/sh", vec!["-c".to_owned(), script.to_owned()])
    }

    fn program(&self, command: &str, args: Vec<String>) -> ServerSpec {
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        let process = ProcessSpec::new(command, self.directory.path(), environment).args(args.clone());
        ServerSpec {
            name: "pantry".to_owned(),
            origin: ServerOrigin::User,
            read_only: true,
            reach: Reach::Stdio {
                command: command.to_owned(),
                args,
            },
            launch: Launch::Child(Box::new(process)),
            sandbox: None,
            check: None,
            start_timeout: Duration::from_secs(20),
            call_timeout: Duration::from_secs(20),
            secrets: Vec::new(),
        }
    }

    /// Waits for the next announced change.
    pub(crate) async fn next(&mut self) -> Arc<ToolServer> {
        let next = tokio::time::timeout(PATIENCE, self.news.recv()).await;
        next.expect("there is news").unwrap()
    }

    /// Waits until a server is in a state, and returns the states before and with it.
    pub(crate) async fn until(&mut self, state: ServerState) -> Vec<Arc<ToolServer>> {
        let mut seen = Vec::new();
        loop {
            seen.push(self.next().await);
            if seen.last().unwrap().state == state {
                return seen;
            }
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let offered = format!("mcp__pantry__{name}");
        let mut tools = self.host.tools().into_iter();
        tools.find(|tool| *tool.spec().name == *offered)
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        self.begin(name, &arguments, &CancellationToken::new()).await
    }

    /// Starts a call whose Turn can be cancelled.
    pub(crate) fn begin(
        &self,
        name: &str,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> BoxFuture<'static, ToolOutput> {
        let tool = self.tool(name).expect("the tool is offered");
        let prepared = tool
            .prepare(&Json::of(arguments).unwrap(), &environment())
            .unwrap();
        prepared.run(CallContext::alone(cancel.clone(), Arc::new(Nowhere)))
    }

    /// Calls a tool for a client, which gets the server's whole answer.
    pub(crate) async fn whole(
        &self,
        name: &str,
        arguments: &Value,
        cancel: &CancellationToken,
    ) -> Result<WholeAnswer, String> {
        let tool = self.tool(name).expect("the tool is offered");
        let prepared = tool
            .prepare(&Json::of(arguments).unwrap(), &environment())
            .unwrap();
        let context = CallContext::alone(cancel.clone(), Arc::new(Nowhere));
        let meta = Json::object(r#"{"from":"desk"}"#);
        prepared
            .run_whole(meta, context)
            .await
            .expect("it is of a server")
    }

    pub(crate) fn permission(&self, name: &str) -> Permission {
        let arguments = Json::of(&serde_json::json!({ "cup": "blue" })).unwrap();
        let prepared = self.tool(name).unwrap().prepare(&arguments, &environment());
        prepared.unwrap().permission()
    }
}

pub(crate) fn states(seen: &[Arc<ToolServer>]) -> Vec<ServerState> {
    seen.iter().map(|server| server.state).collect()
}

fn environment() -> ToolEnvironment {
    ToolEnvironment {
        root: "/".into(),
        mode: Mode::Agent,
        outside_workspace: OutsideWorkspace::Ask,
        config: Arc::default(),
        policy: Arc::new(bobbin_agent_api::policy::NoRules),
        approvals: bobbin_model::ApprovalPolicy::Default,
        clients: bobbin_agent_api::client::ThreadClients::default(),
    }
}

struct Nowhere;

impl OutputSink for Nowhere {
    fn write(&self, _: String) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}
