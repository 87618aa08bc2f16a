//! Configuration: `~/.craft/config.json` under `.craft/config.json`, the files the protocol's clients write.
//!
//! Objects are merged, anything else is replaced; names are compared without case. Most of what stands in
//! those files is for other programs: only the sections below are read, and unknown names in them are
//! reported.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use bobbin_model::{ApprovalPolicy, ServerOrigin};
use bobbin_store::Durability;
use serde_json::{Map, Value};

use crate::models::{ModelSettings, variable};

use crate::permissions::{Author, Permissions};
use crate::tool_servers::{self, Declared};
use crate::{agent, sandbox};

const POLICY: &str = "Permissions.DefaultApprovalPolicy";
const MODE: &str = "AppServer.Mode";
const HOST: &str = "AppServer.WebSocket.Host";
const TOKEN: &str = "AppServer.WebSocket.Token";
const ORIGINS: &str = "AppServer.AllowedOrigins";
const HOSTS: &str = "AppServer.AllowedHosts";

/// What the configuration says, with defaults for what it does not.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) mode: Mode,
    pub(crate) host: IpAddr,
    /// `None`: not said; the default then gives way to a free port.
    pub(crate) port: Option<u16>,
    /// What clients present, as the user's own file says; empty: nothing.
    pub(crate) token: Option<String>,
    /// Origins and values of `Host` that may connect beside the listener's own, as the user's own file says.
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) approval_policy: ApprovalPolicy,
    pub(crate) approval_max_wait: Option<Duration>,
    pub(crate) durability: Durability,
    /// MCP servers: the user's, then the workspace's.
    pub(crate) tool_servers: Vec<Declared>,
    pub(crate) permissions: Permissions,
    pub(crate) sandbox: sandbox::Settings,
    /// What bounds a Turn, and when conversations are summed up.
    pub(crate) agent: agent::Settings,
    /// Models and their providers.
    pub(crate) models: ModelSettings,
    /// Names nobody reads, with what may have been meant.
    pub(crate) warnings: Vec<String>,
    /// Files that were read.
    pub(crate) sources: Vec<PathBuf>,
}

/// Which doors `app-server` opens when the command line does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Disabled,
    Stdio,
    WebSocket,
    StdioAndWebSocket,
}

/// Port when none is said (01 §3).
pub(crate) const DEFAULT_PORT: u16 = 9100;

const SECTIONS: [(&str, &[&str]); 7] = [
    (
        "AppServer",
        &["Mode", "WebSocket", "AllowedOrigins", "AllowedHosts"],
    ),
    ("AppServer.WebSocket", &["Host", "Port", "Token"]),
    (
        "Permissions",
        &["DefaultApprovalPolicy", "Rules", "TrustWorkspaceRules"],
    ),
    ("Approvals", &["MaxWaitSeconds"]),
    ("Limits", agent::LIMITS),
    ("Compaction", agent::COMPACTION),
    (
        "Sandbox",
        &[
            "Profile",
            "Network",
            "Writable",
            "Hidden",
            "WhenMissing",
            "Bubblewrap",
        ],
    ),
];

/// Largest configuration file.
pub(crate) const MAX_CONFIG_BYTES: u64 = 1 << 20;

