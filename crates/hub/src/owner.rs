//! The one task that owns a workspace's server: starts it, watches it, ends it.
//!
//! Orders come in a queue and are executed one after the other. Requests for a start that arrive while one is under way
//! get its outcome. All others read the published [`AppServer`]; only this task changes it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_workspace::Workspace;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use crate::error::HubError;
use crate::events::Kind;
use crate::hub::Shared;
use crate::launch::{self, LaunchTarget, Server, holder, with_token};
use crate::probe::probe;
use crate::proxy::{Proxy, ProxyPlan};
use crate::runtime::{RuntimeTools, TYPESCRIPT_RUNTIME};
use crate::wire::{API_PROXY, AppServer, ServerState, ServiceState, ServiceStatus, WEB_SOCKET};

/// Orders that wait for one workspace. One more waits in its own connection.
pub(crate) const MAX_ORDERS: usize = 32;
/// Time between two checks of a server.
const HEALTH: Duration = Duration::from_secs(10);
/// How long a foreign server that does not answer may be one that is just ending.
const LEAVING: Duration = Duration::from_secs(2);
/// Time between two looks at it.
const POLL: Duration = Duration::from_millis(50);

/// Takes the outcome of an order.
type Reply = oneshot::Sender<Result<AppServer, HubError>>;

/// A request to the task.
pub(crate) enum ServerOrder {
    /// Return the running server, or start one.
    Ensure(Option<ProxyPlan>, Reply),
    /// End the server.
    Stop(Reply),
    /// End the server if it runs, and start one.
    Restart(Option<ProxyPlan>, Reply),
}

/// The state of the task.
pub(crate) struct Owner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) workspace: Workspace,
    pub(crate) orders: mpsc::Receiver<ServerOrder>,
    pub(crate) view: Arc<Mutex<AppServer>>,
    pub(crate) running: Option<Running>,
    pub(crate) later: VecDeque<ServerOrder>,
}

/// A server with the proxy beside it.
pub(crate) struct Running {
    server: Server,
    proxy: Option<Proxy>,
    /// The tools that it was started with.
    tools: RuntimeTools,
    next_check: Instant,
}

/// A change of a server that no order has caused.
enum Seen {
    Lost,
    ProxyLost,
    CheckDue,
}

