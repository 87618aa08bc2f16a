//! Connecting to a server: starting its process or reaching its address, the MCP handshake, its list of tools.
//!
//! Servers of revision 2026-07-28 have `server/discover` in place of the handshake, and many know only one of the two.
//! Over HTTP a request costs little, so discovery is tried first. A process gets the handshake first: servers of earlier
//! revisions end on any other first message, or never answer it.
//!
//! A future that is dropped before the connection is complete leaves nothing behind. Retries are the caller's.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{ChildError, Children, ProcessSpec};
use bobbin_supervise::{Child, Ended, Failure, Streams, causes, is_lasting};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RunningService,
    RunningServiceCancellationToken, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::denial::Denial;
use crate::elicit::OpenCalls;
use crate::handler::Handler;
use crate::http;
use crate::large::{Large, MAX_MESSAGE};
use crate::listing::{self, Listing};
use crate::login::authorized;
use crate::raw::RawResults;
use crate::text::shown;
use crate::watched::Watched;
use crate::{HttpSpec, Launch, ServerSpec};

/// How long a server may take to end by itself, and again once it is asked to.
const GRACE: Duration = Duration::from_millis(500);
/// How long a connection may take to close.
const CLOSE: Duration = Duration::from_secs(1);
/// How long a server may take for `server/discover` before the handshake is tried. (Guess: servers that do not know it
/// refuse it at once; few never answer.)
const DISCOVERY: Duration = Duration::from_secs(5);
/// How long a server may take to answer a caller without tokens with a challenge.
const CHALLENGE: Duration = Duration::from_secs(10);
/// Longest sentence about a failure.
const MAX_PROBLEM: usize = 500;

/// The connection to a server, and its process.
pub(crate) struct Connection {
    pub(crate) peer: Peer<RoleClient>,
    /// Notified when the server's lists have changed.
    pub(crate) changed: Arc<Notify>,
    /// The open calls, one of which a question of the server belongs to.
    pub(crate) calls: Arc<OpenCalls>,
    /// Results as the server writes them.
    pub(crate) raw: Arc<RawResults>,
    close: RunningServiceCancellationToken,
    closed: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The process of the server, if Bobbin has started it.
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
            let started = start(spec, children, root, process);
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
        Ok(Err(Trouble::Talk { how, said, .. })) => {
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
        /// Whether the server has answered that it does not know the request.
        is_refusal: bool,
    },
}

impl Trouble {
    fn talk(how: String) -> Self {
        Self::Talk {
            how,
            said: None,
            is_refusal: false,
        }
    }
}

type Greeted = (RunningService<RoleClient, Handler>, Listing);

/// Starts a process and makes the handshake or discovery with it.
async fn start(
    spec: &ServerSpec,
    children: &Children,
    root: Option<&Arc<str>>,
    process: &ProcessSpec,
) -> Result<(Connection, Listing), Trouble> {
    match start_with(spec, children, root, process.clone(), handshake()).await {
        // The server's revision may have no handshake. A server may end after refusing it, so discovery gets a new process.
        Err(refused @ Trouble::Talk { is_refusal: true, .. }) => {
            match start_with(spec, children, root, process.clone(), discovery()).await {
                Err(Trouble::Talk { .. }) => Err(refused),
                started => started,
            }
        }
        started => started,
    }
}

async fn start_with(
    spec: &ServerSpec,
    children: &Children,
    root: Option<&Arc<str>>,
    process: ProcessSpec,
    lifecycle: ClientLifecycleMode,
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
    let handler = Handler::new(&spec.name, root);
    let output = Large::new(output, handler.raw.clone());
    let transport = AsyncRwTransport::new_client(output, input).with_max_line_length(MAX_MESSAGE);
    let greeted = async { listed(open(handler, transport, lifecycle).await?).await };
    let greeted = tokio::select! {
        biased;
        () = child.flooded() => Err(None),
        greeted = greeted => greeted.map_err(Some),
    };
    let error = match greeted {
        Ok(greeted) => return Ok(Connection::new(greeted, Some(child))),
        Err(error) => error,
    };
    let Ended {
        mut errors, flood, ..
    } = child.end(GRACE).await;
    Err(match (flood, error) {
        (Some(stream), _) => Trouble::Setting(flooded(stream)),
        (None, error) => Trouble::Talk {
            is_refusal: error.as_ref().is_some_and(GreetError::is_refusal),
            how: error.map_or_else(|| "floods".to_owned(), |error| error.in_words(false)),
            said: errors.pop(),
        },
    })
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
        None => authorized(at).await.map_err(Trouble::talk)?,
    };
    let has_tokens = manager.is_some();
    let handler = Handler::new(&spec.name, root);
    let limit = DISCOVERY.min(spec.start_timeout / 2);
    let greeted = match manager {
        Some(manager) => greet_over_http(handler, AuthClient::new(client, manager), config, limit).await,
        None => greet_over_http(handler, client, config, limit).await,
    };
    let error = match greeted {
        Ok(greeted) => return Ok(Connection::new(greeted, None)),
        Err(error) => error,
    };
    let denial = match error.denial() {
        None if !has_tokens => http::challenge(at).await.map(Denial::Unknown),
        denial => denial,
    };
    let Some(denial) = denial else {
        return Err(Trouble::talk(error.in_words(true)));
    };
    let why = format!("it {}", denial.explain(&spec.name, at).await);
    Err(if at.bearer.is_some() {
        Trouble::Setting(why)
    } else {
        Trouble::Login(why)
    })
}

