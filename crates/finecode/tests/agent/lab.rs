//! A project whose linter finds words, and whose formatter edits files through its manager.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::policy::Policy;
use bobbin_agent_api::tool::{
    CallContext, OutputSink, OutsideWorkspace, PreparedCall, Tool, ToolEnvironment, ToolOutput,
    ToolSource as _,
};
use bobbin_children::{Children, Environment};
use bobbin_finecode::agent::{Actions, Hosts, RunnerSandbox};
use bobbin_finecode::{AgentAction, Host, Parts, Settings};
use bobbin_finecode_runner::{Action, ActionResult, Call, CommandLine, Done, Failure, Program, run};
use bobbin_model::{ApprovalPolicy, Json, Mode};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

#[derive(Deserialize, JsonSchema)]
struct Files {
    /// Files to look at.
    #[serde(default)]
    files: Vec<String>,
}

#[derive(Default, Serialize, Deserialize)]
struct Found {
    messages: BTreeMap<String, Vec<Value>>,
    note: String,
}

impl ActionResult for Found {
    fn merge(&mut self, other: Self) {
        self.messages.extend(other.messages);
    }

    fn text(&self) -> String {
        self.note.clone()
    }

    fn return_code(&self) -> i64 {
        i64::from(!self.messages.is_empty())
    }
}

async fn lint(call: Call<Files, Found>) -> Result<Done<Found>, Failure> {
    let mut found = Found::default();
    for file in call.payload()?.files {
        if file == "wait" {
            std::future::pending::<()>().await;
        }
        let path = file.strip_prefix("file://").unwrap_or(&file);
        let text = fs::read_to_string(path)?;
        for (line, _) in text.lines().enumerate().filter(|(_, line)| line.contains("teh")) {
            let range =
                json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 3 } });
            let message = json!({ "range": range, "message": "misspelled", "code": "S1", "source": "lab" });
            found.messages.entry(file.clone()).or_default().push(message);
        }
    }
    Ok(Done::Result(found))
}

async fn format(call: Call<Files, Found>) -> Result<Done<Found>, Failure> {
    let mut note = String::new();
    for file in call.payload()?.files {
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 3 } });
        let document = json!({ "uri": file, "version": null });
        let edits = json!([{ "range": range, "newText": "the" }]);
        let edit = json!({ "documentChanges": [{ "textDocument": document, "edits": edits }] });
        note.push_str(&call.manager().apply_edit(&edit).await?.to_string());
    }
    let messages = BTreeMap::new();
    Ok(Done::Result(Found { messages, note }))
}

pub(crate) fn serve() {
    let arguments = std::env::vars()
        .find(|(name, _)| name == "RUNNER_ARGS")
        .unwrap()
        .1;
    let command = CommandLine::read(arguments.split(' ').map(Into::into)).unwrap();
    let program = Program::new()
        .action(Action::<Files, Found>::new("x.Lint").handler("x.Linter", lint))
        .action(Action::<Files, Found>::new("x.Format").handler("x.Formatter", format));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(run(program, command)).unwrap();
    std::process::exit(0);
}

/// A workspace with one project, `shop`, and the agent's actions in it.
pub(crate) struct Lab {
    pub(crate) directory: TempDir,
    host: Arc<Host>,
    pub(crate) actions: Actions,
}

impl Lab {
    pub(crate) fn new(is_trusted: bool) -> Self {
        Self::held_by(is_trusted, RunnerSandbox::NotNeeded)
    }

    /// Returns a lab in which `sandbox` is said to confine runners.
    pub(crate) fn held_by(is_trusted: bool, sandbox: RunnerSandbox) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let bin = root.join("shop/.venvs/tools/bin");
        fs::create_dir_all(&bin).unwrap();
        let exe = std::env::current_exe().unwrap();
        let script = format!(
            "#!/bin/sh\nRUNNER_ARGS=\"$*\"\nexport RUNNER_ARGS\nexec '{}' runner --exact --ignored --nocapture\n",
            exe.display()
        );
        fs::write(bin.join("python"), script).unwrap();
        fs::set_permissions(bin.join("python"), fs::Permissions::from_mode(0o755)).unwrap();
        let action = |source: &str, handler: &str| json!({ "source": source, "handlers": [{ "name": "one", "source": handler, "env": "tools" }] });
        let table = json!({ "action": {
            "lint": action("x.Lint", "x.Linter"), "format": action("x.Format", "x.Formatter"),
        } });
        let checked = AgentAction {
            after_edits: true,
            payload: json!({ "files": ["a"] }).as_object().unwrap().clone(),
        };
        let settings = Settings {
            projects: [("shop".into(), table.as_object().unwrap().clone())].into(),
            agent: [
                ("lint".to_owned(), checked),
                ("format".to_owned(), AgentAction::default()),
                ("ghost".to_owned(), AgentAction::default()),
            ]
            .into(),
            ..Settings::default()
        };
        let host = Arc::new(Host::new(Parts {
            root: root.clone(),
            settings: settings.clone(),
            children: Children::new(None),
            environment: Environment::empty(),
            sandbox: None,
            trust: Arc::new(move |_| is_trusted.then_some(()).ok_or_else(|| "not trusted".to_owned())),
            announce: Arc::new(drop),
            version: "0".to_owned(),
        }));
        let hosts = Hosts {
            sandboxed: host.clone(),
            outside: host.clone(),
        };
        let sandbox = move || sandbox.clone();
        let actions = Actions::new(hosts, Box::new(sandbox), root, &settings, move || is_trusted);
        Self {
            directory,
            host,
            actions,
        }
    }

    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let mut tools = self.actions.tools().into_iter();
        tools.find(|tool| *tool.spec().name == *name).unwrap()
    }

    pub(crate) fn prepare(
        &self,
        name: &str,
        arguments: &Value,
        policy: Arc<dyn Policy>,
    ) -> Box<dyn PreparedCall> {
        let environment = environment(&self.root(), policy);
        self.tool(name)
            .prepare(&Json::of(arguments).unwrap(), &environment)
            .unwrap()
    }

    /// Runs a call, whose result may have so many bytes.
    pub(crate) async fn call(&self, name: &str, arguments: &Value, max_bytes: usize) -> ToolOutput {
        let prepared = self.prepare(name, arguments, Arc::new(bobbin_agent_api::policy::NoRules));
        let context = CallContext {
            max_bytes,
            ..context(&CancellationToken::new())
        };
        prepared.run(context).await
    }

    pub(crate) async fn end(self) {
        self.host.end().await;
    }
}

pub(crate) fn context(cancel: &CancellationToken) -> CallContext {
    CallContext::alone(cancel.clone(), Arc::new(Nowhere))
}

pub(crate) fn environment(root: &Path, policy: Arc<dyn Policy>) -> ToolEnvironment {
    ToolEnvironment {
        root: root.to_owned(),
        mode: Mode::Agent,
        outside_workspace: OutsideWorkspace::Ask,
        config: Arc::default(),
        policy,
        approvals: ApprovalPolicy::Default,
        clients: bobbin_agent_api::client::ThreadClients::default(),
    }
}

struct Nowhere;

impl OutputSink for Nowhere {
    fn write(&self, _: String) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}
