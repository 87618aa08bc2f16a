//! Which requests the audit names. The owner of a Thread adds what its events say.

use bobbin_model::{Need, ThreadId};
use bobbin_native_wire::lenient;
use bobbin_peer::CallContext;
use bobbin_store::{AuditEntry, Deed};
use serde::Deserialize;

use crate::client::Client;
use crate::group::Method;

/// Requests that need less than the right to approve, and are named all the same.
const ALSO: &[&str] = &["thread/config/update", "turn/interrupt"];

/// Requests that need more and change nothing that lasts, or are one of many steps.
const LEFT_OUT: &[&str] = &[
    "alert/test",
    "audit/cut",
    "audit/list",
    "config/read",
    "device/list",
    "doctor/run",
    "externalChannel/get",
    "externalChannel/list",
    "externalChannel/logs",
    "forward/list",
    "git/fetch/plan",
    "git/pullRequest/plan",
    "git/push/plan",
    "hermes/document/change",
    "hermes/document/close",
    "hermes/document/open",
    "hermes/document/patch",
    "hermes/document/redo",
    "hermes/document/set",
    "hermes/document/undo",
    "hooks/list",
    "mcp/get",
    "mcp/list",
    "mcp/prompt/get",
    "mcp/resource/list",
    "mcp/resource/read",
    "mcpServer/resource/read",
    "provider/list",
    "shell/attach",
    "shell/detach",
    "shell/list",
    "shell/resize",
    "shell/write",
    "subagent/profiles/list",
];

/// Whether the audit names requests of a method.
pub(crate) fn names(method: &Method) -> bool {
    let counts = method.need >= Need::Approve || ALSO.contains(&method.name);
    counts && !LEFT_OUT.contains(&method.name)
}

/// Records a request before its handler gets it. Where the store takes nothing, the request goes on.
pub(crate) async fn record(client: &Client, method: &Method, request: &CallContext) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct OfThread {
        thread_id: Option<String>,
    }
    let named = lenient::params::<OfThread>(request.params.as_deref()).ok();
    let entry = AuditEntry {
        at: client.threads().clock().now(),
        actor: client.actor().person().cloned(),
        client: Some(client.native.name().to_owned()),
        thread: named.and_then(|named| named.thread_id).map(ThreadId::new),
        turn: None,
        deed: Deed::Requested {
            method: method.name.to_owned(),
        },
    };
    if let Err(error) = client.threads().record(entry).await {
        tracing::warn!(%error, method = method.name, "a request is not in the audit");
    }
}
