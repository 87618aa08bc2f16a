//! Handlers of MCP servers that run. Lists and calls run beside the connection's next requests.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::outside::{OutsideAnswer, OutsideCall, OutsideError};
use bobbin_agent_api::tool_server::{LoginWishes, NoTool, ToolServerError, ToolServers};
use bobbin_model::Json;
use bobbin_native_wire::RpcError;
use bobbin_native_wire::handshake::types::EmptyResult;
use bobbin_native_wire::mcp_runtime::types::{
    McpServerOauthLoginParams, McpServerOauthLoginResult, McpServerResourceReadParams,
    McpServerStatusListParams, McpServerStatusListResult, McpServerToolCallParams,
};
use bobbin_peer::Responder;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::elicitation::Outside;
use super::{Calls, convert};
use crate::call::NoParams;
use crate::client::{Client, fail, handle, refuse, refuse_params};
use crate::groups::mcp::handlers::wire_error;

/// Most servers of a page.
const MOST: u32 = 100;
/// Bytes of tools and resources that end a page.
const MAX_PAGE: usize = 4 << 20;
/// Bytes of an answer that waits for the client to read its other answers.
const LARGE: usize = 1 << 20;
/// Most scopes of a login, and bytes of each (guess: several times what servers have).
const MAX_SCOPES: usize = 64;
const MAX_SCOPE: usize = 256;
/// First characters of a cursor: it names the last server of its page.
const CURSOR: &str = "after:";

type Servers = Arc<dyn ToolServers>;

/// Checks that there is the Thread of a request, if it names one. Otherwise answers with the error.
async fn known(client: &Client, thread: Option<&String>, responder: Responder) -> Option<Responder> {
    let Some(thread) = thread else {
        return Some(responder);
    };
    Some(handle(client, thread, responder).await?.1)
}

pub(super) async fn list(
    client: &Client,
    servers: &Servers,
    params: McpServerStatusListParams,
    responder: Responder,
) {
    let limit = params.limit.unwrap_or(MOST);
    if !(1..=MOST).contains(&limit) {
        return refuse_params(responder, format!("'limit' must be 1 to {MOST}."));
    }
    let after = params.cursor.as_ref().map(|cursor| cursor.strip_prefix(CURSOR));
    let after = match after {
        Some(None) => return refuse_params(responder, "'cursor' is none of this list."),
        Some(Some(name)) => Some(name.to_owned()),
        None => None,
    };
    let Some(responder) = known(client, params.thread_id.as_ref(), responder).await else {
        return;
    };
    let (servers, detail) = (servers.clone(), params.detail.unwrap_or_default());
    client.answer_large(responder, async move |responder| {
        let mut all = servers.details().await;
        all.sort_by_cached_key(|details| details.server.name.to_lowercase());
        all.retain(|details| {
            let name = details.server.name.to_lowercase();
            after.as_ref().is_none_or(|after| name > *after)
        });
        let (mut data, mut bytes, count) = (Vec::new(), 0, all.len());
        for details in &all {
            let server = convert::server(details, detail);
            bytes += serde_json::to_string(&server).map_or(0, |text| text.len());
            if data.len() == limit as usize || (bytes > MAX_PAGE && !data.is_empty()) {
                break;
            }
            data.push(server);
        }
        let last = data.last().filter(|_| data.len() < count);
        let next_cursor = last.map(|last| format!("{CURSOR}{}", last.name.to_lowercase()));
        responder.ok(McpServerStatusListResult { data, next_cursor });
    });
}

pub(super) async fn call(
    client: &Client,
    calls: &Calls,
    params: McpServerToolCallParams,
    responder: Responder,
) {
    let McpServerToolCallParams {
        thread_id,
        server,
        tool,
        arguments,
        meta,
    } = params;
    let arguments = arguments.or_else(|| Json::object("{}"));
    let Some(arguments) = arguments.filter(is_object) else {
        return refuse_params(responder, "'arguments' must be an object.");
    };
    if meta.as_ref().is_some_and(|meta| !is_object(meta)) {
        return refuse_params(responder, "'_meta' must be an object.");
    }
    let Some((thread, responder)) = handle(client, &thread_id, responder).await else {
        return;
    };
    let (asking, calls) = (client.clone(), calls.clone());
    client.spawn(async move {
        let client = asking;
        let snapshot = match client.threads().snapshot(&thread).await {
            Ok(snapshot) => snapshot,
            Err(error) => return fail(responder, &error),
        };
        let questions = Outside {
            threads: client.threads().clone(),
            root: snapshot.state.header.root().clone(),
            caller: client.asked.clone(),
        };
        let called = calls.call(OutsideCall {
            thread: snapshot.state,
            features: client.turn_features(),
            server,
            tool,
            arguments,
            meta,
            questions: Arc::new(questions),
            cancel: CancellationToken::new(),
        });
        let called = tokio::select! {
            // The client is gone; dropping the call cancels it at the server.
            () = client.peer().closed() => return,
            called = called => called,
        };
        match called {
            Ok(OutsideAnswer::Whole(answer)) => whole(&client, answer, responder).await,
            Ok(OutsideAnswer::Refused(why)) => {
                responder.ok(json!({ "content": [{ "type": "text", "text": why }], "isError": true }));
            }
            Err(error) => refuse(responder, call_error(error)),
        }
    });
}

