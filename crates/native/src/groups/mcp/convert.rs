//! Tool servers between the wire and the core (AppServer protocol 05 §8). Pure.

use std::time::Duration;

use bobbin_agent_api::tool_server::{
    ConfiguredServer, LoginNews, Secrets, ServerAccess, ToolServerConfig, ToolServerNews,
};
use bobbin_agent_api::workspace_config::ConfigOwner;
use bobbin_agent_api::{ConfigNews, ConfigValueNews};
use bobbin_core::{Broadcast, WireMessage};
use bobbin_model::{Reach, ServerOrigin, ServerState, ToolServer, UnixMillis};
use bobbin_native_wire::mcp::types::{
    McpLoginCompletedNotification, McpOriginKind, McpScope, McpServerConfig, McpServerOrigin,
    McpServerStatus, McpStatusUpdatedNotification, McpTransport, Seconds, WorkspaceConfigChangedNotification,
};

use super::{MCP_LOGIN_COMPLETED, MCP_STATUS_UPDATED, WORKSPACE_CONFIG_CHANGED};
use crate::convert::time;
use crate::message;

/// Returns a configuration that a client sent.
///
/// # Errors
/// The reason why it cannot be used, as a sentence for the user.
pub(crate) fn config_in(config: McpServerConfig) -> Result<ToolServerConfig, String> {
    let transport = config.transport.unwrap_or(if config.url.is_some() {
        McpTransport::StreamableHttp
    } else {
        McpTransport::Stdio
    });
    let foreign = |present: &[(&str, bool)]| match present.iter().find(|(_, present)| *present) {
        Some((name, _)) => Err(format!("'{name}' does not belong to this transport.")),
        None => Ok(()),
    };
    let access = match transport {
        McpTransport::Stdio => {
            foreign(&[
                ("url", config.url.is_some()),
                ("bearerTokenEnvVar", config.bearer_token_env_var.is_some()),
                ("httpHeaders", config.http_headers.is_some()),
                ("envHttpHeaders", config.env_http_headers.is_some()),
            ])?;
            ServerAccess::Stdio {
                command: config.command.ok_or("'command' is required for stdio servers.")?,
                args: config.args.unwrap_or_default(),
                env: Secrets(config.env.unwrap_or_default()),
                env_vars: config.env_vars.unwrap_or_default(),
                cwd: config.cwd,
            }
        }
        McpTransport::StreamableHttp => {
            foreign(&[
                ("command", config.command.is_some()),
                ("args", config.args.is_some()),
                ("env", config.env.is_some()),
                ("envVars", config.env_vars.is_some()),
                ("cwd", config.cwd.is_some()),
            ])?;
            ServerAccess::Http {
                url: config
                    .url
                    .ok_or("'url' is required for streamableHttp servers.")?,
                bearer_token_env_var: config.bearer_token_env_var,
                headers: Secrets(config.http_headers.unwrap_or_default()),
                env_headers: config.env_http_headers.unwrap_or_default(),
            }
        }
    };
    Ok(ToolServerConfig {
        name: config.name,
        enabled: config.enabled.unwrap_or(true),
        access,
        outside_sandbox: false,
        start_timeout: time_in("startupTimeoutSec", config.startup_timeout_sec)?,
        call_timeout: time_in("toolTimeoutSec", config.tool_timeout_sec)?,
    })
}

fn time_in(name: &str, seconds: Option<Seconds>) -> Result<Option<Duration>, String> {
    let Some(Seconds(seconds)) = seconds else {
        return Ok(None);
    };
    let time = Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero());
    time.map(Some)
        .ok_or_else(|| format!("'{name}' must be a positive number of seconds."))
}

