//! Starting a server, or reaching it, and getting to know it: the MCP handshake, its list of tools.
//!
//! Owns what it has made until the whole succeeds; dropped before that, nothing is left. Knows nothing of retries.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{ChildError, Children, PipedChild, Pipes, ProcessSpec};
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{ClientInitializeError, NotificationContext, RunningService, ServiceExt as _};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::listing::{self, Listing};
use crate::logged::LastLine;
use crate::pace::{Flooded, MAX_MESSAGE, Paced};
use crate::text::told;
use crate::{HttpSpec, Launch, ServerSpec};

/// How long a server may take to end by itself, and again once it is asked to.
const GRACE: Duration = Duration::from_millis(500);
/// How long a connection may take to close.
pub(crate) const CLOSE: Duration = Duration::from_secs(1);
/// How long what a server wrote last may take to be read.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Longest sentence about what went wrong.
const MAX_PROBLEM: usize = 500;

/// A server that can be called.
pub(crate) struct Connection {
    pub(crate) service: RunningService<RoleClient, Ear>,
    pub(crate) tools: Listing,
    /// Its process, where it is one of ours.
    pub(crate) child: Option<Child>,
}

/// The process of a server.
pub(crate) struct Child {
    process: PipedChild,
    said: LastLine,
    reading: AbortOnDropHandle<()>,
    flooded: Flooded,
}

/// What is left of the process of a server.
pub(crate) struct Ended {
    /// The last that it said beside its messages.
    pub(crate) said: String,
    /// Why it was given up, if it flooded.
    pub(crate) flood: Option<String>,
}

/// Why a server could not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// A sentence for the user.
    pub(crate) problem: String,
    /// Whether trying again is no use.
    pub(crate) lasting: bool,
}

/// What we hear of a server unasked.
#[derive(Debug, Clone)]
pub(crate) struct Ear {
    /// Rung when what it lists has changed.
    pub(crate) changed: Arc<Notify>,
}

impl ClientHandler for Ear {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new("bobbin", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), this)
    }
}

/// Starts a server.
pub(crate) async fn connect(spec: &ServerSpec, children: &Children) -> Result<Connection, Failure> {
    if let Some(check) = spec.check.clone() {
        let checked = tokio::task::spawn_blocking(move || (check.0)()).await;
        let checked = checked.unwrap_or_else(|error| Err(format!("it cannot be checked: {error}")));
        checked.map_err(lasting)?;
    }
    let (what, started) = match &spec.launch {
        Launch::Child(process) => {
            let program = process.program.to_string_lossy().into_owned();
            let started = start(spec, children, (**process).clone());
            (program, timeout(spec.start_timeout, started).await)
        }
        Launch::Http(http) => (
            "it".to_owned(),
            timeout(spec.start_timeout, reach(spec, http)).await,
        ),
        Launch::Disabled => return Err(lasting("it is disabled".to_owned())),
        Launch::Withheld(why) => return Err(lasting(why.clone())),
    };
    match started {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(Trouble::Child(error))) => Err(Failure {
            problem: sentence(&error, spec),
            lasting: is_lasting(&error),
        }),
        Ok(Err(Trouble::Setting(problem))) => Err(lasting(problem)),
        Ok(Err(Trouble::Talk { how, said })) => {
            let why = if said.is_empty() {
                String::new()
            } else {
                format!(": {said}")
            };
            let problem = told(&format!("{what} {how}{why}"), &spec.secrets, MAX_PROBLEM);
            Err(Failure {
                problem,
                lasting: false,
            })
        }
        Err(_) => Err(Failure {
            problem: format!("{what} did not answer within {:?}", spec.start_timeout),
            lasting: false,
        }),
    }
}

enum Trouble {
    Child(ChildError),
    Setting(String),
    Talk { how: String, said: String },
}

async fn start(spec: &ServerSpec, children: &Children, process: ProcessSpec) -> Result<Connection, Trouble> {
    let (child, pipes) = children.start_piped(process).await.map_err(Trouble::Child)?;
    let Pipes {
        input,
        output,
        errors,
    } = pipes;
    let said = LastLine::default();
    let flooded = Flooded::default();
    let reading = tokio::spawn(said.clone().follow(spec.name.clone(), errors, flooded.clone()));
    let child = Child {
        process: child,
        said,
        reading: AbortOnDropHandle::new(reading),
        flooded: flooded.clone(),
    };
    let output = Paced::new(output, flooded.clone());
    let transport = AsyncRwTransport::new_client(output, input).with_max_line_length(MAX_MESSAGE);
    let shaken = tokio::select! {
        biased;
        _ = flooded.wait() => Err("floods".to_owned()),
        shaken = shake_hands(spec, transport) => shaken,
    };
    match shaken {
        Ok((service, tools)) => Ok(Connection {
            service,
            tools,
            child: Some(child),
        }),
        Err(how) => {
            let Ended { said, flood } = child.end().await;
            Err(match flood {
                Some(flood) => Trouble::Setting(flood),
                None => Trouble::Talk { how, said },
            })
        }
    }
}

