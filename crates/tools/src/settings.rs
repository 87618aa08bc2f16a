//! The sections `Sandbox` and `Commands` of configuration files.
//!
//! A workspace is often another author's work. Its file can make the sandbox stricter; other settings count only if
//! the user trusts exactly their content.

use std::path::{Component, Path};

use anyhow::bail;
use bobbin_children::{ResourceLimits, VariableRules};
use bobbin_model::SandboxProfile;
use bobbin_sandbox::{Files, Network, Profile};
use bobbin_settings::Source;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{BubblewrapUse, WhenMissing, profile_of};

/// Most paths that a folder hides; bubblewrap makes a mount for each (guess: far more than a project has).
const MAX_HIDDEN_BY_FOLDER: usize = 64;
/// Processes and threads of one command (guess: a build on the largest machines has some hundred, a fork bomb all there are).
const MAX_PROCESSES: u64 = 4096;
/// Size of one file of a command (guess: images of machines are that large, nothing that a build makes is).
const MAX_FILE_MIB: u64 = 64 << 10;

/// Files, network and resources of commands.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-restrains" = true))]
pub struct SandboxSection {
    /// Which files a command may write.
    #[schemars(extend("default" = "workspaceWrite"))]
    profile: Option<SandboxProfile>,
    /// Whether a command has a network; `true` when left out beside the profile `full`.
    #[schemars(extend("default" = false))]
    network: Option<bool>,
    /// Further places that may be written: absolute, with `~/`, or relative to the workspace.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    writable: Vec<String>,
    /// Further places that may not be read; at most 64 that a workspace's file names in itself.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    hidden: Vec<String>,
    /// How commands run where they cannot be confined.
    #[schemars(extend("default" = "ask"))]
    when_missing: Option<WhenMissing>,
    /// Whether bubblewrap is used.
    #[schemars(extend("default" = "auto"))]
    bubblewrap: Option<BubblewrapUse>,
    /// How much of the machine one command may have.
    #[serde(default)]
    limits: SandboxLimits,
}

/// How much of the machine one command may have.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct SandboxLimits {
    /// Processes and threads, with bubblewrap and a user other than root.
    #[schemars(range(min = 1), extend("default" = 4096))]
    processes: Option<u64>,
    /// Memory of all its processes together, in MiB; three quarters of the machine's when left out.
    #[serde(rename = "MemoryMiB")]
    #[schemars(range(min = 1))]
    memory_mib: Option<u64>,
    /// Size of each file that it writes, in MiB.
    #[serde(rename = "FileMiB")]
    #[schemars(range(min = 1), extend("default" = 65536))]
    file_mib: Option<u64>,
}

/// The environment of commands.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-restrains" = true))]
pub struct CommandSection {
    /// The variables of commands: yours, without what looks like a secret.
    #[serde(default)]
    environment: VariableRules,
}

/// The settings of the sandbox.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxSettings {
    /// Files and network that a command can reach.
    pub profile: Profile,
    /// Paths outside the workspace that commands can write.
    pub writable: Vec<String>,
    /// Paths that commands cannot read.
    pub hidden: Vec<String>,
    /// Paths that the folder hides in itself, which needs no trust.
    pub hidden_by_folder: Vec<String>,
    /// How commands run if the machine cannot confine them.
    pub when_missing: WhenMissing,
    /// Whether bubblewrap confines commands.
    pub bubblewrap: BubblewrapUse,
    /// Resource limits of one command.
    pub limits: ResourceLimits,
}

/// Returns the bytes of this machine's memory, if known.
fn memory_of_machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            profile: Profile {
                files: Files::WorkspaceWrite,
                network: Network::Off,
            },
            writable: Vec::new(),
            hidden: Vec::new(),
            hidden_by_folder: Vec::new(),
            when_missing: WhenMissing::Ask,
            bubblewrap: BubblewrapUse::Auto,
            limits: ResourceLimits {
                processes: Some(MAX_PROCESSES),
                memory_bytes: memory_of_machine().map(|bytes| bytes / 4 * 3),
                file_bytes: Some(MAX_FILE_MIB << 20),
            },
        }
    }
}

