//! The requests and notifications of a server: changed lists, questions to users, the workspace's root.
#![expect(
    deprecated,
    reason = "later versions of MCP have no roots, and servers ask for them"
)]

use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorData,
    FormElicitationCapability, Implementation, ListRootsResult, Root, RootsCapabilities,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Notify;

use crate::elicit::{OpenCalls, elicit};
use crate::raw::RawResults;

/// Handles the notifications and requests of a server.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    pub(crate) name: String,
    /// The address of the workspace.
    pub(crate) root: Option<Arc<str>>,
    /// Notified when the server's lists have changed.
    pub(crate) changed: Arc<Notify>,
    /// The open calls, one of which a question of the server belongs to.
    pub(crate) calls: Arc<OpenCalls>,
    /// Results as the server writes them.
    pub(crate) raw: Arc<RawResults>,
}

impl Handler {
    pub(crate) fn new(name: &str, root: Option<&Arc<str>>) -> Self {
        Self {
            name: name.to_owned(),
            root: root.cloned(),
            changed: Arc::default(),
            calls: Arc::default(),
            raw: Arc::default(),
        }
    }
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answered = match self.calls.only() {
            Some(call) => elicit(&self.name, &call, &asked).await,
            None => Err(
                "a question belongs to a call, and the calls of several threads or none are open".to_owned(),
            ),
        };
        answered.map_err(|why| ErrorData::internal_error(why, None))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(roots(self.root.as_ref()))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new("bobbin", env!("CARGO_PKG_VERSION"));
        let mut can = ClientCapabilities::default();
        can.elicitation = Some(
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::new())
                .with_url(UrlElicitationCapability::new()),
        );
        can.roots = self.root.is_some().then(RootsCapabilities::default);
        ClientConfig::new(can, this)
    }
}

/// Returns the answer to a server that asks for roots. `root` is the address of the workspace.
pub(crate) fn roots(root: Option<&Arc<str>>) -> ListRootsResult {
    ListRootsResult::new(root.map(|uri| Root::new(&**uri)).into_iter().collect())
}
