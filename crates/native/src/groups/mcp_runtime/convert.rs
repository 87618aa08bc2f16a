//! MCP servers that run, as clients of today see them. Pure.

use bobbin_agent_api::tool_server::{
    LoginNews, ResourceTemplate, ServerDetails, ServerLogin, ServerResource, ToolServerNews,
};
use bobbin_core::{Broadcast, WireMessage};
use bobbin_model::{OfferedTool, Reach, ServerState, ToolServer};
use bobbin_native_wire::mcp::types::McpServerStatus;
use bobbin_native_wire::mcp_runtime::types::{
    McpAuthStatus, McpFailureReason, McpRuntimeResource, McpRuntimeResourceTemplate, McpRuntimeServer,
    McpRuntimeTool, McpServerOauthLoginCompletedNotification, McpServerStartupStatusUpdatedNotification,
    McpStartupStatus, McpStatusDetail,
};

use super::{OAUTH_LOGIN_COMPLETED, STARTUP_STATUS_UPDATED};
use crate::groups::mcp::convert::status;
use crate::message;

/// Returns a server as clients see it.
pub(super) fn server(details: &ServerDetails, detail: McpStatusDetail) -> McpRuntimeServer {
    let ServerDetails {
        server,
        login,
        info,
        resources,
        templates,
    } = details;
    let McpServerStatus {
        name,
        enabled,
        startup_state,
        tool_count,
        last_error,
        transport,
        origin,
        ..
    } = status(server);
    let is_ready = server.state == ServerState::Ready;
    let is_full = detail == McpStatusDetail::Full;
    let count = |count: usize| is_ready.then_some(count as u64);
    McpRuntimeServer {
        declared_name: origin.as_ref().and_then(|origin| origin.declared_name.clone()),
        runtime_name: Some(name.clone()),
        name,
        enabled,
        transport,
        startup_state,
        last_error,
        auth_status: auth(*login),
        failure_reason: (*login == ServerLogin::NotLoggedIn { again: true })
            .then_some(McpFailureReason::ReauthenticationRequired),
        server_info: info.clone(),
        tools: server
            .tools
            .iter()
            .map(|one| (one.name.clone(), tool(one)))
            .collect(),
        resources: resources.iter().filter(|_| is_full).map(resource).collect(),
        resource_templates: templates.iter().filter(|_| is_full).map(template).collect(),
        tool_count,
        resource_count: count(resources.len()),
        resource_template_count: count(templates.len()),
        origin,
    }
}

fn auth(login: ServerLogin) -> McpAuthStatus {
    match login {
        ServerLogin::Unsupported => McpAuthStatus::Unsupported,
        ServerLogin::NotLoggedIn { .. } => McpAuthStatus::NotLoggedIn,
        ServerLogin::BearerToken => McpAuthStatus::BearerToken,
        ServerLogin::OAuth => McpAuthStatus::OAuth,
    }
}

