//! The section `ExternalChannels` of configuration files, and back.
//!
//! The section is an object of entries by name. A broken entry is reported; the others still count. An entry of a
//! folder counts once its user trusts it, as an MCP server does, since most channels start a program.

use std::collections::BTreeMap;
use std::path::Path;

use bobbin_agent_api::channel::{AdapterProcess, ChannelConfig, is_reserved};
use bobbin_agent_api::trust::TrustKind;
use bobbin_settings::{
    Declared, Entries, Source, check_name, check_texts, of_files_in, of_setting, plain, shown_command,
};
use bobbin_workspace::TrustRecord;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::group::wire::{ExternalChannelConfig, ExternalChannelTransport};

/// Name of the section in a file.
pub(crate) const SECTION: &str = "ExternalChannels";

/// An external channel: a chat platform, and how its adapter comes.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct ExternalChannel {
    /// Whether its adapter may connect, or is started. Needed.
    enabled: Option<bool>,
    /// How its adapter comes. Needed.
    transport: Option<ExternalChannelTransport>,
    /// The program of the adapter, unless it connects by itself.
    command: Option<String>,
    /// The adapter is this built-in module, in the place of `Command`: a folder in that of the variable `DOTCRAFT_MODULES_DIR`, run by Node.
    builtin_module: Option<String>,
    /// Its arguments.
    #[serde(default)]
    args: Vec<String>,
    /// Its working directory; the workspace when left out.
    working_directory: Option<String>,
    /// Variables that are set for it.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    env: BTreeMap<String, String>,
}

/// A channel in a configuration file.
pub type DeclaredChannel = Declared<ChannelConfig>;

/// Returns the channels of a configuration file. Blocks on the disk.
pub fn of_file(section: Entries<ExternalChannel>, source: &mut Source<'_>) -> Vec<DeclaredChannel> {
    let channels = section.read("channel", &mut source.warnings, config).into_iter();
    let channels: Vec<_> = channels
        .map(|config| source.declared(config, fingerprint))
        .collect();
    for channel in channels.iter().filter(|channel| channel.config.enabled) {
        let name = format!("the channel {}", channel.config.name);
        source.add_item(channel.item(TrustKind::Server, name, what_runs(&channel.config)));
    }
    channels
}

/// Returns a channel of the file in the folder `root`. Blocks on the disk.
pub fn of_folder(config: ChannelConfig, root: &Path, record: &TrustRecord) -> DeclaredChannel {
    let fingerprint = fingerprint(&config, root);
    Declared::of_folder(config, fingerprint, record)
}

/// Describes to the user what the channel starts.
fn what_runs(config: &ChannelConfig) -> String {
    let Some(process) = config.transport.process() else {
        return "lets an adapter in that connects by itself".to_owned();
    };
    let set = process.env.0.iter();
    let set = set.map(|(name, value)| format!("{}={value:?}", plain(name)));
    let module = process
        .builtin_module
        .as_ref()
        .map(|module| format!("the built-in module {module}"));
    let program = module.as_ref().unwrap_or(&process.command);
    let line = shown_command([program].into_iter().chain(&process.args), set);
    match &process.working_directory {
        Some(directory) => format!("runs {line} in {directory}"),
        None => format!("runs {line}"),
    }
}

/// Returns the fingerprint of a channel: its definition, and the files of the folder that its command line names. Blocks on
/// the disk.
pub(crate) fn fingerprint(config: &ChannelConfig, root: &Path) -> String {
    let mut entry = entry(config);
    if let Some(members) = entry.as_object_mut() {
        members.remove("Enabled");
    }
    let process = config.transport.process();
    let files = process.map_or(Value::Null, |process| {
        let words = [std::slice::from_ref(&process.command), &process.args].concat();
        let directory = root.join(process.working_directory.as_deref().unwrap_or_default());
        of_files_in(&words, &directory, root)
    });
    of_setting(SECTION, &json!([config.name, entry, files]))
}

fn config(name: &str, entry: ExternalChannel) -> Result<ChannelConfig, String> {
    let transport = entry
        .transport
        .ok_or("it has no Transport: subprocess, websocket or managedWebsocket")?;
    let enabled = entry.enabled.ok_or("it has no Enabled")?;
    let entry = match transport {
        // An adapter that connects by itself has no process.
        ExternalChannelTransport::Websocket => ExternalChannel::default(),
        _ => entry,
    };
    let config = ExternalChannelConfig {
        name: name.to_owned(),
        enabled,
        transport,
        command: entry.command,
        builtin_module: entry.builtin_module,
        args: Some(entry.args),
        working_directory: entry.working_directory,
        env: Some(entry.env),
    };
    let config = config.into_config()?;
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
pub(crate) fn check(config: &ChannelConfig) -> Result<(), String> {
    check_name(&config.name)?;
    let Some(process) = config.transport.process() else {
        return Ok(());
    };
    match (&process.builtin_module, process.command.trim()) {
        (None, "") => return Err("it has no Command, which starts its adapter".to_owned()),
        (Some(_), command) if !command.is_empty() => {
            return Err("it has Command and BuiltinModule; one of them starts its adapter".to_owned());
        }
        (Some(module), _) if !is_module(module) => {
            return Err("BuiltinModule has letters, digits, '-' and '_' only".to_owned());
        }
        _ => {}
    }
    let AdapterProcess {
        command,
        builtin_module: _,
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
    check_texts(args.len() + env.0.len(), texts)
}

/// Whether a text names a folder directly in that of the modules.
fn is_module(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain)
}

/// Returns the entry of a channel, with the names that the protocol's clients write.
pub(crate) fn entry(config: &ChannelConfig) -> Value {
    let mut entry = json!({ "Enabled": config.enabled, "Transport": config.transport.as_str() });
    if let Some(process) = config.transport.process() {
        match &process.builtin_module {
            Some(module) => entry["BuiltinModule"] = json!(module),
            None => entry["Command"] = json!(process.command),
        }
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
        let checked = bobbin_settings::section::<Entries<_>>(SECTION, section.clone()).unwrap();
        let mut warnings = checked.warnings;
        let channels = checked.file.read("channel", &mut warnings, config);
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
