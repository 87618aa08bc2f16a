//! Tool servers: the contract between the dialects and the host of such servers.
//!
//! A [`ToolServer`] is a server's state as users see it; all clients get every change. A [`ToolServerConfig`] is what starts
//! a server; its [`Secrets`] do not show up in logs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{Json, ServerOrigin, ToolServer};

use crate::tool::Tool;
use crate::workspace_config::ConfigOwner;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};

/// A tool server's configuration (AppServer protocol 05 §8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolServerConfig {
    /// Its name, compared without case.
    pub name: String,
    /// Whether it is enabled.
    pub enabled: bool,
    /// How to reach it.
    pub access: ServerAccess,
    /// Whether a folder's server runs outside of the sandbox, as the user's own servers do.
    pub outside_sandbox: bool,
    /// Time limit for its start.
    pub start_timeout: Option<Duration>,
    /// Time limit for a call.
    pub call_timeout: Option<Duration>,
}

/// Access to a tool server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAccess {
    /// The server starts it and talks to it on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Additional variables of its environment.
        env: Secrets,
        /// Names of variables that it inherits from the server's environment.
        env_vars: Vec<String>,
        /// Working directory; `None` means the workspace.
        cwd: Option<String>,
    },
    /// The server talks to it over streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Name of the variable with the bearer token.
        bearer_token_env_var: Option<String>,
        /// Headers of every request.
        headers: Secrets,
        /// Headers whose values are in variables: header to variable name.
        env_headers: BTreeMap<String, String>,
    },
}

/// Named values that must not be logged.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secrets(pub BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A configuration and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredServer {
    /// The configuration.
    pub config: ToolServerConfig,
    /// Its origin.
    pub origin: ServerOrigin,
    /// Whether clients may not change it.
    pub read_only: bool,
}

/// A resource of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerResource {
    /// The server.
    pub server: String,
    /// Its address, unique on its server.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its description; empty if the server gives none.
    pub description: String,
    /// Its media type; empty if the server gives none.
    pub mime_type: String,
}

/// A template of the addresses of resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceTemplate {
    /// The template (RFC 6570), unique on its server.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// Its description; empty if the server gives none.
    pub description: String,
    /// The media type of its resources; empty if the server gives none.
    pub mime_type: String,
}

/// The way in which a user is known at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerLogin {
    /// By nothing that Bobbin knows.
    Unsupported,
    /// By a login that the user has not made, or that does not count any more.
    NotLoggedIn {
        /// Whether there was a login before.
        again: bool,
    },
    /// By a token of the configuration.
    BearerToken,
    /// By the tokens of a login.
    OAuth,
}

/// A server with everything that it offers now.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerDetails {
    /// Its state and its tools.
    pub server: Arc<ToolServer>,
    /// How its user is known there.
    pub login: ServerLogin,
    /// Its own description of itself: name and version. `None` if it does not run.
    pub info: Option<Json>,
    /// Its resources.
    pub resources: Arc<[ServerResource]>,
    /// Its templates of resources.
    pub templates: Arc<[ResourceTemplate]>,
}

/// A client's wishes for a login.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginWishes {
    /// Scopes to ask for beside those of the server.
    pub scopes: Vec<String>,
    /// How long the user may take, within the server's own limit.
    pub limit: Option<Duration>,
}

/// Reason why a tool of a server cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTool {
    /// No server has this name.
    #[error("there is no tool server {0:?}")]
    Server(String),
    /// The server has no tool of this name.
    #[error("the MCP server {server} has no tool {tool:?}")]
    Tool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// The server does not run; the text is for the user.
    #[error("{0}")]
    NotConnected(String),
}

/// A prompt that a server fills in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPrompt {
    /// The server.
    pub server: String,
    /// Its name, unique on its server.
    pub name: String,
    /// Its description; empty if the server gives none.
    pub description: String,
    /// Its arguments, in order.
    pub arguments: Vec<PromptArgument>,
}

/// A server's prompt, with the arguments that a user typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedPrompt {
    /// The server.
    pub server: String,
    /// The prompt.
    pub name: String,
    /// The values of its arguments.
    pub arguments: BTreeMap<String, String>,
}

