//! A workspace in which commands are held, and what runs them as the agent does.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::client::ThreadClients;
use bobbin_agent_api::tool::{
    CallContext, CommandLine, OutputSink, OutsideWorkspace, Permission, PreparedCall, Tool, ToolEnvironment,
    ToolOutput,
};
use bobbin_children::{Children, Environment, Helper, RUN_CHILD_ARGUMENT, Shell};
use bobbin_model::{ApprovalPolicy, Json, Mode, ThreadConfig, ThreadId};
use bobbin_policy::RulesPolicy;
use bobbin_sandbox::{Files, Network, Profile, Support};
use bobbin_tools::{Bubblewrap, BubblewrapUse, Sandbox, ToolSet};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::{Workspace, not_tested};

pub(crate) const STRICT: Profile = Profile {
    files: Files::WorkspaceWrite,
    network: Network::Off,
};
pub(crate) const OPEN: Profile = Profile {
    network: Network::On,
    ..STRICT
};

/// Returns what starts children as the server does.
pub(crate) fn children() -> Children {
    Children::new(Some(Helper {
        program: env!("CARGO_BIN_EXE_bobbin").into(),
        arguments: vec![RUN_CHILD_ARGUMENT.into()],
    }))
}

/// A workspace, a place outside of it with a file in it, and what runs commands.
pub(crate) struct Place {
    pub(crate) _top: TempDir,
    pub(crate) top: PathBuf,
    pub(crate) work: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) children: Children,
}

impl Place {
    pub(crate) fn new() -> Self {
        // `/tmp` is the commands' own.
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (work, file) = (top.join("work"), top.join("out/file"));
        for directory in [
            &work.join(".craft"),
            &top.join("temporary"),
            file.parent().unwrap(),
        ] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::fs::write(&file, "mine").unwrap();
        Self {
            _top: dir,
            top,
            work,
            file,
            children: children(),
        }
    }

    pub(crate) fn sandbox(&self, profile: Profile, bubblewrap: Bubblewrap) -> Sandbox {
        Sandbox {
            profile,
            support: Support::probe(),
            bubblewrap,
            temporary: Some(self.top.join("temporary")),
            services: vec!["/run".into()],
            read_only: vec![self.work.join(".craft")],
            ..Sandbox::default()
        }
    }

    pub(crate) fn bubblewrap(&self, wanted: BubblewrapUse) -> Bubblewrap {
        Bubblewrap::new(wanted, self.children.clone())
    }

    /// Returns a sandbox in which bubblewrap holds, or makes sure that people are told why it does not.
    pub(crate) async fn held(&self, profile: Profile) -> Option<Sandbox> {
        let sandbox = self.sandbox(profile, self.bubblewrap(BubblewrapUse::Require));
        sandbox.settle().await;
        let Err(why) = sandbox.bubblewrap.found().unwrap() else {
            return Some(sandbox);
        };
        let missing = sandbox.missing().unwrap();
        assert!(missing.contains(&why) && !why.is_empty(), "{missing}");
        let workspace = Workspace::new();
        workspace.configure(&json!({ "Sandbox": { "Bubblewrap": "require" } }));
        let doctor = workspace.run(&["doctor"]).await;
        let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(
            told.contains("bad   sandbox") && told.contains("bubblewrap is required"),
            "{told}"
        );
        not_tested(&why);
        None
    }

    pub(crate) fn environment(&self) -> ToolEnvironment {
        ToolEnvironment {
            root: self.work.clone(),
            mode: Mode::Agent,
            outside_workspace: OutsideWorkspace::Ask,
            config: Arc::new(ThreadConfig::default()),
            policy: Arc::new(RulesPolicy::default()),
            approvals: ApprovalPolicy::Default,
            clients: ThreadClients::default(),
        }
    }

    /// Prepares a call of the shell tool, or returns why that is refused.
    pub(crate) async fn prepared(
        &self,
        sandbox: &Sandbox,
        command: &str,
    ) -> Result<Box<dyn PreparedCall>, String> {
        self.prepared_with(sandbox, &json!({ "command": command })).await
    }

    pub(crate) async fn prepared_with(
        &self,
        sandbox: &Sandbox,
        arguments: &Value,
    ) -> Result<Box<dyn PreparedCall>, String> {
        let tool = self.shell(sandbox).await;
        let arguments = Json::of(arguments).unwrap();
        tool.prepare(&arguments, &self.environment())
            .map_err(|refusal| refusal.to_string())
    }

    /// As [`Place::prepared`], in plan mode.
    pub(crate) async fn planned(
        &self,
        sandbox: &Sandbox,
        command: &str,
    ) -> Result<Box<dyn PreparedCall>, String> {
        self.planned_with(sandbox, &json!({ "command": command })).await
    }

    /// As [`Place::prepared_with`], in plan mode.
    pub(crate) async fn planned_with(
        &self,
        sandbox: &Sandbox,
        arguments: &Value,
    ) -> Result<Box<dyn PreparedCall>, String> {
        let tool = self.shell(sandbox).await;
        let environment = ToolEnvironment {
            mode: Mode::Plan,
            ..self.environment()
        };
        tool.prepare(&Json::of(arguments).unwrap(), &environment)
            .map_err(|refusal| refusal.to_string())
    }

    /// Returns the shell tool, which knows what can hold commands.
    pub(crate) async fn shell(&self, sandbox: &Sandbox) -> Arc<dyn Tool> {
        let mut variables = Environment::empty();
        variables.set("PATH", "/usr/bin:/bin");
        let tools = ToolSet::sandboxed(self.children.clone(), variables, Shell::Posix, sandbox.clone());
        let tool = tools.get("Exec").unwrap().clone();
        sandbox.settle().await;
        tool
    }

    /// Runs a command as if somebody had allowed it.
    pub(crate) async fn run(&self, sandbox: &Sandbox, command: &str) -> ToolOutput {
        let prepared = self.prepared(sandbox, command).await.unwrap();
        let context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
        prepared.run(context).await
    }

    /// Returns the context of a call of a Thread.
    pub(crate) fn context_of(thread: &str) -> CallContext {
        let mut context = CallContext::alone(CancellationToken::new(), Arc::new(Ears::default()));
        context.origin.thread = ThreadId::new(thread);
        context
    }

    /// Runs a command until it says something, and ends it then.
    pub(crate) async fn run_and_cancel(&self, sandbox: &Sandbox, command: &str) -> ToolOutput {
        let prepared = self.prepared(sandbox, command).await.unwrap();
        let ears = Ears::default();
        let context = CallContext::alone(ears.1.clone(), Arc::new(ears));
        prepared.run(context).await
    }
}

/// Makes a pipe with a name, and returns what ends once everyone who had it open to write is gone.
pub(crate) fn leash(path: &Path) -> JoinHandle<()> {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || {
        let mut all = String::new();
        let mut pipe = std::fs::File::open(path).unwrap();
        pipe.read_to_string(&mut all).unwrap();
    })
}

/// Hears a command out; what is in it ends the command at the first word.
#[derive(Default)]
pub(crate) struct Ears(Mutex<String>, CancellationToken);

impl OutputSink for Ears {
    fn write(&self, text: String) -> BoxFuture<'_, ()> {
        self.0.lock().push_str(&text);
        self.1.cancel();
        std::future::ready(()).boxed()
    }
}

/// Returns how a call is asked about and what its terminal view says.
pub(crate) fn told(prepared: &dyn PreparedCall) -> (String, CommandLine) {
    let reason = match prepared.permission() {
        Permission::Ask { reason, .. } => reason,
        Permission::Free => String::new(),
    };
    (reason, prepared.command().unwrap())
}
