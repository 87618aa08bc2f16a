//! Resources and prompts of a server, which users choose.
//!
//! Lists are read page by page within [`LIMIT`], at most [`MAX_PAGES`] pages and [`MAX_LISTED`] entries of each kind. A
//! list that fails is an empty one: no tool depends on it. Long resources and prompts are cut like a call's result.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::tool_server::{PromptArgument, ResourceTemplate, ServerPrompt, ServerResource};
use bobbin_model::Json;
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, ContentBlock, GetPromptRequestParams, GetPromptResponse, PaginatedRequestParams,
    ReadResourceRequest, ReadResourceRequestParams, ReadResourceResponse, ResourceContents, Role,
    ServerResult,
};
use rmcp::service::{Peer, ServiceError};
use serde_json::Value;
use tokio::time::timeout;

use crate::Secret;
use crate::answer::{self, MAX_TEXT};
use crate::server::Running;
use crate::text::{head, head_and_tail, scrubbed};

/// How long a server may take for its lists, and for one resource or prompt. (Guess: a user waits for it.)
const LIMIT: Duration = Duration::from_secs(10);
/// Most pages of one list.
const MAX_PAGES: usize = 16;
/// Most resources, and most prompts, of one server (guess: more than a user looks through).
const MAX_LISTED: usize = 256;
/// Longest name, address or kind; an entry with a longer one is left out.
const MAX_WORD: usize = 2 << 10;
/// Longest description; the rest is cut.
const MAX_DESCRIPTION: usize = 1 << 10;
/// Most arguments of a prompt.
const MAX_ARGUMENTS: usize = 32;
/// Longest shown error text of a server.
const MAX_ERROR: usize = 500;

/// The resources and prompts of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extras {
    pub(crate) resources: Arc<[ServerResource]>,
    pub(crate) templates: Arc<[ResourceTemplate]>,
    pub(crate) prompts: Arc<[ServerPrompt]>,
}

/// Whether a server declares resources or prompts.
pub(crate) fn are_there(peer: &Peer<RoleClient>) -> bool {
    let info = peer.peer_info();
    info.is_some_and(|info| info.capabilities.resources.is_some() || info.capabilities.prompts.is_some())
}

/// Lists the resources and prompts of a server.
pub(crate) async fn list(peer: &Peer<RoleClient>, server: &str) -> Extras {
    let Some(info) = peer.peer_info() else {
        return Extras::default();
    };
    let mut extras = Extras::default();
    if info.capabilities.resources.is_some() {
        match timeout(LIMIT, resources(peer, server)).await {
            Ok(Ok(listed)) => extras.resources = listed.into(),
            Ok(Err(error)) => tracing::warn!(server, %error, "resources were not listed"),
            Err(_) => tracing::warn!(server, "resources were not listed in time"),
        }
        match timeout(LIMIT, templates(peer, server)).await {
            Ok(Ok(listed)) => extras.templates = listed.into(),
            // Many servers with resources know no templates.
            Ok(Err(error)) => tracing::debug!(server, %error, "templates of resources were not listed"),
            Err(_) => tracing::warn!(server, "templates of resources were not listed in time"),
        }
    }
    if info.capabilities.prompts.is_some() {
        match timeout(LIMIT, prompts(peer, server)).await {
            Ok(Ok(listed)) => extras.prompts = listed.into(),
            Ok(Err(error)) => tracing::warn!(server, %error, "prompts were not listed"),
            Err(_) => tracing::warn!(server, "prompts were not listed in time"),
        }
    }
    extras
}

async fn resources(peer: &Peer<RoleClient>, server: &str) -> Result<Vec<ServerResource>, ServiceError> {
    let mut listed = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = peer.list_resources(Some(params)).await?;
        for resource in page.resources {
            let words = [&resource.uri, &resource.name];
            if words.iter().any(|word| word.len() > MAX_WORD) || listed.len() == MAX_LISTED {
                tracing::warn!(
                    server,
                    "a resource is left out: it is one too many or its name too long"
                );
                continue;
            }
            listed.push(ServerResource {
                server: server.to_owned(),
                uri: resource.uri,
                name: resource.name,
                description: head(&resource.description.unwrap_or_default(), MAX_DESCRIPTION),
                mime_type: head(&resource.mime_type.unwrap_or_default(), MAX_DESCRIPTION),
            });
        }
        cursor = page.next_cursor;
        if cursor.is_none() || listed.len() == MAX_LISTED {
            break;
        }
    }
    Ok(listed)
}