/// Returns the server's prompt that a message requests: `/server:prompt first second …`. The last argument takes the rest of
/// the text. The error names the missing argument.
pub fn typed_prompt(message: &str, prompts: &[ServerPrompt]) -> Option<Result<TypedPrompt, String>> {
    let mut words = message.strip_prefix('/')?.splitn(2, char::is_whitespace);
    let typed = words.next()?;
    // Names of plugins' servers contain a colon.
    let is_typed = |prompt: &&ServerPrompt| {
        let name = typed
            .strip_prefix(prompt.server.as_str())
            .and_then(|rest| rest.strip_prefix(':'));
        name == Some(prompt.name.as_str())
    };
    let prompt = prompts.iter().find(is_typed)?;
    let mut rest = words.next().unwrap_or_default().trim();
    let mut arguments = BTreeMap::new();
    for (index, argument) in prompt.arguments.iter().enumerate() {
        let is_last = index + 1 == prompt.arguments.len();
        let (value, left) = match rest.split_once(char::is_whitespace) {
            Some((value, left)) if !is_last => (value, left.trim_start()),
            _ => (rest, ""),
        };
        rest = left;
        if !value.is_empty() {
            arguments.insert(argument.name.clone(), value.to_owned());
        } else if argument.required {
            return Some(Err(format!("/{typed} needs {}", argument.name)));
        }
    }
    Some(Ok(TypedPrompt {
        server: prompt.server.clone(),
        name: prompt.name.clone(),
        arguments,
    }))
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Whether it is required.
    pub required: bool,
}

/// Error of an operation on a tool server. The texts are for the user and contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolServerError {
    /// No server has this name.
    #[error("there is no tool server {0:?}")]
    NotFound(String),
    /// The configuration is invalid.
    #[error("{0}")]
    Invalid(String),
    /// A server that may not be changed has this name.
    #[error("{0}")]
    NameConflict(String),
    /// The server may not be changed here.
    #[error("the tool server {0:?} is in a file that clients do not change; change it there")]
    ReadOnly(String),
    /// The configuration could not be written; nothing has changed.
    #[error("{0}")]
    Unwritable(String),
}

/// Receives the answer to a change. Must not block.
pub type ServerReply<T> = Box<dyn FnOnce(Result<T, ToolServerError>) + Send>;

/// Broadcast: the state of a tool server has changed to this.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolServerNews(pub Arc<ToolServer>);

/// Broadcast: a login at a tool server has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginNews {
    /// The server.
    pub server: String,
    /// Whether the user is logged in. The error continues a sentence that starts with the server's name.
    pub outcome: Result<(), String>,
}

