//! Configuration files as layers: what they give together, what a client may see of them, and what it may change.
//!
//! Pure: the caller reads and writes the files. Depth is bounded by the JSON parser, size by that of a file.

use std::collections::BTreeMap;

use bobbin_settings::{of_setting, without_null};
use serde_json::{Map, Value};

use crate::config::SCHEMA;

/// The text that replaces a secret.
const MASK: &str = "***";
/// Settings of a workspace's file that no user can trust.
const OWN: [&str; 7] = [
    "Alerts",
    "AppServer",
    "Hub",
    "Database",
    "EndPoint",
    "ApiKey",
    "Threads",
];
/// Parts of a workspace's file whose items have names other than their path. They count together.
const PARTS: [&[&str]; 9] = [
    &["McpServers"],
    &["ExternalChannels"],
    &["Hooks"],
    &["Hermes"],
    &["FineCode"],
    &["Plugins"],
    &["SubAgents"],
    &["Providers"],
    &["Permissions", "Rules"],
];

/// Returns a member, named by its path. Case does not matter.
pub fn member<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().try_fold(value, |value, name| {
        let mut members = value.as_object()?.iter();
        members
            .find(|(known, _)| is_same(known, name))
            .map(|(_, value)| value)
    })
}

/// Merges a file over another: objects member by member, anything else as a whole.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from.iter().filter(|(_, value)| !value.is_null()) {
                let known = into.keys().find(|known| is_same(known, name)).cloned();
                merge(
                    into.entry(known.unwrap_or_else(|| name.clone()))
                        .or_insert(Value::Null),
                    value,
                );
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Returns the members of a workspace's file that count, with the names of its items that wait for trust.
pub fn counting<'a>(file: &Value, waiting: impl IntoIterator<Item = &'a str>) -> Value {
    let mut file = file.clone();
    for name in OWN {
        remove(&mut file, &[name]);
    }
    for name in waiting {
        let names: Vec<&str> = name.split('.').collect();
        if member(&file, &names).is_some() {
            remove(&mut file, &names);
        } else {
            for part in PARTS {
                remove(&mut file, part);
            }
        }
    }
    file
}

/// Returns every value that is no object with members, by its dotted path.
pub fn leaves(value: &Value) -> BTreeMap<String, &Value> {
    let mut found = BTreeMap::new();
    add_leaves(value, "", &mut found);
    found
}

fn add_leaves<'a>(value: &'a Value, path: &str, found: &mut BTreeMap<String, &'a Value>) {
    match value {
        Value::Object(members) if !members.is_empty() || path.is_empty() => {
            let dot = if path.is_empty() { "" } else { "." };
            for (name, member) in members {
                add_leaves(member, &format!("{path}{dot}{name}"), found);
            }
        }
        value => drop(found.insert(path.to_owned(), value)),
    }
}

/// Returns the version of a file with this content: equal for equal content.
pub fn version(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    format!("sha256:{}", of_setting("file", &sorted))
}

/// Returns the content of a file for clients. Texts that are secret, or that nothing describes, are masked.
pub fn masked(value: &Value) -> Value {
    let mut value = value.clone();
    mask(&mut value, Some(&SCHEMA));
    value
}