impl SandboxSettings {
    /// Adds the settings of one file. The user's file comes first.
    ///
    /// # Errors
    /// A path is invalid, or a folder hides too many paths.
    pub fn add(&mut self, said: SandboxSection, source: &mut Source<'_>) -> anyhow::Result<()> {
        let is_folder = source.is_of_folder();
        if let Some(profile) = said.profile {
            let files = profile_of(profile, self.profile.network).files;
            let is_stricter = files <= self.profile.files;
            if is_stricter || source.passes("Sandbox.Profile") {
                // The profile `full` opens the network too, unless the file sets it. A folder's file does not if its
                // profile is not looser than the user's.
                let opens = files == Files::Full && !(is_folder && is_stricter);
                self.profile.files = files;
                if opens && said.network.is_none() {
                    self.profile.network = Network::On;
                }
            }
        }
        match said.network {
            Some(true) if self.profile.network == Network::On || source.passes("Sandbox.Network") => {
                self.profile.network = Network::On;
            }
            Some(false) => self.profile.network = Network::Off,
            Some(true) | None => {}
        }
        let when_missing = |known: &_, said: &_| *said == WhenMissing::Refuse || known == said;
        source.set(
            &mut self.when_missing,
            said.when_missing,
            "Sandbox.WhenMissing",
            when_missing,
        );
        let stricter = |known: &_, said: &_| said >= known;
        source.set(
            &mut self.bubblewrap,
            said.bubblewrap,
            "Sandbox.Bubblewrap",
            stricter,
        );
        if said
            .writable
            .iter()
            .chain(&said.hidden)
            .any(|path| path.contains('\0'))
        {
            bail!("Sandbox.Writable or Sandbox.Hidden has a path with a zero byte");
        }
        if !said.writable.is_empty() && source.passes("Sandbox.Writable") {
            self.writable.extend(said.writable);
        }
        let (own, others): (Vec<_>, Vec<_>) = said
            .hidden
            .into_iter()
            .partition(|path| is_folder && is_inside(path));
        if own.len() > MAX_HIDDEN_BY_FOLDER {
            bail!("Sandbox.Hidden has more than {MAX_HIDDEN_BY_FOLDER} places of the folder");
        }
        self.hidden_by_folder.extend(own);
        // Commands or bubblewrap may need a path outside the folder.
        if !others.is_empty() && source.passes("Sandbox.Hidden") {
            self.hidden.extend(others);
        }
        let (limits, most) = (&mut self.limits, said.limits);
        let bytes = |mib: Option<u64>| mib.map(|mib| mib.saturating_mul(1 << 20));
        source.narrow(&mut limits.processes, most.processes, "Sandbox.Limits.Processes");
        source.narrow(
            &mut limits.memory_bytes,
            bytes(most.memory_mib),
            "Sandbox.Limits.MemoryMiB",
        );
        source.narrow(
            &mut limits.file_bytes,
            bytes(most.file_mib),
            "Sandbox.Limits.FileMiB",
        );
        Ok(())
    }
}

/// Adds the settings of one file. The user's file comes first. A workspace's file can drop variables.
///
/// # Errors
/// A variable has an invalid name or value.
pub fn add_commands(
    rules: &mut VariableRules,
    section: CommandSection,
    source: &mut Source<'_>,
) -> anyhow::Result<()> {
    let VariableRules { set, pass, drop } = section.environment;
    for (name, value) in &set {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            bail!("Commands.Environment.Set has {name:?}, which cannot be a variable");
        }
    }
    if !set.is_empty() && source.passes("Commands.Environment.Set") {
        rules.set.extend(set);
    }
    if !pass.is_empty() && source.passes("Commands.Environment.Keep") {
        rules.pass.extend(pass);
    }
    rules.drop.extend(drop);
    Ok(())
}

