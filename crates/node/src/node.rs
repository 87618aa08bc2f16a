//! The running node, from its start to its end.

use std::sync::Arc;

use anyhow::{bail, ensure};
use bobbin_config::Config;
use bobbin_local::{Dialect, Launch, Relayed};
use bobbin_people::{People, Scope};
use bobbin_server::listen::{Bound, Listen, Listening};
use bobbin_server::signals::Signals;
use bobbin_server::telemetry::Metrics;
use bobbin_store_postgres::LeaseRow;
use bobbin_transport::{
    Connections, LocalListener, MAX_BODY_BYTES, NodeKey, Readiness, Router, web_socket, web_socket_by,
};
use bobbin_workspace::{NamedWorkspace, NodeLock, NodeRecord, StateDirectory, Workspace};
use futures_util::FutureExt as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cluster::Member;
use crate::list::WorkspaceList;
use crate::methods::NodeClients;
use crate::other::{self, FromOther, RELAY};
use crate::relay::Relay;
use crate::supervisor::Supervisors;

/// Name of the node's socket in the state directory.
pub(crate) const SOCKET: &str = "node.sock";
/// Longest message that a native client may send, as to a server itself (AppServer protocol 01 §3).
const MAX_NATIVE_BYTES: usize = 4 << 20;
/// Longest message to the node itself.
const MAX_OWN_BYTES: usize = 64 << 10;
/// Assumed limit of open files if the system does not report it.
const USUAL_FILES: u64 = 1024;

/// Returns the start of a workspace's server.
type LaunchOf = Box<dyn Fn(&Workspace) -> anyhow::Result<Launch> + Send + Sync>;

/// How a node works.
pub struct Settings {
    /// The state directory of its user.
    pub state: StateDirectory,
    /// The user's own configuration.
    pub config: Config,
    /// The address to listen on.
    pub listen: Listen,
    /// How it starts servers.
    pub launch: LaunchOf,
    /// This node among those of its database, if it has one.
    pub member: Option<Member>,
}

/// The values that its tasks share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) shown: Listening,
    /// The people with roles.
    pub(crate) people: People,
    /// Whether other machines can reach the node.
    pub(crate) is_open: bool,
    pub(crate) list: WorkspaceList,
    pub(crate) supervisors: Supervisors,
    /// The key by which nodes of one database believe each other.
    pub(crate) key: NodeKey,
    /// The leases of its workspaces, as it last saw them in the database.
    pub(crate) leases: watch::Sender<Vec<LeaseRow>>,
    pub(crate) stop: CancellationToken,
}

impl Shared {
    /// Returns the workspace of a name.
    ///
    /// # Errors
    /// Its folder is gone, or is a link to another one, which the user has not added.
    pub(crate) fn workspace(&self, named: &NamedWorkspace) -> anyhow::Result<Workspace> {
        let workspace = Workspace::find(Some(&named.root), self.settings.state.clone())?;
        let (root, found) = (named.root.display(), workspace.root.display());
        ensure!(
            workspace.root == named.root,
            "{root} is a link to {found} now; `bobbin workspace add` adds that folder"
        );
        Ok(workspace)
    }

    /// Returns what servers get to know of a client of the node.
    pub(crate) fn relayed(&self, is_private: bool) -> Relayed {
        Relayed {
            is_private,
            is_open: self.is_open,
        }
    }
}