async fn reach(spec: &ServerSpec, http: &HttpSpec) -> Result<Connection, Trouble> {
    let transport = crate::http::transport(http).map_err(Trouble::Setting)?;
    match shake_hands(spec, transport).await {
        Ok((service, tools)) => Ok(Connection {
            service,
            tools,
            child: None,
        }),
        Err(how) => Err(Trouble::Talk {
            how,
            said: String::new(),
        }),
    }
}

/// Does the handshake and asks for the tools. An error follows the server's name in a sentence.
async fn shake_hands<T, E, A>(
    spec: &ServerSpec,
    transport: T,
) -> Result<(RunningService<RoleClient, Ear>, Listing), String>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let ear = Ear {
        changed: Arc::default(),
    };
    let over_http = matches!(spec.launch, Launch::Http(_));
    let service = ear
        .serve(transport)
        .await
        .map_err(|error| in_words(error, over_http))?;
    let tools = if has_tools(&service) {
        listing::tools(&service, &spec.name)
            .await
            .map_err(|error| format!("did not list its tools ({error})"))?
    } else {
        Listing::default()
    };
    Ok((service, tools))
}

/// Returns what went wrong in a handshake, to follow the program's name.
fn in_words(error: ClientInitializeError, over_http: bool) -> String {
    if error.is_authorization_required() {
        return "wants an authorization; give it a token (BearerTokenEnvVar)".to_owned();
    }
    match error {
        ClientInitializeError::TransportError { error, .. } if over_http => {
            format!("cannot be reached ({})", causes(&*error.error))
        }
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
            "ended before it was ready".to_owned()
        }
        ClientInitializeError::JsonRpcError(error) => {
            format!("refused the handshake ({})", error.message)
        }
        _ => "is not a usable MCP server".to_owned(),
    }
}

fn has_tools(service: &RunningService<RoleClient, Ear>) -> bool {
    service
        .peer_info()
        .is_some_and(|info| info.capabilities.tools.is_some())
}

impl Connection {
    /// Ends the connection and everything behind it.
    pub(crate) async fn end(mut self) {
        if let Err(error) = self.service.close_with_timeout(CLOSE).await {
            tracing::warn!(%error, "a connection to an MCP server ended badly");
        }
        if let Some(child) = self.child {
            drop(child.end().await);
        }
    }
}

impl Child {
    /// Returns once the process has exited or floods.
    pub(crate) async fn exited(&mut self) {
        tokio::select! {
            () = self.process.exited() => {}
            _ = self.flooded.wait() => {}
        }
    }

    /// Ends it with everything that it started.
    pub(crate) async fn end(self) -> Ended {
        if let Err(error) = self.process.end(GRACE).await {
            tracing::debug!(%error, "an MCP server's end was not seen");
        }
        // Its last words are in the pipe; who has left the group may hold that open for ever.
        drop(timeout(LAST_WORDS, self.reading).await);
        Ended {
            said: self.said.get(),
            flood: self.flooded.get().map(|stream| {
                format!("it was stopped: it floods its {stream}. Start it again once that is mended")
            }),
        }
    }
}

fn lasting(problem: String) -> Failure {
    Failure {
        problem,
        lasting: true,
    }
}

/// Whether a process cannot be started for a reason that only a person can remove.
fn is_lasting(error: &ChildError) -> bool {
    let missing = |source: &io::Error| {
        matches!(
            source.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
        )
    };
    match error {
        ChildError::Spawn { source, .. } | ChildError::WorkingDirectory { source, .. } => missing(source),
        ChildError::ParentGone
        | ChildError::Parent(_)
        | ChildError::NotStarted(_)
        | ChildError::Confinement(_)
        | ChildError::Watch(_)
        | ChildError::Wait(_) => false,
    }
}

fn sentence(error: &(dyn std::error::Error + 'static), spec: &ServerSpec) -> String {
    told(&causes(error), &spec.secrets, MAX_PROBLEM)
}

/// Returns an error with what caused it.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
