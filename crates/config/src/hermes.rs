//! `HermesExtensions` of both configuration files. An entry of a workspace's file runs only once the user trusts its
//! exact content and the files of the folder that it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use bobbin_hermes::{AgentValues, Entry, MAX_EXTENSIONS};
use bobbin_hl7::Shape;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fingerprint::of_files;
use crate::gate::Gate;

/// A Hermes extension.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct HermesExtension {
    /// The program. Without `Args`, a command line, which is split as a shell splits it.
    pub path: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables that are set for it. It gets no secret of Bobbin's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether it runs.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// A label.
    pub name: Option<String>,
    /// How JSON, YAML and TOML of messages are laid out for it.
    #[schemars(extend("default" = "segments"))]
    pub shape: Option<HermesShape>,
}

/// Whether the agent works with HL7 messages.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HermesAgent {
    /// It does not.
    Off,
    /// A user is asked before values of a message reach a model.
    Ask,
    /// Values of messages reach models.
    Allow,
}

/// Adds the setting of one file for the agent. The user's file comes first. A workspace can only switch the agent
/// off, since it must not decide about data of patients.
pub(crate) fn add_agent(values: &mut AgentValues, said: Option<HermesAgent>, gate: &Gate<'_>) {
    *values = match said {
        Some(HermesAgent::Off) => AgentValues::Withheld,
        Some(HermesAgent::Ask) if !gate.is_of_folder() => AgentValues::Ask,
        Some(HermesAgent::Allow) if !gate.is_of_folder() => AgentValues::Allowed,
        Some(_) | None => return,
    };
}

/// How a message is laid out.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HermesShape {
    /// A list of segments.
    Segments,
    /// Segments of one name together.
    Keyed,
}

/// A Hermes extension that a configuration file declares.
#[derive(Debug, Clone)]
pub struct DeclaredExtension {
    /// Its entry in the file.
    pub entry: Entry,
    /// Whether it may run.
    pub trusted: bool,
    /// For an extension of the workspace: the folder, and the digests of the files that it names.
    of_folder: Option<(PathBuf, Value)>,
}

impl DeclaredExtension {
    /// Whether the workspace's file declares it.
    pub fn is_of_folder(&self) -> bool {
        self.of_folder.is_some()
    }

    /// Whether the files of the folder that it names are unchanged since the user trusted them. Blocks on the disk.
    pub fn is_as_trusted(&self) -> bool {
        let folder = self.of_folder.as_ref();
        folder.is_none_or(|(root, files)| *files == named_files(&self.entry, root))
    }
}

/// Adds the extensions of one file. The user's file comes first. Blocks on the disk.
///
/// # Errors
/// There are too many extensions.
pub(crate) fn add(
    all: &mut Option<Vec<DeclaredExtension>>,
    said: Option<Vec<HermesExtension>>,
    root: &Path,
    gate: &mut Gate<'_>,
) -> anyhow::Result<()> {
    let Some(said) = said else { return Ok(()) };
    let all = all.get_or_insert_default();
    if all.len() + said.len() > MAX_EXTENSIONS {
        bail!("HermesExtensions has more than {MAX_EXTENSIONS} entries");
    }
    for extension in said {
        let entry = Entry {
            path: extension.path,
            args: extension.args,
            env: extension.env,
            enabled: extension.enabled.unwrap_or(true),
            name: extension.name,
            shape: match extension.shape {
                Some(HermesShape::Keyed) => Shape::Keyed,
                Some(HermesShape::Segments) | None => Shape::Segments,
            },
        };
        let of_folder = gate
            .is_of_folder()
            .then(|| (root.to_owned(), named_files(&entry, root)));
        let trusted = match &of_folder {
            Some((_, files)) if entry.enabled => {
                let name = entry.name.as_deref().unwrap_or(&entry.path);
                let name = format!("the Hermes extension {name}");
                let mut shown = vec![entry.path.clone()];
                shown.extend(entry.args.iter().cloned());
                shown.extend(entry.env.iter().map(|(name, value)| format!("{name}={value}")));
                let value = json!({ "entry": entry, "files": files });
                gate.passes_shown(name, &value, shown.join(" "))
            }
            Some(_) | None => true,
        };
        all.push(DeclaredExtension {
            entry,
            trusted,
            of_folder,
        });
    }
    Ok(())
}

/// Returns the digests of the files of the folder that a command line names.
fn named_files(entry: &Entry, root: &Path) -> Value {
    // An entry without a command line is never started.
    let words = entry.command_line().unwrap_or_default();
    of_files(&words, root)
}

#[cfg(test)]
mod tests {
    use bobbin_workspace::TrustRecord;

    use super::*;
    use crate::check::{Checked, check};

    #[test]
    fn an_extension_of_a_folder_waits_for_its_user_and_again_when_its_file_changes() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::write(root.join("lab.py"), "one").unwrap();
        let section = json!([{ "Path": "python3 lab.py", "Name": "Lab" }, { "path": "x", "enabled": false }]);
        let Checked { file, value, .. } = check(json!({ "HermesExtensions": section })).unwrap();
        let record = TrustRecord::default();
        let mut gate = Gate::of_folder(&value, &record);
        let mut all = None;
        add(&mut all, file.hermes_extensions, &root, &mut gate).unwrap();
        let items = gate.into_items();
        assert_eq!(items.len(), 1, "what does not run needs no word");
        assert_eq!(
            (items[0].name.as_str(), items[0].detail.as_str()),
            ("the Hermes extension Lab", "python3 lab.py")
        );
        let lab = &all.unwrap()[0];
        assert!(!lab.trusted && lab.is_as_trusted());
        std::fs::write(root.join("lab.py"), "two").unwrap();
        assert!(!lab.is_as_trusted());
    }

    #[test]
    fn the_users_own_extensions_run() {
        let section = json!([{ "Path": "lab", "Args": ["-x"], "Env": { "A": "b" }, "Shape": "keyed" }]);
        let Checked { file, value, .. } = check(json!({ "HermesExtensions": section })).unwrap();
        let mut all = None;
        add(
            &mut all,
            file.hermes_extensions,
            Path::new("/"),
            &mut Gate::of_user(&value),
        )
        .unwrap();
        let all = all.unwrap();
        assert!(all[0].trusted && all[0].is_as_trusted() && all[0].entry.enabled);
        assert_eq!(all[0].entry.shape, Shape::Keyed);
    }
}
