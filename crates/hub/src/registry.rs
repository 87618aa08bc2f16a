//! The workspaces that the Hub knows, each with the task that owns its server.
//!
//! At most [`MAX_WORKSPACES`]. One more takes the place of one without a server.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_workspace::Workspace;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::error::HubError;
use crate::hub::Shared;
use crate::launch::{has_craft, holder};
use crate::owner::{MAX_ORDERS, Owner, ServerOrder, external};
use crate::proxy::ProxyPlan;
use crate::wire::{ApiProxy, AppServer, ServerState};

/// Workspaces at once (guess: more than a user has servers for).
pub(crate) const MAX_WORKSPACES: usize = 128;

/// One known workspace.
struct Known {
    view: Arc<Mutex<AppServer>>,
    /// The way to its owner, once there is one.
    orders: Option<mpsc::Sender<ServerOrder>>,
}

/// All of them, by canonical path.
#[derive(Default)]
pub(crate) struct Registry(Mutex<BTreeMap<PathBuf, Known>>);

impl Registry {
    /// Adds workspaces without a server, of which an earlier Hub knew.
    pub(crate) fn remember(&self, roots: impl Iterator<Item = PathBuf>) {
        let known = |root: PathBuf| {
            let view = Arc::new(Mutex::new(AppServer::stopped(&root)));
            (root, Known { view, orders: None })
        };
        self.0.lock().extend(roots.take(MAX_WORKSPACES).map(known));
    }

    /// Returns what is published of all.
    pub(crate) fn views(&self) -> Vec<AppServer> {
        self.0
            .lock()
            .values()
            .map(|known| known.view.lock().clone())
            .collect()
    }

    fn view(&self, workspace: &Workspace) -> Option<AppServer> {
        let all = self.0.lock();
        all.get(&workspace.root).map(|known| known.view.lock().clone())
    }
}

impl Shared {
    /// Returns the workspace at a path that a client names.
    async fn workspace(&self, path: PathBuf) -> Result<Workspace, HubError> {
        if path.as_os_str().is_empty() {
            return Err(HubError::NoPath);
        }
        let state = self.settings.state.clone();
        let find = tokio::task::spawn_blocking(move || {
            if !path.is_absolute() {
                return Err(HubError::NoDirectory(path));
            }
            let found = Workspace::find(Some(&path), state);
            let found = found.map_err(|_| HubError::NoDirectory(path))?;
            if has_craft(&found.root) {
                Ok(found)
            } else {
                Err(HubError::NoCraft(found.root))
            }
        });
        find.await
            .map_err(|error| HubError::Internal(error.to_string()))?
    }

    /// Returns the server of a workspace; starts one if `starts` and none runs.
    pub(crate) async fn ensure(
        self: &Arc<Self>,
        path: PathBuf,
        starts: bool,
        proxy: Option<ApiProxy>,
    ) -> Result<AppServer, HubError> {
        let workspace = self.workspace(path.clone()).await?;
        let proxy = ProxyPlan::of(proxy)?;
        let found = if starts {
            self.order(&workspace, |reply| ServerOrder::Ensure(proxy, reply))
                .await?
        } else {
            self.seen(&workspace).await
        };
        Ok(found.named(path))
    }

    /// Ends the server of a workspace and starts one.
    pub(crate) async fn restart(
        self: &Arc<Self>,
        path: PathBuf,
        proxy: Option<ApiProxy>,
    ) -> Result<AppServer, HubError> {
        let workspace = self.workspace(path.clone()).await?;
        let proxy = ProxyPlan::of(proxy)?;
        let started = self
            .order(&workspace, |reply| ServerOrder::Restart(proxy, reply))
            .await?;
        Ok(started.named(path))
    }

    /// Ends the server of a workspace.
    pub(crate) async fn stop_server(self: &Arc<Self>, path: PathBuf) -> Result<AppServer, HubError> {
        let workspace = self.workspace(path.clone()).await?;
        let stopped = self.order(&workspace, ServerOrder::Stop).await?;
        Ok(stopped.named(path))
    }

