//! Support for a server that a Hub started: its variables, its endpoints, notifications to the Hub.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use bobbin_config::Config;
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_hub::{Managed, Notification, Remote};
use bobbin_model::ContextWindow;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::listen::{Listen, TlsOptions};
use crate::models::variable;
use crate::server::Endpoints;

/// Returns the variables of this process without those that a Hub has set for this process alone.
pub fn own_variables() -> Vec<(OsString, OsString)> {
    let variables = std::env::vars_os();
    variables
        .filter(|(name, _)| !bobbin_hub::is_managed_variable(name))
        .collect()
}

/// Returns the names of the variables that a Hub has set for this process.
pub fn variables_of_this_process() -> Vec<OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names
        .filter(|name| bobbin_hub::is_managed_variable(name))
        .collect()
}

/// Address and token of the Hub that started this process, if one has.
static HUB: OnceLock<(String, String)> = OnceLock::new();

/// Returns the settings from the Hub that started this process; `None` if no Hub has.
///
/// # Errors
/// A variable of the Hub has an invalid value.
pub fn managed() -> anyhow::Result<Option<Managed>> {
    Ok(Managed::from_variables(variable)?)
}

/// Returns the endpoints of a server that a Hub started, and applies the Hub's other settings.
///
/// # Errors
/// The address of the proxy cannot be used.
pub fn endpoints(managed: Managed, config: &mut Config) -> anyhow::Result<Endpoints> {
    if let Some((address, key)) = &managed.proxy {
        config.set_endpoint(address, key)?;
    }
    if let Some(hub) = managed.hub {
        drop(HUB.set(hub));
    }
    let address: SocketAddr = managed.address;
    Ok(Endpoints {
        stdio: true,
        listen: Some(Listen {
            address,
            token: managed.token,
            may_move: false,
            tls: TlsOptions::default(),
        }),
        idle: None,
    })
}

/// Returns the address of the Hub that started this process.
pub fn base_url() -> Option<&'static str> {
    HUB.get().map(|(base_url, _)| base_url.as_str())
}

/// Returns an engine that notifies the Hub when Turns end, if a Hub started this process.
pub fn notifying(engine: impl Engine, root: &Path) -> Arc<dyn Engine> {
    let engine: Arc<dyn Engine> = Arc::new(engine);
    match HUB.get() {
        Some((base_url, token)) => Arc::new(Notifying {
            engine,
            hub: Arc::new(Remote::at(base_url.clone(), token.clone())),
            workspace: root.to_string_lossy().into_owned(),
        }),
        None => engine,
    }
}

struct Notifying {
    engine: Arc<dyn Engine>,
    hub: Arc<Remote>,
    workspace: String,
}

impl Engine for Notifying {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let (running, hub) = (self.engine.run(turn.clone()), self.hub.clone());
        let workspace_path = self.workspace.clone();
        async move {
            let ended = running.await;
            let header = turn.header();
            let (kind, title, severity) = match &ended {
                Ok(()) => ("turnCompleted", "The turn is done", "success"),
                Err(EngineFailure::Failed(_) | EngineFailure::Stopped { .. }) => {
                    ("turnFailed", "The turn has failed", "error")
                }
                Err(EngineFailure::Gone(_)) => return ended,
            };
            if header.source.sub_agent().is_none() {
                let name = header.display_name.clone();
                let notification = Notification {
                    workspace_path,
                    kind,
                    title: title.to_owned(),
                    body: name.unwrap_or_else(|| "A conversation".to_owned()),
                    severity,
                    source: "appserver",
                };
                // The Turn's end does not wait for the notification, and a missing Hub is no failure.
                tokio::spawn(async move { drop(hub.notify(&notification).await) });
            }
            ended
        }
        .boxed()
    }

    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        self.engine.window(model)
    }
}
