//! Starting a server, or reaching it, and getting to know it: the MCP handshake, its list of tools.
//!
//! Owns what it has made until the whole succeeds; dropped before that, nothing is left. Knows nothing of retries.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{ChildError, Children, ProcessSpec};
use bobbin_supervise::{Child, Ended, Failure, Streams, causes, is_lasting};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::service::{
    ClientInitializeError, Peer, RunningService, RunningServiceCancellationToken, ServiceError,
    ServiceExt as _,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::elicit::OpenCalls;
use crate::handler::Handler;
use crate::http;
use crate::large::{Large, MAX_MESSAGE};
use crate::listing::{self, Listing};
use crate::login::authorized;
use crate::text::shown;
use crate::{HttpSpec, Launch, ServerSpec};

/// How long a server may take to end by itself, and again once it is asked to.
const GRACE: Duration = Duration::from_millis(500);
/// How long a connection may take to close.
const CLOSE: Duration = Duration::from_secs(1);
/// Longest sentence about what went wrong.
const MAX_PROBLEM: usize = 500;

/// The connection to a server, and its process.
pub(crate) struct Connection {
    pub(crate) peer: Peer<RoleClient>,
    /// Notified when what the server lists has changed.
    pub(crate) changed: Arc<Notify>,
    /// The calls that its questions can belong to.
    pub(crate) calls: Arc<OpenCalls>,
    close: RunningServiceCancellationToken,
    closed: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Where it is one of ours.
    child: Option<Child>,
}

/// Starts a server and lists its tools. `root` is the address of the workspace.
// Boxed: each crate that connects servers would compile the future, and all of `rmcp` with it, anew.
pub(crate) fn connect<'a>(
    spec: &'a ServerSpec,
    children: &'a Children,
    root: Option<&'a Arc<str>>,
) -> BoxFuture<'a, Result<(Connection, Listing), NotStarted>> {
    connect_one(spec, children, root).boxed()
}

async fn connect_one(
    spec: &ServerSpec,
    children: &Children,
    root: Option<&Arc<str>>,
) -> Result<(Connection, Listing), NotStarted> {
    if let Some(check) = spec.check.clone() {
        let checked = tokio::task::spawn_blocking(move || (check.0)()).await;
        let checked = checked.unwrap_or_else(|error| Err(format!("it cannot be checked: {error}")));
        checked.map_err(Failure::lasting)?;
    }
    let (what, started) = match &spec.launch {
        Launch::Child(process) => {
            let program = process.program.to_string_lossy().into_owned();
            let started = start(spec, children, root, (**process).clone());
            (program, timeout(spec.start_timeout, started).await)
        }
        Launch::Http(http) => (
            "it".to_owned(),
            timeout(spec.start_timeout, reach(spec, root, http)).await,
        ),
        Launch::Disabled => return Err(Failure::lasting("it is disabled").into()),
        Launch::Withheld(why) => return Err(Failure::lasting(why).into()),
    };
    match started {
        Ok(Ok(started)) => Ok(started),
        Ok(Err(Trouble::Child(error))) => Err(NotStarted::from(Failure {
            problem: shown(&causes(&error), &spec.secrets, MAX_PROBLEM),
            lasting: is_lasting(&error),
        })),
        Ok(Err(Trouble::Setting(problem))) => Err(Failure::lasting(problem).into()),
        Ok(Err(Trouble::Login(problem))) => Err(NotStarted {
            failure: Failure::lasting(problem),
            wants_login: true,
        }),
        Ok(Err(Trouble::Talk { how, said })) => {
            let why = said.map_or_else(String::new, |said| format!(": {said}"));
            let problem = shown(&format!("{what} {how}{why}"), &spec.secrets, MAX_PROBLEM);
            Err(Failure::passing(problem).into())
        }
        Err(_) => {
            let limit = spec.start_timeout;
            Err(Failure::passing(format!("{what} did not answer within {limit:?}")).into())
        }
    }
}

/// Why a server was not started.
pub(crate) struct NotStarted {
    pub(crate) failure: Failure,
    /// Whether its user has to log in first.
    pub(crate) wants_login: bool,
}

impl From<Failure> for NotStarted {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            wants_login: false,
        }
    }
}

enum Trouble {
    Child(ChildError),
    Setting(String),
    /// Its user has to log in.
    Login(String),
    Talk {
        how: String,
        said: Option<String>,
    },
}

type Greeted = (RunningService<RoleClient, Handler>, Listing);

async fn start(
    spec: &ServerSpec,
    children: &Children,
    root: Option<&Arc<str>>,
    process: ProcessSpec,
) -> Result<(Connection, Listing), Trouble> {
    let sandbox = spec.sandbox.as_ref();
    let process = match sandbox {
        Some(sandbox) => {
            let confined = sandbox.confine(process).await;
            confined.map_err(|why| Trouble::Setting(format!("it cannot be confined: {why}")))?
        }
        None => process,
    };
    let started = Child::start(children, process, &spec.name).await;
    let started = started.inspect_err(|error| {
        if let Some(sandbox) = sandbox {
            sandbox.has_failed(error);
        }
    });
    let (child, Streams { input, output }) = started.map_err(Trouble::Child)?;
    let transport = AsyncRwTransport::new_client(Large::new(output), input).with_max_line_length(MAX_MESSAGE);
    let greeted = tokio::select! {
        biased;
        () = child.flooded() => Err("floods".to_owned()),
        greeted = greet(spec, root, transport) => greeted.map_err(|error| error.in_words(false)),
    };
    match greeted {
        Ok(greeted) => Ok(Connection::new(greeted, Some(child))),
        Err(how) => {
            let Ended {
                mut errors, flood, ..
            } = child.end(GRACE).await;
            Err(match flood {
                Some(stream) => Trouble::Setting(flooded(stream)),
                None => Trouble::Talk {
                    how,
                    said: errors.pop(),
                },
            })
        }
    }
}

