//! `Sandbox` of both configuration files.
//!
//! A workspace is often another author's work. Its file can make the sandbox stricter; other settings count only if
//! the user trusts exactly their content.

use std::path::{Component, Path};

use anyhow::bail;
use bobbin_children::ResourceLimits;
use bobbin_sandbox::{Files, Network, Profile};
use bobbin_tools::{BubblewrapUse, WhenMissing, profile_of};

use crate::file;
use crate::gate::Gate;
use crate::limits::narrow;

/// Most paths that a folder hides; bubblewrap makes a mount for each (guess: far more than a project has).
const MAX_HIDDEN_BY_FOLDER: usize = 64;
/// Processes and threads of one command (guess: a build on the largest machines has some hundred, a fork bomb all there are).
const MAX_PROCESSES: u64 = 4096;
/// Size of one file of a command (guess: images of machines are that large, nothing that a build makes is).
const MAX_FILE_MIB: u64 = 64 << 10;

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
    pub(crate) fn add(&mut self, said: file::Sandbox, gate: &mut Gate<'_>) -> anyhow::Result<()> {
        let is_folder = gate.is_of_folder();
        if let Some(profile) = said.profile {
            let files = profile_of(profile, self.profile.network).files;
            let is_stricter = files <= self.profile.files;
            if is_stricter || gate.passes("Sandbox.Profile") {
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
            Some(true) if self.profile.network == Network::On || gate.passes("Sandbox.Network") => {
                self.profile.network = Network::On;
            }
            Some(false) => self.profile.network = Network::Off,
            Some(true) | None => {}
        }
        match said.when_missing {
            Some(file::WhenMissing::Ask)
                if self.when_missing == WhenMissing::Ask || gate.passes("Sandbox.WhenMissing") =>
            {
                self.when_missing = WhenMissing::Ask;
            }
            Some(file::WhenMissing::Refuse) => self.when_missing = WhenMissing::Refuse,
            Some(file::WhenMissing::Ask) | None => {}
        }
        if let Some(wanted) = said.bubblewrap.map(bubblewrap)
            && (wanted >= self.bubblewrap || gate.passes("Sandbox.Bubblewrap"))
        {
            self.bubblewrap = wanted;
        }
        if said
            .writable
            .iter()
            .chain(&said.hidden)
            .any(|path| path.contains('\0'))
        {
            bail!("Sandbox.Writable or Sandbox.Hidden has a path with a zero byte");
        }
        if !said.writable.is_empty() && gate.passes("Sandbox.Writable") {
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
        if !others.is_empty() && gate.passes("Sandbox.Hidden") {
            self.hidden.extend(others);
        }
        let (limits, most) = (&mut self.limits, said.limits);
        let bytes = |mib: Option<u64>| mib.map(|mib| mib.saturating_mul(1 << 20));
        for (name, limit, most) in [
            ("Sandbox.Limits.Processes", &mut limits.processes, most.processes),
            (
                "Sandbox.Limits.MemoryMiB",
                &mut limits.memory_bytes,
                bytes(most.memory_mib),
            ),
            (
                "Sandbox.Limits.FileMiB",
                &mut limits.file_bytes,
                bytes(most.file_mib),
            ),
        ] {
            narrow(limit, most, || gate.passes(name));
        }
        Ok(())
    }
}

fn bubblewrap(wanted: file::Bubblewrap) -> BubblewrapUse {
    match wanted {
        file::Bubblewrap::Off => BubblewrapUse::Off,
        file::Bubblewrap::Auto => BubblewrapUse::Auto,
        file::Bubblewrap::Require => BubblewrapUse::Require,
    }
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
    use serde_json::{Value, json};

    use super::*;
    use crate::check::{Checked, check};
    use bobbin_workspace::TrustRecord;

    fn file(said: &Value) -> Checked {
        check(json!({ "sandbox": said })).unwrap()
    }

    /// Returns the settings of the user's file.
    fn users(said: &Value) -> anyhow::Result<SandboxSettings> {
        let mut settings = SandboxSettings::default();
        let Checked { file, value, .. } = check(json!({ "Sandbox": said }))?;
        settings.add(file.sandbox, &mut Gate::of_user(&value))?;
        Ok(settings)
    }

    /// Returns the settings of both files, and the number of the workspace's items without trust.
    fn added(user: &Value, workspace: &Value, trusts: bool) -> (SandboxSettings, usize) {
        let mut record = TrustRecord::default();
        for is_last in [!trusts, true] {
            let mut settings = users(user).unwrap();
            let Checked { file, value, .. } = file(workspace);
            let mut gate = Gate::of_folder(&value, &record);
            settings.add(file.sandbox, &mut gate).unwrap();
            let items = gate.into_items();
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
        let (record, Checked { file, value, .. }) = (TrustRecord::default(), file(&many));
        let mut gate = Gate::of_folder(&value, &record);
        assert!(SandboxSettings::default().add(file.sandbox, &mut gate).is_err());
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
}
