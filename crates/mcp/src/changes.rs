//! Changes of lists at servers that notify only subscribers: those of revision 2026-07-28.

use std::future::pending;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ServerCapabilities, SubscriptionFilter};
use rmcp::service::{Peer, ServiceError};
use tokio::sync::Notify;
use tokio::time::sleep;

/// Pause before an ended subscription is opened again. (Guess: a proxy ends a silent one after about a minute.)
const PAUSE: Duration = Duration::from_secs(30);

/// Subscribes to the changes of a server's lists and reports each. Never returns.
pub(crate) async fn follow(peer: &Peer<RoleClient>, changed: &Notify) {
    let info = peer.peer_info();
    let info = info.filter(|info| !info.protocol_version.has_initialize());
    let Some(wanted) = info.and_then(|info| changing(&info.capabilities)) else {
        return pending().await;
    };
    loop {
        match peer.listen(wanted.clone()).await {
            Ok(mut subscription) => {
                // The lists may have changed before.
                changed.notify_one();
                while let Ok(Some(_)) = subscription.next().await {
                    changed.notify_one();
                }
            }
            Err(ServiceError::McpError(error)) => {
                tracing::debug!(%error, "an MCP server takes no subscription");
                return pending().await;
            }
            Err(error) => tracing::debug!(%error, "a subscription at an MCP server was not opened"),
        }
        sleep(PAUSE).await;
    }
}

/// Returns the lists whose changes a server reports. `None` if there are none.
fn changing(capabilities: &ServerCapabilities) -> Option<SubscriptionFilter> {
    let tools = capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
    let prompts = capabilities
        .prompts
        .as_ref()
        .and_then(|prompts| prompts.list_changed);
    let resources = capabilities
        .resources
        .as_ref()
        .and_then(|resources| resources.list_changed);
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = tools.filter(|reported| *reported);
    filter.prompts_list_changed = prompts.filter(|reported| *reported);
    filter.resources_list_changed = resources.filter(|reported| *reported);
    (filter != SubscriptionFilter::default()).then_some(filter)
}
