//! A workspace on disk for tests, with a place outside of it; gone when dropped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::tool::{CallContext, OutputSink, OutsideWorkspace, Tool, ToolEnvironment, ToolOutput};
use bobbin_model::{ApprovalPolicy, Json, Mode, ThreadConfig, ThreadId};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::RulesPolicy;

pub(crate) struct Workspace {
    root: PathBuf,
    outside: PathBuf,
    _place: tempfile::TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (root, outside) = (top.join("work"), top.join("out"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        Self {
            root,
            outside,
            _place: place,
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn outside(&self) -> &Path {
        &self.outside
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    pub(crate) fn environment(&self) -> ToolEnvironment {
        ToolEnvironment {
            root: self.root.clone(),
            mode: Mode::Agent,
            outside_workspace: OutsideWorkspace::Ask,
            config: Arc::new(ThreadConfig::default()),
            policy: Arc::new(RulesPolicy::default()),
            approvals: ApprovalPolicy::Default,
            clients: bobbin_agent_api::client::ThreadClients::default(),
        }
    }

    pub(crate) fn json(value: &serde_json::Value) -> Json {
        Json::of(value).unwrap()
    }

    pub(crate) fn context() -> CallContext {
        let mut context = CallContext::alone(CancellationToken::new(), Arc::new(Deaf));
        context.origin.thread = ThreadId::new("thread_test");
        context
    }

    /// Prepares and runs a call without asking anybody.
    pub(crate) async fn call(&self, tool: &dyn Tool, arguments: serde_json::Value) -> ToolOutput {
        let prepared = tool
            .prepare(&Self::json(&arguments), &self.environment())
            .unwrap();
        prepared.run(Self::context()).await
    }
}

struct Deaf;

impl OutputSink for Deaf {
    fn write(&self, _text: String) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// Returns `ReadFile`.
pub(crate) fn read_file() -> impl Tool {
    super::read_file::ReadFile::new(super::blocking::FileWork::new())
}

/// Returns `WriteFile`.
pub(crate) fn write_file() -> impl Tool {
    super::write_file::WriteFile::new(super::blocking::FileWork::new())
}

/// Returns `GrepFiles`.
pub(crate) fn search() -> impl Tool {
    super::search::GrepFiles::new(super::blocking::FileWork::new())
}
