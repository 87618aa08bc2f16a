//! A server's tool as the engine calls it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::picture::{PictureFiles, StoredPicture};
use bobbin_agent_api::tool::{
    CallContext, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::{Json, ThreadId};
use bobbin_supervise::Supervised;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, InputRequest, JsonObject};
use rmcp::service::{Peer, ServiceError};
use tokio::time::timeout;

use crate::Launch;
use crate::answer;
use crate::denial::Denial;
use crate::elicit::{OpenCall, elicit};
use crate::handler::roots;
use crate::listing::Listed;
use crate::server::{Running, Server};
use crate::text::{head, scrubbed};

/// Longest error text of a server that the model gets.
const MAX_ERROR: usize = 4 << 10;
/// Most times that a server may answer one call with questions.
const MAX_ROUNDS: usize = 8;

/// A tool of a server.
pub(crate) struct HostedTool {
    pub(crate) server: Arc<Supervised<Server>>,
    pub(crate) listed: Arc<Listed>,
    pub(crate) pictures: Option<Arc<dyn PictureFiles>>,
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
            pictures: self.pictures.clone(),
        }))
    }
}

struct Prepared {
    server: Arc<Supervised<Server>>,
    tool: String,
    arguments: JsonObject,
    permission: Permission,
    pictures: Option<Arc<dyn PictureFiles>>,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            // Dropping the call cancels it at the server.
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => failed("cancelled: the call was given up; it may have had some or all of its effect"),
                called = self.call(&context) => called,
            }
        }
        .boxed()
    }
}

impl Prepared {
    async fn call(self: Box<Self>, context: &CallContext) -> ToolOutput {
        let spec = &self.server.service().spec;
        let (name, limit) = (&spec.name, spec.call_timeout);
        // A server's text may contain the secrets that it got.
        let said = |text: &str| failed(head(&scrubbed(text, &spec.secrets), MAX_ERROR));
        let open = |running: &Running| !running.peer.is_transport_closed();
        let Ok(running) = timeout(limit, self.server.ready(open)).await else {
            return late(limit);
        };
        let Some(running) = running else {
            let why = self.server.service().shown().problem.clone();
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            return failed(format!("the MCP server {name} does not run{why}"));
        };
        let open = running.calls.open(context);
        let params = CallToolRequestParams::new(self.tool).with_arguments(self.arguments);
        let called = tokio::select! {
            biased;
            called = answered(&running.peer, self.server.service(), &open.call, params) => called,
            () = open.call.over(limit) => return late(limit),
        };
        drop(open);
        match called {
            Ok(Some(result)) => {
                let stored = match &self.pictures {
                    Some(files) if answer::has_pictures(&result) => {
                        store(files, &context.origin.thread, &result).await
                    }
                    _ => BTreeMap::new(),
                };
                answer::output(&result, stored, &spec.secrets)
            }
            Ok(None) => failed(format!(
                "the MCP server {name} answered with a request of its own, which cannot be served here"
            )),
            Err(ServiceError::McpError(error)) => said(&error.message),
            Err(ServiceError::TransportSend(error)) => match (&spec.launch, Denial::of(&*error.error)) {
                (Launch::Http(at), Some(denial)) => failed(format!(
                    "the MCP server {name} {}",
                    denial.explain(name, at).await
                )),
                _ => ended(name),
            },
            Err(ServiceError::TransportClosed) => ended(name),
            Err(error) => said(&format!("the call failed: {error}")),
        }
    }
}

/// Calls a tool. A server that answers with questions gets the answers of users and the workspace, at most
/// [`MAX_ROUNDS`] times. Returns `None` if it asks for something else.
async fn answered(
    peer: &Peer<RoleClient>,
    server: &Server,
    call: &OpenCall,
    mut params: CallToolRequestParams,
) -> Result<Option<CallToolResult>, ServiceError> {
    for _ in 0..MAX_ROUNDS {
        let asks = match peer.call_tool_once(params.clone()).await? {
            CallToolResponse::Complete(result) => return Ok(Some(result)),
            CallToolResponse::InputRequired(asks) => asks,
            _ => return Ok(None),
        };
        let mut answers = BTreeMap::new();
        for (id, asked) in asks.input_requests.unwrap_or_default() {
            let answer = match asked {
                InputRequest::Elicitation(asked) => {
                    serde_json::to_value(elicit(&server.spec.name, call, &asked.params).await)
                }
                InputRequest::ListRoots(_) => serde_json::to_value(roots(server.root.as_ref())),
                _ => return Ok(None),
            };
            answers.insert(id, answer.unwrap_or_default());
        }
        // A server may only ask to be called again.
        if answers.is_empty() && asks.request_state.is_none() {
            return Ok(None);
        }
        params.input_responses = (!answers.is_empty()).then_some(answers);
        params.request_state = asks.request_state;
    }
    Ok(None)
}

/// Stores the pictures of a result with the files of its Thread. Leaves out pictures that cannot be stored.
async fn store(
    files: &Arc<dyn PictureFiles>,
    thread: &ThreadId,
    result: &CallToolResult,
) -> BTreeMap<usize, StoredPicture> {
    let result = result.clone();
    let found = tokio::task::spawn_blocking(move || answer::pictures(&result)).await;
    let mut stored = BTreeMap::new();
    for picture in found.unwrap_or_default() {
        match files.put(thread, picture.bytes).await {
            Ok(file) => drop(stored.insert(picture.at, file)),
            Err(error) => tracing::info!(%error, "a picture of a tool is not shown"),
        }
    }
    stored
}

fn ended(name: &str) -> ToolOutput {
    failed(format!(
        "the MCP server {name} ended while this call ran; it may have had some or all of its effect, and it was not \
         repeated"
    ))
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
