//! A server's tool as the engine calls it.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::tool::{
    CallContext, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::Json;
use bobbin_supervise::Supervised;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject};
use rmcp::service::ServiceError;
use tokio::time::timeout;

use crate::answer;
use crate::listing::Listed;
use crate::server::{Running, Server};
use crate::text::{head, scrubbed};

/// Longest error text of a server that the model is given.
const MAX_ERROR: usize = 4 << 10;

/// A tool of a server.
pub(crate) struct HostedTool {
    pub(crate) server: Arc<Supervised<Server>>,
    pub(crate) listed: Arc<Listed>,
}

impl Tool for HostedTool {
    fn spec(&self) -> &ToolSpec {
        &self.listed.spec
    }

    fn prepare(&self, arguments: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let decoded = arguments
            .decode()
            .map_err(|error| ToolRefusal::Unusable(format!("the arguments are not usable: {error}")))?;
        let permission = self.listed.traits.permission(
            &self.server.service().spec.name,
            &self.listed.name,
            arguments.get(),
        );
        Ok(Box::new(Prepared {
            server: self.server.clone(),
            tool: self.listed.name.clone(),
            arguments: decoded,
            permission,
        }))
    }
}

struct Prepared {
    server: Arc<Supervised<Server>>,
    tool: String,
    arguments: JsonObject,
    permission: Permission,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let limit = self.server.service().spec.call_timeout;
            tokio::select! {
                biased;
                // Dropping the call tells the server that it is given up.
                () = context.cancel.cancelled() => failed("cancelled: the call was given up; it may have had some or all of its effect"),
                called = timeout(limit, self.call()) => called.unwrap_or_else(|_| late(limit)),
            }
        }
        .boxed()
    }
}

impl Prepared {
    async fn call(self: Box<Self>) -> ToolOutput {
        let spec = &self.server.service().spec;
        let name = &spec.name;
        // What a server says of its own accord may have what it was given in it.
        let said = |text: &str| failed(head(&scrubbed(text, &spec.secrets), MAX_ERROR));
        let open = |running: &Running| !running.peer.is_transport_closed();
        let Some(Running { peer, .. }) = self.server.ready(open).await else {
            let why = self.server.service().shown().problem.clone();
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            return failed(format!("the MCP server {name} does not run{why}"));
        };
        let params = CallToolRequestParams::new(self.tool).with_arguments(self.arguments);
        match peer.call_tool_once(params).await {
            Ok(CallToolResponse::Complete(result)) => answer::output(&result, &spec.secrets),
            Ok(_) => failed(format!(
                "the MCP server {name} answered with a request of its own, which cannot be served here"
            )),
            Err(ServiceError::McpError(error)) => said(&error.message),
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => failed(format!(
                "the MCP server {name} ended while this call ran; it may have had some or all of its effect, and \
                 it was not repeated"
            )),
            Err(error) => said(&format!("the call failed: {error}")),
        }
    }
}

fn late(limit: Duration) -> ToolOutput {
    failed(format!(
        "no answer within {limit:?}: the call was given up; it may have had some or all of its effect"
    ))
}

fn failed(text: impl Into<String>) -> ToolOutput {
    ToolOutput {
        text: text.into(),
        ..ToolOutput::default()
    }
}
