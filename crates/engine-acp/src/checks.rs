//! Checks of other agents: those that are configured, and those that are installed and are not. Starts none of them.

use std::ffi::OsStr;
use std::path::Path;

use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};

use crate::settings::{DeclaredEngine, EngineConfig, EngineNetwork};

/// The subject of all findings.
const SUBJECT: &str = "agent";

/// Agents that speak the protocol: a name for the engine, its command line, and the variable with its key.
const KNOWN: [(&str, &[&str], &str); 6] = [
    ("claude", &["claude-agent-acp"], "ANTHROPIC_API_KEY"),
    ("codex", &["codex-acp"], "OPENAI_API_KEY"),
    ("opencode", &["opencode", "acp"], ""),
    ("gemini", &["gemini", "--acp"], "GEMINI_API_KEY"),
    ("qwen", &["qwen", "--acp"], "OPENAI_API_KEY"),
    ("vibe", &["vibe-acp"], "MISTRAL_API_KEY"),
];

/// Reports for each engine whether something prevents it from starting, and names the known agents that are installed and
/// not configured. `path` is the search path of programs, and `variable` returns the value of a variable. Blocks on the
/// disk.
pub fn check(
    engines: &[DeclaredEngine],
    root: &Path,
    path: &OsStr,
    variable: &dyn Fn(&str) -> Option<String>,
    report: &mut DoctorReport,
) {
    for declared in engines {
        let config = &declared.config;
        let (level, text, mend) = if declared.trusted {
            check_one(config, root, path, variable)
        } else {
            let mend = Some("read it, then run `bobbin trust`".to_owned());
            (DoctorLevel::Warning, "not trusted yet".to_owned(), mend)
        };
        let text = format!("{}: {text}", config.name);
        match mend {
            Some(mend) => report.add_mendable(SUBJECT, level, text, mend),
            None => report.add(SUBJECT, level, text),
        }
    }
    for (name, line, key) in KNOWN {
        let program = line[0];
        let is_configured = engines.iter().any(|declared| runs(&declared.config, program));
        if is_configured || !is_there(program, root, path) {
            continue;
        }
        let words: Vec<String> = line.iter().map(|word| format!("{word:?}")).collect();
        let key = match key {
            "" => String::new(),
            key => format!(", \"Environment\": [\"{key}\"]"),
        };
        let text = format!("{program} is installed, and no engine starts it");
        let mend = format!(
            "to run threads with it, add `\"{name}\": {{ \"Acp\": [{}]{key}, \"Network\": true }}` to `Engines`",
            words.join(", ")
        );
        report.add_mendable(SUBJECT, DoctorLevel::Ok, text, mend);
    }
}

fn check_one(
    config: &EngineConfig,
    root: &Path,
    path: &OsStr,
    variable: &dyn Fn(&str) -> Option<String>,
) -> (DoctorLevel, String, Option<String>) {
    if !is_there(&config.program, root, path) {
        let text = format!("there is no program {:?}", config.program);
        let mend = "install it, or correct its Acp".to_owned();
        return (DoctorLevel::Error, text, Some(mend));
    }
    let missing = config.environment.iter().find(|name| variable(name).is_none());
    if let Some(missing) = missing {
        let text = format!("the variable {missing}, which it gets, is not set");
        let mend = "export it before you start bobbin".to_owned();
        return (DoctorLevel::Warning, text, Some(mend));
    }
    let network = match &config.network {
        EngineNetwork::Everything => "with the network: it can send away all that it reads".to_owned(),
        EngineNetwork::Hosts(hosts) => format!("with the network of {} alone", hosts.join(", ")),
        EngineNetwork::AsCommands => "with the network of commands".to_owned(),
    };
    (DoctorLevel::Ok, format!("{}, {network}", config.program), None)
}

/// Whether an engine starts a program, directly or through another one such as `npx`.
fn runs(config: &EngineConfig, program: &str) -> bool {
    let mut words = std::iter::once(&config.program).chain(&config.arguments);
    words.any(|word| Path::new(word).file_name() == Some(OsStr::new(program)))
}

/// Whether a program is there: by its path from the workspace, or by its name on the search path.
fn is_there(program: &str, root: &Path, path: &OsStr) -> bool {
    if program.contains('/') {
        return root.join(program).is_file();
    }
    // A folder of the search path that is relative leads to programs that a repository brings.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.into_iter().any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(program: &str, environment: &[&str]) -> EngineConfig {
        EngineConfig {
            name: "tea".to_owned(),
            program: program.to_owned(),
            arguments: vec![],
            environment: environment.iter().map(|name| (*name).to_owned()).collect(),
            network: EngineNetwork::Everything,
        }
    }

    #[test]
    fn an_engine_needs_its_program_and_its_variables() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("agent"), "").unwrap();
        let variable = |name: &str| (name == "KEY").then(|| "secret".to_owned());
        let check = |program: &str, environment: &[&str]| {
            let path = root.path().as_os_str();
            check_one(&engine(program, environment), root.path(), path, &variable)
        };
        assert_eq!(check("agent", &["KEY"]).0, DoctorLevel::Ok);
        assert_eq!(check("./agent", &[]).0, DoctorLevel::Ok);
        let (level, text, _) = check("agent", &["OTHER"]);
        assert!(level == DoctorLevel::Warning && text.contains("OTHER"), "{text}");
        assert_eq!(check("./gone", &[]).0, DoctorLevel::Error);
        assert_eq!(check("gone", &[]).0, DoctorLevel::Error);
    }

    #[test]
    fn an_installed_agent_without_an_engine_is_named() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("opencode"), "").unwrap();
        let mut report = DoctorReport::default();
        let path = root.path().as_os_str();
        check(&[], root.path(), path, &|_| None, &mut report);
        let [found] = report.0.as_slice() else {
            panic!("{report:?}")
        };
        assert!(found.message.starts_with("opencode is installed"), "{found:?}");
        let mend = found.mend.as_deref().unwrap();
        assert!(mend.contains(r#""Acp": ["opencode", "acp"]"#), "{mend}");
        assert!(runs(&engine("/opt/bin/opencode", &[]), "opencode"));
    }
}