/// Whether a path, as it is spelled, stays inside the folder.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .peekable();
    !path.starts_with('~') && parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::trust::TrustItem;
    use bobbin_settings::section;
    use bobbin_workspace::TrustRecord;
    use serde_json::{Value, json};

    use super::*;

    /// Reads the section `name` of the user's file, or of a workspace's file with this record. Returns the items that
    /// need trust.
    fn read<T: JsonSchema + serde::de::DeserializeOwned>(
        name: &str,
        said: &Value,
        record: Option<&TrustRecord>,
        add: impl FnOnce(T, &mut Source<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<TrustItem>> {
        let checked = section(name, said.clone())?;
        let (path, root) = (Path::new("config.json"), Path::new("/"));
        let mut source = match record {
            None => Source::of_user(path, root, &checked.value),
            Some(record) => Source::of_folder(path, root, None, &checked.value, record),
        };
        add(checked.file, &mut source)?;
        Ok(source.into_parts().0)
    }

    /// Adds a workspace's file.
    fn add_folders(
        settings: &mut SandboxSettings,
        said: &Value,
        record: &TrustRecord,
    ) -> anyhow::Result<Vec<TrustItem>> {
        read("Sandbox", said, Some(record), |file, source| {
            settings.add(file, source)
        })
    }

    /// Returns the settings of the user's file.
    fn users(said: &Value) -> anyhow::Result<SandboxSettings> {
        let mut settings = SandboxSettings::default();
        read("Sandbox", said, None, |file, source| settings.add(file, source))?;
        Ok(settings)
    }

    /// Returns the settings of both files, and the number of the workspace's items without trust.
    fn added(user: &Value, workspace: &Value, trusts: bool) -> (SandboxSettings, usize) {
        let mut record = TrustRecord::default();
        for is_last in [!trusts, true] {
            let mut settings = users(user).unwrap();
            let items = add_folders(&mut settings, workspace, &record).unwrap();
            if is_last {
                let waiting = items.into_iter().filter(|item| !item.trusted);
                return (settings, waiting.count());
            }
            let fingerprints = items.iter().filter_map(|item| item.fingerprint.as_deref());
            fingerprints.for_each(|fingerprint| record.add(fingerprint));
        }
        unreachable!("the last one returns")
    }

    #[test]
    fn nothing_said_means_the_workspace_and_no_network() {
        let (settings, warnings) = added(&json!({}), &json!({}), false);
        assert_eq!((settings, warnings), (SandboxSettings::default(), 0));
    }

    #[test]
    fn a_workspace_makes_it_stricter_only() {
        let loose = json!({ "Profile": "full", "Network": true, "Writable": ["/"], "WhenMissing": "ask", "Hidden": ["keys"],
            "Bubblewrap": "off" });
        let refuse = json!({ "WhenMissing": "refuse" });
        let (settings, warnings) = added(&refuse, &loose, false);
        assert_eq!(settings.profile, SandboxSettings::default().profile);
        assert_eq!(settings.when_missing, WhenMissing::Refuse);
        assert_eq!(
            (settings.writable.len(), settings.hidden_by_folder.len(), warnings),
            (0, 1, 5)
        );
        assert_eq!(settings.bubblewrap, BubblewrapUse::Auto);
        let (settings, warnings) = added(&refuse, &loose, true);
        assert_eq!(
            (settings.profile, settings.writable.len(), warnings),
            (Profile::OPEN, 1, 0)
        );
        assert_eq!(settings.bubblewrap, BubblewrapUse::Off);
        let (off, require) = (json!({ "Bubblewrap": "off" }), json!({ "bubblewrap": "Require" }));
        let (settings, warnings) = added(&off, &require, false);
        assert_eq!((settings.bubblewrap, warnings), (BubblewrapUse::Require, 0));
        let (settings, warnings) = added(&require, &off, false);
        assert_eq!((settings.bubblewrap, warnings), (BubblewrapUse::Require, 1));
        let (settings, _) = added(
            &json!({ "Profile": "full" }),
            &json!({ "Profile": "readonly", "Network": false }),
            false,
        );
        assert_eq!(
            settings.profile,
            Profile {
                files: Files::ReadOnly,
                network: Network::Off
            }
        );
    }

    #[test]
    fn a_folder_hides_what_is_its_own_and_lifts_nothing() {
        let hidden = json!({ "Hidden": ["keys", "./a/b", "/usr", "~/x", "../y", "a/../../z", "."] });
        let (settings, waiting) = added(&json!({}), &hidden, false);
        assert_eq!(settings.hidden_by_folder, ["keys", "./a/b"]);
        assert_eq!((settings.hidden.len(), waiting), (0, 1));
        let (settings, waiting) = added(&json!({}), &hidden, true);
        assert_eq!((settings.hidden.len(), waiting), (5, 0));
        let many: Vec<String> = (0..=MAX_HIDDEN_BY_FOLDER)
            .map(|number| number.to_string())
            .collect();
        let many = json!({ "Hidden": many });
        assert!(users(&many).is_ok());
        let record = TrustRecord::default();
        assert!(add_folders(&mut SandboxSettings::default(), &many, &record).is_err());
        let full = json!({ "Profile": "full" });
        let closed = json!({ "Profile": "full", "Network": false });
        let (settings, _) = added(&closed, &full, false);
        assert_eq!(settings.profile.network, Network::Off);
        let (settings, _) = added(&full, &full, false);
        assert_eq!(settings.profile, Profile::OPEN);
    }

    #[test]
    fn values_that_mean_nothing_are_errors() {
        for (value, part) in [
            (json!({ "Profile": "some" }), "workspaceWrite"),
            (json!({ "Profile": 1 }), "not a text"),
            (json!({ "Network": "yes" }), "true nor false"),
            (json!({ "WhenMissing": "run" }), "refuse"),
            (json!({ "Bubblewrap": "always" }), "require"),
            (json!({ "Bubblewrap": true }), "not a text"),
            (json!({ "Writable": "/tmp" }), "not a list"),
            (json!({ "Hidden": [""] }), "Sandbox.Hidden[0] is empty"),
            (json!({ "Hidden": ["a\0b"] }), "zero byte"),
            (
                json!({ "Limits": { "MemoryMiB": 0 } }),
                "Sandbox.Limits.MemoryMiB is 0; it can be any integer from 1 on",
            ),
        ] {
            let error = format!("{:#}", users(&value).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }

    fn variables(
        rules: &mut VariableRules,
        said: &Value,
        record: Option<&TrustRecord>,
    ) -> anyhow::Result<usize> {
        let said = json!({ "Environment": said });
        let items = read("Commands", &said, record, |file, source| {
            add_commands(rules, file, source)
        })?;
        Ok(items.into_iter().filter(|item| !item.trusted).count())
    }

    #[test]
    fn a_folder_only_drops_variables() {
        let said = |name: &str| json!({ "Set": { name: "1" }, "Keep": [name], "Drop": [name] });
        let mut rules = VariableRules::default();
        assert_eq!(variables(&mut rules, &said("A"), None).unwrap(), 0);
        let waiting = variables(&mut rules, &said("B"), Some(&TrustRecord::default())).unwrap();
        let expected = VariableRules {
            set: [("A".to_owned(), "1".to_owned())].into(),
            pass: vec!["A".to_owned()],
            drop: vec!["A".to_owned(), "B".to_owned()],
        };
        assert_eq!((rules, waiting), (expected, 2));
    }

    #[test]
    fn variables_that_mean_nothing_are_errors() {
        for said in [
            json!({ "Set": { "": "x" } }),
            json!({ "Set": { "A=B": "x" } }),
            json!({ "Drop": [""] }),
        ] {
            assert!(
                variables(&mut VariableRules::default(), &said, None).is_err(),
                "{said}"
            );
        }
    }
}