impl Running {
    async fn next(&mut self) -> Seen {
        let proxy = async {
            match &mut self.proxy {
                Some(proxy) => proxy.lost().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.server.lost() => Seen::Lost,
            () = proxy => Seen::ProxyLost,
            () = tokio::time::sleep_until(self.next_check) => Seen::CheckDue,
        }
    }
}

impl Owner {
    /// Carries orders out until the Hub stops, or nobody can give any.
    pub(crate) async fn run(mut self) {
        let stop = self.shared.stop.clone();
        loop {
            if let Some(order) = self.later.pop_front() {
                self.carry_out(order).await;
                continue;
            }
            let seen = async {
                match &mut self.running {
                    Some(running) => running.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                seen = seen => self.handle(seen).await,
                order = self.orders.recv() => match order {
                    Some(order) => self.carry_out(order).await,
                    None => break,
                },
            }
        }
        self.end("hubStopping").await;
    }

    async fn handle(&mut self, seen: Seen) {
        match seen {
            Seen::CheckDue => self.check().await,
            Seen::Lost => {
                let Some(Running { server, proxy, .. }) = self.running.take() else {
                    return;
                };
                let (pid, stderr) = (server.pid, server.stderr.clone());
                let code = server.end().await;
                self.end_proxy(proxy).await;
                let recent = stderr.text();
                self.change(|view| {
                    view.remove(WEB_SOCKET);
                    view.state = ServerState::Exited;
                    view.pid = None;
                    view.exit_code = code;
                    view.last_error = Some("The server has ended.".to_owned());
                    view.recent_stderr.clone_from(&recent);
                });
                let data = json!({ "pid": pid, "exitCode": code, "stderr": recent });
                self.publish(Kind::ServerExited, &data);
            }
            Seen::ProxyLost => {
                let Some(running) = &mut self.running else {
                    return;
                };
                if let Some(proxy) = running.proxy.take() {
                    let (pid, code) = (proxy.id(), proxy.end().await);
                    self.change(|view| {
                        if let Some(status) = view.service_status.get_mut(API_PROXY) {
                            status.state = ServiceState::Exited;
                            status.reason = Some("The proxy has ended; restart the server.".to_owned());
                        }
                    });
                    self.publish(Kind::ProxyExited, &json!({ "pid": pid, "exitCode": code }));
                }
            }
        }
    }

    /// Looks whether the server answers, and says so where that has changed.
    async fn check(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        let (pid, stderr) = (running.server.pid, running.server.stderr.clone());
        let checked = running.server.check().await;
        running.next_check = Instant::now() + HEALTH;
        let was = self.view.lock().state;
        match checked {
            Ok(()) if was == ServerState::Unhealthy => {
                self.change(|view| {
                    view.state = ServerState::Running;
                    view.last_error = None;
                });
                self.publish_running();
            }
            Err(error) if was == ServerState::Running => {
                self.change(|view| {
                    view.state = ServerState::Unhealthy;
                    view.last_error = Some(error.clone());
                    view.recent_stderr = stderr.text();
                });
                self.publish(Kind::ServerUnhealthy, &json!({ "pid": pid, "error": error }));
            }
            Ok(()) | Err(_) => {}
        }
    }

    async fn carry_out(&mut self, order: ServerOrder) {
        match order {
            ServerOrder::Ensure(proxy, reply) => {
                if self.view.lock().state == ServerState::Unhealthy {
                    // It may answer again, and then its Turns go on.
                    self.check().await;
                }
                if self.running.is_some() && self.view.lock().state == ServerState::Running {
                    self.compare_proxy(proxy.as_ref());
                    self.compare_tools();
                    drop(reply.send(Ok(self.seen())));
                    return;
                }
                self.end("unhealthy").await;
                self.start(proxy, reply).await;
            }
            ServerOrder::Stop(reply) => {
                let stopped = if self.running.is_some() {
                    self.end("stopped").await;
                    Ok(self.seen())
                } else {
                    Err(match holder(&self.workspace).await {
                        Some(holder) => locked(&self.workspace, holder.pid),
                        None => HubError::NotManaged(self.workspace.root.clone()),
                    })
                };
                drop(reply.send(stopped));
            }
            ServerOrder::Restart(proxy, reply) => {
                let former = self.running.as_ref().and_then(|running| running.proxy.as_ref());
                let proxy = proxy.or_else(|| former.map(|proxy| proxy.plan.clone()));
                self.end("stopped").await;
                self.start(proxy, reply).await;
            }
        }
    }

    /// Starts a server, and answers all who ask for one meanwhile.
    async fn start(&mut self, proxy: Option<ProxyPlan>, reply: Reply) {
        let mut replies = vec![reply];
        let outcome = {
            let starting = start(
                self.shared.clone(),
                self.workspace.clone(),
                self.view.clone(),
                proxy,
            );
            tokio::pin!(starting);
            loop {
                tokio::select! {
                    biased;
                    () = self.shared.stop.cancelled() => break Err(HubError::Stopping),
                    outcome = &mut starting => break outcome,
                    Some(order) = self.orders.recv(), if replies.len() + self.later.len() < 4 * MAX_ORDERS => match order {
                        ServerOrder::Ensure(_, reply) => replies.push(reply),
                        other => self.later.push_back(other),
                    },
                }
            }
        };
        let answer = match outcome {
            Ok(Outcome::Ours(running)) => {
                self.running = Some(*running);
                self.compare_tools();
                self.publish_running();
                Ok(self.seen())
            }
            Ok(Outcome::Foreign(view)) => Ok(view),
            Err(error) => {
                self.change(|view| {
                    let was_starting = view.state == ServerState::Starting;
                    let root = view.canonical_workspace_path.clone();
                    *view = AppServer::stopped(&root);
                    view.last_error = Some(error.to_string());
                    if let HubError::StartFailed { stderr, .. } | HubError::Unhealthy { stderr, .. } = &error
                    {
                        view.recent_stderr.clone_from(stderr);
                    }
                    if was_starting {
                        view.state = ServerState::Exited;
                    }
                });
                if self.view.lock().state == ServerState::Exited {
                    self.publish(Kind::ServerExited, &json!({ "reason": error.to_string() }));
                }
                Err(error)
            }
        };
        for reply in replies {
            drop(reply.send(answer.clone()));
        }
    }

    /// Ends the server if one runs.
    async fn end(&mut self, reason: &str) {
        let Some(Running { server, proxy, .. }) = self.running.take() else {
            return;
        };
        self.change(|view| view.state = ServerState::Stopping);
        let pid = server.pid;
        let code = server.end().await;
        self.end_proxy(proxy).await;
        self.change(|view| {
            let root = view.canonical_workspace_path.clone();
            *view = AppServer::stopped(&root);
            view.exit_code = code;
        });
        let data = json!({ "pid": pid, "exitCode": code, "reason": reason });
        self.publish(Kind::ServerExited, &data);
    }

    async fn end_proxy(&self, proxy: Option<Proxy>) {
        if let Some(proxy) = proxy {
            let (pid, code) = (proxy.id(), proxy.end().await);
            self.change(|view| view.remove(API_PROXY));
            self.publish(Kind::ProxyExited, &json!({ "pid": pid, "exitCode": code }));
        }
    }

    /// Says that the server has to be restarted where a client wants another proxy than it has.
    fn compare_proxy(&self, wanted: Option<&ProxyPlan>) {
        let Some(wanted) = wanted else {
            return;
        };
        let running = self.running.as_ref().and_then(|running| running.proxy.as_ref());
        if running.is_some_and(|proxy| proxy.plan == *wanted) {
            return;
        }
        let status = ServiceStatus {
            state: ServiceState::RestartRequired,
            url: running.map(|proxy| proxy.plan.endpoint.clone()),
            reason: Some("The server runs with another proxy or none; restart it.".to_owned()),
        };
        self.change(|view| {
            view.service_status.insert(API_PROXY.to_owned(), status.clone());
        });
    }

    /// Says whether the server has the tools that clients have named.
    fn compare_tools(&self) {
        if let Some(running) = &self.running {
            let status = running.tools.status(&self.shared.tools.lock());
            self.change(|view| {
                view.service_status.insert(TYPESCRIPT_RUNTIME.to_owned(), status);
            });
        }
    }

    fn change(&self, change: impl FnOnce(&mut AppServer)) {
        change(&mut self.view.lock());
        self.shared.changed.notify_one();
    }

    fn seen(&self) -> AppServer {
        self.view.lock().clone()
    }

    fn publish(&self, kind: Kind, data: &Value) {
        self.shared.bus.publish(kind, Some(&self.workspace.root), data);
    }

    fn publish_running(&self) {
        let view = self.seen();
        let data = json!({ "pid": view.pid, "endpoints": view.endpoints });
        self.publish(Kind::ServerRunning, &data);
    }
}

/// The result of a start.
enum Outcome {
    Ours(Box<Running>),
    /// A server that another program started, and that answers.
    Foreign(AppServer),
}

async fn start(
    shared: Arc<Shared>,
    workspace: Workspace,
    view: Arc<Mutex<AppServer>>,
    proxy: Option<ProxyPlan>,
) -> Result<Outcome, HubError> {
    if let Some(found) = foreign(&shared, &workspace).await? {
        return Ok(Outcome::Foreign(found));
    }
    let root = &workspace.root;
    let publish = |kind: Kind, data: Value| shared.bus.publish(kind, Some(root), &data);
    let settings = &shared.settings;
    let place = LaunchTarget::find(&settings.launch, &workspace)?;
    publish(
        Kind::PortAllocated,
        json!({ "service": WEB_SOCKET, "port": place.port }),
    );
    let endpoints = {
        let mut view = view.lock();
        *view = AppServer::stopped(root);
        view.state = ServerState::Starting;
        view.add(WEB_SOCKET, &place.url(), ServiceState::Allocated);
        view.started_by_hub = true;
        view.endpoints.clone()
    };
    publish(Kind::ServerStarting, json!({ "endpoints": endpoints }));
    let proxy = match proxy {
        Some(plan) => {
            let environment = &settings.launch.environment;
            let proxy = Proxy::start(&settings.children, environment, root, plan).await?;
            let endpoint = proxy.plan.endpoint.clone();
            view.lock().add(API_PROXY, &endpoint, ServiceState::Running);
            publish(
                Kind::ProxyRunning,
                json!({ "pid": proxy.id(), "endpoint": endpoint }),
            );
            Some(proxy)
        }
        None => None,
    };
    let way = proxy
        .as_ref()
        .map(|proxy| (proxy.plan.endpoint.as_str(), proxy.plan.key.as_str()));
    let hub = (shared.base_url.as_str(), shared.token.as_str());
    let tools = shared.tools.lock().clone();
    let started = launch::start(
        &settings.children,
        &settings.launch,
        &workspace,
        &place,
        hub,
        way,
        &tools,
    )
    .await;
    let server = match started {
        Ok(server) => server,
        Err(error) => {
            if let Some(proxy) = proxy {
                let (pid, code) = (proxy.id(), proxy.end().await);
                publish(Kind::ProxyExited, json!({ "pid": pid, "exitCode": code }));
            }
            return Err(error);
        }
    };
    {
        let mut view = view.lock();
        view.state = ServerState::Running;
        view.pid = Some(server.pid);
        view.server_version.clone_from(&server.version);
    }
    shared.changed.notify_one();
    Ok(Outcome::Ours(Box::new(Running {
        server,
        proxy,
        tools,
        next_check: Instant::now() + HEALTH,
    })))
}

/// Returns the server that another process runs in the workspace.
///
/// # Errors
/// [`HubError::Locked`]: it does not answer, and is not just ending.
async fn foreign(shared: &Shared, workspace: &Workspace) -> Result<Option<AppServer>, HubError> {
    let deadline = Instant::now() + LEAVING;
    loop {
        // A server that was started for its clients listens for ours.
        let Some(holder) = holder(workspace).await.filter(|holder| !holder.can_listen()) else {
            return Ok(None);
        };
        if let Some(address) = &holder.address
            && probe(&with_token(address, shared.client_token().as_deref()))
                .await
                .is_ok()
        {
            return Ok(Some(external(shared, workspace, &holder)));
        }
        if Instant::now() >= deadline {
            return Err(locked(workspace, holder.pid));
        }
        sleep(POLL).await;
    }
}

/// Returns a server that another process runs, as clients see it.
pub(crate) fn external(
    shared: &Shared,
    workspace: &Workspace,
    holder: &bobbin_workspace::State,
) -> AppServer {
    let mut view = AppServer::stopped(&workspace.root);
    view.state = ServerState::Running;
    view.pid = Some(holder.pid);
    if let Some(address) = &holder.address {
        let url = with_token(address, shared.client_token().as_deref());
        view.add(WEB_SOCKET, &url, ServiceState::External);
    }
    view
}

fn locked(workspace: &Workspace, pid: u32) -> HubError {
    let lock: PathBuf = workspace.craft().join("appserver.lock");
    HubError::Locked {
        workspace: workspace.root.clone(),
        lock,
        pid,
    }
}
