//! The Hub from its start to its end.

use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_children::Children;
use bobbin_transport::{Access, AccessError};
use bobbin_workspace::{StateDirectory, WorkspaceError, private_directory};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::Remote;
use crate::error::HubError;
use crate::events::{Bus, Kind};
use crate::http::{self, Admission};
use crate::launch::Launch;
use crate::lock::{HubLock, LockContent};
use crate::record;
use crate::registry::Registry;
use crate::routes::routes;
use crate::runtime::RuntimeTools;

/// How long answers may take at the end.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// Random bytes of the token.
const TOKEN_BYTES: usize = 32;

/// How a Hub works.
pub struct Settings {
    /// The directory of its files: `~/.craft/hub`.
    pub directory: PathBuf,
    /// The address at which it listens, on loopback; port 0 for a free one.
    pub address: SocketAddr,
    /// How it starts servers.
    pub launch: Launch,
    /// Starts their processes.
    pub children: Children,
    /// The state of workspaces.
    pub state: StateDirectory,
}

/// Why there is no Hub.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its directory cannot be made.
    #[error(transparent)]
    Directory(#[from] WorkspaceError),
    /// A file of it cannot be written.
    #[error("{path} cannot be used")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its port is taken.
    #[error(
        "cannot listen on {address}; choose another port with --port, or Hub.Port in ~/.craft/config.json"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The address is not on loopback.
    #[error(transparent)]
    Access(#[from] AccessError),
}

/// The result of a start.
pub enum Started {
    /// This process is the Hub.
    Running(Hub),
    /// Another process is; it may be just starting, and then nothing is known of it.
    Already(Option<LockContent>),
}

/// A Hub that listens.
pub struct Hub {
    listener: TcpListener,
    admission: Admission,
    lock: HubLock,
    shared: Arc<Shared>,
}

/// The values that its tasks share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) base_url: String,
    pub(crate) token: String,
    pub(crate) started_at: String,
    pub(crate) binary_path: Option<PathBuf>,
    /// The tools that servers get which start from now on.
    pub(crate) tools: Mutex<RuntimeTools>,
    pub(crate) bus: Bus,
    pub(crate) registry: Registry,
    pub(crate) owners: TaskTracker,
    /// Something in the registry has changed.
    pub(crate) changed: Notify,
    /// The Hub is to end.
    pub(crate) stop: CancellationToken,
}

impl Shared {
    /// Returns the token of servers that others started.
    pub(crate) fn client_token(&self) -> Option<String> {
        (self.settings.launch.token)().ok().flatten()
    }

    /// Takes the tools that a client has named, for servers that start from now on and for the next Hub.
    pub(crate) async fn take_tools(self: &Arc<Self>, given: Option<Value>) -> Result<(), HubError> {
        let Some(given) = given else {
            return Ok(());
        };
        let shared = self.clone();
        let take = move || {
            let tools = RuntimeTools::of(&given);
            let mut now = shared.tools.lock();
            if *now != tools {
                tools.write(&shared.settings.directory);
                *now = tools;
            }
        };
        let taken = tokio::task::spawn_blocking(take).await;
        taken.map_err(|error| HubError::Internal(error.to_string()))
    }
}

impl Hub {
    /// Becomes the Hub of this user, unless there is one. It listens and its file says where, once this returns.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(settings: Settings) -> Result<Started, StartError> {
        let wanted = settings.address;
        let directory = settings.directory.clone();
        let file = |source| StartError::File {
            path: directory.join("hub.lock"),
            source,
        };
        private_directory(&directory)?;
        let Some(mut lock) = HubLock::take(&directory).map_err(file)? else {
            return Ok(Started::Already(LockContent::read(&directory)));
        };
        // A Hub of another make has no lock of the operating system.
        if let Some(other) = lock.left_behind()
            && other.pid != std::process::id()
            && other.process_exists()
            && Remote::new(&other).status().await.is_ok()
        {
            lock.leave_file();
            return Ok(Started::Already(Some(other)));
        }
        let failed = |source| StartError::Listen {
            address: wanted,
            source,
        };
        let listener = TcpListener::bind(wanted).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let token = random_token().map_err(file)?;
        let content = LockContent {
            pid: std::process::id(),
            api_base_url: format!("http://{address}"),
            token: token.clone(),
            started_at: jiff::Timestamp::now().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            binary_path: std::env::current_exe().and_then(std::fs::canonicalize).ok(),
        };
        let admission = Admission {
            status: access(address, None)?,
            rest: access(address, Some(token))?,
        };
        let registry = Registry::default();
        registry.remember(record::read(&directory).into_iter());
        let tools = Mutex::new(RuntimeTools::read(&directory));
        // Only now: a client that finds the file connects at once.
        lock.write(&content).map_err(file)?;
        let shared = Arc::new(Shared {
            settings,
            base_url: content.api_base_url,
            token: content.token,
            started_at: content.started_at,
            binary_path: content.binary_path,
            tools,
            bus: Bus::default(),
            registry,
            owners: TaskTracker::new(),
            changed: Notify::new(),
            stop: CancellationToken::new(),
        });
        Ok(Started::Running(Self {
            listener,
            admission,
            lock,
            shared,
        }))
    }

    /// Returns its address.
    pub fn address(&self) -> &str {
        &self.shared.base_url
    }

    /// Returns what ends it when cancelled.
    pub fn stop(&self) -> CancellationToken {
        self.shared.stop.clone()
    }

    /// Serves until it is to end. Then ends the servers that it has started, and itself.
    pub async fn run(self) {
        let Self {
            listener,
            admission,
            lock,
            shared,
        } = self;
        let recording = tokio::spawn(write_record(shared.clone()));
        shared.bus.publish(Kind::HubStarted, None, &Value::Null);
        let router = routes(shared.clone(), admission);
        let connections = http::accept(listener, router, shared.stop.clone()).await;
        shared.bus.publish(Kind::HubStopping, None, &json!({}));
        shared.owners.close();
        shared.owners.wait().await;
        shared.bus.close();
        if tokio::time::timeout(LAST_ANSWERS, connections.wait())
            .await
            .is_err()
        {
            tracing::debug!("some clients did not read their last answers");
        }
        drop(recording.await);
        drop(lock);
    }
}

/// Writes the record after changes, until the Hub ends.
async fn write_record(shared: Arc<Shared>) {
    loop {
        let is_last = tokio::select! {
            () = shared.changed.notified() => false,
            () = shared.stop.cancelled() => true,
        };
        if is_last {
            shared.owners.wait().await;
        }
        let (directory, views) = (shared.settings.directory.clone(), shared.registry.views());
        let written = tokio::task::spawn_blocking(move || record::write(&directory, views)).await;
        if let Ok(Err(error)) = written {
            tracing::debug!(%error, "the record of servers is not written");
        }
        if is_last {
            return;
        }
    }
}

fn access(address: SocketAddr, token: Option<String>) -> Result<Access, AccessError> {
    let admission = bobbin_transport::Admission {
        token,
        ..bobbin_transport::Admission::default()
    };
    Access::new(address, admission)
}

fn random_token() -> std::io::Result<String> {
    let mut random = [0; TOKEN_BYTES];
    std::fs::File::open(Path::new("/dev/urandom"))?.read_exact(&mut random)?;
    Ok(STANDARD.encode(random))
}