    /// Returns the server of a workspace as it is. Starts nothing.
    pub(crate) async fn look_up(&self, path: PathBuf) -> Result<AppServer, HubError> {
        let workspace = self.workspace(path.clone()).await?;
        Ok(self.seen(&workspace).await.named(path))
    }

    /// Returns every known workspace, and those that the user has named for a node.
    pub(crate) async fn list(&self) -> Vec<AppServer> {
        let mut all = self.registry.views();
        let state = self.settings.state.clone();
        let named = tokio::task::spawn_blocking(move || state.named()).await;
        for named in named.into_iter().flatten().flatten() {
            let is_known = |view: &AppServer| view.canonical_workspace_path == named.root;
            if !all.iter().any(is_known) {
                all.push(AppServer::stopped(&named.root));
            }
        }
        for view in &mut all {
            let root = view.canonical_workspace_path.clone();
            if !has_server(view.state)
                && let Ok(workspace) = self.workspace(root).await
            {
                *view = self.seen(&workspace).await;
            }
        }
        all
    }

    /// Returns what is published of a workspace, or the server that another process runs there.
    async fn seen(&self, workspace: &Workspace) -> AppServer {
        let known = self.registry.view(workspace);
        if let Some(known) = &known
            && has_server(known.state)
        {
            return known.clone();
        }
        match holder(workspace).await {
            Some(holder) => external(self, workspace, &holder),
            None => known.unwrap_or_else(|| AppServer::stopped(&workspace.root)),
        }
    }

    /// Gives an order to the owner of a workspace and waits for its outcome. The order is executed even if nobody
    /// waits.
    async fn order(
        self: &Arc<Self>,
        workspace: &Workspace,
        order: impl FnOnce(oneshot::Sender<Result<AppServer, HubError>>) -> ServerOrder,
    ) -> Result<AppServer, HubError> {
        let (reply, outcome) = oneshot::channel();
        let orders = self.owner(workspace)?;
        let sent = orders.send(order(reply)).await;
        sent.map_err(|_| HubError::Stopping)?;
        outcome.await.unwrap_or(Err(HubError::Stopping))
    }

    /// Returns the way to the owner of a workspace, and starts its task where there is none.
    fn owner(self: &Arc<Self>, workspace: &Workspace) -> Result<mpsc::Sender<ServerOrder>, HubError> {
        if self.stop.is_cancelled() {
            return Err(HubError::Stopping);
        }
        let mut all = self.registry.0.lock();
        if !all.contains_key(&workspace.root) && all.len() >= MAX_WORKSPACES {
            let idle = all.iter().find(|(_, known)| {
                let is_waited_for = known
                    .orders
                    .as_ref()
                    .is_some_and(|orders| orders.strong_count() > 1);
                !is_waited_for && !has_server(known.view.lock().state)
            });
            let idle = idle.map(|(root, _)| root.clone()).ok_or(HubError::TooMany)?;
            all.remove(&idle);
        }
        let known = all.entry(workspace.root.clone()).or_insert_with(|| Known {
            view: Arc::new(Mutex::new(AppServer::stopped(&workspace.root))),
            orders: None,
        });
        if let Some(orders) = &known.orders {
            return Ok(orders.clone());
        }
        let (sender, orders) = mpsc::channel(MAX_ORDERS);
        known.orders = Some(sender.clone());
        let owner = Owner {
            shared: self.clone(),
            workspace: workspace.clone(),
            orders,
            view: known.view.clone(),
            running: None,
            later: VecDeque::new(),
        };
        self.owners.spawn(owner.run());
        Ok(sender)
    }
}

fn has_server(state: ServerState) -> bool {
    !matches!(state, ServerState::Stopped | ServerState::Exited)
}