/// Returns the secrets of a file, and the parts of it that say where they are sent, by their dotted path.
pub fn secrets(value: &Value) -> BTreeMap<String, Value> {
    let shown = masked(value);
    let shown = leaves(&shown);
    let mut found: BTreeMap<String, Value> = leaves(value)
        .into_iter()
        .filter(|(path, value)| {
            let names: Vec<&str> = path.split('.').collect();
            shown.get(path) != Some(value) && !matches!(of_path(&names), Known::Unknown)
        })
        .map(|(path, value)| (path, value.clone()))
        .collect();
    let providers = member(value, &["Providers"]).and_then(Value::as_object);
    for (name, provider) in providers.into_iter().flatten() {
        let members = provider.as_object();
        let keys = members.into_iter().flatten().filter(|(name, _)| is_key(name));
        let keys: Map<String, Value> = keys.map(|(name, value)| (name.clone(), value.clone())).collect();
        if !keys.is_empty() {
            let address = member(provider, &["BaseUrl"]).cloned();
            let both = [Value::Object(keys), address.unwrap_or_default()];
            found.insert(format!("Providers.{name}"), Value::from(both.to_vec()));
        }
    }
    if let Some(key) = member(value, &["ApiKey"]) {
        let address = member(value, &["EndPoint"]).cloned();
        found.insert(
            "ApiKey".to_owned(),
            Value::from(vec![key.clone(), address.unwrap_or_default()]),
        );
    }
    found
}

/// Returns the parts of a workspace's file that only the user's own file may set.
pub fn reserved(value: &Value) -> Vec<Option<Value>> {
    OWN.iter().map(|name| member(value, &[name]).cloned()).collect()
}

/// The target of a path of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// A setting, or a member that other programs read.
    Setting,
    /// A secret.
    Secret,
    /// Nothing.
    Unknown,
}

/// Returns what a path of names from the top of a file leads to.
pub fn of_path(names: &[&str]) -> Known {
    let mut schema: &Value = &SCHEMA;
    for (depth, name) in names.iter().enumerate() {
        let unread = schema.get("x-unread").and_then(Value::as_array);
        let mut unread = unread.into_iter().flatten().filter_map(Value::as_str);
        match described(schema, name) {
            Some(inner) => schema = inner,
            None if unread.any(|unread| unread.eq_ignore_ascii_case(name)) => return Known::Setting,
            None if depth > 0 && is_free(schema) => return Known::Setting,
            None => return Known::Unknown,
        }
        if is_secret(schema) {
            return Known::Secret;
        }
    }
    if names.is_empty() {
        Known::Unknown
    } else {
        Known::Setting
    }
}

/// Removes a member, and its parents that are empty then.
fn remove(value: &mut Value, names: &[&str]) {
    let (Some((name, inner)), Some(members)) = (names.split_first(), value.as_object_mut()) else {
        return;
    };
    let same: Vec<String> = members
        .keys()
        .filter(|known| is_same(known, name))
        .cloned()
        .collect();
    for known in same {
        if !inner.is_empty()
            && let Some(member) = members.get_mut(&known)
        {
            remove(member, inner);
            if member.as_object().is_none_or(|members| !members.is_empty()) {
                continue;
            }
        }
        members.remove(&known);
    }
}

fn mask(value: &mut Value, schema: Option<&Value>) {
    let Some(schema) = schema.filter(|schema| !is_secret(schema)) else {
        return hide(value);
    };
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                mask(member, described(schema, name));
            }
        }
        Value::Array(items) => {
            let inner = without_null(schema).get("items");
            for item in items {
                mask(item, inner);
            }
        }
        Value::String(_) if is_free(schema) => hide(value),
        _ => {}
    }
}

/// Masks every text and number.
fn hide(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(hide),
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::String(_) | Value::Number(_) => *value = MASK.into(),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Returns the schema of a member; `None` if nothing describes it.
fn described<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let schema = without_null(schema);
    let known = schema.get("properties").and_then(Value::as_object);
    let find = |name: &str| {
        let mut known = known.into_iter().flatten();
        known
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, inner)| inner)
    };
    let also = || {
        let mut also = schema.get("x-also")?.as_object()?.iter();
        let (_, title) = also.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        find(title.as_str()?)
    };
    let entry = || {
        schema
            .get("additionalProperties")
            .filter(|inner| inner.is_object())
    };
    find(name).or_else(also).or_else(entry)
}