impl Config {
    /// Reads both files; a missing one is empty.
    ///
    /// # Errors
    /// A file is not JSON, or a value is not one of those possible.
    pub(crate) fn read(workspace: &Path, home: Option<&Path>) -> anyhow::Result<Self> {
        let mut merged = Value::Object(serde_json::Map::new());
        let mut sources = Vec::new();
        let (mut servers, mut server_warnings) = (Vec::new(), Vec::new());
        let mut permissions = Permissions::default();
        let mut sandbox = sandbox::Settings::default();
        let mut agent = agent::Settings::default();
        let mut loosened = Vec::new();
        let mut trusts_workspace = false;
        let (mut user, mut project) = (None, None);
        for directory in home.into_iter().chain([workspace]) {
            let path = directory.join(".craft/config.json");
            let text = match bobbin_files::read_text(&path, MAX_CONFIG_BYTES) {
                Ok(text) => text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => bail!("{} cannot be read: {error}", path.display()),
            };
            let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
                .with_context(|| format!("{} is not valid JSON", path.display()))?;
            // A workspace that is the user's home has but one file, which is the user's.
            if sources.contains(&path) {
                continue;
            }
            let mut folded = Value::Null;
            merge(&mut folded, value);
            let mut value = folded;
            let own = home == Some(directory);
            if let Some(section) = take(&mut value, "McpServers") {
                let origin = if directory == workspace {
                    ServerOrigin::Workspace
                } else {
                    ServerOrigin::User
                };
                let read = tool_servers::read(&section, &mut server_warnings).into_iter();
                servers.extend(read.map(|config| Declared { config, origin, own }));
            }
            let author = if own { Author::User } else { Author::Workspace };
            if own {
                trusts_workspace = at(&value, "Permissions.TrustWorkspaceRules") == Some(&Value::Bool(true));
            }
            if !own && !trusts_workspace {
                let user = user.as_ref().map(|(_, value)| value);
                loosened.extend(withhold(&mut value, &path, user));
            }
            permissions.add(author, &path, &value, trusts_workspace)?;
            loosened.extend(sandbox.add(author, &path, &value, trusts_workspace)?);
            loosened.extend(agent.add(author, &path, &value)?);
            merge(&mut merged, value.clone());
            if own {
                user = Some((path.clone(), value));
            } else {
                project = Some(value);
            }
            sources.push(path);
        }
        let mut config = Self::from_value(&merged)?;
        let user = user.as_ref().map(|(path, value)| (path.as_path(), value));
        if let Some((_, user)) = user {
            config.token = at(user, TOKEN).and_then(Value::as_str).map(str::to_owned);
            config.allowed_origins = list(user, ORIGINS)?;
            config.allowed_hosts = list(user, HOSTS)?;
        }
        config.models = ModelSettings::read(user, project.as_ref(), trusts_workspace)?;
        if let Some(model) = variable("BOBBIN_MODEL") {
            config.models.choose(&model);
        }
        config.warnings.append(&mut config.models.warnings);
        config.sources = sources;
        config.tool_servers = servers;
        config.warnings.extend(server_warnings);
        config.warnings.append(&mut permissions.warnings);
        config.permissions = permissions;
        config.sandbox = sandbox;
        config.agent = agent;
        config.warnings.append(&mut loosened);
        Ok(config)
    }

    /// Returns what is in force when no file is read.
    ///
    /// # Errors
    /// None.
    pub(crate) fn defaults() -> anyhow::Result<Self> {
        Self::from_value(&Value::Null)
    }

    fn from_value(value: &Value) -> anyhow::Result<Self> {
        let text = |path: &str| at(value, path).and_then(Value::as_str).map(str::to_owned);
        let said = text("AppServer.Mode");
        let mode = match said.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None | Some("stdio") => Mode::Stdio,
            Some("disabled") => Mode::Disabled,
            Some("websocket") => Mode::WebSocket,
            Some("stdioandwebsocket") => Mode::StdioAndWebSocket,
            Some(_) => bail!(
                "AppServer.Mode is {:?}; it can be Disabled, Stdio, WebSocket or StdioAndWebSocket",
                said.unwrap_or_default()
            ),
        };
        let host = match text("AppServer.WebSocket.Host") {
            None => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(host) if host.eq_ignore_ascii_case("localhost") => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(host) => host
                .parse()
                .with_context(|| format!("AppServer.WebSocket.Host is {host:?}, which is no IP address"))?,
        };
        let port = number(value, "AppServer.WebSocket.Port")?;
        let port = port
            .map(|port| u16::try_from(port).context("AppServer.WebSocket.Port must be from 1 to 65535"))
            .transpose()?;
        let approval_policy = match text("Permissions.DefaultApprovalPolicy").as_deref() {
            None | Some("default") => ApprovalPolicy::Default,
            Some("autoApprove") => ApprovalPolicy::AutoApprove,
            Some(other) => {
                bail!("Permissions.DefaultApprovalPolicy is {other:?}; it can be default or autoApprove")
            }
        };
        let durability = match text("Durability")
            .as_deref()
            .map(str::to_ascii_lowercase)
            .as_deref()
        {
            None | Some("full") => Durability::Full,
            Some("normal") => Durability::Normal,
            Some(other) => bail!("Durability is {other:?}; it can be full or normal"),
        };
        Ok(Self {
            mode,
            host,
            port,
            token: None,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            approval_policy,
            approval_max_wait: number(value, "Approvals.MaxWaitSeconds")?.map(Duration::from_secs),
            durability,
            tool_servers: Vec::new(),
            permissions: Permissions::default(),
            sandbox: sandbox::Settings::default(),
            agent: agent::Settings::default(),
            models: ModelSettings::read(None, None, false)?,
            warnings: unknown(value),
            sources: Vec::new(),
        })
    }
}

pub(crate) fn number(value: &Value, path: &str) -> anyhow::Result<Option<u64>> {
    match at(value, path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) if number.is_u64() => Ok(number.as_u64()),
        Some(Value::String(text)) => text
            .parse()
            .map(Some)
            .with_context(|| format!("{path} is {text:?}, which is no number")),
        Some(other) => bail!("{path} is {other}, which is no number"),
    }
}

