//! The `ExternalChannels` section of a configuration file, and back.
//!
//! The section is an object of entries by name. A broken entry is reported; the others still count. An entry of a
//! folder counts once its user trusts it, as an MCP server does, since most channels start a program.

use std::collections::BTreeMap;
use std::path::Path;

use bobbin_agent_api::channel::{AdapterProcess, ChannelConfig, ChannelTransport, is_reserved};
use bobbin_agent_api::tool_server::Secrets;
use bobbin_agent_api::trust::{TrustItem, TrustKind};
use bobbin_model::ServerOrigin;
use bobbin_workspace::TrustRecord;
use serde_json::{Value, json};

use crate::file::{ExternalChannel, ExternalTransport};
use crate::{entries, fingerprint, shown};

/// Name of the section in a file.
pub const SECTION: &str = "ExternalChannels";

/// A channel in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredChannel {
    /// The channel.
    pub config: ChannelConfig,
    /// The owner of its file.
    pub origin: ServerOrigin,
    /// The fingerprint of its content; `None` in a file that only the user writes.
    pub fingerprint: Option<String>,
    /// Whether the channel counts.
    pub trusted: bool,
}

impl DeclaredChannel {
    /// Returns a channel of the user's own file.
    pub(crate) fn own(config: ChannelConfig, origin: ServerOrigin) -> Self {
        Self {
            config,
            origin,
            fingerprint: None,
            trusted: true,
        }
    }

    /// Returns a channel of the file in the folder `root`. Blocks on the disk.
    pub fn of_folder(config: ChannelConfig, root: &Path, record: &TrustRecord) -> Self {
        let fingerprint = fingerprint(&config, root);
        Self {
            config,
            origin: ServerOrigin::Workspace,
            trusted: record.has(&fingerprint),
            fingerprint: Some(fingerprint),
        }
    }

    /// Whether its definition and the files that its command line names are those that the user trusts. Blocks on the
    /// disk.
    pub fn is_unchanged(&self, root: &Path) -> bool {
        let own = self.fingerprint.as_ref();
        own.is_none_or(|own| *own == fingerprint(&self.config, root))
    }

    /// Whether clients may not change it. They write the workspace's file only.
    pub fn is_read_only(&self) -> bool {
        self.origin == ServerOrigin::User
    }

    /// Returns its trust item; `None` for a disabled channel and for one of the user's own file.
    pub(crate) fn item(&self) -> Option<TrustItem> {
        let fingerprint = self.fingerprint.clone().filter(|_| self.config.enabled)?;
        Some(TrustItem {
            kind: TrustKind::Server,
            name: format!("the channel {}", self.config.name),
            detail: what_runs(&self.config),
            fingerprint: Some(fingerprint),
            trusted: self.trusted,
        })
    }
}

/// Describes to the user what the channel starts.
fn what_runs(config: &ChannelConfig) -> String {
    let Some(process) = config.transport.process() else {
        return "lets an adapter in that connects by itself".to_owned();
    };
    let set = process.env.0.iter();
    let set: Vec<String> = set
        .map(|(name, value)| format!("{}={value:?}", shown::plain(name)))
        .collect();
    let words = [&process.command].into_iter().chain(&process.args);
    let words: Vec<String> = words.map(|word| format!("{word:?}")).collect();
    let mut text = format!("runs {}", words.join(" "));
    if !set.is_empty() {
        text.push_str(" with ");
        text.push_str(&set.join(", "));
    }
    if let Some(directory) = &process.working_directory {
        text.push_str(" in ");
        text.push_str(directory);
    }
    text
}

/// Returns the fingerprint of a channel: its definition, and the files of the folder that its command line names. Blocks on
/// the disk.
pub fn fingerprint(config: &ChannelConfig, root: &Path) -> String {
    let mut entry = entry(config);
    if let Some(members) = entry.as_object_mut() {
        members.remove("Enabled");
    }
    let process = config.transport.process();
    let files = process.map_or(Value::Null, |process| {
        let words: Vec<String> = [&process.command]
            .into_iter()
            .chain(&process.args)
            .cloned()
            .collect();
        let directory = root.join(process.working_directory.as_deref().unwrap_or_default());
        fingerprint::of_files_in(&words, &directory, root)
    });
    fingerprint::of_setting(SECTION, &json!([config.name, entry, files]))
}

/// Returns the channels of a section. Mistakes go to `warnings`.
pub(crate) fn read(
    section: BTreeMap<String, ExternalChannel>,
    warnings: &mut Vec<String>,
) -> Vec<ChannelConfig> {
    entries::read(section, "channel", warnings, config)
}

