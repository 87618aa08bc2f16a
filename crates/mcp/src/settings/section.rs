//! The section `McpServers` of a configuration file, and back.
//!
//! The section is an object of entries by name, or a list of entries with names. A broken entry is reported; the
//! others still count.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bobbin_agent_api::tool_server::{Secrets, ServerAccess, ToolServerConfig};
use bobbin_settings::{Entries, check_name, check_texts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::declared::texts;

/// Name of the section.
pub(super) const SECTION: &str = "McpServers";
/// Name of a plugin's folder in its files.
const PLUGIN_ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";

/// An MCP server: started by `Command`, or reached at `Url`. In a list it has a `Name`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-unread" = ["Name"]))]
#[schemars(extend("x-also" = {
    "type": "Transport",
    "args": "Arguments",
    "env": "EnvironmentVariables",
    "workingDirectory": "Cwd",
    "httpHeaders": "Headers",
}))]
pub struct McpServer {
    /// How it is reached; by which of `Command` and `Url` is there when left out.
    pub transport: Option<McpTransport>,
    /// The program that is started.
    pub command: Option<String>,
    /// Its arguments; `args` too.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Variables that are set for it; `env` too.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    pub environment_variables: BTreeMap<String, String>,
    /// Names of variables that it gets from Bobbin's environment, secrets included.
    #[serde(default)]
    pub env_vars: Vec<String>,
    /// Its working directory: absolute, or from the workspace. When left out, a server of a folder starts in the workspace, and
    /// one of your own in a directory without files.
    pub cwd: Option<String>,
    /// Whether a server that a folder brings runs in the sandbox. Your own never do. `.mcp.json` and plugins cannot say it.
    #[schemars(extend("default" = true))]
    pub sandbox: Option<bool>,
    /// Address of a server that is reached over streamable HTTP.
    pub url: Option<String>,
    /// Headers of each request; `httpHeaders` too.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    pub headers: BTreeMap<String, String>,
    /// Headers whose values stand in variables: header to variable.
    #[serde(default)]
    pub env_http_headers: BTreeMap<String, String>,
    /// Variable with the bearer token.
    pub bearer_token_env_var: Option<String>,
    /// Whether it may run.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Whether it may not run.
    #[schemars(extend("default" = false))]
    pub disabled: Option<bool>,
    /// How long it may take until its tools are known, in seconds; at most 10 minutes.
    #[schemars(range(min = 0.001, max = 1_000_000_000), extend("default" = 30))]
    pub startup_timeout_sec: Option<f64>,
    /// How long a call may take, in seconds; at most a day.
    #[schemars(range(min = 0.001, max = 1_000_000_000), extend("default" = 120))]
    pub tool_timeout_sec: Option<f64>,
}

/// How an MCP server is reached.
#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-also" = {
    "http": "streamableHttp",
    "streamable-http": "streamableHttp",
    "streamable_http": "streamableHttp",
}))]
pub enum McpTransport {
    /// It is started, and spoken with on its standard streams.
    Stdio,
    /// Over streamable HTTP.
    StreamableHttp,
}

/// Returns the servers of a section. Mistakes go to `warnings`.
pub fn read(section: Entries<McpServer>, warnings: &mut Vec<String>) -> Vec<ToolServerConfig> {
    section.read("MCP server", warnings, config)
}

