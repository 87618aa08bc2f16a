//! What the program around a dialect provides: a core for the workspace that the client names.
//!
//! The workspace is known only once `initialize` has arrived (the working directory means nothing), so the core is opened by the handshake.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::Services;
use bobbin_agent_api::model_providers::ModelProviders;
use bobbin_agent_api::tool::ToolSpec;
use bobbin_core::Threads;
use bobbin_model::{ClientKeys, Effort};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::EditorTools;

/// Opens the core of a workspace.
pub trait Host: Send + Sync + 'static {
    /// Opens it; called at most once with success on each connection.
    fn open(&self, wanted: OpenRequest) -> BoxFuture<'_, Result<EditorServices, Failure>>;

    /// Returns the version said to clients.
    fn version(&self) -> &'static str;

    /// Returns how long a client has for its `initialize`, if there is a limit.
    fn handshake(&self) -> Option<Duration> {
        None
    }

    /// Returns once connections that have not opened anything are to end.
    fn ended(&self) -> BoxFuture<'_, ()> {
        std::future::pending().boxed()
    }
}

/// Reads pages of the web.
pub trait Pages: Send + Sync + 'static {
    /// Reads a page as text, bounded in time and size. An error is a reason, to follow a colon.
    fn read<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, String>>;
}

/// The models that users of editors choose from. A full name is `offline` or `PROVIDER/MODEL`.
pub trait EditorModels: Send + Sync + 'static {
    /// Returns the full names that are known now; never empty.
    fn known(&self) -> Vec<String>;

    /// Returns the full name of the model of chats that choose none.
    fn usual(&self) -> String;

    /// Returns the full name of the model that a name means; `None` if it means none.
    fn find(&self, name: &str) -> Option<String>;

    /// Returns the reasoning efforts that a model can be asked for.
    fn efforts(&self, name: &str) -> Vec<Effort>;

    /// Whether a model is sent pictures.
    fn sees_pictures(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Returns the providers that are offered, with their keys' status; none where nothing is known of them.
    fn providers(&self) -> Vec<(String, KeyStatus)> {
        Vec::new()
    }

    /// Returns the currency of prices, as ISO 4217, if it is named.
    fn currency(&self) -> Option<String> {
        None
    }

    /// Returns the limits of a model, if they are known.
    fn limit(&self, name: &str) -> Option<Limit>;

    /// Asks the providers for their models, unless they were asked a moment ago. `known` has them afterwards.
    fn refresh(&self) -> BoxFuture<'_, ()>;
}

/// What becomes of a message of an editor whose workspace is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Early {
    /// The server of the workspace answers it: it is the handshake.
    Open(OpenRequest),
    /// This is its answer.
    Answer(Bytes),
    /// The editor leaves.
    Exit,
    /// Nothing.
    Nothing,
}

/// Whether a provider has the key that it needs. The key was not tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStatus {
    /// It needs none.
    NotNeeded,
    /// One is configured.
    Configured,
    /// It needs one, and none is configured.
    Missing,
}

/// What a client asks for in its handshake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenRequest {
    /// Root of the first workspace folder; `None` when none was named.
    pub root: Option<PathBuf>,
    /// Ignore configuration files.
    pub pure_config: bool,
    /// The process that started the client's side.
    pub parent: Option<i64>,
    /// What its options say beside that.
    pub options: EditorOptions,
}

/// What a client's options say of models' providers and MCP servers, as the client writes it: its user's word.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EditorOptions {
    /// Providers of models by name; keys may stand in them.
    pub providers: Map<String, Value>,
    /// MCP servers by name; their environment may have secrets.
    pub mcp_servers: Map<String, Value>,
}

impl EditorOptions {
    /// Whether they say nothing.
    pub fn is_empty(&self) -> bool {
        self.providers.is_empty() && self.mcp_servers.is_empty()
    }
}

impl fmt::Debug for EditorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditorOptions")
            .field("providers", &self.providers.len())
            .field("mcp_servers", &self.mcp_servers.len())
            .finish()
    }
}

/// The workspace cannot be opened. The text is one sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

/// What a model can take and give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Limit {
    /// Tokens of its window.
    pub context: u64,
    /// Tokens of a reply.
    pub output: u64,
}

/// What is served.
#[derive(Clone)]
pub struct EditorServices {
    /// The core.
    pub threads: Arc<Threads>,
    /// The models that prompts may name.
    pub models: Arc<dyn EditorModels>,
    /// The built-in tools.
    pub tools: Vec<ToolSpec>,
    /// The features of the server.
    pub services: Services,
    /// What editors answer for, shared by the connections on this core.
    pub editor_tools: Arc<EditorTools>,
    /// Who reads the pages that prompts refer to; without it they are named.
    pub pages: Option<Arc<dyn Pages>>,
    /// Files the configuration was read from.
    pub config_files: Vec<PathBuf>,
    /// The user's home, for paths that begin with `~`.
    pub home: Option<PathBuf>,
    /// What the user should know at once.
    pub notices: Vec<UserNotice>,
    /// The keys of model providers that this client has.
    pub keys: ClientKeys,
    /// The user's own file of providers, for clients that run as the server's user on its machine.
    pub own_providers: Option<Arc<dyn ModelProviders>>,
}

/// A sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserNotice {
    /// How grave it is.
    pub kind: NoticeKind,
    /// The sentence.
    pub message: String,
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeKind {
    /// Something does not work.
    Error,
    /// Something may not work as meant.
    Warning,
    /// Good to know.
    Info,
}