/// Whether a schema allows anything.
fn is_free(schema: &Value) -> bool {
    let schema = without_null(schema);
    let has = |word: &str| schema.get(word).is_some();
    !["type", "oneOf", "enum", "const", "$ref"].into_iter().any(has)
        || schema.get("additionalProperties") == Some(&Value::Bool(true))
}

fn is_secret(schema: &Value) -> bool {
    let said = |schema: &Value| schema.get("x-secret") == Some(&Value::Bool(true));
    said(schema) || said(without_null(schema))
}

/// Whether a member of a provider is its key, or says where the key is.
fn is_key(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("apikey")
}

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_secret_of_a_file_is_shown() {
        let file = json!({
            "Model": "stove/m1", "apikey": "sesame",
            "Providers": { "stove": { "Wire": "chat", "ApiKey": "sesame", "ApiKeyy": "sesame" } },
            "McpServers": { "pantry": { "command": "count", "env": { "KEY": "sesame" } } },
            "AppServer": { "WebSocket": { "Token": "sesame", "Port": 1 } },
            "Hooks": { "Stop": [{ "command": "say sesame" }] },
            "Tea": ["sesame"],
        });
        let shown = masked(&file);
        assert!(!shown.to_string().contains("sesame"), "{shown}");
        assert_eq!(shown["Model"], "stove/m1");
        assert_eq!(
            shown["Providers"]["stove"],
            json!({ "Wire": "chat", "ApiKey": "***", "ApiKeyy": "***" })
        );
        assert_eq!(shown["AppServer"]["WebSocket"]["Port"], 1);
    }

    #[test]
    fn a_workspaces_file_is_merged_as_far_as_it_counts() {
        let folders = json!({
            "model": "b", "Sandbox": { "Network": true }, "Hub": {}, "McpServers": { "a": {} },
            "Permissions": { "Rules": [1], "DefaultApprovalPolicy": "default" },
        });
        let mut config = json!({ "Model": "a", "Durability": "full" });
        merge(
            &mut config,
            &counting(&folders, ["Sandbox.Network", "the MCP server a"]),
        );
        let expected = json!({
            "Model": "b", "Durability": "full", "Permissions": { "DefaultApprovalPolicy": "default" },
        });
        assert_eq!(config, expected);
        assert_eq!(
            leaves(&config).into_keys().collect::<Vec<_>>(),
            ["Durability", "Model", "Permissions.DefaultApprovalPolicy"]
        );
    }

    #[test]
    fn a_path_leads_to_a_setting_a_secret_or_nothing() {
        for (path, known) in [
            ("model", Known::Setting),
            ("Providers.stove.BaseUrl", Known::Setting),
            ("Providers.stove.ApiKey", Known::Secret),
            ("ApiKey", Known::Secret),
            ("Skills.SelfLearning.Enabled", Known::Setting),
            ("Hooks.Stop", Known::Setting),
            ("Modle", Known::Unknown),
            ("Model.name", Known::Unknown),
            ("Sandbox.Netwrok", Known::Unknown),
            ("", Known::Unknown),
        ] {
            let names: Vec<&str> = path.split('.').collect();
            assert_eq!(of_path(&names), known, "{path}");
        }
    }

    #[test]
    fn a_key_and_the_address_that_it_is_sent_to_are_one_secret() {
        let with = |url: &str, model: &str| {
            let stove = json!({ "BaseUrl": url, "ApiKeyEnv": "KEY" });
            secrets(&json!({ "Model": model, "Providers": { "stove": stove } }))
        };
        assert_eq!(with("http://a", "a"), with("http://a", "b"));
        assert_ne!(with("http://a", "a"), with("http://b", "a"));
    }

    #[test]
    fn equal_content_has_an_equal_version() {
        let one: Value = serde_json::from_str(r#"{"b":1,"a":{"d":1,"c":2}}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"a":{"c":2,"d":1},"b":1}"#).unwrap();
        assert_eq!(version(&one), version(&other));
        assert_ne!(version(&one), version(&json!({})));
    }
}
