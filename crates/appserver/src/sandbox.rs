//! `Sandbox` of both configuration files, and the program that holds commands.
//!
//! A workspace is often somebody else's work: its file can make the sandbox stricter, and nothing else, unless the
//! user trusts exactly what it says.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use bobbin_children::{Children, ResourceLimits};
use bobbin_engine::{Bubblewrap, BubblewrapUse, Sandbox, WhenMissing};
use bobbin_sandbox::{Files, Network, Profile, Support};
use serde_json::Value;

use crate::config::{at, number};
use crate::trust::Gate;
use crate::workspace::Workspace;

/// Places in a home that hold keys, or what a user has typed; no command in the sandbox reads them. Secrets only, never
/// caches: builds need those.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".craft",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".npmrc",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/containers/auth.json",
    ".config/rclone",
    ".config/op",
    ".config/sops",
    ".config/hub",
    ".config/glab-cli",
    ".config/doctl",
    ".config/heroku",
    ".config/helm/registry",
    ".docker/config.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings-security.xml",
    ".gem/credentials",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".s3cfg",
    ".boto",
    ".fly",
    ".local/share/keyrings",
    ".password-store",
    ".age",
    ".config/age",
    ".kaggle",
    ".huggingface",
    ".cache/huggingface/token",
    ".oci",
    ".databrickscfg",
    ".pulumi/credentials.json",
    ".Xauthority",
    // Wallets.
    ".bitcoin",
    ".ethereum",
    ".electrum",
    ".config/solana",
    // Agents.
    ".cursor/mcp.json",
    ".config/Code/User/globalStorage",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/github-copilot",
    ".local/share/opencode/auth.json",
    // Browsers, with their cookies and passwords.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    "snap/firefox",
    "snap/chromium",
    // Messengers.
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    // What was typed.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".rediscli_history",
    ".sqlite_history",
    ".lesshst",
    ".viminfo",
];

/// Settings of build tools, which do not run where they cannot read them: hidden only where they hold a secret.
const SETTINGS: &[&str] = &[
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".bundle/config",
    ".yarnrc.yml",
    ".terraformrc",
    ".nuget/NuGet/NuGet.Config",
];
/// Largest file of settings; a larger one is hidden.
const MAX_SETTINGS_BYTES: u64 = 256 << 10;
/// Most places that a folder hides: bubblewrap makes a mount for each (guess: many times what a project has).
const MAX_HIDDEN_BY_FOLDER: usize = 64;
/// What settings say of a secret, in small letters.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passphrase",
    "privatekey",
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "auth",
];

/// What the files say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) profile: Profile,
    pub(crate) writable: Vec<String>,
    pub(crate) hidden: Vec<String>,
    /// What the folder hides of itself, which counts without trust.
    pub(crate) hidden_by_folder: Vec<String>,
    pub(crate) when_missing: WhenMissing,
    pub(crate) bubblewrap: BubblewrapUse,
    pub(crate) limits: ResourceLimits,
}

/// Processes and threads of one command (guess: a build on the largest machines has some hundred, a fork bomb all there are).
const MAX_PROCESSES: u64 = 4096;
/// Size of one file of a command (guess: images of machines are that large, nothing that a build makes is).
const MAX_FILE_MIB: u64 = 64 << 10;

/// Returns the bytes of this machine's memory, if it says.
fn memory_of_machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// What can be said of bubblewrap, from the least.
const USES: [(&str, BubblewrapUse); 3] = [
    ("off", BubblewrapUse::Off),
    ("auto", BubblewrapUse::Auto),
    ("require", BubblewrapUse::Require),
];