async fn reach(
    spec: &ServerSpec,
    root: Option<&Arc<str>>,
    at: &HttpSpec,
) -> Result<(Connection, Listing), Trouble> {
    let config = http::config(at).map_err(Trouble::Setting)?;
    let client = http::client().map_err(Trouble::Setting)?;
    let manager = match &at.bearer {
        Some(_) => None,
        None => authorized(at)
            .await
            .map_err(|how| Trouble::Talk { how, said: None })?,
    };
    let has_tokens = manager.is_some();
    let greeted = match manager {
        Some(manager) => {
            let client = AuthClient::new(client, manager);
            greet(
                spec,
                root,
                StreamableHttpClientTransport::with_client(client, config),
            )
            .await
        }
        None => {
            greet(
                spec,
                root,
                StreamableHttpClientTransport::with_client(client, config),
            )
            .await
        }
    };
    let error = match greeted {
        Ok(greeted) => return Ok(Connection::new(greeted, None)),
        Err(error) => error,
    };
    if error.is_authorization_required() || (!has_tokens && http::challenge(at).await.is_some()) {
        let login = format!("`bobbin mcp login {}`", spec.name);
        return Err(if at.bearer.is_some() {
            Trouble::Setting("it does not accept its token (BearerTokenEnvVar)".to_owned())
        } else if has_tokens {
            Trouble::Login(format!("its login is over; run {login} again, then start it"))
        } else {
            Trouble::Login(format!(
                "it wants a login; run {login}, or give it a token (BearerTokenEnvVar)"
            ))
        });
    }
    Err(Trouble::Talk {
        how: error.in_words(true),
        said: None,
    })
}

/// Why a server could not be greeted.
enum GreetError {
    Handshake(Box<ClientInitializeError>),
    Listing(ServiceError),
}

/// Does the handshake and asks for the tools.
async fn greet<T, E, A>(
    spec: &ServerSpec,
    root: Option<&Arc<str>>,
    transport: T,
) -> Result<Greeted, GreetError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let handler = Handler {
        name: spec.name.clone(),
        root: root.cloned(),
        changed: Arc::default(),
        calls: Arc::default(),
    };
    let service = handler.serve(transport).await;
    let service = service.map_err(|error| GreetError::Handshake(Box::new(error)))?;
    let info = service.peer_info();
    let listing = if info.is_some_and(|info| info.capabilities.tools.is_some()) {
        let listing = listing::tools(&service, &spec.name).await;
        listing.map_err(GreetError::Listing)?
    } else {
        Listing::default()
    };
    Ok((service, listing))
}

impl GreetError {
    fn is_authorization_required(&self) -> bool {
        matches!(self, Self::Handshake(error) if error.is_authorization_required())
    }

    /// Returns what went wrong, to follow the program's name.
    fn in_words(self, over_http: bool) -> String {
        let error = match self {
            Self::Listing(error) => return format!("did not list its tools ({error})"),
            Self::Handshake(error) => *error,
        };
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
}

impl Connection {
    fn new((service, listing): Greeted, child: Option<Child>) -> (Self, Listing) {
        let connection = Self {
            peer: service.peer().clone(),
            changed: service.service().changed.clone(),
            calls: service.service().calls.clone(),
            close: service.cancellation_token(),
            closed: Box::pin(service.waiting().map(drop).fuse()),
            child,
        };
        (connection, listing)
    }

    /// Returns once the connection is closed or its process has exited or floods.
    pub(crate) async fn lost(&mut self) {
        let exited = async {
            match &mut self.child {
                Some(child) => child.lost().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = exited => {}
            () = &mut self.closed => {}
        }
    }

    /// Ends the connection and everything behind it. Returns why it was lost, if it was.
    pub(crate) async fn end(self, spec: &ServerSpec) -> Failure {
        // Closing its input is the polite way to end a server. A server that ignores this is killed.
        self.close.cancel();
        if !self.peer.is_transport_closed() {
            drop(timeout(CLOSE, self.closed).await);
        }
        let mut ended = Ended::default();
        if let Some(child) = self.child {
            ended = child.end(GRACE).await;
        }
        if let Some(stream) = ended.flood {
            return Failure::lasting(flooded(stream));
        }
        let said = ended.errors.pop();
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        let problem = format!("it ended by itself{said}");
        Failure::passing(shown(&problem, &spec.secrets, MAX_PROBLEM))
    }
}

fn flooded(stream: &str) -> String {
    format!("it was stopped: it floods its {stream}. Start it again once that is mended")
}
