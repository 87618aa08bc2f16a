//! A workspace on disk for tests of tools; gone when dropped.

use std::ops::Deref;
use std::sync::Arc;

use bobbin_agent_api::tool::{CallContext, OutputSink, OutsideWorkspace, Tool, ToolEnvironment, ToolOutput};
use bobbin_model::{ApprovalPolicy, Json, Mode, ThreadConfig, ThreadId};
use bobbin_testkit::Folder;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use bobbin_policy::RulesPolicy;

/// A folder, and the environment of its calls.
pub(crate) struct Workspace(Folder);

impl Deref for Workspace {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

impl Workspace {
    pub(crate) fn new() -> Self {
        Self(Folder::new())
    }

    pub(crate) fn environment(&self) -> ToolEnvironment {
        ToolEnvironment {
            root: self.root().to_owned(),
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

    /// Prepares and runs a call without an approval.
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
    crate::read_file::ReadFile::new(crate::blocking::FileWork::new())
}

/// Returns `WriteFile`.
pub(crate) fn write_file() -> impl Tool {
    crate::write_file::WriteFile::new(crate::blocking::FileWork::new())
}

/// Returns `GrepFiles`.
pub(crate) fn search() -> impl Tool {
    crate::grep_files::GrepFiles::new(crate::blocking::FileWork::new())
}