fn is_object(json: &Json) -> bool {
    json.get().trim_start().starts_with('{')
}

fn call_error(error: OutsideError) -> RpcError {
    match error {
        OutsideError::NoTool(NoTool::Server(name)) => RpcError::mcp_server_not_found(&name),
        OutsideError::NoTool(error @ NoTool::Tool { .. }) => RpcError::invalid_params(format!("{error}.")),
        OutsideError::Unusable(why) => RpcError::invalid_params(why),
        OutsideError::NoTool(NoTool::NotConnected(why)) | OutsideError::Failed(why) => {
            RpcError::internal_error(why)
        }
    }
}

/// Answers with an object of an MCP server, unchanged.
async fn whole(client: &Client, answer: Json, responder: Responder) {
    if answer.get().len() <= LARGE {
        return responder.ok(answer);
    }
    match client.large_answer().await {
        Ok(_permit) => responder.ok(answer),
        Err(error) => refuse(responder, error),
    }
}

pub(super) async fn read(
    client: &Client,
    servers: &Servers,
    params: McpServerResourceReadParams,
    responder: Responder,
) {
    let Some(responder) = known(client, params.thread_id.as_ref(), responder).await else {
        return;
    };
    let (asking, servers) = (client.clone(), servers.clone());
    client.spawn(async move {
        let client = asking;
        let McpServerResourceReadParams { server, uri, .. } = params;
        let read = tokio::select! {
            () = client.peer().closed() => return,
            read = servers.read_whole_resource(&server, &uri) => read,
        };
        let same = |known: &str| known.to_lowercase() == server.to_lowercase();
        match read {
            Ok(answer) => whole(&client, answer, responder).await,
            Err(_) if !servers.servers().iter().any(|known| same(&known.name)) => {
                refuse(responder, RpcError::mcp_server_not_found(&server));
            }
            Err(ToolServerError::Invalid(why)) => refuse(responder, RpcError::internal_error(why)),
            Err(error) => refuse(responder, wire_error(&error)),
        }
    });
}

pub(super) async fn reload(_: &Client, servers: &Servers, _: NoParams, responder: Responder) {
    match servers.reload().await {
        Ok(()) => responder.ok(EmptyResult {}),
        Err(error) => refuse(responder, wire_error(&error)),
    }
}

pub(super) async fn log_in(
    client: &Client,
    servers: &Servers,
    params: McpServerOauthLoginParams,
    responder: Responder,
) {
    let Some(responder) = known(client, params.thread_id.as_ref(), responder).await else {
        return;
    };
    let scopes = params.scopes.unwrap_or_default();
    let is_scope = |scope: &String| {
        (1..=MAX_SCOPE).contains(&scope.len()) && scope.chars().all(|c| c.is_ascii_graphic())
    };
    if scopes.len() > MAX_SCOPES || !scopes.iter().all(is_scope) {
        return refuse_params(responder, "'scopes' must be a few words without blanks.");
    }
    if params.timeout_secs == Some(0) {
        return refuse_params(responder, "'timeoutSecs' must be 1 at least.");
    }
    let wishes = LoginWishes {
        scopes,
        limit: params
            .timeout_secs
            .map(|seconds| Duration::from_secs(seconds.into())),
    };
    let (servers, name) = (servers.clone(), params.name);
    client.spawn(async move {
        match servers.log_in(&name, wishes).await {
            Ok(authorization_url) => responder.ok(McpServerOauthLoginResult { authorization_url }),
            // The server has no login, or no login is possible now.
            Err(ToolServerError::Invalid(why)) => refuse(responder, RpcError::invalid_params(why)),
            Err(error) => refuse(responder, wire_error(&error)),
        }
    });
}
