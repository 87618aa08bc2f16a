//! Clients that can apply edits, and which of them gets one.

use std::sync::Arc;
use std::time::Duration;

use bobbin_finecode_wire::Json;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout;

/// How long a client may take to apply an edit.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connected client, numbered by the caller.
pub type ClientId = u64;

/// A client that can apply edits.
pub trait Editor: Send + Sync {
    /// Asks it to apply the params of a `workspace/applyEdit`, and returns its answer.
    fn apply(&self, params: Json) -> BoxFuture<'static, Result<Json, String>>;
}

/// Clients that can apply edits; the most recently active one is last.
#[derive(Default)]
pub(crate) struct Editors(Mutex<Vec<(ClientId, Arc<dyn Editor>)>>);

/// The answer to an edit.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Applied {
    #[serde(default)]
    applied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<String>,
}

impl Applied {
    fn not(why: impl Into<String>) -> Self {
        Self {
            applied: false,
            failure_reason: Some(why.into()),
        }
    }
}

impl Editors {
    pub(crate) fn connect(&self, client: ClientId, editor: Arc<dyn Editor>) {
        let mut all = self.0.lock();
        all.retain(|(other, _)| *other != client);
        all.push((client, editor));
    }

    pub(crate) fn disconnect(&self, client: ClientId) {
        self.0.lock().retain(|(other, _)| *other != client);
    }

    pub(crate) fn active(&self, client: ClientId) {
        let mut all = self.0.lock();
        if let Some(at) = all.iter().position(|(other, _)| *other == client) {
            let one = all.remove(at);
            all.push(one);
        }
    }

    /// Has one client apply an edit: the first of these that can, or else the one that was active last.
    pub(crate) async fn apply(
        &self,
        first: impl IntoIterator<Item = ClientId>,
        params: &RawValue,
    ) -> Applied {
        let chosen = {
            let all = self.0.lock();
            let find = |client| all.iter().find(|(other, _)| *other == client);
            let chosen = first.into_iter().find_map(find).or_else(|| all.last());
            chosen.map(|(_, editor)| editor.clone())
        };
        let Some(editor) = chosen else {
            return Applied::not("no client can apply edits");
        };
        match timeout(PATIENCE, editor.apply(params.to_owned())).await {
            Ok(Ok(answer)) => serde_json::from_str(answer.get())
                .unwrap_or_else(|_| Applied::not("the client's answer cannot be read")),
            Ok(Err(why)) => Applied::not(why),
            Err(_) => Applied::not("the client did not answer"),
        }
    }
}

/// Returns the documents that an edit changes.
pub(crate) fn documents_of(params: &RawValue) -> Vec<String> {
    let params: Value = serde_json::from_str(params.get()).unwrap_or_default();
    let changes = params.pointer("/edit/documentChanges").and_then(Value::as_array);
    let uris = changes.into_iter().flatten();
    let uris = uris.filter_map(|change| change.pointer("/textDocument/uri").and_then(Value::as_str));
    uris.map(str::to_owned).collect()
}
