use std::sync::Arc;

use bobbin_agent_api::SystemClock;
use bobbin_agent_api::trust::TrustKind;
use bobbin_core::Limits;
use bobbin_mcp::settings::DeclaredServer;
use bobbin_prompts::{Machine, Prompts};
use bobbin_settings::Source;
use bobbin_workspace::{StateDirectory, TrustFile, TrustRecord};
use parking_lot::Mutex;

use super::*;

/// Takes what plugins bring, for tests to look at.
#[derive(Default)]
struct Taken(Mutex<Vec<String>>, Mutex<Vec<String>>);

impl Effects for Taken {
    fn set_servers(&self, servers: Vec<DeclaredServer>) -> bool {
        let names: Vec<String> = servers.into_iter().map(|server| server.config.name).collect();
        let mut taken = self.0.lock();
        let is_different = *taken != names;
        *taken = names;
        is_different
    }

    fn set_hooks(&self, hooks: Vec<Hook>) {
        *self.1.lock() = hooks
            .into_iter()
            .map(|hook| hook.event.name().to_owned())
            .collect();
    }

    fn has_server(&self, _: &str) -> bool {
        false
    }
}

struct Kitchen {
    _dir: tempfile::TempDir,
    top: PathBuf,
    root: PathBuf,
    trust: TrustFile,
    prompts: Arc<Prompts>,
    taken: Arc<Taken>,
    plugins: Plugins,
}

const MANIFEST: &str = r#"{"name":"tea-log","version":"1.0.0"}"#;

const HOOKS: &str =
    r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"look"}]}]}}"#;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn write_plugin(root: &Path) {
    write(
        root,
        &[
            (".claude-plugin/plugin.json", MANIFEST),
            ("skills/pour/SKILL.md", "Pour from ${CLAUDE_PLUGIN_ROOT}."),
            ("commands/brew.md", "Brew $1."),
            (".mcp.json", r#"{"mcpServers":{"pantry":{"command":"pantry"}}}"#),
            ("hooks/hooks.json", HOOKS),
            (".git/config", "x"),
        ],
    );
}

fn kitchen() -> Kitchen {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let (root, home) = (top.join("work"), top.join("home"));
    std::fs::create_dir(&root).unwrap();
    let state = StateDirectory::at(&top.join("state"));
    let trust = TrustFile::of(&state, &root);
    let place = Place {
        root: root.clone(),
        home: Some(home.clone()),
    };
    let prompts = Arc::new(Prompts::new(root.clone(), Some(home.clone()), Machine::default()));
    let taken = Arc::new(Taken::default());
    let (of_folder, catalogue) = (root.clone(), top.join("catalogue"));
    let settings = move |record: &TrustRecord| {
        let mut settings = PluginSettings::default();
        for (root, record) in [(&home, None), (&of_folder, Some(record))] {
            let path = root.join(FILE);
            let section = edit::get(&path, &["Plugins"])?.unwrap_or_default();
            let checked = bobbin_settings::section("Plugins", section)?;
            let mut source = match record {
                None => Source::of_user(&path, root, &checked.value),
                Some(record) => Source::of_folder(&path, root, Some(&home), &checked.value, record),
            };
            settings.add(checked.file, &mut source);
        }
        settings.catalogue.push(catalogue.clone());
        Ok(settings)
    };
    let plugins = Plugins::new(
        place,
        trust.clone(),
        Box::new(settings),
        prompts.clone(),
        taken.clone(),
        Broadcasts::new(Limits::default(), Arc::new(SystemClock)),
    );
    write_plugin(&top.join("catalogue/tea-log"));
    Kitchen {
        _dir: dir,
        top,
        root,
        trust,
        prompts,
        taken,
        plugins,
    }
}

impl Kitchen {
    /// Returns the names of all that plugins bring.
    fn brought(&self) -> Vec<String> {
        let skills = self.prompts.skills().into_iter().map(|skill| skill.name);
        let commands = self.prompts.commands().into_iter();
        let commands = commands.filter(|command| command.source == Some(bobbin_prompts::Source::Plugin));
        let names = skills.chain(commands.map(|command| command.name));
        let names = names.chain(self.taken.0.lock().clone());
        names.chain(self.taken.1.lock().clone()).collect()
    }

