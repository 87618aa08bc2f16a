//! Tool servers as clients manage them: the contract between the dialects and the host of such servers.
//!
//! What a server is at a moment, for users to see, is a [`ToolServer`]; every change of it is sent to all clients
//! through `Hub::announce`. What it takes to start one is a [`ToolServerConfig`]; it holds
//! secrets, which [`Secrets`] keeps out of logs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::{ServerOrigin, ToolServer};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};

/// A tool server's configuration (AppServer protocol 05 §8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolServerConfig {
    /// Its name; compared without case.
    pub name: String,
    /// Whether it may run.
    pub enabled: bool,
    /// How to reach it.
    pub access: ServerAccess,
    /// Whether a server that a folder brings runs outside of the sandbox, as its user's own do.
    pub outside_sandbox: bool,
    /// How long it may take to start.
    pub start_timeout: Option<Duration>,
    /// How long a call may take.
    pub call_timeout: Option<Duration>,
}

/// How to reach a tool server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAccess {
    /// Start it and speak with it on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are set for it.
        env: Secrets,
        /// Names of variables that it gets from our own environment.
        env_vars: Vec<String>,
        /// Where it starts; the workspace when left out.
        cwd: Option<String>,
    },
    /// Speak with it over streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Name of the variable with the bearer token.
        bearer_token_env_var: Option<String>,
        /// Headers of every request.
        headers: Secrets,
        /// Headers whose values stand in variables: header to variable name.
        env_headers: BTreeMap<String, String>,
    },
}

/// Named values that do not belong in a log.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secrets(pub BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A configuration and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredServer {
    /// The configuration.
    pub config: ToolServerConfig,
    /// Whose it is.
    pub origin: ServerOrigin,
    /// Whether clients may not change it.
    pub read_only: bool,
}

/// Something to read that a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerResource {
    /// The server.
    pub server: String,
    /// Its address, unique on its server.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it is; empty when that is not said.
    pub description: String,
    /// Its kind; empty when that is not said.
    pub mime_type: String,
}

/// A prompt that a server fills in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPrompt {
    /// The server.
    pub server: String,
    /// Its name, unique on its server.
    pub name: String,
    /// What it is for; empty when that is not said.
    pub description: String,
    /// What it needs, in order.
    pub arguments: Vec<PromptArgument>,
}

/// A prompt of a server with what a user typed for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedPrompt {
    /// The server.
    pub server: String,
    /// The prompt.
    pub name: String,
    /// The values of its arguments.
    pub arguments: BTreeMap<String, String>,
}

/// Returns the prompt of a server that a message asks for: `/server:prompt first second …`, the last argument taking
/// what is left. The error says which argument is missing.
pub fn typed_prompt(message: &str, prompts: &[ServerPrompt]) -> Option<Result<TypedPrompt, String>> {
    let mut words = message.strip_prefix('/')?.splitn(2, char::is_whitespace);
    let typed = words.next()?;
    // Servers of plugins have a colon in their names.
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

/// What a prompt needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether it must be given.
    pub required: bool,
}

/// Why something could not be done with a tool server. The texts are for the user and carry no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolServerError {
    /// No server has this name.
    #[error("there is no tool server {0:?}")]
    NotFound(String),
    /// The configuration cannot be used.
    #[error("{0}")]
    Invalid(String),
    /// The name is taken by a server that may not be changed.
    #[error("{0}")]
    NameConflict(String),
    /// The server may not be changed here.
    #[error("the tool server {0:?} is in a file that clients do not change; change it there")]
    ReadOnly(String),
    /// The configuration could not be written; nothing has changed.
    #[error("{0}")]
    Unwritable(String),
}

/// Takes the answer to a change. Must not wait.
pub type ServerReply<T> = Box<dyn FnOnce(Result<T, ToolServerError>) + Send>;

/// Broadcast: a tool server is as it says here.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolServerNews(pub Arc<ToolServer>);

/// Broadcast: a login at a tool server has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginNews {
    /// The server.
    pub server: String,
    /// Whether the user is logged in; the error is the end of a sentence that begins with the server's name.
    pub outcome: Result<(), String>,
}

/// Runs the workspace's tool servers.
pub trait ToolServers: Send + Sync + 'static {
    /// Returns how they are, by name.
    fn servers(&self) -> Vec<Arc<ToolServer>>;

    /// Returns their configurations, by name.
    fn configured(&self) -> Vec<ConfiguredServer>;

    /// Starts one that does not run, because a user asked for it.
    ///
    /// # Errors
    /// [`ToolServerError::NotFound`], [`ToolServerError::Invalid`].
    fn start(&self, name: &str) -> Result<(), ToolServerError>;

    /// Stops one, with everything that it started.
    ///
    /// # Errors
    /// [`ToolServerError::NotFound`].
    fn stop(&self, name: &str) -> Result<(), ToolServerError>;

    /// Adds a server to the workspace's configuration, or replaces it there, because a user asked for it. It
    /// is started in the background. `reply` is called before clients are notified.
    fn upsert(&self, config: ToolServerConfig, reply: ServerReply<ConfiguredServer>) -> BoxFuture<'_, ()>;

    /// Removes a server from the workspace's configuration and ends it. `reply` is called before clients are
    /// notified.
    fn remove(&self, name: String, reply: ServerReply<()>) -> BoxFuture<'_, ()>;

    /// Starts a server, counts its tools and ends it again. The outer error says that it was not even tried;
    /// the inner one is a sentence for the user.
    fn test(&self, config: ToolServerConfig)
    -> BoxFuture<'_, Result<Result<usize, String>, ToolServerError>>;

    /// Returns what there is to read on the servers that run.
    fn resources(&self) -> Vec<ServerResource> {
        Vec::new()
    }

    /// Returns the prompts of the servers that run.
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

    /// Has a prompt filled in; bounded in time and size.
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

    /// Starts a login at a server, because a user asked for it. Returns the page that the user opens; a login that
    /// waits already has the same page. Its end is a [`LoginNews`].
    fn log_in<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<String, ToolServerError>> {
        ready(Err(ToolServerError::NotFound(name.to_owned()))).boxed()
    }

    /// Removes what a login has given. Returns whether there was anything.
    fn log_out<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, ToolServerError>> {
        ready(Err(ToolServerError::NotFound(name.to_owned()))).boxed()
    }

    /// Ends them all, for good.
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
