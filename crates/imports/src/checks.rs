//! Checks of files of other agents: which count, and which parts of them do not.

use std::path::Path;

use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};
use bobbin_files::shown;

use crate::brought::{Author, Brought};
use crate::unread::unread;

/// Name of the check.
const CHECK: &str = "other agents";
/// Texts that other crates read.
const TEXTS: [&str; 4] = [
    ".claude/commands",
    ".claude/skills",
    ".agents/skills",
    ".mcp.json",
];
const CODEX_PROMPTS: &str = ".codex/prompts";

/// Reports the files of other agents in a workspace and in its user's home. Blocks on the disk.
pub fn check(brought: &[Brought], workspace: &Path, home: Option<&Path>, report: &mut DoctorReport) {
    for root in [Some(workspace), home.filter(|home| *home != workspace)]
        .into_iter()
        .flatten()
    {
        let is_home = home == Some(root);
        let there = |name: &&&str| root.join(name).exists();
        // No server and no instructions are read in a home.
        let texts = TEXTS
            .iter()
            .filter(|name| !is_home || name.ends_with("skills") || name.ends_with("commands"));
        let texts = texts.chain(is_home.then_some(&CODEX_PROMPTS)).filter(there);
        let mut used: Vec<String> = texts.map(|name| root.join(name).display().to_string()).collect();
        used.sort_unstable();
        if !used.is_empty() {
            report.add(CHECK, DoctorLevel::Ok, format!("read: {}", used.join(", ")));
        }
        if !is_home && root.join("CLAUDE.md").exists() {
            let text = if root.join("AGENTS.md").exists() {
                "CLAUDE.md is not used: AGENTS.md counts instead"
            } else {
                "read: CLAUDE.md"
            };
            report.add(CHECK, DoctorLevel::Ok, text);
        }
        for (name, advice) in unread(root) {
            let path = root.join(name);
            report.add(
                CHECK,
                DoctorLevel::Ok,
                format!("{} is not used: {advice}", path.display()),
            );
        }
    }
    for file in brought {
        let restrains = file.unused.iter().any(|unused| unused.restrains);
        let level = if restrains {
            DoctorLevel::Warning
        } else {
            DoctorLevel::Ok
        };
        report.add(CHECK, level, sentence(file, workspace));
    }
}

fn sentence(file: &Brought, workspace: &Path) -> String {
    let counted = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let words = ["rule", "hook", "subagent"];
    let taken = file.taken.iter().zip(words).filter(|(count, _)| **count > 0);
    let taken: Vec<String> = taken.map(|(count, word)| counted(*count, word)).collect();
    let mut text = format!("{}: ", shown(workspace, &file.path));
    text.push_str(if taken.is_empty() { "nothing is used" } else { "" });
    text.push_str(&taken.join(", "));
    if file.author == Author::Folder && !taken.is_empty() {
        text.push_str(" (what allows or runs something counts once you trust the folder)");
    }
    if !file.unused.is_empty() {
        let unused: Vec<&str> = file.unused.iter().map(|unused| &*unused.what).collect();
        text.push_str("; not used: ");
        text.push_str(&unused.join("; "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brought;

    #[test]
    fn what_is_used_and_what_is_not_is_said_for_each_file() {
        let (dir, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, home) = (
            dir.path().canonicalize().unwrap(),
            own.path().canonicalize().unwrap(),
        );
        for (root, name, text) in [
            (
                &root,
                ".claude/settings.json",
                r#"{"permissions": {"allow": ["Bash(make:*)"], "deny": ["Skill(x)"]}}"#,
            ),
            (&root, ".claude/agents/critic.md", "---\nmodel: opus\n---\nLook."),
            (&root, ".cursorrules", "x"),
            (&root, "CLAUDE.md", "x"),
            (&home, ".codex/prompts/sip.md", "x"),
            (&home, ".claude/settings.json", r#"{"env": {"A": "secret"}}"#),
        ] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut found = brought(&home, Author::User, Some(&home));
        found.extend(brought(&root, Author::Folder, Some(&home)));
        let mut report = DoctorReport::default();
        check(&found, &root, Some(&home), &mut report);
        let shown = |text: &str| {
            let text = text.replace(root.to_str().unwrap(), "W");
            text.replace(home.to_str().unwrap(), "H")
        };
        let findings: Vec<_> = report
            .0
            .iter()
            .map(|finding| (finding.level, shown(&finding.message)))
            .collect();
        let ok = |text: &str| (DoctorLevel::Ok, text.to_owned());
        std::fs::write(root.join("AGENTS.md"), "x").unwrap();
        let mut both = DoctorReport::default();
        check(&[], &root, None, &mut both);
        assert!(both.0[0].message.contains("AGENTS.md counts instead"), "{both:?}");
        assert_eq!(
            findings,
            [
                ok("read: CLAUDE.md"),
                ok("W/.cursorrules is not used: put its text into AGENTS.md"),
                ok("read: H/.codex/prompts"),
                ok("H/.claude/settings.json: nothing is used; not used: \"env\""),
                (
                    DoctorLevel::Warning,
                    ".claude/settings.json: 1 rule (what allows or runs something counts once you trust the folder); not \
                     used: permissions.deny \"Skill(x)\": this pattern has no counterpart"
                        .to_owned()
                ),
                ok(
                    ".claude/agents: 1 subagent (what allows or runs something counts once you trust the folder); not used: \
                     the model \"opus\" of the agent \"critic\": it gets the default"
                ),
            ]
        );
    }
}