impl Default for Settings {
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

impl Settings {
    /// Adds what one file says, the user's before the workspace's.
    ///
    /// # Errors
    /// A value is not one of those possible.
    pub(crate) fn add(&mut self, value: &Value, gate: &mut Gate<'_>) -> anyhow::Result<()> {
        let is_folder = gate.is_of_folder();
        let mut passes = |name: &str| at(value, name).is_some_and(|value| gate.passes(name, value));
        if let Some(name) = text(value, "Sandbox.Profile")? {
            let files = Files::ALL
                .into_iter()
                .find(|known| known.name().eq_ignore_ascii_case(name));
            let files = files.with_context(|| {
                format!("Sandbox.Profile is {name:?}; it can be readOnly, workspaceWrite or full")
            })?;
            let place = |files: Files| Files::ALL.iter().position(|known| *known == files);
            let is_stricter = place(files) <= place(self.profile.files);
            if is_stricter || passes("Sandbox.Profile") {
                // A file that asks for everything by its name means the network too, unless it says otherwise. The folder's
                // file lifts nothing where the user's has the same profile.
                let opens = files == Files::Full && !(is_folder && is_stricter);
                self.profile.files = files;
                if opens && at(value, "Sandbox.Network").is_none() {
                    self.profile.network = Network::On;
                }
            }
        }
        match at(value, "Sandbox.Network") {
            None | Some(Value::Null) => {}
            Some(Value::Bool(true)) => {
                if self.profile.network == Network::On || passes("Sandbox.Network") {
                    self.profile.network = Network::On;
                }
            }
            Some(Value::Bool(false)) => self.profile.network = Network::Off,
            Some(other) => bail!("Sandbox.Network is {other}; it can be true or false"),
        }
        match text(value, "Sandbox.WhenMissing")?
            .map(str::to_ascii_lowercase)
            .as_deref()
        {
            Some("ask") if self.when_missing == WhenMissing::Ask || passes("Sandbox.WhenMissing") => {
                self.when_missing = WhenMissing::Ask;
            }
            None | Some("ask") => {}
            Some("refuse") => self.when_missing = WhenMissing::Refuse,
            Some(other) => bail!("Sandbox.WhenMissing is {other:?}; it can be ask or refuse"),
        }
        if let Some(name) = text(value, "Sandbox.Bubblewrap")? {
            let place = |known: &(&str, BubblewrapUse)| known.0.eq_ignore_ascii_case(name);
            let wanted = USES
                .iter()
                .position(place)
                .with_context(|| format!("Sandbox.Bubblewrap is {name:?}; it can be auto, off or require"))?;
            let now = USES.iter().position(|(_, known)| *known == self.bubblewrap);
            if Some(wanted) >= now || passes("Sandbox.Bubblewrap") {
                self.bubblewrap = USES[wanted].1;
            }
        }
        let writable = paths(value, "Sandbox.Writable")?;
        if !writable.is_empty() && passes("Sandbox.Writable") {
            self.writable.extend(writable);
        }
        let hidden = paths(value, "Sandbox.Hidden")?;
        let (own, others): (Vec<_>, Vec<_>) =
            hidden.into_iter().partition(|path| is_folder && is_below(path));
        if own.len() > MAX_HIDDEN_BY_FOLDER {
            bail!("Sandbox.Hidden has more than {MAX_HIDDEN_BY_FOLDER} places of the folder");
        }
        self.hidden_by_folder.extend(own);
        // A place elsewhere may be one that commands or bubblewrap need.
        if !others.is_empty() && passes("Sandbox.Hidden") {
            self.hidden.extend(others);
        }
        let limits = &mut self.limits;
        for (name, limit, unit) in [
            ("Sandbox.Limits.Processes", &mut limits.processes, 1),
            ("Sandbox.Limits.MemoryMiB", &mut limits.memory_bytes, 1 << 20),
            ("Sandbox.Limits.FileMiB", &mut limits.file_bytes, 1 << 20),
        ] {
            let Some(most) = number(value, name)? else {
                continue;
            };
            if most == 0 {
                bail!("{name} is 0; it can be any number from 1 on");
            }
            let most = most.saturating_mul(unit);
            if limit.is_some_and(|now| most <= now) || passes(name) {
                *limit = Some(most);
            }
        }
        Ok(())
    }

