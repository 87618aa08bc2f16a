//! Configuration: `~/.craft/config.json` under `.craft/config.json`, the files the protocol's clients write.
//!
//! Objects are merged, anything else is replaced; names are compared without case. Most of what stands in
//! those files is for other programs: only the sections below are read, and unknown names in them are
//! reported.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use bobbin_agent_api::trust::TrustItem;
use bobbin_model::{ApprovalPolicy, ServerOrigin};
use bobbin_store_sqlite::Durability;
use serde_json::{Map, Value, json};

use crate::models::{ModelSettings, variable};

use crate::permissions::Permissions;
use crate::state::StateDirectory;
use crate::tool_servers::{self, Declared};
use crate::trust::{Gate, TrustFile, TrustRecord};
use crate::{agent, sandbox};

const POLICY: &str = "Permissions.DefaultApprovalPolicy";
const TOKEN: &str = "AppServer.WebSocket.Token";
const ORIGINS: &str = "AppServer.AllowedOrigins";
const HOSTS: &str = "AppServer.AllowedHosts";
const TRUST_RULES: &str = "Permissions.TrustWorkspaceRules";
const MAX_WAIT: &str = "Approvals.MaxWaitSeconds";

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
    /// What of the workspace's file runs or loosens something.
    pub(crate) folder_items: Vec<TrustItem>,
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
    /// Reads both files; a missing one is empty. What a workspace's file loosens counts as far as its user trusts it.
    ///
    /// # Errors
    /// A file is not JSON, or a value is not one of those possible.
    pub(crate) fn read(workspace: &Path, home: Option<&Path>) -> anyhow::Result<Self> {
        let state = StateDirectory::find(None).ok();
        let record = state.map(|state| TrustFile::of(&state, workspace).read());
        Self::read_with(workspace, home, &record.unwrap_or_default())
    }

    /// Does as [`Config::read`] with what the user has said about the workspace.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub(crate) fn read_with(
        workspace: &Path,
        home: Option<&Path>,
        record: &TrustRecord,
    ) -> anyhow::Result<Self> {
        let mut merged = Value::Object(serde_json::Map::new());
        let mut sources = Vec::new();
        let (mut servers, mut warnings) = (Vec::new(), Vec::new());
        let mut permissions = Permissions::default();
        let mut sandbox = sandbox::Settings::default();
        let mut agent = agent::Settings::default();
        let (mut user, mut project) = (None, None);
        let (mut items, mut gate) = (Vec::new(), Gate::of_folder(record));
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
                for config in tool_servers::read(&section, &mut warnings) {
                    let declared = if own {
                        Declared::own(config, origin)
                    } else {
                        Declared::of_folder(config, workspace, record)
                    };
                    items.extend(declared.item());
                    servers.push(declared);
                }
            }
            if own {
                if at(&value, TRUST_RULES).is_some() {
                    warnings.push(format!(
                        "{TRUST_RULES} is not used any more: run `bobbin trust` in a folder that you trust"
                    ));
                }
                let mut gate = Gate::of_user();
                permissions.add(&path, &value, &mut gate)?;
                sandbox.add(&value, &mut gate)?;
                agent.add(&value, &mut gate)?;
                merge(&mut merged, value.clone());
                user = Some((path.clone(), value));
            } else {
                warnings.extend(withhold(&mut value, &path));
                permissions.add(&path, &value, &mut gate)?;
                sandbox.add(&value, &mut gate)?;
                agent.add(&value, &mut gate)?;
                let counted = counted(&value, &merged, &mut gate)?;
                merge(&mut merged, counted);
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
        config.models = ModelSettings::read(user, project.as_ref(), &mut gate)?;
        items.extend(gate.into_items());
        config.folder_items = items;
        if let Some(model) = variable("BOBBIN_MODEL") {
            config.models.choose(&model);
        }
        config
            .warnings
            .extend(project.as_ref().map(unknown).unwrap_or_default());
        config.warnings.append(&mut config.models.warnings);
        config.sources = sources;
        config.tool_servers = servers;
        config.warnings.append(&mut warnings);
        config.permissions = permissions;
        config.sandbox = sandbox;
        config.agent = agent;
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
            Some("sandboxed") => ApprovalPolicy::Sandboxed,
            Some(other) => {
                bail!(
                    "Permissions.DefaultApprovalPolicy is {other:?}; it can be default, sandboxed or autoApprove"
                )
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
            approval_max_wait: number(value, MAX_WAIT)?.map(Duration::from_secs),
            durability,
            tool_servers: Vec::new(),
            permissions: Permissions::default(),
            sandbox: sandbox::Settings::default(),
            agent: agent::Settings::default(),
            models: ModelSettings::read(None, None, &mut Gate::of_user())?,
            warnings: unknown(value),
            folder_items: Vec::new(),
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

/// Takes what no workspace decides out of its file; returns a sentence for each. Whether and where the server listens and
/// who may connect is for its user alone, whatever folders that user trusts.
fn withhold(value: &mut Value, path: &Path) -> Vec<String> {
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
    if let Some(Value::Object(members)) = take(value, "AppServer")
        && !members.is_empty()
    {
        sentences.push(format!(
            "AppServer in {} is not used: no workspace says who may connect; put it into your own ~/.craft/config.json",
            path.display()
        ));
    }
    sentences
}

/// Returns what of a workspace's values counts beside the sections that have readers of their own.
fn counted(value: &Value, user: &Value, gate: &mut Gate<'_>) -> anyhow::Result<Value> {
    let mut counted = Map::new();
    if let Some(policy) = at(value, POLICY)
        && (policy == "default" || gate.passes(POLICY, policy))
    {
        counted.insert(
            "Permissions".to_owned(),
            json!({ "DefaultApprovalPolicy": policy }),
        );
    }
    if let Some(durability) = at(value, "Durability") {
        let full = durability
            .as_str()
            .is_some_and(|said| said.eq_ignore_ascii_case("full"));
        if full || gate.passes("Durability", durability) {
            counted.insert("Durability".to_owned(), durability.clone());
        }
    }
    if let Some(said) = number(value, MAX_WAIT)? {
        let known = number(user, MAX_WAIT)?;
        if known.is_some_and(|known| said <= known) || gate.passes(MAX_WAIT, &json!(said)) {
            counted.insert("Approvals".to_owned(), json!({ "MaxWaitSeconds": said }));
        }
    }
    Ok(Value::Object(counted))
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

    /// Reads the two files, with what is trusted of the workspace's.
    fn both(user: &Value, workspace: &Value, trusts: bool) -> Config {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (directory, value) in [(&home, user), (&root, workspace)] {
            let craft = directory.path().join(".craft");
            std::fs::create_dir(&craft).unwrap();
            std::fs::write(craft.join("config.json"), value.to_string()).unwrap();
        }
        let mut record = TrustRecord::default();
        let read = |record: &TrustRecord| Config::read_with(root.path(), Some(home.path()), record).unwrap();
        let config = read(&record);
        if !trusts {
            return config;
        }
        let fingerprints = config
            .folder_items
            .iter()
            .filter_map(|item| item.fingerprint.as_deref());
        fingerprints.for_each(|fingerprint| record.add(fingerprint));
        read(&record)
    }

    #[test]
    fn a_workspace_says_by_itself_only_what_is_stricter() {
        let policy = |policy: &str| json!({ "Permissions": { "DefaultApprovalPolicy": policy } });
        let spelled = json!({ "Permissions": {}, "permissions": { "defaultapprovalpolicy": "autoApprove" } });
        let table = [
            (
                json!({}),
                policy("autoApprove"),
                false,
                ApprovalPolicy::Default,
                1,
            ),
            (
                policy("autoApprove"),
                policy("default"),
                false,
                ApprovalPolicy::Default,
                0,
            ),
            (
                policy("autoApprove"),
                json!({}),
                false,
                ApprovalPolicy::AutoApprove,
                0,
            ),
            (
                json!({}),
                policy("autoApprove"),
                true,
                ApprovalPolicy::AutoApprove,
                0,
            ),
            (
                json!({ "Permissions": {} }),
                spelled,
                false,
                ApprovalPolicy::Default,
                1,
            ),
        ];
        for (user, workspace, trusts, expected, waiting) in table {
            let config = both(&user, &workspace, trusts);
            assert_eq!(config.approval_policy, expected, "{user} {workspace}");
            let found = config.folder_items.iter().filter(|item| !item.trusted).count();
            assert_eq!(found, waiting, "{user} {workspace}");
        }
        let wait =
            |seconds: u64| json!({ "Approvals": { "MaxWaitSeconds": seconds }, "Durability": "normal" });
        let config = both(&wait(60), &wait(30), false);
        assert_eq!(config.approval_max_wait, Some(Duration::from_secs(30)));
        assert_eq!(config.durability, Durability::Normal, "the user says so too");
        let config = both(&json!({}), &wait(30), false);
        assert_eq!(
            (config.approval_max_wait, config.durability),
            (None, Durability::Full)
        );
    }

    #[test]
    fn no_workspace_says_who_may_connect() {
        let socket = |host: &str, token: &str| json!({ "AppServer": { "WebSocket": { "Host": host, "Token": token } } });
        let mine = socket("127.0.0.1", "mine");
        for workspace in [
            socket("0.0.0.0", "evil"),
            json!({ "AppServer": null }),
            json!({ "appServer": { "webSocket": "x" } }),
            json!({ "AppServer": { "Mode": "StdioAndWebSocket", "WebSocket": { "Port": 1 } } }),
            json!({ "AppServer": { "AllowedOrigins": ["https://x.example"], "AllowedHosts": ["x.example"] } }),
        ] {
            for trusts in [false, true] {
                let config = both(&mine, &workspace, trusts);
                assert_eq!(config.host.to_string(), "127.0.0.1");
                assert_eq!((config.token.as_deref(), config.port), (Some("mine"), None));
                assert_eq!(
                    (config.mode, config.warnings.len()),
                    (Mode::Stdio, 1),
                    "{:?}",
                    config.warnings
                );
            }
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
