//! The workspace of an editor that has started us: its server, found or started.

use std::sync::Arc;

use bobbin_editor_kit::{EditorServices, Failure as Refusal, Host, OpenRequest};
use bobbin_framing::Transport;
use bobbin_local::{Dialect, Hello, join};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::attach::{self, IDLE, Start};
use crate::exit::Failure;
use crate::state;
use crate::telemetry::LogOptions;

/// Where the editor's workspace is looked for.
pub struct EditorWorkspace {
    log: LogOptions,
    refused: Mutex<Option<anyhow::Error>>,
}

impl EditorWorkspace {
    /// Returns one that no editor has named yet. A server that is started for it logs like `log`.
    pub fn new(log: LogOptions) -> Self {
        Self {
            log,
            refused: Mutex::default(),
        }
    }

    /// Returns why the workspace could not be reached, if that was so.
    pub fn refused(&self) -> Option<anyhow::Error> {
        self.refused.lock().take()
    }

    /// Returns a connection to the server of the workspace. Otherwise it is noted why there is none.
    pub async fn look(self: Arc<Self>, wanted: OpenRequest) -> Option<Transport> {
        match reach(wanted, &self.log).await {
            Ok(server) => Some(server),
            Err(error) => {
                *self.refused.lock() = Some(error);
                None
            }
        }
    }
}

async fn reach(wanted: OpenRequest, log: &LogOptions) -> anyhow::Result<Transport> {
    let workspace = state::workspace(wanted.root.as_deref())?;
    let launch = attach::launch(&workspace, IDLE, log, &Start::from(wanted.options))?;
    let hello = Hello::new(Dialect::Eca, &workspace.root);
    let joined = join(&workspace, &hello, Some(&launch)).await;
    Ok(joined.map_err(Failure::from)?.transport)
}

impl Host for EditorWorkspace {
    /// Says why the server of the workspace cannot be reached: an editor that could be handed to it is not served here.
    fn open(&self, _wanted: OpenRequest) -> BoxFuture<'_, Result<EditorServices, Refusal>> {
        let refused = self.refused.lock();
        let why = refused.as_ref().map(|error| format!("{error:#}"));
        let why = why.unwrap_or_else(|| "initialize comes alone, not in a batch".to_owned());
        async move { Err(Refusal(why)) }.boxed()
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