/// Returns a configuration as clients see it.
pub(crate) fn config_out(server: &ConfiguredServer) -> McpServerConfig {
    let config = &server.config;
    let base = McpServerConfig {
        name: config.name.clone(),
        enabled: Some(config.enabled),
        transport: None,
        command: None,
        args: None,
        env: None,
        env_vars: None,
        cwd: None,
        url: None,
        bearer_token_env_var: None,
        http_headers: None,
        env_http_headers: None,
        startup_timeout_sec: config.start_timeout.map(seconds),
        tool_timeout_sec: config.call_timeout.map(seconds),
        origin: Some(origin(server.origin, &config.name)),
        read_only: Some(server.read_only),
    };
    match config.access.clone() {
        ServerAccess::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
        } => McpServerConfig {
            transport: Some(McpTransport::Stdio),
            command: Some(command),
            args: Some(args).filter(|args| !args.is_empty()),
            env: Some(env.0).filter(|env| !env.is_empty()),
            env_vars: Some(env_vars).filter(|names| !names.is_empty()),
            cwd,
            ..base
        },
        ServerAccess::Http {
            url,
            bearer_token_env_var,
            headers,
            env_headers,
        } => McpServerConfig {
            transport: Some(McpTransport::StreamableHttp),
            url: Some(url),
            bearer_token_env_var,
            http_headers: Some(headers.0).filter(|headers| !headers.is_empty()),
            env_http_headers: Some(env_headers).filter(|headers| !headers.is_empty()),
            ..base
        },
    }
}

fn seconds(time: Duration) -> Seconds {
    Seconds(time.as_secs_f64())
}

/// Returns the status of a server as clients see it.
pub(crate) fn status(server: &ToolServer) -> McpServerStatus {
    McpServerStatus {
        name: server.name.clone(),
        enabled: server.enabled,
        startup_state: server.state,
        tool_count: (server.state == ServerState::Ready).then_some(server.tools.len() as u64),
        resource_count: None,
        resource_template_count: None,
        last_error: server.problem.clone(),
        wants_login: server.wants_login.then_some(true),
        transport: match server.reach {
            Reach::Stdio { .. } => McpTransport::Stdio,
            Reach::Http { .. } => McpTransport::StreamableHttp,
        },
        origin: Some(origin(server.origin, &server.name)),
        read_only: Some(server.read_only),
    }
}

/// Returns the owner of the file that a client names.
pub(crate) fn owner(scope: McpScope) -> ConfigOwner {
    match scope {
        McpScope::User => ConfigOwner::User,
        McpScope::Workspace => ConfigOwner::Workspace,
    }
}

fn origin(origin: ServerOrigin, name: &str) -> McpServerOrigin {
    let of_plugin = name.split_once(':').filter(|_| origin == ServerOrigin::Plugin);
    McpServerOrigin {
        kind: match origin {
            ServerOrigin::User => McpOriginKind::User,
            ServerOrigin::Workspace => McpOriginKind::Workspace,
            ServerOrigin::Plugin => McpOriginKind::Plugin,
        },
        plugin_id: of_plugin.map(|(plugin, _)| plugin.to_owned()),
        plugin_display_name: None,
        declared_name: of_plugin.map(|(_, declared)| declared.to_owned()),
    }
}

/// Returns the notification of news of a tool server or the configuration.
pub(crate) fn broadcast(news: &Broadcast, at: UnixMillis) -> Option<WireMessage> {
    if let Some(ToolServerNews(server)) = news.get() {
        let server = status(server);
        let params = McpStatusUpdatedNotification { server };
        return Some(message(MCP_STATUS_UPDATED, &params));
    }
    if let Some(LoginNews { server, outcome }) = news.get() {
        let params = McpLoginCompletedNotification {
            name: server.clone(),
            success: outcome.is_ok(),
            error_message: outcome
                .as_ref()
                .err()
                .map(|why| format!("The server {server} {why}.")),
        };
        return Some(message(MCP_LOGIN_COMPLETED, &params));
    }
    let (source, regions) = if let Some(ConfigValueNews { source, regions, .. }) = news.get() {
        (*source, regions.clone())
    } else {
        let ConfigNews { source, regions } = news.get()?;
        (
            *source,
            regions.iter().map(|region| (*region).to_owned()).collect(),
        )
    };
    let params = WorkspaceConfigChangedNotification {
        source: source.to_owned(),
        regions,
        changed_at: time(at),
    };
    Some(message(WORKSPACE_CONFIG_CHANGED, &params))
}
