//! The section `Engines` of configuration files: `{"claude": {"Acp": ["claude-agent-acp"]}}`.
//!
//! An engine of a workspace's file starts only once the user trusts its exact entry and the files of the folder that its
//! command line names.

use std::path::Path;

use bobbin_agent_api::engines::{EngineList, ListedEngine};
use bobbin_agent_api::trust::TrustKind;
use bobbin_settings::{Declared, Entries, Source, check_name, of_files, of_setting};
use bobbin_web::AllowedHost;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Most engines of one file.
const MAX_ENGINES: usize = 32;
/// Longest name of an engine, in bytes. A name is a part of a path.
const MAX_NAME: usize = 64;
/// Most hosts of an engine.
const MAX_HOSTS: usize = 64;

/// Another agent that runs Turns.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct EngineEntry {
    /// The program that speaks the Agent Client Protocol on its standard streams, and its arguments. Needed.
    acp: Option<Vec<String>>,
    /// Names of variables of the server that the agent gets, such as the one with its key.
    #[serde(default)]
    environment: Vec<String>,
    /// Whether the agent reaches the network. Then it can send away all that it reads; without, it reaches no model
    /// outside of this machine.
    #[serde(default)]
    network: bool,
    /// The only hosts that the agent reaches, without `Network`: `api.example.com`, `*.example.com` or
    /// `api.example.com:8443`, each over HTTPS through a proxy of the server. It needs bubblewrap.
    #[serde(default)]
    hosts: Vec<String>,
}

/// Another agent that runs Turns, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    /// The name by which Threads choose it.
    pub name: String,
    /// Its program.
    pub program: String,
    /// The arguments of the program.
    pub arguments: Vec<String>,
    /// Names of variables of the server that it gets.
    pub environment: Vec<String>,
    /// Its network.
    pub network: EngineNetwork,
}

/// The network of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineNetwork {
    /// The network of commands.
    AsCommands,
    /// These hosts, through a proxy of the server. There is at least one.
    Hosts(Vec<String>),
    /// All addresses.
    Everything,
}

impl EngineConfig {
    /// Whether it reaches more of the network than commands do, so that it can send away what it reads.
    pub fn reaches_network(&self) -> bool {
        self.network != EngineNetwork::AsCommands
    }

    /// Returns the hosts of its proxy; none if it has no proxy.
    pub(crate) fn hosts(&self) -> &[String] {
        match &self.network {
            EngineNetwork::Hosts(hosts) => hosts,
            EngineNetwork::AsCommands | EngineNetwork::Everything => &[],
        }
    }
}

/// An engine, with the owner of its file and whether it counts.
pub type DeclaredEngine = Declared<EngineConfig>;

/// Returns the engines of one file. Blocks on the disk.
pub fn of_file(section: Entries<EngineEntry>, source: &mut Source<'_>) -> Vec<DeclaredEngine> {
    let mut engines = section.read("engine", &mut source.warnings, config);
    if engines.len() > MAX_ENGINES {
        source.warnings.push(format!(
            "Engines has more than {MAX_ENGINES} entries; the others are not used"
        ));
        engines.truncate(MAX_ENGINES);
    }
    let engines = engines.into_iter();
    let engines: Vec<_> = engines
        .map(|config| source.declared(config, fingerprint))
        .collect();
    for engine in &engines {
        let name = format!("the engine {}", engine.config.name);
        source.add_item(engine.item(TrustKind::Server, name, detail(&engine.config)));
    }
    engines
}

/// Returns the engines for lists. Of two with one name, the one that counts is listed.
pub fn listed(engines: &[DeclaredEngine]) -> EngineList {
    let mut listed: Vec<ListedEngine> = Vec::new();
    for engine in engines {
        let info = ListedEngine {
            name: engine.config.name.clone(),
            trusted: engine.trusted,
            network: engine.config.reaches_network(),
        };
        match listed
            .iter_mut()
            .find(|known| known.name.eq_ignore_ascii_case(&info.name))
        {
            Some(known) if !known.trusted => *known = info,
            Some(_) => {}
            None => listed.push(info),
        }
    }
    EngineList(listed.into())
}