    fn installed(&self) -> PathBuf {
        self.root.join(".craft/plugins/tea-log")
    }
}

const ALL: [&str; 4] = ["pour", "tea-log:brew", "tea-log:pantry", "PreToolUse"];

#[test]
fn what_an_installed_plugin_brings_is_there_until_it_is_disabled_or_removed() {
    let kitchen = kitchen();
    let plugins = &kitchen.plugins;
    assert_eq!(plugins.look().0.catalogue.len(), 1);
    for _ in 0..2 {
        let found = plugins.install("tea-log").unwrap().found;
        assert!(found.find("tea-log").unwrap().removable);
        assert_eq!(found.catalogue.len(), 0);
        assert_eq!(kitchen.brought(), ALL);
    }
    assert!(!kitchen.installed().join(".git").exists());
    let text = kitchen.prompts.skill_text("pour").unwrap().body;
    assert_eq!(text, format!("Pour from {}.", kitchen.installed().display()));
    assert_eq!(
        kitchen.prompts.expand("tea-log:brew", "milk").unwrap(),
        "Brew milk."
    );
    let why = kitchen.prompts.remove_skill("pour").unwrap_err().to_string();
    assert!(why.contains("comes with the plugin 'tea-log'"), "{why}");

    assert!(!plugins.set_enabled("tea-log", false).unwrap().found.plugins[0].enabled());
    assert_eq!(kitchen.brought(), [""; 0]);
    let config = std::fs::read_to_string(kitchen.root.join(".craft/config.json")).unwrap();
    assert!(config.contains(r#""DisabledPlugins": ["tea-log"]"#), "{config}");
    plugins.set_enabled("tea-log", true).unwrap();
    assert_eq!(kitchen.brought(), ALL);

    plugins.remove("tea-log").unwrap();
    assert_eq!(kitchen.brought(), [""; 0]);
    let left = std::fs::read_dir(kitchen.root.join(".craft/plugins")).unwrap();
    assert_eq!(left.count(), 0, "nothing is left behind");
    assert!(plugins.remove("tea-log").unwrap_err().contains("not installed"));
    assert!(
        plugins
            .set_enabled("tea-log", true)
            .unwrap_err()
            .contains("not installed")
    );
    assert!(
        plugins
            .install("coffee")
            .unwrap_err()
            .contains("not in the catalogue")
    );
}

#[test]
fn a_plugin_that_came_with_the_workspace_waits_for_the_users_word() {
    let kitchen = kitchen();
    write_plugin(&kitchen.installed());
    // A repository can bring the marker too.
    write(&kitchen.installed(), &[(".builtin", "x")]);
    let (found, _) = kitchen.plugins.look();
    assert_eq!(found.plugins[0].diagnostics[0].code, "PluginNotTrusted");
    assert_eq!(kitchen.brought(), [""; 0]);
    let record = kitchen.trust.read();
    let item = &trust_items_of(&kitchen, &record)[0];
    assert_eq!(
        (item.kind, item.name.as_str()),
        (TrustKind::Server, "the plugin tea-log")
    );
    assert!(
        item.detail
            .contains(r#"the MCP server tea-log:pantry runs "pantry""#),
        "{item:?}"
    );
    let fingerprint = item.fingerprint.clone().unwrap();
    kitchen.trust.change(|record| record.add(&fingerprint)).unwrap();
    kitchen.plugins.refresh();
    assert_eq!(kitchen.brought(), ALL);
    write(&kitchen.installed(), &[("serve.sh", "other")]);
    kitchen.plugins.refresh();
    assert_eq!(kitchen.brought(), [""; 0], "a changed one waits again");
}

fn trust_items_of(kitchen: &Kitchen, record: &TrustRecord) -> Vec<bobbin_agent_api::trust::TrustItem> {
    let settings = PluginSettings::default();
    discovery::trust_items(&kitchen.plugins.place, &settings, record)
}

#[test]
fn a_plugin_of_the_users_home_counts_and_stays() {
    let kitchen = kitchen();
    write_plugin(&kitchen.top.join("home/.craft/plugins/mine"));
    kitchen.plugins.refresh();
    assert_eq!(kitchen.brought(), ALL);
    let why = kitchen.plugins.remove("tea-log").unwrap_err();
    assert!(why.contains("was not installed from here"), "{why}");
    let own = r#"{"Plugins":{"DisabledPlugins":["tea-log"]}}"#;
    write(&kitchen.top.join("home"), &[(".craft/config.json", own)]);
    kitchen.plugins.refresh();
    assert_eq!(kitchen.brought(), [""; 0]);
    let why = kitchen.plugins.set_enabled("tea-log", true).unwrap_err();
    assert!(why.contains("your own ~/.craft/config.json"), "{why}");
}

#[test]
fn a_folder_is_installed_whole_or_not_at_all() {
    let kitchen = kitchen();
    let from = kitchen.top.join("downloads/tea");
    let install = |id: Option<&str>| kitchen.plugins.install_folder(&from, id).map(|(_, id)| id);
    assert!(install(None).unwrap_err().contains("No such file"));
    write(&from, &[("README.md", "x")]);
    assert!(install(None).unwrap_err().contains("is no plugin"));
    write_plugin(&from);
    assert!(install(Some("coffee")).unwrap_err().contains("not 'coffee'"));
    std::os::unix::fs::symlink("/etc", from.join("etc")).unwrap();
    assert!(install(None).unwrap_err().contains("is a link"));
    std::fs::remove_file(from.join("etc")).unwrap();
    write(&kitchen.installed(), &[("notes.md", "mine")]);
    assert!(install(None).unwrap_err().contains("is in the way"));
    assert!(kitchen.installed().join("notes.md").exists());
    std::fs::remove_dir_all(kitchen.installed()).unwrap();
    assert_eq!(install(None).unwrap(), "tea-log");
    write(
        &from,
        &[(".claude-plugin/plugin.json", &MANIFEST.replace("1.0.0", "2.0.0"))],
    );
    install(None).unwrap();
    let (found, _) = kitchen.plugins.look();
    assert_eq!(found.plugins[0].manifest.version.as_deref(), Some("2.0.0"));
    assert_eq!(kitchen.brought(), ALL);
}

#[test]
fn a_local_plugin_is_new_and_its_changes_are_numbered() {
    let kitchen = kitchen();
    let plugins = &kitchen.plugins;
    let (_, first) = plugins.look();
    let from = kitchen.top.join("downloads/tea");
    write_plugin(&from);
    let (changed, id) = plugins.install_new(&from, true).unwrap();
    assert_eq!((id.as_str(), changed.snapshot.revision), ("tea-log", first + 1));
    assert_eq!(changed.snapshot.changed, ["tea-log"]);
    let own = kitchen.top.join("home/.craft/plugins/tea-log");
    assert_eq!(changed.found.find("tea-log").unwrap().root, own);
    assert_eq!(kitchen.brought(), ALL);
    let there = plugins.install_new(&from, false).unwrap_err();
    assert!(
        there.contains("is there already") && !kitchen.installed().exists(),
        "{there}"
    );
    assert_eq!(plugins.look().1, first + 1, "nothing has changed");
    assert!(
        plugins.set_trusted("tea-log", false).unwrap().is_none(),
        "it is the user's"
    );
    let texts = plugins.look().0.find("tea-log").unwrap().manifest.texts.clone();
    let skill = kitchen.prompts.skill_source_of(&texts, "pour").unwrap();
    assert_eq!(skill, "Pour from ${CLAUDE_PLUGIN_ROOT}.");
    assert!(kitchen.prompts.skill_source_of(&texts, "boil").is_err());
    let same = plugins.set_enabled("tea-log", true).unwrap();
    assert_eq!(
        (same.snapshot.changed.len(), same.snapshot.revision),
        (0, first + 1)
    );
    plugins.remove("tea-log").unwrap();
    assert!(!own.exists());
    plugins.install_new(&from, false).unwrap();
    let untrusted = plugins.set_trusted("tea-log", false).unwrap().unwrap();
    assert!(!untrusted.found.find("tea-log").unwrap().trusted);
    assert_eq!(kitchen.brought(), [""; 0]);
    plugins.set_trusted("tea-log", true).unwrap();
    assert_eq!(kitchen.brought(), ALL);
    let (_, before) = plugins.look();
    write(&kitchen.installed(), &[("notes.md", "mine")]);
    assert_eq!(plugins.look().1, before + 1, "a change by hand counts");
}
