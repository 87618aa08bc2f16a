//! The members `HermesExtensions` and `HermesAgent` of configuration files. An extension of a workspace's file runs only
//! once the user trusts its exact content and the files of the folder that it names.

use std::path::Path;

use anyhow::bail;
use bobbin_agent_api::trust::TrustKind;
use bobbin_settings::{Declared, Source, of_files, of_setting};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{AgentValues, Entry, MAX_EXTENSIONS};

/// Hermes extensions, and whether the agent works with their messages.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Section {
    /// Hermes extensions, in the order of their buttons and schemas. With the section, clients can edit HL7 messages.
    hermes_extensions: Option<Vec<Entry>>,
    /// Whether the agent works with HL7 messages, and their values reach models. A workspace can only switch it off.
    #[schemars(extend("default" = "ask"))]
    hermes_agent: Option<AgentValues>,
}

/// The settings of both configuration files.
#[derive(Debug, Clone, Default)]
pub struct HermesSettings {
    /// The extensions: the user's, then the workspace's. `None` without the section.
    pub extensions: Option<Vec<Declared<Entry>>>,
    /// Whether values of messages reach models.
    pub agent: AgentValues,
}

impl HermesSettings {
    /// Adds the settings of one file. The user's file comes first. Blocks on the disk.
    ///
    /// # Errors
    /// There are too many extensions.
    pub fn add(&mut self, section: Section, source: &mut Source<'_>) -> anyhow::Result<()> {
        if let Some(values) = section.hermes_agent
            // A workspace must not decide about data of patients.
            && (values == AgentValues::Withheld || !source.is_of_folder())
        {
            self.agent = values;
        }
        let Some(entries) = section.hermes_extensions else {
            return Ok(());
        };
        let all = self.extensions.get_or_insert_default();
        if all.len() + entries.len() > MAX_EXTENSIONS {
            bail!("HermesExtensions has more than {MAX_EXTENSIONS} entries");
        }
        for entry in entries {
            let mut declared = source.declared(entry, fingerprint);
            let entry = &declared.config;
            if entry.enabled {
                let set = entry.env.iter().map(|(name, value)| format!("{name}={value}"));
                let shown: Vec<String> = std::iter::once(&entry.path)
                    .chain(&entry.args)
                    .cloned()
                    .chain(set)
                    .collect();
                source.add_item(declared.item(TrustKind::Setting, name(entry), shown.join(" ")));
            } else {
                declared.trusted = true;
            }
            all.push(declared);
        }
        Ok(())
    }
}

fn name(entry: &Entry) -> String {
    let name = entry.name.as_deref().unwrap_or(&entry.path);
    format!("the Hermes extension {name}")
}

/// Returns the fingerprint of an extension: its entry and the files of the folder that its command line names. Blocks on
/// the disk.
pub fn fingerprint(entry: &Entry, root: &Path) -> String {
    // An entry without a command line is never started.
    let words = entry.command_line().unwrap_or_default();
    let value = json!({ "entry": entry, "files": of_files(&words, root) });
    of_setting(&name(entry), &value)
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::trust::TrustItem;
    use bobbin_hl7::Shape;
    use bobbin_settings::{Checked, check, schema};
    use bobbin_workspace::TrustRecord;
    use serde_json::Value;

    use super::*;

    /// Reads the user's file, or that of the folder `root`.
    fn read(section: &Value, root: Option<&Path>) -> (Vec<Declared<Entry>>, Vec<TrustItem>) {
        let file = json!({ "HermesExtensions": section });
        let Checked { file, value, .. } = check::<Section>(&schema::<Section>(), file).unwrap();
        let (path, record) = (Path::new("config.json"), TrustRecord::default());
        let mut source = match root {
            Some(root) => Source::of_folder(path, root, None, &value, &record),
            None => Source::of_user(path, Path::new("/"), &value),
        };
        let mut settings = HermesSettings::default();
        settings.add(file, &mut source).unwrap();
        (settings.extensions.unwrap(), source.into_parts().0)
    }

    #[test]
    fn an_extension_of_a_folder_waits_for_its_user_and_again_when_its_file_changes() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::write(root.join("lab.py"), "one").unwrap();
        let section = json!([{ "Path": "python3 lab.py", "Name": "Lab" }, { "path": "x", "enabled": false }]);
        let (all, items) = read(&section, Some(&root));
        assert_eq!(items.len(), 1, "what does not run needs no word");
        assert_eq!(
            (items[0].name.as_str(), items[0].detail.as_str()),
            ("the Hermes extension Lab", "python3 lab.py")
        );
        let is_unchanged = || all[0].is_unchanged(|entry| fingerprint(entry, &root));
        assert!(!all[0].trusted && is_unchanged());
        std::fs::write(root.join("lab.py"), "two").unwrap();
        assert!(!is_unchanged());
    }

    #[test]
    fn the_users_own_extensions_run() {
        let section = json!([{ "Path": "lab", "Args": ["-x"], "Env": { "A": "b" }, "Shape": "keyed" }]);
        let (all, items) = read(&section, None);
        assert_eq!(items, []);
        assert!(all[0].trusted && all[0].config.enabled);
        assert_eq!(all[0].config.shape, Shape::Keyed);
    }
}