fn config(name: &str, entry: ExternalChannel) -> Result<ChannelConfig, String> {
    let process = AdapterProcess {
        command: entry.command.unwrap_or_default(),
        args: entry.args,
        working_directory: entry.working_directory.filter(|text| !text.is_empty()),
        env: Secrets(entry.env),
    };
    let transport = match entry.transport {
        Some(ExternalTransport::Subprocess) => ChannelTransport::Subprocess(process),
        Some(ExternalTransport::Websocket) => ChannelTransport::WebSocket,
        Some(ExternalTransport::ManagedWebsocket) => ChannelTransport::ManagedWebSocket(process),
        None => {
            return Err("it has no Transport: subprocess, websocket or managedWebsocket".to_owned());
        }
    };
    let config = ChannelConfig {
        name: name.to_owned(),
        enabled: entry.enabled.ok_or("it has no Enabled")?,
        transport,
    };
    check(&config)?;
    if is_reserved(&config.name) {
        return Err("it has the name of a channel of the server itself".to_owned());
    }
    Ok(config)
}

/// Checks the members that every channel needs, and the sizes of all of them.
///
/// # Errors
/// The reason, as the end of a sentence for the user.
pub fn check(config: &ChannelConfig) -> Result<(), String> {
    entries::check_name(&config.name)?;
    let Some(process) = config.transport.process() else {
        return Ok(());
    };
    if process.command.trim().is_empty() {
        return Err("it has no Command, which starts its adapter".to_owned());
    }
    let AdapterProcess {
        command,
        args,
        working_directory,
        env,
    } = process;
    let set = env.0.iter().flat_map(|(name, value)| [name, value]);
    let texts = [command]
        .into_iter()
        .chain(args)
        .chain(working_directory)
        .chain(set);
    entries::check_texts(args.len() + env.0.len(), texts)
}

/// Returns the entry of a channel, with the names that the protocol's clients write.
pub fn entry(config: &ChannelConfig) -> Value {
    let mut entry = json!({ "Enabled": config.enabled, "Transport": config.transport.as_str() });
    if let Some(process) = config.transport.process() {
        entry["Command"] = json!(process.command);
        if !process.args.is_empty() {
            entry["Args"] = json!(process.args);
        }
        if let Some(directory) = &process.working_directory {
            entry["WorkingDirectory"] = json!(directory);
        }
        if !process.env.0.is_empty() {
            entry["Env"] = json!(process.env.0);
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(section: &Value) -> (Vec<ChannelConfig>, Vec<String>) {
        let checked = crate::check::check(json!({ "ExternalChannels": section })).unwrap();
        let mut warnings = checked.warnings;
        let channels = read(checked.file.external_channels, &mut warnings);
        (channels, warnings)
    }

    #[test]
    fn an_entry_is_read_in_any_case_and_comes_back_as_it_was() {
        let theirs = json!({ "pigeon": {
            "enabled": true, "transport": "subprocess", "command": "python3", "args": ["-m", "pigeon"],
            "workingDirectory": "roof", "env": { "RING": "7" },
        } });
        let (channels, warnings) = of(&theirs);
        assert_eq!((channels.len(), warnings), (1, Vec::new()));
        let (again, _) = of(&json!({ "pigeon": entry(&channels[0]) }));
        assert_eq!(again, channels);
        assert!(
            !format!("{channels:?}").contains("\"7\""),
            "values of variables are secrets"
        );
    }

    #[test]
    fn a_broken_entry_is_one_sentence_and_the_others_are_used() {
        let (channels, warnings) = of(&json!({
            "good": { "Enabled": true, "Transport": "websocket" },
            "by": { "Enabled": true, "Transport": "carrier" },
            "none": { "Enabled": true },
            "off": { "Transport": "websocket" },
            "mute": { "Enabled": true, "Transport": "subprocess" },
            "Cron": { "Enabled": true, "Transport": "websocket" },
            "odd": { "Enabled": true, "Transport": "websocket", "Comand": "x" },
        }));
        let names: Vec<&str> = channels.iter().map(|channel| channel.name.as_str()).collect();
        assert_eq!(names, ["good", "odd"], "{warnings:?}");
        assert_eq!(warnings.len(), 6, "{warnings:?}");
        for part in [
            "carrier",
            "no Transport",
            "no Enabled",
            "no Command",
            "did you mean Command",
        ] {
            let said = warnings.iter().any(|warning| warning.contains(part));
            assert!(said, "{part}: {warnings:?}");
        }
    }

    #[test]
    fn what_starts_decides_about_trust_and_whether_it_is_enabled_does_not() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::write(root.join("pigeon.py"), "one").unwrap();
        let channel = |enabled: bool, word: &str| {
            let entry = json!({ "Enabled": enabled, "Transport": "subprocess", "Command": "python3", "Args": [word] });
            fingerprint(&of(&json!({ "pigeon": entry })).0[0], &root)
        };
        let before = channel(true, "pigeon.py");
        assert_eq!(before, channel(false, "pigeon.py"));
        assert_ne!(before, channel(true, "owl.py"));
        std::fs::write(root.join("pigeon.py"), "two").unwrap();
        assert_ne!(
            before,
            channel(true, "pigeon.py"),
            "the script that it names has changed"
        );
    }
}
