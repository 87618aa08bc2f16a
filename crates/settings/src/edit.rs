//! Changes entries or single settings in a configuration file and leaves the text of all others as it is.
//!
//! The new file replaces the old one in one step. No file is read or written through a link: a folder's link could
//! copy secrets of the user into the folder. A lock orders the writers, since servers of several workspaces and
//! commands may change the user's file at the same time.

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::MAX_FILE_BYTES;

/// The members of an object, with the text of their values.
struct Members(Vec<(String, Box<RawValue>)>);

/// Returns the path of the user's own file for changes, with links resolved, since the file may be a link into a
/// repository.
pub fn users_file(home: &Path) -> PathBuf {
    let path = home.join(crate::FILE);
    let in_real_home = || home.canonicalize().map(|home| home.join(crate::FILE));
    path.canonicalize().or_else(|_| in_real_home()).unwrap_or(path)
}

/// Writes an entry of a section into a file, over the one with its name, or removes it (`None`). The section can be a
/// list of entries with names.
///
/// # Errors
/// The file cannot be read or written, or is not an object. It is unchanged then.
pub fn put(path: &Path, section: &str, name: &str, entry: Option<&Value>) -> anyhow::Result<()> {
    let entry = entry.map(serde_json::value::to_raw_value).transpose()?;
    let _lock = lock(path)?;
    let mut file = read(path)?;
    let (title, entries) = file.find(section);
    let mut entries = entries.map_or_else(
        || Ok(Members(Vec::new())),
        |raw| Members::of_section(raw, section),
    )?;
    entries.set(name, entry);
    let entries = RawValue::from_string(entries.text("  ")).context("the section cannot be written")?;
    file.set(&title, Some(entries));
    write(path, (file.text("") + "\n").as_bytes())
}

/// Sets or removes (`None`) members, each named by its path from the top of the file. An object without members is
/// removed too. Returns whether the file has changed.
///
/// # Errors
/// As [`put`], or a parent of the member is not an object.
pub fn set(path: &Path, changes: &[(&[&str], Option<Value>)]) -> anyhow::Result<bool> {
    let _lock = lock(path)?;
    let mut file = read(path)?;
    let mut changed = false;
    for (names, value) in changes {
        let raw = value.as_ref().map(serde_json::value::to_raw_value).transpose()?;
        changed |= file.set_at(names, raw, "")?;
    }
    if changed {
        write(path, (file.text("") + "\n").as_bytes())?;
    }
    Ok(changed)
}

/// Returns the value of a member, named by its path from the top of the file.
///
/// # Errors
/// The file cannot be read or is not an object.
pub fn get(path: &Path, names: &[&str]) -> anyhow::Result<Option<Value>> {
    let mut members = read(path)?;
    let Some((last, around)) = names.split_last() else {
        return Ok(None);
    };
    for name in around {
        let (_, Some(raw)) = members.find(name) else {
            return Ok(None);
        };
        let Ok(inner) = serde_json::from_str(raw.get()) else {
            return Ok(None);
        };
        members = inner;
    }
    let (_, raw) = members.find(last);
    let value = raw.map(|raw| serde_json::from_str(raw.get())).transpose()?;
    Ok(value.filter(|value: &Value| !value.is_null()))
}

/// Reads a file; a missing one has no members.
fn read(path: &Path) -> anyhow::Result<Members> {
    let text = text(path)?.unwrap_or_else(|| "{}".to_owned());
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .with_context(|| format!("{} is not a JSON object", path.display()))
}

/// Returns the text of a file; `None` if it does not exist.
///
/// # Errors
/// The file cannot be read, is too large or is a link.
pub fn text(path: &Path) -> anyhow::Result<Option<String>> {
    match bobbin_files::read_text_unlinked(path, MAX_FILE_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => bail!("{} cannot be read: {error}", path.display()),
    }
}