/// Returns the texts of a list; a missing one is empty.
fn list(value: &Value, path: &str) -> anyhow::Result<Vec<String>> {
    let Some(list) = at(value, path).filter(|list| !list.is_null()) else {
        return Ok(Vec::new());
    };
    let texts = list.as_array().and_then(|list| {
        let texts = list.iter().map(|text| text.as_str().map(str::to_owned));
        texts.collect()
    });
    texts.with_context(|| format!("{path} is {list}, which is no list of texts"))
}

/// Takes a member out of an object, without case.
fn take(value: &mut Value, path: &str) -> Option<Value> {
    let (name, rest) = path
        .split_once('.')
        .map_or((path, None), |(name, rest)| (name, Some(rest)));
    let members = value.as_object_mut()?;
    let known = members
        .keys()
        .find(|known| known.eq_ignore_ascii_case(name))
        .cloned()?;
    match rest {
        Some(rest) => take(members.get_mut(&known)?, rest),
        None => members.remove(&known),
    }
}

/// Finds a value by its dotted path, without case.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| {
        value
            .as_object()?
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    })
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                let known = into
                    .keys()
                    .find(|known| known.eq_ignore_ascii_case(&name))
                    .cloned();
                merge(into.entry(known.unwrap_or(name)).or_insert(Value::Null), value);
            }
        }
        // Spellings of one name are one name, inside of what is new too.
        (into, Value::Object(from)) => {
            *into = Value::Object(Map::new());
            merge(into, Value::Object(from));
        }
        (into, from) => *into = from,
    }
}

/// Takes what a workspace may not decide out of its file; returns a sentence for each. Whether and where it listens
/// and with which token, and whether anybody is asked, is for whoever runs the server: a repository must not open it.
fn withhold(value: &mut Value, path: &Path, user: Option<&Value>) -> Vec<String> {
    let mut sentences = Vec::new();
    // What is no section would take the place of the user's whole section.
    for (section, _) in SECTIONS {
        if at(value, section).is_some_and(|section| !section.is_object()) {
            drop(take(value, section));
            sentences.push(format!(
                "{section} in {} is not used: it is no object",
                path.display()
            ));
        }
    }
    let mode = |value| at(value, MODE).and_then(Value::as_str);
    let usual = user.and_then(mode).unwrap_or("Stdio");
    let serves =
        at(value, MODE).is_none_or(|mode| mode.as_str().is_some_and(|mode| mode.eq_ignore_ascii_case(usual)));
    let asks = at(value, POLICY).is_none_or(|policy| policy == "default");
    let stays = at(value, HOST).is_none_or(|host| {
        host.as_str()
            .is_some_and(|host| host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()))
    });
    let says = |name| at(value, name).is_some();
    let loose = [
        (POLICY, !asks),
        (MODE, !serves),
        (HOST, !stays),
        (TOKEN, says(TOKEN)),
        (ORIGINS, says(ORIGINS)),
        (HOSTS, says(HOSTS)),
    ];
    for (name, _) in loose.into_iter().filter(|(_, loose)| *loose) {
        drop(take(value, name));
        sentences.push(format!(
            "{name} in {} is not used: that is not for a workspace to say; put it into your own \
             ~/.craft/config.json",
            path.display()
        ));
    }
    sentences
}

/// Names in our sections that nobody reads.
fn unknown(value: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for (section, names) in SECTIONS {
        let Some(object) = at(value, section).and_then(Value::as_object) else {
            continue;
        };
        warnings.extend(strangers(section, object, names));
    }
    warnings
}

/// Returns a sentence for each member of a section that is none of the names.
pub(crate) fn strangers(section: &str, object: &Map<String, Value>, names: &[&str]) -> Vec<String> {
    let is_known = |name: &&String| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let sentence = |name: &String| {
        let nearest = names.iter().min_by_key(|known| distance(known, name));
        let hint = nearest.filter(|known| distance(known, name) <= 3);
        let hint = hint.map_or_else(String::new, |known| format!("; did you mean {known}?"));
        format!("{section}.{name} is not a setting{hint}")
    };
    object
        .keys()
        .filter(|name| !is_known(name))
        .map(sentence)
        .collect()
}