async fn templates(peer: &Peer<RoleClient>, server: &str) -> Result<Vec<ResourceTemplate>, ServiceError> {
    let mut listed = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = peer.list_resource_templates(Some(params)).await?;
        for template in page.resource_templates {
            let words = [&template.uri_template, &template.name];
            if words.iter().any(|word| word.len() > MAX_WORD) || listed.len() == MAX_LISTED {
                tracing::warn!(
                    server,
                    "a template of resources is left out: it is one too many or its name too long"
                );
                continue;
            }
            listed.push(ResourceTemplate {
                uri_template: template.uri_template,
                name: template.name,
                description: head(&template.description.unwrap_or_default(), MAX_DESCRIPTION),
                mime_type: head(&template.mime_type.unwrap_or_default(), MAX_DESCRIPTION),
            });
        }
        cursor = page.next_cursor;
        if cursor.is_none() || listed.len() == MAX_LISTED {
            break;
        }
    }
    Ok(listed)
}

async fn prompts(peer: &Peer<RoleClient>, server: &str) -> Result<Vec<ServerPrompt>, ServiceError> {
    let mut listed = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = peer.list_prompts(Some(params)).await?;
        for prompt in page.prompts {
            if prompt.name.len() > MAX_WORD || listed.len() == MAX_LISTED {
                tracing::warn!(
                    server,
                    "a prompt is left out: it is one too many or its name too long"
                );
                continue;
            }
            let arguments = prompt.arguments.unwrap_or_default().into_iter();
            let arguments = arguments.take(MAX_ARGUMENTS).map(|argument| PromptArgument {
                name: head(&argument.name, MAX_WORD),
                description: argument.description.map(|text| head(&text, MAX_DESCRIPTION)),
                required: argument.required == Some(true),
            });
            listed.push(ServerPrompt {
                server: server.to_owned(),
                name: prompt.name,
                description: head(&prompt.description.unwrap_or_default(), MAX_DESCRIPTION),
                arguments: arguments.collect(),
            });
        }
        cursor = page.next_cursor;
        if cursor.is_none() || listed.len() == MAX_LISTED {
            break;
        }
    }
    Ok(listed)
}

/// Reads a resource as text. An error is a sentence for the user.
pub(crate) async fn read(peer: &Peer<RoleClient>, secrets: &[Secret], uri: &str) -> Result<String, String> {
    let asked = peer.read_resource_once(ReadResourceRequestParams::new(uri));
    let contents = match in_time(asked, secrets).await? {
        ReadResourceResponse::Complete(result) => result.contents,
        _ => return Err("the server answered with a request of its own".to_owned()),
    };
    let parts = contents.iter().map(|one| match one {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        other => answer::resource(other),
    });
    let text = parts.collect::<Vec<_>>().join("\n");
    Ok(head_and_tail(text, MAX_TEXT))
}

/// Reads a resource and returns the server's answer as it is. An error is a sentence for the user.
pub(crate) async fn read_whole(running: &Running, secrets: &[Secret], uri: &str) -> Result<Json, String> {
    let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
    let request = ClientRequest::ReadResourceRequest(request);
    let (result, raw) = in_time(running.raw.call(&running.peer, request), secrets).await?;
    let whole = match result {
        ServerResult::ReadResourceResult(result) => raw.map_or_else(|| Json::of(&result), Ok),
        // Contents of a kind that `rmcp` does not know.
        ServerResult::CustomResult(result) if result.0["contents"].is_array() => {
            raw.map_or_else(|| Json::of(&result), Ok)
        }
        _ => return Err("the server answered with something else than contents".to_owned()),
    };
    whole.map_err(|error| error.to_string())
}

/// Fills a prompt in and returns it as text. An error is a sentence for the user.
pub(crate) async fn prompt(
    peer: &Peer<RoleClient>,
    secrets: &[Secret],
    name: &str,
    arguments: BTreeMap<String, String>,
) -> Result<String, String> {
    let mut params = GetPromptRequestParams::new(name);
    if !arguments.is_empty() {
        let values = arguments
            .into_iter()
            .map(|(name, value)| (name, Value::String(value)));
        params = params.with_arguments(values.collect());
    }
    let messages = match in_time(peer.get_prompt_once(params), secrets).await? {
        GetPromptResponse::Complete(result) => result.messages,
        _ => return Err("the server answered with a request of its own".to_owned()),
    };
    let parts = messages.iter().map(|message| {
        let text = match &message.content {
            ContentBlock::Text(text) => text.text.clone(),
            other => answer::part(other),
        };
        match message.role {
            Role::Assistant => format!("Assistant: {text}"),
            Role::User => text,
        }
    });
    let text = parts.collect::<Vec<_>>().join("\n");
    Ok(head_and_tail(text, MAX_TEXT))
}

async fn in_time<T>(
    asked: impl Future<Output = Result<T, ServiceError>>,
    secrets: &[Secret],
) -> Result<T, String> {
    let said = |text: &str| Err(head(&scrubbed(text, secrets), MAX_ERROR));
    match timeout(LIMIT, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(ServiceError::McpError(error))) => said(&error.message),
        Ok(Err(error)) => said(&error.to_string()),
        Err(_) => Err(format!("no answer within {LIMIT:?}")),
    }
}
