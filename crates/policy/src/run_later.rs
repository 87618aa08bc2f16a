//! Files that other programs run, or obey, later by themselves: editors, other agents, shells, hooks, build machines.
//! By their names. Pure.
//!
//! An agent that writes such a file has its words run outside of the sandbox, at some later time, by a program that does
//! not ask. The list is not complete.

use std::ffi::OsStr;
use std::path::Path;

use crate::secrets::is_key;

/// Directories with such files, wherever they are in a workspace.
const DIRECTORIES: [&str; 14] = [
    // Tasks and settings of editors.
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    // Hooks, permissions and tool servers of agents.
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".windsurf",
    ".devcontainer",
    // Hooks of git.
    ".husky",
    // Machines that build, with the secrets they have.
    ".circleci",
    // Where the workspace is a home.
    ".ssh",
    ".gnupg",
];
/// The same, in the directory `.github`.
const ON_GITHUB: [&str; 2] = ["workflows", "actions"];
/// Names of such files.
const FILES: [&str; 20] = [
    ".mcp.json",
    ".envrc",
    ".devcontainer.json",
    ".pre-commit-config.yaml",
    ".gitlab-ci.yml",
    "jenkinsfile",
    ".gitconfig",
    ".exrc",
    ".vimrc",
    ".nvim.lua",
    ".nvimrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
];
/// The ending of a file with tasks and settings of an editor.
const WORKSPACE: &str = ".code-workspace";

/// Returns whether other programs run what a file in the workspace `root` says, or take it for their keys. Ignores case,
/// as some file systems do.
pub(crate) fn is_run_later(path: &Path, root: &Path) -> bool {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let is = |name: &OsStr, known: &[&str]| known.iter().any(|known| name.eq_ignore_ascii_case(known));
    let parts: Vec<&OsStr> = inside.iter().collect();
    let on_github = |pair: &[&OsStr]| is(pair[0], &[".github"]) && is(pair[1], &ON_GITHUB);
    let name = parts.last().copied().unwrap_or_default();
    parts.iter().any(|part| is(part, &DIRECTORIES))
        || parts.windows(2).any(on_github)
        || is(name, &FILES)
        || is_key(path)
        || name.to_string_lossy().to_ascii_lowercase().ends_with(WORKSPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_others_run_are_known_by_their_names() {
        let root = Path::new("/home/mika/.claude/w");
        for name in [
            ".vscode/tasks.json",
            ".VSCode/settings.json",
            "sub/.vscode/launch.json",
            ".claude/settings.json",
            ".cursor/mcp.json",
            ".codex/config.toml",
            ".mcp.json",
            ".envrc",
            "sub/.envrc",
            ".devcontainer/devcontainer.json",
            ".husky/pre-commit",
            ".idea/workspace.xml",
            ".github/workflows/ci.yml",
            "all.code-workspace",
            "id_rsa",
            "keys/id_ed25519",
            ".netrc",
            ".ssh/authorized_keys",
            ".bashrc",
        ] {
            assert!(is_run_later(&root.join(name), root), "{name}");
        }
        for name in [
            "src/lib.rs",
            ".env",
            ".github/ISSUE_TEMPLATE.md",
            "workflows/ci.yml",
            "vscode/tasks.json",
            ".gitignore",
            "claude/a",
            "id_rsa.pub",
            "cert.pem",
        ] {
            assert!(!is_run_later(&root.join(name), root), "{name}");
        }
    }
}