fn said(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn tool(tool: &OfferedTool) -> McpRuntimeTool {
    McpRuntimeTool {
        name: tool.name.clone(),
        description: said(&tool.description),
        input_schema: Some(tool.input_schema.clone()),
        output_schema: tool.output_schema.clone(),
    }
}

fn resource(resource: &ServerResource) -> McpRuntimeResource {
    McpRuntimeResource {
        uri: resource.uri.clone(),
        name: resource.name.clone(),
        description: said(&resource.description),
        mime_type: said(&resource.mime_type),
    }
}

fn template(template: &ResourceTemplate) -> McpRuntimeResourceTemplate {
    McpRuntimeResourceTemplate {
        uri_template: template.uri_template.clone(),
        name: template.name.clone(),
        description: said(&template.description),
        mime_type: said(&template.mime_type),
    }
}

fn started(server: &ToolServer) -> McpServerStartupStatusUpdatedNotification {
    let auth_status = match (&server.reach, server.wants_login) {
        (Reach::Stdio { .. }, _) => Some(McpAuthStatus::Unsupported),
        (Reach::Http { .. }, true) => Some(McpAuthStatus::NotLoggedIn),
        // Only the disk says whether there is a login.
        (Reach::Http { .. }, false) => None,
    };
    let status_now = match server.state {
        ServerState::Starting => McpStartupStatus::Starting,
        ServerState::Ready => McpStartupStatus::Ready,
        ServerState::Error => McpStartupStatus::Failed,
        ServerState::Idle | ServerState::Disabled => McpStartupStatus::Cancelled,
    };
    McpServerStartupStatusUpdatedNotification {
        thread_id: None,
        name: server.name.clone(),
        status: status_now,
        // Tools that are left out are no problem of a start.
        error: server
            .problem
            .clone()
            .filter(|_| status_now != McpStartupStatus::Ready),
        failure_reason: None,
        transport: status(server).transport,
        auth_status,
    }
}

/// Returns the notification of news of an MCP server.
pub(super) fn broadcast(news: &Broadcast) -> Option<WireMessage> {
    if let Some(ToolServerNews(server)) = news.get() {
        return Some(message(STARTUP_STATUS_UPDATED, &started(server)));
    }
    let LoginNews { server, outcome } = news.get()?;
    let params = McpServerOauthLoginCompletedNotification {
        name: server.clone(),
        thread_id: None,
        success: outcome.is_ok(),
        error: outcome
            .as_ref()
            .err()
            .map(|why| format!("The server {server} {why}.")),
    };
    Some(message(OAUTH_LOGIN_COMPLETED, &params))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bobbin_model::{Json, ServerOrigin, ToolHints};
    use serde_json::json;

    use super::*;

    fn pantry(state: ServerState, reach: Reach, problem: Option<&str>) -> ToolServer {
        let count = OfferedTool {
            name: "count".to_owned(),
            description: String::new(),
            input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
            output_schema: None,
            offered_as: "mcp__pantry__count".to_owned(),
            hints: ToolHints::default(),
        };
        ToolServer {
            name: "tea-log:pantry".to_owned(),
            enabled: true,
            reach,
            origin: ServerOrigin::Plugin,
            read_only: true,
            state,
            problem: problem.map(ToOwned::to_owned),
            wants_login: false,
            tools: [count].into(),
        }
    }

    fn stdio() -> Reach {
        Reach::Stdio {
            command: "pantry".to_owned(),
            args: Vec::new(),
        }
    }

    #[test]
    fn a_server_has_the_members_of_today_and_its_resources_only_in_full() {
        let details = ServerDetails {
            server: Arc::new(pantry(ServerState::Ready, stdio(), None)),
            login: ServerLogin::NotLoggedIn { again: true },
            info: Json::object(r#"{"name":"pantry","version":"1","x":1.0}"#),
            resources: [ServerResource {
                server: "tea-log:pantry".to_owned(),
                uri: "tea://menu".to_owned(),
                name: "menu".to_owned(),
                description: "What there is.".to_owned(),
                mime_type: String::new(),
            }]
            .into(),
            templates: [ResourceTemplate {
                uri_template: "tea://{leaf}".to_owned(),
                name: "leaf".to_owned(),
                description: String::new(),
                mime_type: "text/plain".to_owned(),
            }]
            .into(),
        };
        let full = serde_json::to_value(server(&details, McpStatusDetail::Full)).unwrap();
        assert_eq!(
            full,
            json!({
                "name": "tea-log:pantry",
                "declaredName": "pantry",
                "runtimeName": "tea-log:pantry",
                "enabled": true,
                "transport": "stdio",
                "startupState": "ready",
                "authStatus": "notLoggedIn",
                "failureReason": "reauthenticationRequired",
                "serverInfo": { "name": "pantry", "version": "1", "x": 1.0 },
                "tools": { "count": { "name": "count", "inputSchema": { "type": "object" } } },
                "resources": [{ "uri": "tea://menu", "name": "menu", "description": "What there is." }],
                "resourceTemplates": [{ "uriTemplate": "tea://{leaf}", "name": "leaf", "mimeType": "text/plain" }],
                "toolCount": 1,
                "resourceCount": 1,
                "resourceTemplateCount": 1,
                "origin": { "kind": "plugin", "pluginId": "tea-log", "declaredName": "pantry" },
            })
        );
        let short = serde_json::to_value(server(&details, McpStatusDetail::ToolsAndAuthOnly)).unwrap();
        assert_eq!(
            (
                &short["resources"],
                &short["resourceTemplates"],
                &short["resourceCount"]
            ),
            (&json!([]), &json!([]), &json!(1))
        );
        let stopped = ServerDetails {
            server: Arc::new(pantry(ServerState::Idle, stdio(), None)),
            login: ServerLogin::OAuth,
            ..details
        };
        let stopped = serde_json::to_value(server(&stopped, McpStatusDetail::Full)).unwrap();
        assert_eq!(
            (
                &stopped["authStatus"],
                stopped.get("resourceCount"),
                stopped.get("failureReason")
            ),
            (&json!("oAuth"), None, None)
        );
    }

    #[test]
    fn every_state_has_a_status_of_today() {
        let http = || Reach::Http {
            url: "http://pantry.example".to_owned(),
        };
        let table = [
            (ServerState::Starting, stdio(), None, "starting", json!(null)),
            (
                ServerState::Ready,
                stdio(),
                Some("left out"),
                "ready",
                json!(null),
            ),
            (
                ServerState::Error,
                stdio(),
                Some("it ended"),
                "failed",
                json!("it ended"),
            ),
            (ServerState::Disabled, stdio(), None, "cancelled", json!(null)),
            (
                ServerState::Idle,
                stdio(),
                Some("not allowed"),
                "cancelled",
                json!("not allowed"),
            ),
        ];
        for (state, reach, problem, status, error) in table {
            let params = serde_json::to_value(started(&pantry(state, reach, problem))).unwrap();
            let expected = json!({
                "threadId": null, "name": "tea-log:pantry", "status": status, "error": error, "failureReason": null,
                "transport": "stdio", "authStatus": "unsupported",
            });
            assert_eq!(params, expected);
        }
        let far = pantry(ServerState::Error, http(), None);
        let wants = ToolServer {
            wants_login: true,
            ..far.clone()
        };
        let auth = |server: &ToolServer| {
            serde_json::to_value(started(server))
                .unwrap()
                .get("authStatus")
                .cloned()
        };
        assert_eq!((auth(&far), auth(&wants)), (None, Some(json!("notLoggedIn"))));
    }
}
