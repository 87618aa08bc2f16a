//! A server's tool as the engine calls it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::picture::{PictureFiles, StoredPicture};
use bobbin_agent_api::tool::{
    CallContext, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
    WholeAnswer,
};
use bobbin_model::{Json, ThreadId};
use bobbin_supervise::Supervised;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, CustomResult,
    ElicitResult, ElicitationAction, InputRequest, JsonObject, MetaObject, RequestMetaObject, ServerResult,
};
use rmcp::service::ServiceError;
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

/// The result of a call that was stopped.
const CANCELLED: &str = "cancelled: the call was given up; it may have had some or all of its effect";

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
            let called = tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(CANCELLED.to_owned()),
                called = self.call(&context, None, Want::Text) => called,
            };
            let secrets = &self.server.service().spec.secrets;
            match called {
                Ok(Called { result, .. }) => {
                    let stored = match &self.pictures {
                        Some(files) if answer::has_pictures(&result) => {
                            store(files, &context.origin.thread, &result).await
                        }
                        _ => BTreeMap::new(),
                    };
                    answer::output(&result, stored, secrets)
                }
                Err(why) => failed(why),
            }
        }
        .boxed()
    }

    fn run_whole(
        self: Box<Self>,
        meta: Option<Json>,
        context: CallContext,
    ) -> BoxFuture<'static, Option<Result<WholeAnswer, String>>> {
        async move {
            let called = tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(CANCELLED.to_owned()),
                called = self.call(&context, meta, Want::Whole) => called,
            };
            Some(called.and_then(|called| self.whole(called)))
        }
        .boxed()
    }
}

/// The part of a result that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// Its text, for a model.
    Text,
    /// All of it, also members that `rmcp` does not know.
    Whole,
}

/// The result of a call.
struct Called {
    result: CallToolResult,
    /// The result as the server wrote it, if it was wanted and is known.
    raw: Option<Json>,
}

impl Prepared {
    fn whole(&self, Called { result, raw }: Called) -> Result<WholeAnswer, String> {
        let output = answer::output(&result, BTreeMap::new(), &self.server.service().spec.secrets);
        let json = raw.map_or_else(|| Json::of(&result), Ok);
        Ok(WholeAnswer {
            json: json.map_err(|error| error.to_string())?,
            text: output.text,
            success: output.success,
        })
    }

    /// Calls the tool. An error is a text for the model or user.
    async fn call(&self, context: &CallContext, meta: Option<Json>, want: Want) -> Result<Called, String> {
        let spec = &self.server.service().spec;
        let (name, limit) = (&spec.name, spec.call_timeout);
        // A server's text may contain the secrets that it got.
        let said = |text: &str| head(&scrubbed(text, &spec.secrets), MAX_ERROR);
        let open = |running: &Running| !running.peer.is_transport_closed();
        let Ok(running) = timeout(limit, self.server.ready(open)).await else {
            return Err(late(limit));
        };
        let Some(running) = running else {
            let why = self.server.service().shown().problem.clone();
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            return Err(format!("the MCP server {name} does not run{why}"));
        };
        let open = running.calls.open(context);
        let mut params = CallToolRequestParams::new(self.tool.clone()).with_arguments(self.arguments.clone());
        let meta: Option<MetaObject> = meta.and_then(|meta| meta.decode().ok());
        params.meta = meta.map(RequestMetaObject);
        let called = tokio::select! {
            biased;
            called = answered(&running, self.server.service(), &open.call, params, want) => called,
            () = open.call.over(limit) => return Err(late(limit)),
        };
        drop(open);
        Err(match called {
            Ok(Some(called)) => return Ok(called),
            Ok(None) => {
                format!(
                    "the MCP server {name} answered with a request of its own, which cannot be served here"
                )
            }
            Err(ServiceError::McpError(error)) => said(&error.message),
            Err(ServiceError::TransportSend(error)) => match (&spec.launch, Denial::of(&*error.error)) {
                (Launch::Http(at), Some(denial)) => {
                    format!("the MCP server {name} {}", denial.explain(name, at).await)
                }
                _ => ended(name),
            },
            Err(ServiceError::TransportClosed) => ended(name),
            Err(error) => said(&format!("the call failed: {error}")),
        })
    }
}

/// Calls a tool. A server that answers with questions gets the answers of users and the workspace, at most
/// [`MAX_ROUNDS`] times. Returns `None` if it asks for something else.
async fn answered(
    running: &Running,
    server: &Server,
    call: &OpenCall,
    mut params: CallToolRequestParams,
    want: Want,
) -> Result<Option<Called>, ServiceError> {
    for _ in 0..MAX_ROUNDS {
        let (response, raw) = match want {
            Want::Text => (running.peer.call_tool_once(params.clone()).await?, None),
            Want::Whole => whole(running, params.clone()).await?,
        };
        let asks = match response {
            CallToolResponse::Complete(result) => return Ok(Some(Called { result, raw })),
            CallToolResponse::InputRequired(asks) => asks,
            _ => return Ok(None),
        };
        let mut answers = BTreeMap::new();
        for (id, asked) in asks.input_requests.unwrap_or_default() {
            let answer = match asked {
                InputRequest::Elicitation(asked) => {
                    let answered = elicit(&server.spec.name, call, &asked.params).await;
                    // Such an answer cannot be an error.
                    let cancelled = |_| ElicitResult::new(ElicitationAction::Cancel);
                    serde_json::to_value(answered.unwrap_or_else(cancelled))
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

/// Calls a tool once, and returns the result also as the server wrote it. A result with content that `rmcp` does not know
/// counts.
async fn whole(
    running: &Running,
    params: CallToolRequestParams,
) -> Result<(CallToolResponse, Option<Json>), ServiceError> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let (result, raw) = running.raw.call(&running.peer, request).await?;
    Ok(match result {
        ServerResult::CallToolResult(result) => (CallToolResponse::Complete(result), raw),
        ServerResult::InputRequiredResult(asks) => (CallToolResponse::InputRequired(asks), None),
        ServerResult::CustomResult(CustomResult(value)) if value["content"].is_array() => {
            let json = raw.map_or_else(|| Json::of(&value), Ok);
            let mut known = CallToolResult::default();
            known.is_error = value["isError"].as_bool();
            (CallToolResponse::Complete(known), json.ok())
        }
        _ => return Err(ServiceError::UnexpectedResponse),
    })
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

fn ended(name: &str) -> String {
    format!(
        "the MCP server {name} ended while this call ran; it may have had some or all of its effect, and it was not \
         repeated"
    )
}

fn late(limit: Duration) -> String {
    format!("no answer within {limit:?}: the call was given up; it may have had some or all of its effect")
}

fn failed(text: impl Into<String>) -> ToolOutput {
    ToolOutput {
        text: text.into(),
        ..ToolOutput::default()
    }
}
