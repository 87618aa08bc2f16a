//! Files of other agents that nothing here reads, for a sentence about each.

use std::path::Path;

/// Paths in a workspace or a home, and what may be done about them.
const UNREAD: &[(&str, &str)] = &[
    (".claude/output-styles", "Bobbin has no output styles"),
    (".claude/rules", "put their texts into AGENTS.md"),
    (".codex/config.toml", "its settings have no effect here"),
    (".codex/rules", "write rules into Permissions.Rules"),
    (".cursor/rules", "put their texts into AGENTS.md"),
    (".cursorrules", "put its text into AGENTS.md"),
    (".cursor/mcp.json", "`bobbin mcp add` adds its servers"),
    (".windsurfrules", "put its text into AGENTS.md"),
    (".clinerules", "put its text into AGENTS.md"),
    (".github/copilot-instructions.md", "put its text into AGENTS.md"),
    (".gemini", "put its texts into AGENTS.md and .craft/commands"),
    ("GEMINI.md", "put its text into AGENTS.md"),
    (".opencode", "put its texts into AGENTS.md and .craft/commands"),
    ("opencode.json", "its settings have no effect here"),
];

/// Returns the files of other agents under `root` that have no effect, each with advice.
pub(crate) fn unread(root: &Path) -> Vec<(&'static str, &'static str)> {
    let is_there = |(name, _): &&(&str, &str)| root.join(name).symlink_metadata().is_ok();
    UNREAD.iter().filter(is_there).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_there_are_named() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(unread(dir.path()), []);
        std::fs::write(dir.path().join(".cursorrules"), "x").unwrap();
        assert_eq!(
            unread(dir.path()),
            [(".cursorrules", "put its text into AGENTS.md")]
        );
    }
}