/// Returns the servers of a plugin: `{"mcpServers": {NAME: …}}`, or the inner object alone. Their names are
/// `ID:NAME`. Mistakes go to `warnings`.
pub fn of_plugin(value: Value, id: &str, root: &Path, warnings: &mut Vec<String>) -> Vec<ToolServerConfig> {
    let section = match value {
        Value::Object(mut members) => match members.remove("mcpServers") {
            Some(section) => section,
            None => Value::Object(members),
        },
        other => other,
    };
    let checked = match bobbin_settings::section(SECTION, section) {
        Ok(checked) => checked,
        Err(error) => {
            warnings.push(format!("the MCP servers are not used: {error:#}"));
            return Vec::new();
        }
    };
    warnings.extend(checked.warnings);
    let mut servers = read(checked.file, warnings);
    for config in &mut servers {
        config.name = format!("{id}:{}", config.name);
        config.outside_sandbox = false;
        for text in texts(&mut config.access) {
            *text = text.replace(PLUGIN_ROOT, &root.to_string_lossy());
        }
        if let ServerAccess::Stdio { cwd: Some(cwd), .. } = &mut config.access {
            *cwd = root.join(&*cwd).to_string_lossy().into_owned();
        }
    }
    servers.retain(|config| match check(config) {
        Ok(()) => true,
        Err(why) => {
            warnings.push(format!("the MCP server {} is not used: {why}", config.name));
            false
        }
    });
    servers
}

fn config(name: &str, entry: McpServer) -> Result<ToolServerConfig, String> {
    let said = |text: Option<String>| text.filter(|text| !text.is_empty());
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    let url = said(entry.url);
    let by_url = match entry.transport {
        None => url.is_some(),
        Some(transport) => transport == McpTransport::StreamableHttp,
    };
    let access = if by_url {
        ServerAccess::Http {
            url: url.ok_or("it has no Url")?,
            bearer_token_env_var: said(entry.bearer_token_env_var),
            headers: Secrets(entry.headers),
            env_headers: entry.env_http_headers,
        }
    } else {
        ServerAccess::Stdio {
            command: entry.command.unwrap_or_default(),
            args: entry.arguments,
            env: Secrets(entry.environment_variables),
            env_vars: entry.env_vars,
            cwd: said(entry.cwd),
        }
    };
    let config = ToolServerConfig {
        name: name.to_owned(),
        enabled: entry.enabled.unwrap_or(true) && !entry.disabled.unwrap_or(false),
        access,
        outside_sandbox: entry.sandbox == Some(false),
        start_timeout: entry.startup_timeout_sec.and_then(seconds),
        call_timeout: entry.tool_timeout_sec.and_then(seconds),
    };
    check(&config)?;
    Ok(config)
}

/// Checks the members that a transport needs, and the sizes of all of them.
///
/// # Errors
/// The reason, as the end of a sentence for the user.
pub fn check(config: &ToolServerConfig) -> Result<(), String> {
    check_name(&config.name)?;
    let (texts, parts): (Vec<&String>, usize) = match &config.access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
        } => {
            if command.trim().is_empty() {
                return Err("it has no command".to_owned());
            }
            let texts = [command]
                .into_iter()
                .chain(args)
                .chain(env.0.iter().flat_map(|(a, b)| [a, b]));
            (
                texts.chain(env_vars).chain(cwd).collect(),
                args.len() + env.0.len() + env_vars.len(),
            )
        }
        ServerAccess::Http {
            url,
            headers,
            env_headers,
            bearer_token_env_var,
        } => {
            if !(url.starts_with("http://") || url.starts_with("https://")) {
                return Err("its url must start with http:// or https://".to_owned());
            }
            let named = headers.0.iter().chain(env_headers).flat_map(|(a, b)| [a, b]);
            (
                [url]
                    .into_iter()
                    .chain(bearer_token_env_var)
                    .chain(named)
                    .collect(),
                headers.0.len() + env_headers.len(),
            )
        }
    };
    check_texts(parts, texts)
}

/// Returns the entry of a server, with the names that the protocol's clients write.
pub(super) fn entry(config: &ToolServerConfig) -> Value {
    let mut entry = definition(config);
    entry["Enabled"] = json!(config.enabled);
    let seconds = |time: Duration| {
        if time.subsec_nanos() == 0 {
            json!(time.as_secs())
        } else {
            json!(time.as_secs_f64())
        }
    };
    if let Some(time) = config.start_timeout {
        entry["StartupTimeoutSec"] = seconds(time);
    }
    if let Some(time) = config.call_timeout {
        entry["ToolTimeoutSec"] = seconds(time);
    }
    entry
}