/// Runs the node until a signal. Calls `greet` once it listens.
///
/// # Errors
/// A node runs already, the address cannot be listened on, or a file of the state directory cannot be written.
pub async fn run(settings: Settings, greet: impl FnOnce(&Listening)) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let Some(mut lock) = NodeLock::take(&settings.state)? else {
        match NodeRecord::of(&settings.state) {
            Some(NodeRecord { pid, address, .. }) => {
                bail!("a node runs already: process {pid} at {address}; `bobbin open` opens its page")
            }
            None => bail!("another node is just starting"),
        }
    };
    let metrics = Metrics::start_in_node()?;
    let files = bobbin_children::raise_file_limit().unwrap_or(USUAL_FILES);
    let page = bobbin_page::files_of_node();
    let bound = Bound::with_page(&settings.listen, &settings.config, Scope::Node, files, page).await?;
    let key = NodeKey::default();
    let bound = bound.with_nodes(key.clone());
    let shown = bound.shown();
    let local = LocalListener::bind(settings.state.path(), SOCKET)?;
    let stop = CancellationToken::new();
    let shared = Arc::new(Shared {
        is_open: !bound.address().ip().is_loopback(),
        people: bound.people().clone(),
        list: WorkspaceList::new(settings.state.clone()),
        supervisors: Supervisors::new(),
        key: key.clone(),
        leases: watch::Sender::default(),
        shown,
        settings,
        stop: stop.clone(),
    });
    lock.write(&record(&shared.shown))?;
    // Open Turns go on and jobs run again, before a client comes. A server with nothing to do ends soon.
    for named in shared.settings.state.named()? {
        match shared.workspace(&named) {
            Ok(workspace) => shared.supervisors.supervise(&shared, &workspace),
            Err(error) => tracing::warn!(name = named.name, "a workspace is not served: {error:#}"),
        }
    }
    let own: Arc<dyn Connections> = Arc::new(NodeClients(shared.clone()));
    let router = Router::new()
        .route(
            "/w/{name}/ws",
            web_socket_by(MAX_NATIVE_BYTES, relay(&shared, Dialect::Native)),
        )
        .route(
            "/w/{name}/eca",
            web_socket_by(MAX_BODY_BYTES, relay(&shared, Dialect::Eca)),
        )
        .route(
            "/relay/{id}/{dialect}",
            web_socket_by(MAX_BODY_BYTES, from_other(&shared)),
        )
        .route("/metrics", metrics.route_after(|| {}))
        .route("/node/ws", web_socket(MAX_OWN_BYTES, own.clone()));
    let is_ready: Readiness = Arc::new(|| std::future::ready(true).boxed());
    let cut = CancellationToken::new();
    let serving = bound.with_cut(cut.clone()).serve(router, is_ready, stop.clone());
    let local = local.run(own, stop.clone());
    let member = shared.settings.member.is_some().then(|| {
        let shared = shared.clone();
        tokio::spawn(async move {
            if let Some(member) = &shared.settings.member {
                member.run(&shared, key).await;
            }
        })
    });
    greet(&shared.shown);
    let all = async { tokio::join!(serving, local) };
    tokio::pin!(all);
    tokio::select! {
        () = shared.list.run() => {}
        _ = &mut all => {}
        () = signals.next() => {
            // The servers go on: clients with a cursor lose nothing.
            stop.cancel();
            cut.cancel();
            all.await;
        }
    }
    shared.stop.cancel();
    shared.supervisors.ended().await;
    if let Some(member) = member {
        member.await?;
    }
    drop(lock);
    Ok(())
}

/// Returns the record of this process.
fn record(shown: &Listening) -> NodeRecord {
    let address = shown.web_socket.trim_end_matches("/ws");
    NodeRecord {
        pid: std::process::id(),
        started_at: jiff::Timestamp::now().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        address: address.to_owned(),
        page: shown.page.clone(),
        elsewhere: shown.elsewhere.first().cloned(),
    }
}

/// Returns what chooses the workspace of a client by the path of its request.
fn relay(
    shared: &Arc<Shared>,
    dialect: Dialect,
) -> impl Fn(&str) -> Option<Arc<dyn Connections>> + Clone + Send + Sync + 'static {
    let shared = shared.clone();
    move |path| {
        let name = path.strip_prefix("/w/")?.split('/').next()?.to_owned();
        Some(Arc::new(Relay {
            shared: shared.clone(),
            name,
            dialect,
        }))
    }
}

/// Returns what chooses the workspace of a client that another node passes on, by the path of its request.
fn from_other(
    shared: &Arc<Shared>,
) -> impl Fn(&str) -> Option<Arc<dyn Connections>> + Clone + Send + Sync + 'static {
    let shared = shared.clone();
    move |path| {
        let (id, dialect) = path.strip_prefix(RELAY)?.split_once('/')?;
        Some(Arc::new(FromOther {
            shared: shared.clone(),
            id: id.to_owned(),
            dialect: other::dialect(dialect)?,
        }))
    }
}
