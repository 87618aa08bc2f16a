//! Files that other programs run, or obey, later by themselves: editors, other agents, shells, hooks, build machines.
//! By their names, and by the `HEAD` of a git directory beside them.
//!
//! An agent that writes such a file has its words run outside of the sandbox, at some later time, by a program that does
//! not ask. The list is not complete.

use std::ffi::OsStr;
use std::path::Path;

use crate::secrets::is_key;

/// Directories with such files, wherever they are in a workspace.
const DIRECTORIES: [&str; 24] = [
    // Tasks and settings of editors.
    ".vscode",
    ".vscode-insiders",
    ".idea",
    ".zed",
    ".fleet",
    ".vs",
    ".helix",
    // Hooks, permissions and tool servers of agents.
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".windsurf",
    ".opencode",
    ".kiro",
    ".roo",
    ".continue",
    ".devcontainer",
    // Hooks of git.
    ".husky",
    ".githooks",
    // Tasks and tools of shells.
    ".mise",
    // Machines that build, with the secrets they have.
    ".circleci",
    ".buildkite",
    // For a workspace that is a home.
    ".ssh",
    ".gnupg",
];
/// Directories and files of that kind within the directory that stands before them.
const WITHIN: [(&str, &str); 9] = [
    (".github", "workflows"),
    (".github", "actions"),
    (".gitea", "workflows"),
    (".forgejo", "workflows"),
    (".cargo", "config.toml"),
    (".cargo", "config"),
    (".config", "git"),
    (".config", "mise"),
    (".config", "mise.toml"),
];
/// Names of such files.
const FILES: [&str; 44] = [
    ".mcp.json",
    ".envrc",
    ".devcontainer.json",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    "lefthook-local.yml",
    ".gitlab-ci.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "jenkinsfile",
    // Package managers, which may run a program for each command.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    // Settings, tool servers and words of agents.
    ".claude.json",
    "opencode.json",
    ".cursorrules",
    ".windsurfrules",
    // Editors and debuggers.
    ".dir-locals.el",
    ".gdbinit",
    ".lldbinit",
    ".tmux.conf",
    ".direnvrc",
    // Git. A directory with a `HEAD` can be a repository, whose settings and hooks name programs.
    "HEAD",
    ".gitconfig",
    ".gitmodules",
    ".lfsconfig",
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
    let is_within = |pair: &[&OsStr]| {
        let mut known = WITHIN.iter();
        known.any(|(outer, inner)| is(pair[0], &[outer]) && is(pair[1], &[inner]))
    };
    let name = parts.last().copied().unwrap_or_default();
    parts.iter().any(|part| is(part, &DIRECTORIES))
        || parts.windows(2).any(is_within)
        || is(name, &FILES)
        || is_key(path)
        || name.to_string_lossy().to_ascii_lowercase().ends_with(WORKSPACE)
        || is_of_repository(inside, root)
}

/// Names in a git directory of what names programs, or other places with such names.
const OF_REPOSITORY: [&str; 4] = ["config", "config.worktree", "commondir", "hooks"];

/// Whether a path is a git directory's settings or hooks, by the `HEAD` beside them. Looks at the disk, once for each name.
fn is_of_repository(inside: &Path, root: &Path) -> bool {
    let mut ancestors = inside.ancestors();
    ancestors.any(|part| {
        let is_known = |name: &OsStr| OF_REPOSITORY.iter().any(|known| name.eq_ignore_ascii_case(known));
        let beside = part
            .file_name()
            .is_some_and(is_known)
            .then(|| part.with_file_name("HEAD"));
        beside.is_some_and(|head| root.join(head).symlink_metadata().is_ok())
    })
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
            ".npmrc",
            "pages/.npmrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            ".cargo/config.toml",
            "crates/tea/.cargo/config",
            ".claude.json",
            ".githooks/pre-commit",
            "mise.toml",
            ".mise.toml",
            ".mise/tasks/build",
            ".config/mise/config.toml",
            "lefthook.yml",
            ".gdbinit",
            ".helix/languages.toml",
            ".opencode/plugin/a.ts",
            "opencode.json",
            ".kiro/hooks/a.json",
            ".roo/mcp.json",
            ".continue/config.yaml",
            ".cursorrules",
            ".gitea/workflows/ci.yml",
            ".forgejo/workflows/ci.yml",
            ".gitlab-ci.yml",
            ".travis.yml",
            "azure-pipelines.yml",
            ".buildkite/pipeline.yml",
            ".nvim.lua",
            ".exrc",
            ".dir-locals.el",
            ".vs/tasks.vs.json",
            ".pre-commit-config.yaml",
            ".gitmodules",
            ".lfsconfig",
            ".config/git/config",
            ".tmux.conf",
            ".direnvrc",
            ".vscode-insiders/settings.json",
            "docs/HEAD",
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
            "package.json",
            "Cargo.toml",
            "Makefile",
            ".cargo/audit.toml",
            ".gitea/issue_template.md",
            "docs/mise.md",
            "config.toml",
            ".config/app.toml",
            ".npmignore",
            "AGENTS.md",
            "id_rsa.pub",
            "cert.pem",
        ] {
            assert!(!is_run_later(&root.join(name), root), "{name}");
        }
    }
}