/// Returns the engine of a name, if it counts. Names have no case, and the user's own file wins over a workspace's.
pub fn find<'a>(engines: &'a [DeclaredEngine], name: &str) -> Option<&'a DeclaredEngine> {
    let mut named = engines
        .iter()
        .filter(|engine| engine.config.name.eq_ignore_ascii_case(name));
    named.find(|engine| engine.trusted)
}

/// Returns the fingerprint of an engine: its entry and the files of the folder `root` that its command line names. Blocks
/// on the disk.
pub(crate) fn fingerprint(config: &EngineConfig, root: &Path) -> String {
    let words: Vec<String> = std::iter::once(&config.program)
        .chain(&config.arguments)
        .cloned()
        .collect();
    let mut value = json!({
        "Acp": words,
        "Environment": config.environment,
        "Network": config.network == EngineNetwork::Everything,
        "Files": of_files(&words, root),
    });
    if !config.hosts().is_empty() {
        value["Hosts"] = json!(config.hosts());
    }
    of_setting(&format!("Engines.{}", config.name), &value)
}

/// Returns what the entry runs and gives away, for its user.
fn detail(config: &EngineConfig) -> String {
    let mut line = vec![config.program.as_str()];
    line.extend(config.arguments.iter().map(String::as_str));
    let mut detail = format!("runs {:?}", line.join(" "));
    if !config.environment.is_empty() {
        detail.push_str(" with ");
        detail.push_str(&config.environment.join(", "));
    }
    match &config.network {
        EngineNetwork::AsCommands => {}
        EngineNetwork::Hosts(hosts) => {
            detail.push_str(", with the network of ");
            detail.push_str(&hosts.join(", "));
        }
        EngineNetwork::Everything => detail.push_str(", with network"),
    }
    detail
}

fn config(name: &str, entry: EngineEntry) -> Result<EngineConfig, String> {
    check_name(name)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.len() > MAX_NAME || !name.chars().all(plain) {
        return Err(format!(
            "its name may have letters, digits, - and _ only, {MAX_NAME} at most"
        ));
    }
    let network = match (entry.network, entry.hosts) {
        (false, hosts) if hosts.is_empty() => EngineNetwork::AsCommands,
        (false, hosts) => EngineNetwork::Hosts(checked(hosts)?),
        (true, hosts) if hosts.is_empty() => EngineNetwork::Everything,
        (true, _) => return Err("Network gives it all hosts: leave out Network or Hosts".to_owned()),
    };
    let mut line = entry.acp.unwrap_or_default().into_iter();
    let program = line.next().filter(|program| !program.is_empty());
    Ok(EngineConfig {
        name: name.to_owned(),
        program: program.ok_or("Acp must name its program, such as [\"claude-agent-acp\"]")?,
        arguments: line.collect(),
        environment: entry.environment,
        network,
    })
}