/// Returns the challenge of a server over HTTP that refuses a caller without tokens. It may be empty.
pub(crate) async fn challenge(at: &HttpSpec) -> Option<String> {
    let (config, client) = (http::config(at).ok()?, http::client().ok()?);
    let greeted = greet_over_http(Handler::new("", None), client, config, CHALLENGE / 2);
    let denial = match timeout(CHALLENGE, greeted).await {
        Ok(Err(error)) => error.denial(),
        Ok(Ok(_)) | Err(_) => None,
    };
    match denial {
        Some(Denial::Unknown(challenge)) => Some(challenge),
        Some(Denial::Scope(_)) | None => http::challenge(at).await,
    }
}

/// Why the handshake, discovery or listing failed.
enum GreetError {
    Opening(Box<ClientInitializeError>),
    Listing(ServiceError),
}

fn handshake() -> ClientLifecycleMode {
    ClientLifecycleMode::Initialize
}

fn discovery() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

/// Connects over HTTP: by discovery, or, if that has not succeeded within `limit`, by the handshake.
async fn greet_over_http<C>(
    handler: Handler,
    client: C,
    config: StreamableHttpClientTransportConfig,
    limit: Duration,
) -> Result<Greeted, GreetError>
where
    C: StreamableHttpClient + Sync,
{
    let raw = handler.raw.clone();
    let client = Watched { client, raw };
    let transport = || StreamableHttpClientTransport::with_client(client.clone(), config.clone());
    match timeout(limit, open(handler.clone(), transport(), discovery())).await {
        Ok(Ok(service)) => return listed(service).await,
        Ok(Err(error)) if error.denial().is_some() => return Err(error),
        Ok(Err(_)) | Err(_) => tracing::debug!(
            server = handler.name,
            "discovery has failed; the handshake follows"
        ),
    }
    listed(open(handler, transport(), handshake()).await?).await
}

async fn open<T, E, A>(
    handler: Handler,
    transport: T,
    lifecycle: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, Handler>, GreetError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let opened = handler.serve_with_lifecycle(transport, lifecycle).await;
    opened.map_err(|error| GreetError::Opening(Box::new(error)))
}

/// Asks a server for its tools.
async fn listed(service: RunningService<RoleClient, Handler>) -> Result<Greeted, GreetError> {
    let info = service.peer_info();
    let listing = if info.is_some_and(|info| info.capabilities.tools.is_some()) {
        let listing = listing::tools(&service, &service.service().name).await;
        listing.map_err(GreetError::Listing)?
    } else {
        Listing::default()
    };
    Ok((service, listing))
}

impl GreetError {
    /// Whether the server has answered the request with an error of JSON-RPC.
    fn is_refusal(&self) -> bool {
        matches!(self, Self::Opening(error) if matches!(**error, ClientInitializeError::JsonRpcError(_)))
    }

    fn denial(&self) -> Option<Denial> {
        match self {
            Self::Opening(error) => match &**error {
                ClientInitializeError::TransportError { error, .. } => Denial::of(&*error.error),
                _ => None,
            },
            Self::Listing(ServiceError::TransportSend(error)) => Denial::of(&*error.error),
            Self::Listing(_) => None,
        }
    }

    /// Returns the failure as words that follow the program's name.
    fn in_words(self, over_http: bool) -> String {
        let error = match self {
            Self::Listing(error) => return format!("did not list its tools ({error})"),
            Self::Opening(error) => *error,
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
            raw: service.service().raw.clone(),
            close: service.cancellation_token(),
            closed: Box::pin(service.waiting().map(drop).fuse()),
            child,
        };
        (connection, listing)
    }

    /// Returns once the connection is closed, or the process has exited or writes too much.
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

    /// Ends the connection and the process behind it. Returns why it was lost, if it was.
    pub(crate) async fn end(self, spec: &ServerSpec) -> Failure {
        // A server should end when its input closes. A server that ignores this is killed.
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