impl Members {
    /// Reads a section: entries by name, or a list of entries with names.
    fn of_section(raw: &RawValue, section: &str) -> anyhow::Result<Self> {
        if raw.get() == "null" {
            return Ok(Self(Vec::new()));
        }
        if !raw.get().starts_with('[') {
            let entries = serde_json::from_str(raw.get());
            return entries.with_context(|| format!("{section} is not an object of entries"));
        }
        let listed: Vec<Box<RawValue>> =
            serde_json::from_str(raw.get()).with_context(|| format!("{section} is not a list of entries"))?;
        let named = |entry: Box<RawValue>| {
            let members: Members = serde_json::from_str(entry.get()).ok()?;
            let name = members
                .0
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case("name"))?;
            Some((serde_json::from_str(name.1.get()).ok()?, entry))
        };
        let named: Option<_> = listed.into_iter().map(named).collect();
        let named = named.with_context(|| format!("an entry of {section} has no name"))?;
        Ok(Self(named))
    }

    /// Returns a member's name, as the file spells it if it has the member, and its value. Case does not matter.
    fn find(&self, name: &str) -> (String, Option<&RawValue>) {
        let same = |known: &str| known.to_lowercase() == name.to_lowercase();
        match self.0.iter().find(|(known, _)| same(known)) {
            Some((known, raw)) => (known.clone(), Some(raw)),
            None => (name.to_owned(), None),
        }
    }

    /// Sets a nested member. Returns whether anything has changed.
    fn set_at(&mut self, names: &[&str], value: Option<Box<RawValue>>, indent: &str) -> anyhow::Result<bool> {
        let Some((name, inner_names)) = names.split_first() else {
            return Ok(false);
        };
        let (title, raw) = self.find(name);
        if inner_names.is_empty() {
            let as_value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
            if raw.and_then(as_value) == value.as_deref().and_then(as_value) {
                return Ok(false);
            }
            self.set(name, value);
            return Ok(true);
        }
        let mut inner = match raw {
            Some(raw) if raw.get() != "null" => {
                serde_json::from_str(raw.get()).with_context(|| format!("{title} is not an object"))?
            }
            _ if value.is_none() => return Ok(false),
            _ => Self(Vec::new()),
        };
        let deeper = format!("{indent}  ");
        let changed = inner.set_at(inner_names, value, &deeper)?;
        if changed {
            let raw = RawValue::from_string(inner.text(&deeper)).context("the section cannot be written")?;
            self.set(&title, Some(raw).filter(|_| !inner.0.is_empty()));
        }
        Ok(changed)
    }

    /// Sets or removes a member. Case does not matter.
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

/// Replaces the text of a file.
///
/// # Errors
/// The file cannot be written. It is unchanged then.
pub fn replace(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let _lock = lock(path)?;
    write(path, text)
}

/// Creates the directory of a file and locks it, so that one writer at a time changes files in it. Dropping the value
/// releases the lock.
fn lock(path: &Path) -> anyhow::Result<Option<File>> {
    let directory = path
        .parent()
        .with_context(|| format!("{} has no directory", path.display()))?;
    let shown = directory.display();
    std::fs::create_dir_all(directory).with_context(|| format!("{shown} cannot be created"))?;
    if directory.is_symlink() {
        bail!("{shown} is a link, which is not followed; replace it by the directory");
    }
    // Some file systems have no locks. There the last writer wins.
    let opened = File::open(directory).ok();
    Ok(opened.filter(|directory| directory.lock().is_ok()))
}

