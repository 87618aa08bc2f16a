//! Changes one server in a configuration file and leaves everything else in it as it stands, to the letter.
//!
//! The new file takes the place of the old in one step. Nothing is kept between calls.

use std::fmt;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use bobbin_agent_api::tool_server::ToolServerConfig;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::MAX_CONFIG_BYTES;
use crate::servers::entry;

/// Name of the section when there is none yet.
const SECTION: &str = "McpServers";

/// An object's members as they stand in a text.
struct Members(Vec<(String, Box<RawValue>)>);

/// Puts a server into a file, in the place of the one with its name.
///
/// # Errors
/// The file cannot be read, is not an object, or cannot be written; it is as before then.
pub fn put(path: &Path, config: &ToolServerConfig) -> anyhow::Result<()> {
    let written = serde_json::value::to_raw_value(&entry(config)).context("the entry cannot be written")?;
    change(path, &config.name, Some(written))
}

/// Takes a server out of a file.
///
/// # Errors
/// As [`put`].
pub fn remove(path: &Path, name: &str) -> anyhow::Result<()> {
    change(path, name, None)
}

fn change(path: &Path, name: &str, entry: Option<Box<RawValue>>) -> anyhow::Result<()> {
    let shown = path.display();
    let text = match bobbin_files::read_text(path, MAX_CONFIG_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "{}".to_owned(),
        Err(error) => bail!("{shown} cannot be read: {error}"),
    };
    let mut file: Members = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .with_context(|| format!("{shown} is not a JSON object"))?;
    let section = file
        .0
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(SECTION));
    let (title, mut servers) = match section {
        Some((title, raw)) => (title.clone(), Members::of_section(raw)?),
        None => (SECTION.to_owned(), Members(Vec::new())),
    };
    servers.set(name, entry);
    let section = RawValue::from_string(servers.text("  ")).context("the section cannot be written")?;
    file.set(&title, Some(section));
    write(path, &(file.text("") + "\n"))
}

impl Members {
    /// Reads a section: entries by name, or a list of entries with names.
    fn of_section(raw: &RawValue) -> anyhow::Result<Self> {
        if raw.get() == "null" {
            return Ok(Self(Vec::new()));
        }
        if !raw.get().starts_with('[') {
            return serde_json::from_str(raw.get()).context("McpServers is not an object of servers");
        }
        let listed: Vec<Box<RawValue>> =
            serde_json::from_str(raw.get()).context("McpServers is not a list of servers")?;
        let named = |entry: Box<RawValue>| {
            let members: Members = serde_json::from_str(entry.get()).ok()?;
            let name = members
                .0
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case("name"))?;
            Some((serde_json::from_str(name.1.get()).ok()?, entry))
        };
        let named: Option<_> = listed.into_iter().map(named).collect();
        named.map(Self).context("an entry of McpServers has no name")
    }

    /// Sets a member, or takes it out; names are compared without case.
    fn set(&mut self, name: &str, value: Option<Box<RawValue>>) {
        let same = |known: &str| known.to_lowercase() == name.to_lowercase();
        let at = self.0.iter().position(|(known, _)| same(known));
        self.0.retain(|(known, _)| !same(known));
        if let Some(value) = value {
            let at = at.unwrap_or(self.0.len()).min(self.0.len());
            self.0.insert(at, (name.to_owned(), value));
        }
    }

    fn text(&self, indent: &str) -> String {
        if self.0.is_empty() {
            return "{}".to_owned();
        }
        let members = self.0.iter().map(|(name, value)| {
            let name = serde_json::Value::from(name.as_str());
            format!("{indent}  {name}: {}", value.get())
        });
        let members: Vec<String> = members.collect();
        format!("{{\n{}\n{indent}}}", members.join(",\n"))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

/// Puts a file in the place of another, or none, in one step. Only the user may read it: it may hold secrets.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let shown = path.display();
    let directory = path
        .parent()
        .with_context(|| format!("{shown} has no directory"))?;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("{} cannot be created", directory.display()))?;
    if directory.is_symlink() {
        bail!(
            "{} is a link, which is not followed; replace it by the directory",
            directory.display()
        );
    }
    let written = || -> std::io::Result<()> {
        // Made with the rights of a secret; a file that others could read before keeps its rights.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text.as_bytes())?;
        if let Ok(old) = std::fs::metadata(path) {
            file.as_file().set_permissions(old.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    written().with_context(|| format!("{shown} cannot be written"))
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::tool_server::{Secrets, ServerAccess};

    use super::*;

    fn server(name: &str) -> ToolServerConfig {
        ToolServerConfig {
            name: name.to_owned(),
            enabled: true,
            access: ServerAccess::Stdio {
                command: "pantry".to_owned(),
                args: Vec::new(),
                env: Secrets::default(),
                env_vars: Vec::new(),
                cwd: None,
            },
            start_timeout: None,
            call_timeout: None,
        }
    }

    const WRITTEN: &str = r#"{"Command":"pantry","Enabled":true,"Name":"a","Transport":"stdio"}"#;

    #[test]
    fn everything_else_stays_to_the_letter() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".craft/config.json");
        put(&path, &server("a")).unwrap();
        let text = |section: &str| format!("{{\n  \"McpServers\": {section}\n}}\n");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            text(&format!("{{\n    \"a\": {WRITTEN}\n  }}"))
        );
        let before =
            "{ \"Z\": 1.50,\n \"mcpservers\": { \"b\": { \"command\" :  \"x\" }, \"A\": 7 },\"y\": [ 1 ] }";
        std::fs::write(&path, before).unwrap();
        put(&path, &server("a")).unwrap();
        let after = format!(
            "{{\n  \"Z\": 1.50,\n  \"mcpservers\": {{\n    \"b\": {{ \"command\" :  \"x\" }},\n    \"a\": {WRITTEN}\n  }},\n  \
             \"y\": [ 1 ]\n}}\n"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        remove(&path, "A").unwrap();
        remove(&path, "b").unwrap();
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("\"mcpservers\": {},")
        );
    }

    #[test]
    fn a_link_in_place_of_the_directory_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let [own, work] = ["own", "work"].map(|name| place.path().join(name));
        for directory in [&own, &work] {
            std::fs::create_dir(directory).unwrap();
        }
        std::os::unix::fs::symlink("../own", work.join(".craft")).unwrap();
        let error = put(&work.join(".craft/config.json"), &server("a")).unwrap_err();
        assert!(error.to_string().contains("is a link"), "{error:#}");
        assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0);
    }

    #[test]
    fn a_list_becomes_an_object_and_a_broken_file_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.json");
        std::fs::write(&path, r#"{"McpServers":[{"Name":"b","Command":"x"}]}"#).unwrap();
        put(&path, &server("a")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(r#""b": {"Name":"b","Command":"x"}"#) && text.contains(WRITTEN),
            "{text}"
        );
        for broken in ["[]", "{", r#"{"McpServers":7}"#, r#"{"McpServers":[{}]}"#] {
            std::fs::write(&path, broken).unwrap();
            assert!(put(&path, &server("a")).is_err(), "{broken}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
        }
    }
}
