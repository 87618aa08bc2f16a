//! Why the Hub refuses a request: the code, the status and the details that clients read.

use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::wire::Json;

/// Why a request is refused.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum HubError {
    #[error("Missing or invalid Hub token.")]
    Unauthorized,
    #[error("This host or this origin may not speak with the Hub.")]
    Forbidden,
    #[error("The request is no JSON of the expected form: {0}")]
    Malformed(String),
    #[error("There is no such endpoint.")]
    NoSuchEndpoint,
    #[error("The request names no workspacePath.")]
    NoPath,
    #[error("{0} is no directory.")]
    NoDirectory(PathBuf),
    #[error("{0} is no workspace: it has no directory .craft.")]
    NoCraft(PathBuf),
    #[error("This Hub runs no server for {0}.")]
    NotManaged(PathBuf),
    #[error("Another process serves this workspace and cannot be joined; connect to it or stop it.")]
    Locked {
        workspace: PathBuf,
        lock: PathBuf,
        pid: u32,
    },
    #[error("The server did not start: {reason}")]
    StartFailed { reason: String, stderr: Option<String> },
    #[error("The server was not ready in time: {reason}")]
    Unhealthy { reason: String, stderr: Option<String> },
    #[error("There is no free port: {0}")]
    NoPort(String),
    #[error("apiProxy cannot be used: {0}")]
    Proxy(String),
    #[error("A notification has a kind and a title.")]
    Notification,
    #[error("The Hub knows too many workspaces; stop a server first.")]
    TooMany,
    #[error("The Hub is stopping.")]
    Stopping,
    #[error("{0}")]
    Internal(String),
}

impl HubError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Malformed(_) | Self::NoPath | Self::Proxy(_) | Self::Notification => {
                StatusCode::BAD_REQUEST
            }
            Self::NoSuchEndpoint | Self::NoDirectory(_) | Self::NoCraft(_) | Self::NotManaged(_) => {
                StatusCode::NOT_FOUND
            }
            Self::Locked { .. } => StatusCode::CONFLICT,
            Self::TooMany | Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::StartFailed { .. } | Self::Unhealthy { .. } | Self::NoPort(_) | Self::Internal(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::Malformed(_) => "invalidRequest",
            Self::NoSuchEndpoint => "notFound",
            Self::NoPath | Self::NoDirectory(_) | Self::NoCraft(_) | Self::NotManaged(_) => {
                "workspaceNotFound"
            }
            Self::Locked { .. } => "workspaceLocked",
            Self::StartFailed { .. } => "appServerStartFailed",
            Self::Unhealthy { .. } => "appServerUnhealthy",
            Self::NoPort(_) => "portUnavailable",
            Self::Proxy(_) => "invalidProxySidecar",
            Self::Notification => "invalidNotification",
            Self::TooMany => "tooManyWorkspaces",
            Self::Stopping => "hubStopping",
            Self::Internal(_) => "hubInternalError",
        }
    }

    fn details(&self) -> Value {
        let workspace = |path: &Path| json!({ "workspacePath": path });
        match self {
            Self::NoDirectory(path) | Self::NoCraft(path) | Self::NotManaged(path) => workspace(path),
            Self::Locked { workspace, lock, pid } => {
                json!({ "workspacePath": workspace, "lockPath": lock, "pid": pid })
            }
            Self::StartFailed { stderr, .. } | Self::Unhealthy { stderr, .. } => json!({ "stderr": stderr }),
            _ => Value::Null,
        }
    }
}

impl IntoResponse for HubError {
    fn into_response(self) -> Response {
        let error = json!({ "code": self.code(), "message": self.to_string(), "details": self.details() });
        (self.status(), Json(json!({ "error": error }))).into_response()
    }
}
