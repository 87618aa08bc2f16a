//! The configuration that results from both files.

use std::time::Duration;

use bobbin_agent_api::hook::HookEvent;
use bobbin_model::ApprovalPolicy;
use serde_json::json;

use super::*;
use crate::PasswordPlace;
use crate::listener::{DEFAULT_PORT, Mode};

/// Reads both files with a record of trust.
fn read(user: &str, workspace: &str, record: &TrustRecord) -> anyhow::Result<Config> {
    let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (directory, text) in [(&home, user), (&root, workspace)] {
        std::fs::create_dir(directory.path().join(".craft")).unwrap();
        std::fs::write(directory.path().join(FILE), text).unwrap();
    }
    Config::read(root.path(), Some(home.path()), record)
}

/// Reads the user's file.
fn users(value: &Value) -> anyhow::Result<Config> {
    read(&value.to_string(), "{}", &TrustRecord::default())
}

/// Reads both files; the user trusts all items of the workspace or none.
fn both(user: &Value, workspace: &Value, trusts: bool) -> Config {
    let read = |record: &TrustRecord| read(&user.to_string(), &workspace.to_string(), record).unwrap();
    let mut record = TrustRecord::default();
    let config = read(&record);
    if !trusts {
        return config;
    }
    let items = config.folder_items.iter();
    let fingerprints = items.filter_map(|item| item.fingerprint.as_deref());
    fingerprints.for_each(|fingerprint| record.add(fingerprint));
    read(&record)
}

#[test]
fn an_empty_file_means_the_defaults() {
    let config = users(&json!({ "Model": null, "Sandbox": null })).unwrap();
    let defaults = Config {
        sources: config.sources.clone(),
        ..Config::default()
    };
    assert_eq!(format!("{config:?}"), format!("{defaults:?}"));
}