    /// Returns how the commands of a workspace are held on this machine. `keys` are files that none may read; `children`
    /// starts what has to be tried.
    pub(crate) fn sandbox(
        &self,
        workspace: &Workspace,
        home: Option<&Path>,
        keys: Vec<PathBuf>,
        children: &Children,
    ) -> Sandbox {
        let place = |text: &String| match (text.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => workspace.root.join(text),
        };
        let secrets = home.map(|home| SECRETS.iter().map(|name| home.join(name)).collect());
        let mut hide: Vec<PathBuf> = secrets.unwrap_or_default();
        let settings = home
            .into_iter()
            .flat_map(|home| SETTINGS.iter().map(|name| home.join(name)));
        hide.extend(settings.filter(|path| holds_a_secret(path)));
        hide.extend(self.hidden.iter().map(place));
        hide.extend(keys);
        Sandbox {
            profile: self.profile,
            support: Support::probe(),
            bubblewrap: Bubblewrap::new(self.bubblewrap, children.clone()),
            limits: self.limits,
            temporary: Some(workspace.temporary()),
            write: self.writable.iter().map(place).collect(),
            hide,
            folder: workspace.root.clone(),
            hidden_by_folder: self.hidden_by_folder.iter().map(place).collect(),
            keep: vec![workspace.craft()],
            blank: ["", "-wal", "-shm"]
                .map(|end| with_ending(workspace.foreign_database(), end))
                .to_vec(),
            when_missing: self.when_missing,
        }
    }
}

/// Whether the spelling of a path leads from the folder to a place in it.
fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .peekable();
    !path.starts_with('~') && parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn with_ending(path: PathBuf, ending: &str) -> PathBuf {
    let mut path = path.into_os_string();
    path.push(ending);
    path.into()
}

/// Whether a file of settings holds a secret, or cannot be looked at.
fn holds_a_secret(path: &Path) -> bool {
    match bobbin_files::read_text(path, MAX_SETTINGS_BYTES) {
        Ok(text) => {
            let text = text.to_ascii_lowercase();
            // An address with a user in it: `https://name:password@host`.
            let has_user = text
                .split("://")
                .skip(1)
                .filter_map(|rest| rest.split(['/', ' ', '\n', '"', '<']).next())
                .any(|host| host.contains('@'));
            has_user || SECRET_WORDS.iter().any(|word| text.contains(word))
        }
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

fn text<'a>(value: &'a Value, path: &str) -> anyhow::Result<Option<&'a str>> {
    match at(value, path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => bail!("{path} is {other}, which is no text"),
    }
}

fn paths(value: &Value, path: &str) -> anyhow::Result<Vec<String>> {
    match at(value, path) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(texts)) => texts
            .iter()
            .map(|text| {
                text.as_str()
                    .filter(|text| !text.is_empty() && !text.contains('\0'))
                    .map(str::to_owned)
            })
            .collect::<Option<_>>()
            .with_context(|| format!("{path} has something that is no path")),
        Some(other) => bail!("{path} is {other}, which is no list"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trust::TrustRecord;

    /// Returns what both files come to, and how much of the workspace's waits.
    fn added(user: &Value, workspace: &Value, trusts: bool) -> (Settings, usize) {
        let mut settings = Settings::default();
        let (user, workspace) = (json!({ "Sandbox": user }), json!({ "sandbox": workspace }));
        settings.add(&user, &mut Gate::of_user()).unwrap();
        let mut record = TrustRecord::default();
        let untouched = settings.clone();
        let mut gate = Gate::of_folder(&record);
        settings.add(&workspace, &mut gate).unwrap();
        let items = gate.into_items();
        if !trusts {
            return (settings, items.len());
        }
        let fingerprints = items.iter().filter_map(|item| item.fingerprint.as_deref());
        fingerprints.for_each(|fingerprint| record.add(fingerprint));
        let mut settings = untouched;
        let mut gate = Gate::of_folder(&record);
        settings.add(&workspace, &mut gate).unwrap();
        let waiting = gate.into_items().into_iter().filter(|item| !item.trusted);
        (settings, waiting.count())
    }

    #[test]
    fn nothing_said_means_the_workspace_and_no_network() {
        let (settings, warnings) = added(&json!({}), &json!({}), false);
        assert_eq!((settings, warnings), (Settings::default(), 0));
    }

    #[test]
    fn a_workspace_makes_it_stricter_only() {
        let loose = json!({ "Profile": "full", "Network": true, "Writable": ["/"], "WhenMissing": "ask", "Hidden": ["keys"],
            "Bubblewrap": "off" });
        let refuse = json!({ "WhenMissing": "refuse" });
        let (settings, warnings) = added(&refuse, &loose, false);
        assert_eq!(settings.profile, Settings::default().profile);
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
        let many = json!({ "Sandbox": { "Hidden": many } });
        let record = TrustRecord::default();
        assert!(
            Settings::default()
                .add(&many, &mut Gate::of_folder(&record))
                .is_err()
        );
        assert!(Settings::default().add(&many, &mut Gate::of_user()).is_ok());
        let full = json!({ "Profile": "full" });
        let closed = json!({ "Profile": "full", "Network": false });
        let (settings, _) = added(&closed, &full, false);
        assert_eq!(settings.profile.network, Network::Off);
        let (settings, _) = added(&full, &full, false);
        assert_eq!(settings.profile, Profile::OPEN);
    }

    #[test]
    fn values_that_mean_nothing_are_told() {
        for (value, part) in [
            (json!({ "Profile": "some" }), "workspaceWrite"),
            (json!({ "Profile": 1 }), "no text"),
            (json!({ "Network": "yes" }), "true or false"),
            (json!({ "WhenMissing": "run" }), "refuse"),
            (json!({ "Bubblewrap": "always" }), "require"),
            (json!({ "Bubblewrap": true }), "no text"),
            (json!({ "Writable": "/tmp" }), "no list"),
            (json!({ "Hidden": [""] }), "no path"),
            (json!({ "Hidden": ["a\0b"] }), "no path"),
        ] {
            let added = Settings::default().add(&json!({ "Sandbox": value }), &mut Gate::of_user());
            let error = format!("{:#}", added.unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }
}
