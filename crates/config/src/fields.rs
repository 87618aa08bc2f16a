//! The settings of configuration files one by one, for clients that show them as a form. Derived from the file's
//! types.

use bobbin_agent_api::workspace_config::{ConfigField, ConfigSection, Reload};
use bobbin_settings::{kind, without_null, words};
use serde_json::Value;

use crate::file;

/// Settings that take effect at once when a client sets them.
const HOT: [&str; 7] = [
    "Model",
    "EndPoint",
    "ApiKey",
    "McpServers",
    "ExternalChannels",
    "Permissions.DefaultApprovalPolicy",
    "WelcomeSuggestions.Enabled",
];

/// Returns every setting that a file can have, without values: first the top ones, then those of each section.
pub fn sections() -> Vec<ConfigSection> {
    let schema = file::schema();
    let mut core = ConfigSection {
        name: "Core".to_owned(),
        path: None,
        fields: Vec::new(),
    };
    let mut sections = Vec::new();
    for (name, schema) in members(&schema) {
        if members(without_null(schema)).next().is_none() {
            core.fields.push(field(name.clone(), name, schema));
            continue;
        }
        let mut section = ConfigSection {
            name: name.clone(),
            path: Some(name.clone()),
            fields: Vec::new(),
        };
        add(&mut section, "", schema);
        sections.push(section);
    }
    sections.insert(0, core);
    sections
}

fn add(section: &mut ConfigSection, around: &str, schema: &Value) {
    for (name, schema) in members(without_null(schema)) {
        let key = format!("{around}{name}");
        if members(without_null(schema)).next().is_some() {
            add(section, &format!("{key}."), schema);
        } else {
            let whole = format!("{}.{key}", section.name);
            section.fields.push(field(key, &whole, schema));
        }
    }
}

fn members(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

/// Returns a setting. `whole` is its path from the top of a file.
fn field(key: String, whole: &str, schema: &Value) -> ConfigField {
    let value = without_null(schema);
    let sensitive = has_secret(schema);
    let options: Vec<String> = words(value).into_iter().map(str::to_owned).collect();
    let kind = match kind(value) {
        _ if !options.is_empty() => "select",
        "boolean" => "bool",
        "integer" | "number" => "number",
        "string" if sensitive => "password",
        "string" => "text",
        "array" if value["items"]["type"] == "string" => "stringList",
        "object" if value["additionalProperties"]["type"] == "string" => "keyValueMap",
        _ => "json",
    };
    let said = |name: &str| schema.get(name).or_else(|| value.get(name)).cloned();
    ConfigField {
        key,
        kind,
        hint: schema["description"].as_str().map(str::to_owned),
        sensitive,
        options,
        min: said("minimum"),
        max: said("maximum"),
        default: said("default"),
        reload: if HOT.contains(&whole) {
            Reload::Hot
        } else {
            Reload::ProcessRestart
        },
        value: None,
    }
}

/// Whether a value is or can contain a secret.
fn has_secret(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("x-secret") == Some(&Value::Bool(true)) || members.values().any(has_secret)
        }
        Value::Array(values) => values.iter().any(has_secret),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str) -> ConfigField {
        let (section, key) = name.split_once('/').unwrap();
        let sections = sections();
        let section = sections.iter().find(|known| known.name == section).unwrap();
        let field = section.fields.iter().find(|field| field.key == key);
        field.unwrap_or_else(|| panic!("{name}: {section:?}")).clone()
    }

    #[test]
    fn every_setting_has_a_place_and_a_kind() {
        for (name, kind, sensitive, reload) in [
            ("Core/Model", "text", false, Reload::Hot),
            ("Core/ApiKey", "password", true, Reload::Hot),
            ("Core/Durability", "select", false, Reload::ProcessRestart),
            ("Core/Fallbacks", "stringList", false, Reload::ProcessRestart),
            ("Core/Providers", "json", true, Reload::ProcessRestart),
            ("Core/McpServers", "json", true, Reload::Hot),
            ("Permissions/DefaultApprovalPolicy", "select", false, Reload::Hot),
            ("WelcomeSuggestions/Enabled", "bool", false, Reload::Hot),
            (
                "Commands/Environment.Set",
                "keyValueMap",
                false,
                Reload::ProcessRestart,
            ),
            (
                "AppServer/WebSocket.Token",
                "password",
                true,
                Reload::ProcessRestart,
            ),
            (
                "AppServer/WebSocket.Port",
                "number",
                false,
                Reload::ProcessRestart,
            ),
        ] {
            let field = find(name);
            assert_eq!(
                (field.kind, field.sensitive, field.reload),
                (kind, sensitive, reload),
                "{name}"
            );
        }
        assert_eq!(find("Core/Durability").options, ["full", "normal"]);
        let percent = find("Compaction/AtPercent");
        assert_eq!((percent.min, percent.max), (Some(30.into()), Some(95.into())));
        assert_eq!(find("Limits/Rounds").default, Some(200.into()));
        assert!(find("Limits/Rounds").hint.is_some());
    }

    #[test]
    fn sections_are_those_of_the_file() {
        let sections = sections();
        assert_eq!(
            (sections[0].name.as_str(), sections[0].path.as_deref()),
            ("Core", None)
        );
        let others = sections[1..].iter();
        assert!(
            others
                .clone()
                .all(|section| section.path.as_deref() == Some(section.name.as_str()))
        );
        let mut count = sections[0].fields.len() + others.count();
        for (_, schema) in members(&file::schema()) {
            count -= 1;
            assert!(schema["description"].is_string());
        }
        assert_eq!(count, 0, "a member of the file is missing or double");
    }
}