/// Creates or replaces a file in one step. Only the user may read a new file, since it may contain secrets.
fn write(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let shown = path.display();
    let directory = path.parent().unwrap_or(Path::new("."));
    let written = || -> std::io::Result<()> {
        // A new file is private; an existing one retains its permissions.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text)?;
        if let Ok(old) = std::fs::symlink_metadata(path)
            && old.is_file()
        {
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
    use super::*;

    fn put_server(path: &Path, name: &str) -> anyhow::Result<()> {
        let entry =
            serde_json::json!({ "Command": "pantry", "Enabled": true, "Name": name, "Transport": "stdio" });
        put(path, "McpServers", name, Some(&entry))
    }

    const WRITTEN: &str = r#"{"Command":"pantry","Enabled":true,"Name":"a","Transport":"stdio"}"#;

    #[test]
    fn everything_else_stays_to_the_letter() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".craft/config.json");
        put_server(&path, "a").unwrap();
        let text = |section: &str| format!("{{\n  \"McpServers\": {section}\n}}\n");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            text(&format!("{{\n    \"a\": {WRITTEN}\n  }}"))
        );
        let before =
            "{ \"Z\": 1.50,\n \"mcpservers\": { \"b\": { \"command\" :  \"x\" }, \"A\": 7 },\"y\": [ 1 ] }";
        std::fs::write(&path, before).unwrap();
        put_server(&path, "a").unwrap();
        let after = format!(
            "{{\n  \"Z\": 1.50,\n  \"mcpservers\": {{\n    \"b\": {{ \"command\" :  \"x\" }},\n    \"a\": {WRITTEN}\n  }},\n  \
             \"y\": [ 1 ]\n}}\n"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        for name in ["A", "b"] {
            put(&path, "McpServers", name, None).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path)
                .unwrap()
                .contains("\"mcpservers\": {},")
        );
    }

    #[test]
    fn single_settings_are_set_and_removed_and_nothing_else_changes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.json");
        let before = "{ \"Z\": 1.50,\n \"model\": \"a\", \"permissions\": { \"Rules\" :  [ 1 ] } }";
        std::fs::write(&path, before).unwrap();
        let policy: &[&str] = &["Permissions", "DefaultApprovalPolicy"];
        let changes = [
            (&["Model"][..], Some(Value::from("b"))),
            (policy, Some(Value::from("autoApprove"))),
            (&["Skills", "SelfLearning", "Enabled"], Some(Value::from(true))),
        ];
        assert!(set(&path, &changes).unwrap());
        assert!(!set(&path, &changes).unwrap(), "the same again is no change");
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "{\n  \"Z\": 1.50,\n  \"Model\": \"b\",\n  \"permissions\": {\n    \"Rules\": [ 1 ],\n    \
             \"DefaultApprovalPolicy\": \"autoApprove\"\n  },\n  \"Skills\": {\n    \"SelfLearning\": {\n      \
             \"Enabled\": true\n    }\n  }\n}\n"
        );
        assert_eq!(get(&path, policy).unwrap(), Some(Value::from("autoApprove")));
        assert_eq!(get(&path, &["z", "Model"]).unwrap(), None);
        let removed = [
            (&["Model"][..], None),
            (policy, None),
            (&["Skills", "SelfLearning", "Enabled"], None),
            (&["Memory", "AutoConsolidateEnabled"], None),
        ];
        assert!(set(&path, &removed).unwrap());
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "{\n  \"Z\": 1.50,\n  \"permissions\": {\n    \"Rules\": [ 1 ]\n  }\n}\n"
        );
        let error = set(&path, &[(&["Z", "A"], Some(Value::from(1)))]).unwrap_err();
        assert!(error.to_string().contains("Z is not an object"), "{error:#}");
    }

    #[test]
    fn a_link_in_place_of_the_directory_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let [own, work] = ["own", "work"].map(|name| place.path().join(name));
        for directory in [&own, &work] {
            std::fs::create_dir(directory).unwrap();
        }
        std::os::unix::fs::symlink("../own", work.join(".craft")).unwrap();
        let error = put_server(&work.join(".craft/config.json"), "a").unwrap_err();
        assert!(error.to_string().contains("is a link"), "{error:#}");
        assert_eq!(std::fs::read_dir(&own).unwrap().count(), 0);
    }

    #[test]
    fn a_link_to_the_users_own_file_stays_one() {
        let home = tempfile::tempdir().unwrap();
        let [craft, behind] = [".craft", "settings.json"].map(|name| home.path().join(name));
        std::fs::create_dir(&craft).unwrap();
        std::fs::write(&behind, "{}").unwrap();
        std::os::unix::fs::symlink("../settings.json", craft.join("config.json")).unwrap();
        set(
            &users_file(home.path()),
            &[(&["Model"], Some(Value::from("tea")))],
        )
        .unwrap();
        assert!(craft.join("config.json").is_symlink());
        let model = get(&behind, &["Model"]).unwrap();
        assert_eq!(model, Some(Value::from("tea")));
    }

    #[test]
    fn changes_at_the_same_time_are_all_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".craft/config.json");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for member in 0..20 {
                        let name = format!("{number}-{member}");
                        assert!(set(path, &[(&[&name], Some(Value::from(1)))]).unwrap());
                    }
                });
            }
        });
        assert_eq!(read(&path).unwrap().0.len(), 160);
    }

    #[test]
    fn a_list_becomes_an_object_and_a_broken_file_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.json");
        std::fs::write(&path, r#"{"McpServers":[{"Name":"b","Command":"x"}]}"#).unwrap();
        put_server(&path, "a").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains(r#""b": {"Name":"b","Command":"x"}"#) && text.contains(WRITTEN),
            "{text}"
        );
        for broken in ["[]", "{", r#"{"McpServers":7}"#, r#"{"McpServers":[{}]}"#] {
            std::fs::write(&path, broken).unwrap();
            assert!(put_server(&path, "a").is_err(), "{broken}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), broken);
        }
    }
}