#[test]
fn names_and_words_have_no_case_and_the_later_of_two_spellings_counts() {
    let config = users(&json!({
        "AppServer": { "Mode": "websocket", "WebSocket": { "Port": 1 } },
        "appserver": { "webSocket": { "port": "2" } },
        "permissions": { "defaultApprovalPolicy": "AUTOAPPROVE" },
    }));
    let config = config.unwrap();
    assert_eq!(
        (config.listener.mode, config.listener.port),
        (Mode::WebSocket, Some(2))
    );
    assert_eq!(
        config.permissions.approval_policy,
        Some(ApprovalPolicy::AutoApprove)
    );
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn a_workspace_says_by_itself_only_what_is_stricter() {
    let policy = |policy: &str| json!({ "Permissions": { "DefaultApprovalPolicy": policy } });
    let spelled = json!({ "Permissions": {}, "permissions": { "defaultapprovalpolicy": "autoApprove" } });
    let (asks, approves) = (ApprovalPolicy::Default, ApprovalPolicy::AutoApprove);
    let automatic = both(&policy("automatic"), &json!({}), false);
    assert_eq!(
        (
            automatic.permissions.approval_policy,
            automatic.permissions.is_policy_set
        ),
        (None, true)
    );
    let (strict, loosened) = (policy("refuse"), policy("automatic"));
    assert_eq!(
        both(&strict, &loosened, false).permissions.approval_policy,
        Some(ApprovalPolicy::Refuse)
    );
    assert_eq!(both(&strict, &loosened, true).permissions.approval_policy, None);
    for (user, workspace, trusts, expected, waiting) in [
        (json!({}), policy("autoApprove"), false, asks, 1),
        (policy("autoApprove"), policy("default"), false, asks, 0),
        (policy("autoApprove"), json!({}), false, approves, 0),
        (json!({}), policy("autoApprove"), true, approves, 0),
        (json!({ "Permissions": {} }), spelled, false, asks, 1),
    ] {
        let config = both(&user, &workspace, trusts);
        assert_eq!(
            config.permissions.approval_policy.unwrap_or_default(),
            expected,
            "{user} {workspace}"
        );
        let found = config.folder_items.iter().filter(|item| !item.trusted).count();
        assert_eq!(found, waiting, "{user} {workspace}");
    }
    let wait = |seconds: u64| json!({ "Approvals": { "MaxWaitSeconds": seconds }, "Durability": "normal" });
    let config = both(&wait(60), &wait(30), false);
    assert_eq!(
        config.permissions.approval_max_wait,
        Some(Duration::from_secs(30))
    );
    assert_eq!(config.durability, Durability::Normal, "the user says so too");
    let config = both(&json!({}), &wait(30), false);
    assert_eq!(
        (config.permissions.approval_max_wait, config.durability),
        (None, Durability::Full)
    );
}

#[test]
fn no_workspace_says_where_conversations_are_stored() {
    let url = |host: &str| json!({ "Database": { "Url": format!("postgres://bobbin@{host}/tea"), "PasswordFile": "~/p" } });
    for trusts in [false, true] {
        let config = both(&url("mine.example"), &url("evil.example"), trusts);
        assert_eq!(
            config.database.url.as_deref(),
            Some("postgres://bobbin@mine.example/tea")
        );
        assert!(matches!(&config.database.password, PasswordPlace::File(path) if path.ends_with("p")));
        assert!(
            config.warnings[0].contains("Database is not used"),
            "{:?}",
            config.warnings
        );
        let config = both(&json!({}), &url("evil.example"), trusts);
        assert_eq!(config.database, DatabaseSettings::default());
    }
}

#[test]
fn a_password_of_a_database_has_one_place() {
    let password =
        |members: Value| users(&json!({ "Database": members })).map(|config| config.database.password);
    let variable = password(json!({ "PasswordEnv": "DB" })).unwrap();
    assert_eq!(variable, PasswordPlace::Variable("DB".into()));
    assert_eq!(
        password(json!({ "PasswordEnv": " " })).unwrap(),
        PasswordPlace::Nowhere
    );
    for (members, says) in [
        (
            json!({ "PasswordEnv": "DB", "PasswordFile": "~/p" }),
            "leave one out",
        ),
        (json!({ "LeaseSeconds": 2 }), "Database.LeaseSeconds"),
        (
            json!({ "NodeAddress": "tea.example:9100" }),
            "Database.NodeAddress",
        ),
        (
            json!({ "NodeAddress": "wss://tea.example/w/" }),
            "Database.NodeAddress",
        ),
        (json!({ "PasswordFile": "p" }), "Database.PasswordFile"),
    ] {
        let error = format!("{:#}", password(members).unwrap_err());
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn no_workspace_says_who_may_connect() {
    let socket =
        |host: &str, token: &str| json!({ "AppServer": { "WebSocket": { "Host": host, "Token": token } } });
    let mine = socket("127.0.0.1", "mine");
    for workspace in [
        socket("0.0.0.0", "evil"),
        json!({ "AppServer": null }),
        json!({ "appServer": { "webSocket": "x" } }),
        json!({ "AppServer": { "Mode": "StdioAndWebSocket", "WebSocket": { "Port": 1 } } }),
        json!({ "AppServer": { "Tls": { "Certificate": "/evil.pem", "Key": "/evil.key" } } }),
        json!({ "AppServer": { "AllowedOrigins": ["https://x.example"], "AllowedHosts": ["x.example"] } }),
    ] {
        for trusts in [false, true] {
            let config = both(&mine, &workspace, trusts);
            assert_eq!(config.listener.address().ip().to_string(), "127.0.0.1");
            assert_eq!(
                (config.listener.token.as_deref(), config.listener.port),
                (Some("mine"), None)
            );
            assert_eq!(config.listener.tls, None);
            assert_eq!(
                (config.listener.mode, config.warnings.len()),
                (Mode::Stdio, 1),
                "{:?}",
                config.warnings
            );
        }
    }
}

#[test]
fn the_hub_listens_on_this_machine_alone_and_where_its_user_says() {
    let hub = |hub: Value| users(&json!({ "Hub": hub })).unwrap();
    for (said, address) in [
        (json!({}), "127.0.0.1:0"),
        (json!({ "Host": "localhost", "Port": 49_000 }), "127.0.0.1:49000"),
        (json!({ "host": "::1", "port": "7" }), "[::1]:7"),
        (json!({ "Host": null, "Port": null }), "127.0.0.1:0"),
    ] {
        let config = hub(said.clone());
        assert_eq!(
            config.listener.hub_address().unwrap().to_string(),
            address,
            "{said}"
        );
        assert_eq!(config.warnings, Vec::<String>::new());
    }
    for host in ["0.0.0.0", "192.168.0.4", "::", "tea.example", ""] {
        let config = hub(json!({ "Host": host }));
        let why = config.listener.hub_address().unwrap_err().to_string();
        assert!(why.contains("on this machine alone"), "{why}");
        // Servers start nevertheless and print a warning.
        assert!(config.warnings[0].contains(&why), "{:?}", config.warnings);
    }
    let mine = json!({ "Hub": { "Port": 7 } });
    let config = both(&mine, &json!({ "hub": { "Host": "::1", "Port": 8 } }), true);
    assert_eq!(config.listener.hub_address().unwrap().to_string(), "127.0.0.1:7");
    assert!(
        config.warnings[0].contains("Hub is not used"),
        "{:?}",
        config.warnings
    );
}

#[test]
fn tls_is_two_files_or_none() {
    let tls = |certificate: Value, key: Value| {
        users(&json!({ "AppServer": { "Tls": { "Certificate": certificate, "Key": key } } }))
    };
    let config = tls(json!("/etc/tea.pem"), json!("~/tea.key")).unwrap();
    let (certificate, key) = config.listener.tls.unwrap();
    assert!(certificate == Path::new("/etc/tea.pem") && key.is_absolute() && key.ends_with("tea.key"));
    for (certificate, key) in [
        (json!("/etc/tea.pem"), json!(null)),
        (json!(null), json!("/tea.key")),
        (json!("tea.pem"), json!("/tea.key")),
    ] {
        assert!(tls(certificate, key).is_err());
    }
}

#[test]
fn a_broken_file_of_a_folder_stops_the_start_only_where_the_folder_is_trusted() {
    let mut trusted = TrustRecord::default();
    trusted.trusted = true;
    let strict = r#"{ "Sandbox": { "Profile": "readOnly" } }"#;
    for broken in [
        "{",
        "[]",
        r#"{ "Limits": { "Rounds": "many" } }"#,
        r#"{ "Sandbox": { "Netwrok": false } }"#,
        r#"{ "Sandbox": { "Hidden": ["a\u0000b"] } }"#,
        r#"{ "Permissions": { "Rules": [{ "Action": "deny", "Command": "x", "Path": "y" }] } }"#,
        r#"{ "Providers": { "a/b": { "BaseUrl": "http://a" } } }"#,
    ] {
        let config = read(strict, broken, &TrustRecord::default()).unwrap();
        let [warning] = &config.warnings[..] else {
            panic!("{broken}: {:?}", config.warnings);
        };
        assert!(
            warning.contains(FILE) && warning.contains("nothing in that file is used"),
            "{warning}"
        );
        assert_eq!(
            (config.sources.len(), config.folder_items.len()),
            (1, 0),
            "{broken}"
        );
        let files = config.sandbox.profile.files;
        assert_eq!(
            files,
            bobbin_sandbox::Files::ReadOnly,
            "the user's own file counts"
        );
        let error = format!("{:#}", read(strict, broken, &trusted).unwrap_err());
        assert!(error.contains(FILE), "{error}");
        assert!(
            read(broken, "{}", &trusted).is_err(),
            "the user's own file: {broken}"
        );
    }
}

#[test]
fn the_defaults_of_the_schema_are_those_in_force() {
    fn defaults(schema: &Value) -> Option<Value> {
        let schema = bobbin_settings::without_null(schema);
        let Some(members) = schema.get("properties").and_then(Value::as_object) else {
            return schema.get("default").cloned();
        };
        let members = members.iter();
        let members = members.filter_map(|(name, member)| Some((name.clone(), defaults(member)?)));
        Some(Value::Object(members.collect()))
    }
    let mut value = defaults(&file::schema()).unwrap();
    let host = value["AppServer"]["WebSocket"]["Host"].take();
    assert_eq!(host, Config::default().listener.address().ip().to_string());
    let hub = Config::default().listener.hub_address().unwrap();
    let said = json!({ "Host": hub.ip(), "Port": hub.port() });
    assert_eq!(value["Hub"].take(), said);
    // A port in the file does not fall back to a free one, and the file's wait is a setting of its own.
    assert_eq!(value["AppServer"]["WebSocket"]["Port"].take(), DEFAULT_PORT);
    let wait = value["Approvals"]["MaxWaitSeconds"].take();
    assert_eq!(Some(&wait), Some(&json!(24 * 3600)));
    let config = users(&value).unwrap();
    let expected = Config {
        sources: config.sources.clone(),
        ..Config::default()
    };
    assert_eq!(format!("{config:?}"), format!("{expected:?}"));
}

#[test]
fn unknown_members_are_named_with_the_nearest_name_at_every_level() {
    for (file, path, nearest, stops) in [
        (json!({ "Permisions": {} }), "Permisions", "Permissions", true),
        (
            json!({ "sandbox": { "Netwrok": false } }),
            "Sandbox.Netwrok",
            "Network",
            true,
        ),
        (
            json!({ "Sandbox": { "Limits": { "Proceses": 1 } } }),
            "Sandbox.Limits.Proceses",
            "Processes",
            true,
        ),
        (
            json!({ "Permissions": { "Rules": [{ "Action": "deny", "Comand": "x" }] } }),
            "Permissions.Rules[0].Comand",
            "Command",
            true,
        ),
        (
            json!({ "Limits": { "Tokns": 1 } }),
            "Limits.Tokns",
            "Tokens",
            true,
        ),
        (json!({ "Modle": "m" }), "Modle", "Model", false),
        (json!({ "Hub": { "Prot": 1 } }), "Hub.Prot", "Port", false),
        (
            json!({ "AppServer": { "WebSocket": { "Prot": 1 } } }),
            "AppServer.WebSocket.Prot",
            "Port",
            false,
        ),
        (
            json!({ "Providers": { "a": { "BaseUrl": "http://a", "ModelFacts": { "m": { "Imges": true } } } } }),
            "Providers.a.ModelFacts.m.Imges",
            "Images",
            false,
        ),
        (
            json!({ "McpServers": { "a": { "command": "x", "comand": "y" } } }),
            "McpServers.a.comand",
            "Command",
            false,
        ),
        (
            json!({ "Compaction": { "Enabeld": true } }),
            "Compaction.Enabeld",
            "Enabled",
            false,
        ),
    ] {
        let said = match users(&file) {
            Ok(config) if !stops => config.warnings.join("\n"),
            Err(error) if stops => format!("{error:#}"),
            other => panic!("{file}: {other:?}"),
        };
        let sentence = format!("{path} is not a setting; did you mean {nearest}?");
        assert!(said.contains(FILE) && said.contains(&sentence), "{said}");
    }
    let others = json!({ "Memory": { "Port": 0 }, "skills": {}, "$schema": "x", "McpServers": [{ "Name": "a", "Command": "x" }] });
    assert_eq!(users(&others).unwrap().warnings, Vec::<String>::new());
    let many: serde_json::Map<String, Value> = (0..100)
        .map(|number| (format!("{number:0200}"), json!(1)))
        .collect();
    let warnings = users(&Value::Object(many)).unwrap().warnings;
    assert!(
        warnings.len() == 21 && warnings.iter().all(|warning| warning.len() < 300),
        "{warnings:?}"
    );
}

/// Returns the rows of the reference for a schema.
fn rows(schema: &Value, path: &str, rows: &mut Vec<String>) {
    let members = schema["properties"].as_object().into_iter().flatten();
    for (name, member) in members {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{name}");
        let inner = bobbin_settings::without_null(member);
        if inner.get("properties").is_some() {
            self::rows(inner, &path, rows);
            continue;
        }
        let most = |name: &str| {
            inner
                .get(name)
                .map_or_else(String::new, |most| format!(", at most {most}"))
        };
        let (words, kind) = (bobbin_settings::words(inner), bobbin_settings::kind(inner));
        let value = match kind {
            "string" if words.is_empty() => "text".to_owned(),
            "string" => format!("`{}`", words.join("`, `")),
            "boolean" => "`true`, `false`".to_owned(),
            "integer" => format!("whole number {}", bobbin_settings::range(inner)),
            "number" => format!("number {}", bobbin_settings::range(inner)),
            "array" => format!("list{}", most("maxItems")),
            "object" => format!("object{}", most("maxProperties")),
            _ => "anything".to_owned(),
        };
        let default = match &member["default"] {
            Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
            Value::String(text) => format!("`{text}`"),
            other => format!("`{other}`"),
        };
        let meaning = member["description"].as_str().unwrap().replace('\n', " ");
        let words = inner["oneOf"].as_array().into_iter().flatten().map(|word| {
            let (word, meaning) = (
                word["const"].as_str().unwrap(),
                word["description"].as_str().unwrap(),
            );
            format!(" `{word}`: {meaning}")
        });
        let words: String = words.collect();
        rows.push(format!("| `{path}` | {value} | {default} | {meaning}{words} |"));
        match kind {
            "array" => self::rows(&inner["items"], &format!("{path}[]"), rows),
            "object" => self::rows(&inner["additionalProperties"], &format!("{path}.NAME"), rows),
            _ => {}
        }
    }
}

#[test]
fn every_member_stands_in_the_reference_with_its_value_and_default() {
    let page = include_str!("../../../../docs/configuration.md");
    let mut expected = Vec::new();
    rows(&file::schema(), "", &mut expected);
    let written: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let missing: Vec<&str> = expected
        .iter()
        .map(String::as_str)
        .filter(|row| !written.contains(row))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/configuration.md lacks\n{}",
        missing.join("\n")
    );
    let stale: Vec<_> = written
        .iter()
        .filter(|row| !expected.iter().any(|other| other == *row))
        .collect();
    assert!(
        stale.is_empty(),
        "docs/configuration.md has what is not there: {stale:#?}"
    );
}

#[test]
fn a_guard_that_was_not_trusted_is_asked_and_does_not_run_where_the_folder_is_trusted() {
    let entry = json!([{ "hooks": [{ "type": "command", "command": "look" }] }]);
    let workspace = json!({ "Hooks": { "PreToolUse": entry, "Stop": entry } }).to_string();
    let mut record = TrustRecord::default();
    assert_eq!(read("{}", &workspace, &record).unwrap().hooks, []);
    record.trusted = true;
    let config = read("{}", &workspace, &record).unwrap();
    assert_eq!(config.hooks.len(), 1, "{:?}", config.hooks);
    assert_eq!(config.hooks[0].event, HookEvent::PreToolUse);
    assert!(!config.hooks[0].is_unchanged(Path::new("/")), "it does not run");
}

#[test]
fn a_guard_with_a_mistake_refuses_where_the_folder_is_trusted_and_waits_for_nothing() {
    let entry = json!([{ "matcher": "(", "hooks": [{ "type": "command", "command": "look" }] }]);
    let file = json!({ "Hooks": { "PreToolUse": entry } }).to_string();
    let mut record = TrustRecord::default();
    let config = read("{}", &file, &record).unwrap();
    assert_eq!((config.hooks.len(), config.folder_items.len()), (0, 0));
    assert!(
        config.warnings[0].contains("a hook is not used"),
        "{:?}",
        config.warnings
    );
    record.trusted = true;
    let config = read("{}", &file, &record).unwrap();
    let why = config.hooks[0].command.as_ref().unwrap_err();
    assert!(why.contains("config.json: PreToolUse[0].matcher"), "{why}");
    assert_eq!(config.folder_items, []);
    assert!(config.warnings[0].contains("is refused"), "{:?}", config.warnings);
    let config = read(&file, "{}", &TrustRecord::default()).unwrap();
    assert!(config.hooks[0].command.is_err());
}

#[test]
fn a_misspelt_section_of_hooks_is_an_error() {
    let error = read(r#"{ "Hoks": {} }"#, "{}", &TrustRecord::default()).unwrap_err();
    assert!(format!("{error:#}").contains("did you mean Hooks?"), "{error:#}");
}

/// Reads a home and a workspace with files of other agents.
fn with_others(files: &[(&str, &str)], record: &TrustRecord) -> Config {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("w")).unwrap();
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Config::read(&root.join("w"), Some(&root.join("h")), record).unwrap()
}

fn actions(config: &Config) -> Vec<&str> {
    let rules = config.permissions.rules.iter();
    rules.map(|rule| &*rule.action).collect()
}

#[test]
fn files_of_other_agents_count_as_far_as_ours_would() {
    const SETTINGS: &str = r#"{
        "permissions": { "allow": ["Bash(make:*)"], "deny": ["Read(.env)"], "ask": ["Bash(git push:*)"] },
        "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "true" }] }] },
        "env": { "A": "b" }
    }"#;
    let files = [
        ("w/.claude/settings.json", SETTINGS),
        (
            "w/.claude/settings.local.json",
            r#"{"permissions": {"allow": ["Bash(ninja)"]}}"#,
        ),
        (
            "w/.claude/agents/critic.md",
            "---\ndescription: theirs\n---\nLook.",
        ),
        (
            "h/.claude/settings.json",
            r#"{"permissions": {"allow": ["Bash(just:*)"]}}"#,
        ),
        (
            "h/.claude/agents/critic.md",
            "---\ndescription: of the home\n---\nLook.",
        ),
    ];
    let config = with_others(&files, &TrustRecord::default());
    assert_eq!(config.warnings, [""; 0]);
    assert_eq!(
        actions(&config),
        ["allow", "deny", "ask"],
        "a folder allows nothing by itself"
    );
    let profiles =
        |config: &Config| -> Vec<bool> { config.profiles.profiles.iter().map(|one| one.trusted).collect() };
    assert_eq!((config.hooks.len(), profiles(&config)), (0, vec![true, false]));
    let names: Vec<&str> = config.folder_items.iter().map(|item| &*item.name).collect();
    assert_eq!(
        names,
        [
            "the hook Stop",
            "the rule allow command `make *`",
            "the rule allow command `ninja`",
            "the subagent profile critic of another agent",
        ]
    );
    let fingerprints = config
        .folder_items
        .iter()
        .filter_map(|item| item.fingerprint.clone());
    assert_eq!(config.brought_items, fingerprints.collect());
    let mut record = TrustRecord::default();
    config.brought_items.iter().for_each(|one| record.add(one));
    let config = with_others(&files, &record);
    assert_eq!(actions(&config), ["allow", "deny", "ask", "allow", "allow"]);
    assert_eq!((config.hooks.len(), profiles(&config)), (1, vec![true, true]));
    let unused = config.brought.iter().flat_map(|one| &one.unused);
    assert_eq!(unused.map(|one| &*one.what).collect::<Vec<_>>(), ["\"env\""]);
}

#[test]
fn our_files_have_precedence_and_theirs_never_stop_a_start() {
    let config = with_others(
        &[
            (
                "w/.craft/config.json",
                r#"{"SubAgentProfiles": {"critic": {"description": "ours"}}}"#,
            ),
            (
                "w/.claude/agents/critic.md",
                "---\ndescription: theirs\n---\nLook.",
            ),
            ("w/.claude/agents/odd.md", "---\nname: a b\n---\nLook."),
            ("w/.claude/settings.json", "{"),
        ],
        &TrustRecord::default(),
    );
    let names = config.profiles.profiles.iter();
    let names: Vec<_> = names
        .filter_map(|one| one.config.definition.description.as_deref())
        .collect();
    assert_eq!(names, ["theirs", "ours"], "the last counts");
    assert!(
        config.warnings[0].contains("the subagent profile a b is not used"),
        "{:?}",
        config.warnings
    );
}

#[test]
fn each_tool_that_a_rule_of_another_agent_becomes_is_one_of_ours() {
    let theirs = [
        "Bash",
        "BashOutput",
        "KillShell",
        "Read",
        "Write",
        "Edit",
        "MultiEdit",
        "Grep",
        "Glob",
        "LS",
        "Task",
        "Agent",
        "TodoWrite",
        "AskUserQuestion",
        "Skill",
    ];
    let settings = json!({ "permissions": { "deny": theirs } }).to_string();
    let config = with_others(&[("w/.claude/settings.json", &settings)], &TrustRecord::default());
    assert_eq!(config.brought[0].unused, []);
    let known: Vec<&str> = built_in_names().collect();
    let tools: Vec<&str> = config
        .permissions
        .rules
        .iter()
        .filter_map(|rule| rule.tool.as_deref())
        .collect();
    assert!(tools.len() > theirs.len());
    assert!(tools.iter().all(|tool| known.contains(tool)), "{tools:?}");
}