/// Returns the members of a server that decide what happens when it starts. The user trusts exactly these.
pub(super) fn definition(config: &ToolServerConfig) -> Value {
    let mut entry = match &config.access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
        } => json!({
            "Transport": "stdio",
            "Command": command,
            "Arguments": args,
            "EnvironmentVariables": env.0,
            "EnvVars": env_vars,
            "Cwd": cwd,
        }),
        ServerAccess::Http {
            url,
            bearer_token_env_var,
            headers,
            env_headers,
        } => json!({
            "Transport": "streamableHttp",
            "Url": url,
            "BearerTokenEnvVar": bearer_token_env_var,
            "Headers": headers.0,
            "EnvHttpHeaders": env_headers,
        }),
    };
    if let Some(members) = entry.as_object_mut() {
        members.insert("Name".to_owned(), json!(config.name));
        if config.outside_sandbox {
            members.insert("Sandbox".to_owned(), json!(false));
        }
        members.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(all) => !all.is_empty(),
            Value::Object(all) => !all.is_empty(),
            _ => true,
        });
    }
    entry
}

/// Returns the servers of a section of a file, and the warnings.
#[cfg(test)]
pub(super) fn of_section(section: &Value) -> (Vec<ToolServerConfig>, Vec<String>) {
    let checked = bobbin_settings::section(SECTION, section.clone()).unwrap();
    let mut warnings = checked.warnings;
    let servers = read(checked.file, &mut warnings);
    (servers, warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(section: &Value) -> ToolServerConfig {
        let (mut servers, warnings) = of_section(section);
        assert_eq!((servers.len(), warnings), (1, Vec::new()));
        servers.remove(0)
    }

    #[test]
    fn entries_of_every_spelling_are_one_server() {
        let ours = one(&json!({ "pantry": {
            "Transport": "stdio", "Command": "npx", "Arguments": ["-y", "pantry"],
            "EnvironmentVariables": { "SHELF": "2" }, "EnvVars": ["LANG"], "Cwd": "x", "ToolTimeoutSec": 1.5,
        } }));
        let theirs = one(&json!({ "pantry": {
            "type": "stdio", "command": "npx", "args": ["-y", "pantry"], "env": { "SHELF": 2 },
            "envVars": ["LANG"], "cwd": "x", "toolTimeoutSec": 1.5, "disabled": false,
        } }));
        let listed = one(&json!([{
            "Name": "pantry", "Command": "npx", "Args": ["-y", "pantry"], "Env": { "SHELF": "2" },
            "EnvVars": ["LANG"], "Cwd": "x", "ToolTimeoutSec": 1.5,
        }]));
        assert_eq!(ours, theirs);
        assert_eq!(ours, listed);
        let written = json!({ "pantry": entry(&ours) });
        assert_eq!(one(&written), ours);
    }

    #[test]
    fn a_url_makes_it_a_server_that_is_reached_over_http() {
        let config = one(&json!({ "cellar": {
            "url": "https://cellar.example/mcp", "headers": { "X-Shelf": "2" }, "bearerTokenEnvVar": "T",
        } }));
        assert!(matches!(&config.access, ServerAccess::Http { headers, .. } if headers.0["X-Shelf"] == "2"));
        assert_eq!(one(&json!({ "cellar": entry(&config) })), config);
    }

    #[test]
    fn broken_entries_are_reported_and_the_others_are_used() {
        let section = json!({
            "good": { "command": "x" },
            "empty": {},
            "seven": 7,
            "odd": { "transport": "pigeon" },
            " ": { "command": "x" },
            "args": { "command": "x", "args": "y" },
            "file": { "url": "file:///etc/passwd" },
        });
        let (servers, warnings) = of_section(&section);
        assert_eq!(servers.len(), 1);
        assert_eq!(warnings.len(), 6, "{warnings:?}");
        for part in [
            "no command",
            "not an object",
            "pigeon",
            "blank",
            "Arguments is not a list",
            "http://",
        ] {
            assert!(
                warnings.iter().any(|warning| warning.contains(part)),
                "{part}: {warnings:?}"
            );
        }
    }
}
