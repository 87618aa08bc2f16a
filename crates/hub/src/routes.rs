//! The Hub's nine endpoints.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::HubError;
use crate::events::Kind;
use crate::http::{Admission, Connection, admit};
use crate::hub::Shared;
use crate::wire::{AppServer, EnsureRequest, Json, NotificationRequest, StopRequest};

/// Longest body of a request.
const MAX_BODY_BYTES: usize = 64 << 10;
/// How long a body may take.
const BODY: Duration = Duration::from_secs(10);

type JsonAnswer<T> = Result<Json<T>, HubError>;

/// Returns the routes, closed to those who may not make requests.
pub(crate) fn routes(shared: Arc<Shared>, admission: Admission) -> Router {
    Router::new()
        .route("/v1/status", get(status))
        .route("/v1/shutdown", post(shutdown))
        .route("/v1/appservers/ensure", post(ensure))
        .route("/v1/appservers", get(list))
        .route("/v1/appservers/by-workspace", get(by_workspace))
        .route("/v1/appservers/stop", post(stop))
        .route("/v1/appservers/restart", post(restart))
        .route("/v1/events", get(events))
        .route("/v1/notifications/request", post(notify))
        .fallback(async || HubError::NoSuchEndpoint)
        .with_state(shared)
        .layer(from_fn_with_state(admission, admit))
}

async fn status(State(shared): State<Arc<Shared>>) -> Json<Value> {
    Json(json!({
        "hubVersion": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "startedAt": shared.started_at,
        "statePath": shared.settings.directory,
        "apiBaseUrl": shared.base_url,
        "binaryPath": shared.binary_path,
        "capabilities": {
            "appServerManagement": true,
            "portManagement": true,
            "events": true,
            "notifications": true,
            "tray": false,
        },
    }))
}

async fn shutdown(State(shared): State<Arc<Shared>>) -> Json<Value> {
    shared.stop.cancel();
    Json(json!({ "ok": true }))
}

async fn ensure(State(shared): State<Arc<Shared>>, request: Request) -> JsonAnswer<AppServer> {
    let wanted: EnsureRequest = body(request).await?;
    let path = wanted.workspace_path.ok_or(HubError::NoPath)?;
    shared.take_tools(wanted.runtime_tools).await?;
    shared
        .ensure(path, wanted.start_if_missing, wanted.api_proxy)
        .await
        .map(Json)
}

async fn restart(State(shared): State<Arc<Shared>>, request: Request) -> JsonAnswer<AppServer> {
    let wanted: EnsureRequest = body(request).await?;
    let path = wanted.workspace_path.ok_or(HubError::NoPath)?;
    shared.take_tools(wanted.runtime_tools).await?;
    shared.restart(path, wanted.api_proxy).await.map(Json)
}

async fn stop(State(shared): State<Arc<Shared>>, request: Request) -> JsonAnswer<AppServer> {
    let wanted: StopRequest = body(request).await?;
    let path = wanted.workspace_path.ok_or(HubError::NoPath)?;
    shared.stop_server(path).await.map(Json)
}

async fn list(State(shared): State<Arc<Shared>>) -> Json<Vec<AppServer>> {
    Json(shared.list().await)
}

async fn by_workspace(State(shared): State<Arc<Shared>>, uri: Uri) -> JsonAnswer<AppServer> {
    let query = uri.query().unwrap_or_default().as_bytes();
    let path = url::form_urlencoded::parse(query).find(|(name, _)| name == "path");
    let path = path
        .filter(|(_, path)| !path.is_empty())
        .ok_or(HubError::NoPath)?;
    shared.look_up(PathBuf::from(&*path.1)).await.map(Json)
}

async fn events(
    State(shared): State<Arc<Shared>>,
    Extension(connection): Extension<Connection>,
) -> impl IntoResponse {
    let records = shared.bus.subscribe(connection.ended);
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(records))
}

async fn notify(State(shared): State<Arc<Shared>>, request: Request) -> JsonAnswer<Value> {
    let wanted: NotificationRequest = body(request).await?;
    if wanted.kind.trim().is_empty() || wanted.title.trim().is_empty() {
        return Err(HubError::Notification);
    }
    let severity = wanted.severity.unwrap_or_default().to_ascii_lowercase();
    let known = ["info", "success", "warning", "error"];
    let severity = known
        .into_iter()
        .find(|known| *known == severity)
        .unwrap_or("info");
    let mut data = json!({ "kind": wanted.kind, "title": wanted.title, "severity": severity });
    for (name, value) in [
        ("body", wanted.body),
        ("source", wanted.source),
        ("actionUrl", wanted.action_url),
    ] {
        if let Some(value) = value {
            data[name] = value.into();
        }
    }
    shared.bus.publish(
        Kind::NotificationRequested,
        wanted.workspace_path.as_deref(),
        &data,
    );
    Ok(Json(json!({ "accepted": true })))
}

async fn body<T: DeserializeOwned>(request: Request) -> Result<T, HubError> {
    let malformed = |why: &dyn std::fmt::Display| HubError::Malformed(why.to_string());
    let read = axum::body::to_bytes(request.into_body(), MAX_BODY_BYTES);
    let bytes = match tokio::time::timeout(BODY, read).await {
        Ok(read) => read.map_err(|error| malformed(&error))?,
        Err(_) => return Err(malformed(&"it takes too long")),
    };
    serde_json::from_slice(&bytes).map_err(|error| malformed(&error))
}