fn checked(hosts: Vec<String>) -> Result<Vec<String>, String> {
    if hosts.len() > MAX_HOSTS {
        return Err(format!("Hosts has more than {MAX_HOSTS} entries"));
    }
    for host in &hosts {
        AllowedHost::parse(host).map_err(|why| format!("Hosts: {why}"))?;
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::trust::TrustItem;
    use bobbin_settings::{Checked, check, schema};
    use bobbin_workspace::TrustRecord;
    use serde_json::Value;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "PascalCase")]
    struct File {
        engines: Entries<EngineEntry>,
    }

    /// Reads the user's file, or that of the folder `root`.
    fn read(section: &Value, root: Option<&Path>) -> (Vec<DeclaredEngine>, Vec<TrustItem>, Vec<String>) {
        let file = json!({ "Engines": section });
        let Checked { file, value, .. } = check::<File>(&schema::<File>(), file).unwrap();
        let (path, record) = (Path::new("config.json"), TrustRecord::default());
        let mut source = match root {
            Some(root) => Source::of_folder(path, root, None, &value, &record),
            None => Source::of_user(path, Path::new("/"), &value),
        };
        let engines = of_file(file.engines, &mut source);
        let (items, warnings) = source.into_parts();
        (engines, items, warnings)
    }

    #[test]
    fn an_engine_of_the_user_counts_and_one_of_a_folder_waits_for_trust() {
        let section =
            json!({ "tea": { "acp": ["tea-agent", "--acp"], "environment": ["TEA_KEY"], "network": true } });
        let (own, items, _) = read(&section, None);
        assert!(items.is_empty());
        let found = find(&own, "TEA").unwrap();
        assert_eq!(found.config.program, "tea-agent");
        assert_eq!(found.config.arguments, ["--acp"]);
        let root = tempfile::tempdir().unwrap();
        let (brought, items, _) = read(&section, Some(root.path()));
        assert_eq!(
            items[0].detail,
            "runs \"tea-agent --acp\" with TEA_KEY, with network"
        );
        assert_eq!(find(&brought, "tea"), None);
        // An entry of a folder does not replace the user's own.
        let both = [brought, own].concat();
        let listed = listed(&both);
        assert_eq!((listed.0.len(), listed.names().next()), (1, Some("tea")));
        assert_eq!(find(&both, "tea").unwrap().fingerprint, None);
    }

    #[test]
    fn the_fingerprint_covers_the_entry_and_the_files_of_the_folder() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("agent.sh"), "one").unwrap();
        let mut engine = config(
            "tea",
            EngineEntry {
                acp: Some(vec!["./agent.sh".to_owned()]),
                ..EngineEntry::default()
            },
        )
        .unwrap();
        let first = fingerprint(&engine, root.path());
        std::fs::write(root.path().join("agent.sh"), "two").unwrap();
        let second = fingerprint(&engine, root.path());
        engine.network = EngineNetwork::Everything;
        let third = fingerprint(&engine, root.path());
        engine.network = EngineNetwork::Hosts(vec!["tea.example.com".to_owned()]);
        let fourth = fingerprint(&engine, root.path());
        engine.network = EngineNetwork::Hosts(vec!["*.example.com".to_owned()]);
        let fifth = fingerprint(&engine, root.path());
        let all = [first, second, third, fourth, fifth];
        assert!(
            all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)),
            "{all:?}"
        );
    }

    #[test]
    fn a_broken_entry_is_named_and_the_others_count() {
        let section = json!({ "../up": { "Acp": ["x"] }, "none": {}, "good": { "Acp": ["x"] } });
        let (engines, _, warnings) = read(&section, None);
        assert_eq!(engines.len(), 1);
        assert!(warnings[0].contains("letters, digits"), "{warnings:?}");
        assert!(warnings[1].contains("Acp must name its program"), "{warnings:?}");
    }

    #[test]
    fn an_engine_has_all_of_the_network_or_named_hosts() {
        let section = json!({
            "some": { "Acp": ["x"], "Hosts": ["tea.example.com", "*.example.org:8443"] },
            "both": { "Acp": ["x"], "Network": true, "Hosts": ["tea.example.com"] },
            "broken": { "Acp": ["x"], "Hosts": ["https://tea.example.com"] },
        });
        let root = tempfile::tempdir().unwrap();
        let (engines, items, warnings) = read(&section, Some(root.path()));
        assert_eq!(engines.len(), 1);
        assert_eq!(
            engines[0].config.hosts(),
            ["tea.example.com", "*.example.org:8443"]
        );
        assert!(engines[0].config.reaches_network() && listed(&engines).0[0].network);
        assert_eq!(
            items[0].detail,
            "runs \"x\", with the network of tea.example.com, *.example.org:8443"
        );
        assert!(warnings[0].contains("leave out Network or Hosts"), "{warnings:?}");
        assert!(warnings[1].contains("is no host"), "{warnings:?}");
    }
}
