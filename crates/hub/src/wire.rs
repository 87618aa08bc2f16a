//! The params and results of the Hub's requests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

/// Name of the one endpoint that every server has.
pub(crate) const WEB_SOCKET: &str = "appServerWebSocket";
/// Name of the proxy's endpoint.
pub(crate) const API_PROXY: &str = "apiProxy";

/// Body of `POST /v1/appservers/ensure` and `restart`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EnsureRequest {
    pub(crate) workspace_path: Option<PathBuf>,
    #[serde(default = "yes")]
    pub(crate) start_if_missing: bool,
    pub(crate) api_proxy: Option<ApiProxy>,
    /// The tools for servers from now on; `None` leaves them as they are.
    pub(crate) runtime_tools: Option<serde_json::Value>,
}

fn yes() -> bool {
    true
}

/// Body of `POST /v1/appservers/stop`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StopRequest {
    pub(crate) workspace_path: Option<PathBuf>,
}

/// A program to run beside a server, as its way to models.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiProxy {
    pub(crate) enabled: bool,
    pub(crate) binary_path: Option<PathBuf>,
    pub(crate) config_path: Option<PathBuf>,
    pub(crate) endpoint: Option<String>,
    pub(crate) api_key: Option<String>,
}

impl std::fmt::Debug for ApiProxy {
    /// Leaves the key out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("ApiProxy");
        shown
            .field("enabled", &self.enabled)
            .field("endpoint", &self.endpoint);
        shown.finish_non_exhaustive()
    }
}

/// Body of `POST /v1/notifications/request`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NotificationRequest {
    pub(crate) workspace_path: Option<PathBuf>,
    #[serde(default)]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) severity: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) action_url: Option<String>,
}

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ServerState {
    Stopped,
    Starting,
    Running,
    Unhealthy,
    Stopping,
    Exited,
}

/// How one service of a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServiceStatus {
    pub(crate) state: ServiceState,
    pub(crate) url: Option<String>,
    pub(crate) reason: Option<String>,
}

/// State of a [`ServiceStatus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ServiceState {
    Allocated,
    Unavailable,
    External,
    Running,
    RestartRequired,
    Exited,
}

/// A workspace's server, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppServer {
    /// The workspace as the client has named it.
    pub workspace_path: PathBuf,
    /// The workspace without links.
    pub canonical_workspace_path: PathBuf,
    pub(crate) state: ServerState,
    /// Its process.
    pub pid: Option<u32>,
    /// Its addresses, by service. They have the token in them.
    pub endpoints: BTreeMap<String, String>,
    pub(crate) service_status: BTreeMap<String, ServiceStatus>,
    pub(crate) server_version: Option<String>,
    /// Whether the Hub that answers has started it.
    pub started_by_hub: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) last_error: Option<String>,
    pub(crate) recent_stderr: Option<String>,
}

impl AppServer {
    /// Returns a workspace without a server.
    pub(crate) fn stopped(root: &Path) -> Self {
        let reason = "Bobbin has no such service.";
        let unavailable = |name: &str| {
            let status = ServiceStatus {
                state: ServiceState::Unavailable,
                url: None,
                reason: Some(reason.to_owned()),
            };
            (name.to_owned(), status)
        };
        Self {
            workspace_path: root.to_owned(),
            canonical_workspace_path: root.to_owned(),
            state: ServerState::Stopped,
            pid: None,
            endpoints: BTreeMap::new(),
            service_status: ["dashboard", "api", "agui"].map(unavailable).into(),
            server_version: None,
            started_by_hub: false,
            exit_code: None,
            last_error: None,
            recent_stderr: None,
        }
    }

    /// Returns the word for its state.
    pub fn state(&self) -> &'static str {
        match self.state {
            ServerState::Stopped => "stopped",
            ServerState::Starting => "starting",
            ServerState::Running => "running",
            ServerState::Unhealthy => "unhealthy",
            ServerState::Stopping => "stopping",
            ServerState::Exited => "exited",
        }
    }

    /// Adds an endpoint with its status.
    pub(crate) fn add(&mut self, service: &str, url: &str, state: ServiceState) {
        self.endpoints.insert(service.to_owned(), url.to_owned());
        let status = ServiceStatus {
            state,
            url: Some(url.to_owned()),
            reason: None,
        };
        self.service_status.insert(service.to_owned(), status);
    }

    /// Takes an endpoint away.
    pub(crate) fn remove(&mut self, service: &str) {
        self.endpoints.remove(service);
        self.service_status.remove(service);
    }

    /// Returns it as a client has named it.
    pub(crate) fn named(mut self, given: PathBuf) -> Self {
        self.workspace_path = given;
        self
    }
}

/// An answer as JSON.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }
}