/// Edit distance without case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_said_means_the_defaults() {
        let config = Config::from_value(&json!({ "ApiKey": "x", "Model": "y" })).unwrap();
        assert_eq!(
            (config.mode, config.port, config.token),
            (Mode::Stdio, None, None)
        );
        assert_eq!(config.warnings, Vec::<String>::new());
    }

    #[test]
    fn the_workspace_wins_over_the_home_and_names_have_no_case() {
        let mut merged = json!({ "AppServer": { "Mode": "WebSocket", "WebSocket": { "Port": 1 } } });
        merge(
            &mut merged,
            json!({ "appserver": { "websocket": { "port": "2" } } }),
        );
        let config = Config::from_value(&merged).unwrap();
        assert_eq!((config.mode, config.port), (Mode::WebSocket, Some(2)));
    }

    #[test]
    fn a_workspace_cannot_say_that_nobody_is_asked() {
        let policy = |policy: &str| json!({ "Permissions": { "DefaultApprovalPolicy": policy } });
        let trusting = json!({ "Permissions": { "TrustWorkspaceRules": true } });
        let table = [
            (json!({}), policy("autoApprove"), ApprovalPolicy::Default, 1),
            (
                policy("autoApprove"),
                policy("default"),
                ApprovalPolicy::Default,
                0,
            ),
            (policy("autoApprove"), json!({}), ApprovalPolicy::AutoApprove, 0),
            (trusting, policy("autoApprove"), ApprovalPolicy::AutoApprove, 0),
            (
                json!({ "Permissions": {} }),
                json!({ "Permissions": {}, "permissions": { "defaultapprovalpolicy": "autoApprove" } }),
                ApprovalPolicy::Default,
                1,
            ),
        ];
        for (user, workspace, expected, warnings) in table {
            let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            for (directory, value) in [(&home, &user), (&root, &workspace)] {
                let craft = directory.path().join(".craft");
                std::fs::create_dir(&craft).unwrap();
                std::fs::write(craft.join("config.json"), value.to_string()).unwrap();
            }
            let config = Config::read(root.path(), Some(home.path())).unwrap();
            assert_eq!(config.approval_policy, expected, "{user} {workspace}");
            assert_eq!(config.warnings.len(), warnings, "{:?}", config.warnings);
        }
    }

    #[test]
    fn a_workspace_cannot_open_the_door() {
        let socket = |host: &str, token: &str| json!({ "AppServer": { "WebSocket": { "Host": host, "Token": token } } });
        let table = [
            (json!({}), socket("0.0.0.0", "x"), "127.0.0.1", None, 2),
            (socket("127.0.0.1", ""), json!({}), "127.0.0.1", Some(""), 0),
            (
                json!({}),
                json!({ "AppServer": { "AllowedOrigins": ["https://x.example"], "AllowedHosts": ["x.example"] } }),
                "127.0.0.1",
                None,
                2,
            ),
            (
                socket("0.0.0.0", "mine"),
                socket("127.0.0.1", ""),
                "127.0.0.1",
                Some("mine"),
                1,
            ),
            (socket("0.0.0.0", "mine"), json!({}), "0.0.0.0", Some("mine"), 0),
            (
                socket("127.0.0.1", "mine"),
                json!({ "AppServer": null }),
                "127.0.0.1",
                Some("mine"),
                1,
            ),
            (
                socket("127.0.0.1", "mine"),
                json!({ "appServer": { "webSocket": "x" } }),
                "127.0.0.1",
                Some("mine"),
                1,
            ),
            (
                json!({}),
                json!({ "AppServer": { "Mode": "StdioAndWebSocket" } }),
                "127.0.0.1",
                None,
                1,
            ),
            (
                json!({}),
                json!({ "AppServer": { "Mode": "stdio" } }),
                "127.0.0.1",
                None,
                0,
            ),
        ];
        for (user, workspace, host, token, warnings) in table {
            let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            for (directory, value) in [(&home, &user), (&root, &workspace)] {
                let craft = directory.path().join(".craft");
                std::fs::create_dir(&craft).unwrap();
                std::fs::write(craft.join("config.json"), value.to_string()).unwrap();
            }
            let config = Config::read(root.path(), Some(home.path())).unwrap();
            assert_eq!(
                (config.host.to_string().as_str(), config.token.as_deref()),
                (host, token)
            );
            assert_eq!(config.mode, Mode::Stdio, "{workspace}");
            assert!(config.allowed_origins.is_empty() && config.allowed_hosts.is_empty());
            assert_eq!(config.warnings.len(), warnings, "{:?}", config.warnings);
        }
    }

    #[test]
    fn bad_values_and_unknown_names_are_told() {
        for (value, part) in [
            (json!({ "AppServer": { "Mode": "Loud" } }), "Loud"),
            (
                json!({ "AppServer": { "WebSocket": { "Port": 70_000 } } }),
                "65535",
            ),
            (
                json!({ "AppServer": { "WebSocket": { "Host": "tea" } } }),
                "no IP address",
            ),
            (
                json!({ "Permissions": { "DefaultApprovalPolicy": "yes" } }),
                "autoApprove",
            ),
            (json!({ "Durability": "some" }), "normal"),
        ] {
            let error = format!("{:#}", Config::from_value(&value).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
        let config = Config::from_value(&json!({ "AppServer": { "WebSocket": { "Prot": 1 } } })).unwrap();
        assert_eq!(
            config.warnings,
            ["AppServer.WebSocket.Prot is not a setting; did you mean Port?"]
        );
    }
}