/// Runs the workspace's tool servers.
pub trait ToolServers: Send + Sync + 'static {
    /// Returns their states, by name.
    fn servers(&self) -> Vec<Arc<ToolServer>>;

    /// Returns their configurations, by name.
    fn configured(&self) -> Vec<ConfiguredServer>;

    /// Starts a server that does not run, at a user's request.
    ///
    /// # Errors
    /// [`ToolServerError::NotFound`], [`ToolServerError::Invalid`].
    fn start(&self, name: &str) -> Result<(), ToolServerError>;

    /// Stops a server and all processes that it started.
    ///
    /// # Errors
    /// [`ToolServerError::NotFound`].
    fn stop(&self, name: &str) -> Result<(), ToolServerError>;

    /// Adds a server to a configuration file, or replaces it, at a user's request. Starts it in the background. Calls
    /// `reply` before clients are notified. Without a file it is the workspace's, and a server of the user's own with
    /// this name is an error.
    fn upsert(
        &self,
        config: ToolServerConfig,
        file: Option<ConfigOwner>,
        reply: ServerReply<ConfiguredServer>,
    ) -> BoxFuture<'_, ()>;

    /// Removes a server from a configuration file, by default the workspace's, and ends it. Calls `reply` before clients
    /// are notified.
    fn remove(&self, name: String, file: Option<ConfigOwner>, reply: ServerReply<()>) -> BoxFuture<'_, ()>;

    /// Starts a server, counts its tools and ends it. The outer error means that it was not started; the inner one is a
    /// sentence for the user.
    fn test(&self, config: ToolServerConfig)
    -> BoxFuture<'_, Result<Result<usize, String>, ToolServerError>>;

    /// Returns the resources of the running servers.
    fn resources(&self) -> Vec<ServerResource> {
        Vec::new()
    }

    /// Returns the prompts of the running servers.
    fn prompts(&self) -> Vec<ServerPrompt> {
        Vec::new()
    }

    /// Reads a resource as text; bounded in time and size.
    fn read_resource<'a>(
        &'a self,
        server: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<String, ToolServerError>> {
        let _ = uri;
        ready(Err(ToolServerError::NotFound(server.to_owned()))).boxed()
    }

    /// Asks the server to fill in a prompt; bounded in time and size.
    fn fill_prompt<'a>(
        &'a self,
        server: &'a str,
        name: &'a str,
        arguments: BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<String, ToolServerError>> {
        let _ = name;
        drop(arguments);
        ready(Err(ToolServerError::NotFound(server.to_owned()))).boxed()
    }

    /// Returns the servers with everything that they offer, by name.
    fn details(&self) -> BoxFuture<'_, Vec<ServerDetails>> {
        ready(Vec::new()).boxed()
    }

    /// Returns a tool of a server that runs, by the server's own name for it.
    ///
    /// # Errors
    /// [`NoTool`].
    fn tool(&self, server: &str, tool: &str) -> Result<Arc<dyn Tool>, NoTool> {
        let _ = tool;
        Err(NoTool::Server(server.to_owned()))
    }

    /// Reads a resource and returns the server's answer as it is; bounded in time and by the server's largest message.
    fn read_whole_resource<'a>(
        &'a self,
        server: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Json, ToolServerError>> {
        let _ = uri;
        ready(Err(ToolServerError::NotFound(server.to_owned()))).boxed()
    }

    /// Reads the configuration files again, and starts or ends the servers that have changed. Returns before they have
    /// started.
    fn reload(&self) -> BoxFuture<'_, Result<(), ToolServerError>> {
        ready(Ok(())).boxed()
    }

    /// Starts a login at a server, at a user's request. Returns the page that the user opens; a pending login has the
    /// same page. Its end is a [`LoginNews`].
    fn log_in<'a>(
        &'a self,
        name: &'a str,
        wishes: LoginWishes,
    ) -> BoxFuture<'a, Result<String, ToolServerError>> {
        drop(wishes);
        ready(Err(ToolServerError::NotFound(name.to_owned()))).boxed()
    }

    /// Removes the credentials of a login. Returns whether there were any.
    fn log_out<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, ToolServerError>> {
        ready(Err(ToolServerError::NotFound(name.to_owned()))).boxed()
    }

    /// Ends all servers for good.
    fn end(&self) -> BoxFuture<'_, ()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brew() -> Vec<ServerPrompt> {
        let argument = |name: &str, required| PromptArgument {
            name: name.to_owned(),
            description: None,
            required,
        };
        vec![ServerPrompt {
            server: "pantry".to_owned(),
            name: "brew".to_owned(),
            description: String::new(),
            arguments: vec![argument("leaf", true), argument("milk", false)],
        }]
    }

    #[test]
    fn arguments_are_taken_in_their_order_and_the_last_takes_the_rest() {
        for (message, expected) in [
            ("/pantry:brew assam", vec![("leaf", "assam")]),
            (
                "/pantry:brew assam  a little, cold",
                vec![("leaf", "assam"), ("milk", "a little, cold")],
            ),
        ] {
            let filling = typed_prompt(message, &brew()).unwrap().unwrap();
            let expected = expected
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(
                filling.arguments,
                expected.collect::<BTreeMap<_, _>>(),
                "{message}"
            );
        }
        assert_eq!(
            typed_prompt("/pantry:brew", &brew()).unwrap().unwrap_err(),
            "/pantry:brew needs leaf"
        );
        let mut of_plugin = brew();
        of_plugin[0].server = "tea-log:pantry".to_owned();
        let typed = typed_prompt("/tea-log:pantry:brew assam", &of_plugin)
            .unwrap()
            .unwrap();
        assert_eq!(
            (typed.server.as_str(), typed.name.as_str()),
            ("tea-log:pantry", "brew")
        );
        for other in ["/pantry:boil", "/brew", "pantry:brew x", "/", ""] {
            assert!(typed_prompt(other, &brew()).is_none(), "{other}");
        }
    }
}
