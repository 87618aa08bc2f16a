//! Decides whether git can read a repository without running a program that the repository names, and returns the
//! variables that restrict git to that repository.
//!
//! `git status` and similar commands run programs that a repository's configuration names: file system monitors,
//! filters, diff drivers, pagers. A folder that was unpacked, not cloned, may bring such a configuration. So the
//! configuration is read before git runs without an approval: every setting must be one that runs nothing.

use std::ffi::OsString;
use std::fs::symlink_metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use bobbin_files::open_file;
use nix::unistd::{AccessFlags, Uid, access};

/// Longest configuration that is read, bytes.
const MAX_CONFIG_BYTES: u64 = 64 << 10;
/// Longest index that is searched for nested repositories, bytes (some hundred thousand files).
const MAX_INDEX_BYTES: u64 = 32 << 20;
/// Harmless settings by section, in lower case; a section without names is harmless as a whole.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "safecrlf",
            "quotepath",
            "untrackedcache",
            "abbrev",
        ],
    ),
    ("remote", &["url", "fetch", "pushurl", "tagopt", "gh-resolved"]),
    ("branch", &[]),
    ("color", &[]),
    ("user", &["name", "email"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
];
/// The mode of a repository in an index.
const REPOSITORY: [u8; 4] = [0, 0, 0xe0, 0];
/// Extensions of an index that store entries elsewhere: in another file, or in objects of the repository.
const ELSEWHERE: [&[u8]; 2] = [b"link", b"sdir"];
/// Settings of judged reads. Without them, the search for changes and the hooks would run programs.
const SETTINGS: [(&str, &str); 2] = [("core.fsmonitor", "false"), ("core.hooksPath", "/dev/null")];

/// Returns the variables of a judged read at the root of a workspace. They stop git from searching for another
/// repository, in the workspace or in a parent directory, should the judged one change after the judgement.
pub fn read_variables(root: &Path) -> Vec<(String, OsString)> {
    let mut variables = vec![
        ("GIT_DIR".to_owned(), root.join(".git").into()),
        ("GIT_WORK_TREE".to_owned(), root.into()),
        ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string().into()),
    ];
    for (number, (name, value)) in SETTINGS.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}"), name.into()));
        variables.push((format!("GIT_CONFIG_VALUE_{number}"), value.into()));
    }
    variables
}

/// Returns whether git runs no program in a workspace that is the root of a work tree.
pub fn is_plain(root: &Path) -> bool {
    let git = root.join(".git");
    // Git needs search permission for these directories. Without it, `.git` is no repository for git.
    let is_directory = |path: &Path| {
        symlink_metadata(path).is_ok_and(|found| found.is_dir()) && access(path, AccessFlags::X_OK).is_ok()
    };
    // Git checks the owner of a repository that it finds, but not of one that GIT_DIR names.
    let is_own =
        |path: &Path| symlink_metadata(path).is_ok_and(|found| found.uid() == Uid::effective().as_raw());
    let is_missing = |name: &str| symlink_metadata(git.join(name)).is_err();
    // The sandbox leaves an empty file of this name, so that no command makes one with settings.
    let has_no_settings = |name: &str| {
        symlink_metadata(git.join(name)).map_or(true, |found| found.is_file() && found.len() == 0)
    };
    // If `.git` is no repository, git tries the workspace itself, or its parents.
    is_directory(&git)
        && is_own(&git)
        && is_own(root)
        && is_directory(&git.join("objects"))
        && is_directory(&git.join("refs"))
        && text(&git.join("HEAD")).is_some_and(|head| is_head(head.trim_end()))
        // Objects from elsewhere, a second configuration, and the only hook of a command that reads.
        && ["objects/info/alternates", "commondir", "hooks/post-index-change"]
            .iter()
            .all(|name| is_missing(name))
        && has_no_settings("config.worktree")
        && text(&git.join("config")).is_some_and(|config| is_harmless(&config))
        && !has_repositories(&git.join("index"))
}

fn is_head(head: &str) -> bool {
    let is_commit = head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
    head.starts_with("ref: refs/heads/") || is_commit
}

/// Returns the text of a short ordinary file.
fn text(path: &Path) -> Option<String> {
    let bytes = bytes(path, MAX_CONFIG_BYTES)?;
    String::from_utf8(bytes).ok()
}

fn bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    // Nothing else is opened: a pipe, or a file with a lease, would block.
    let file = open_file(path).ok()?;
    if file.metadata().ok()?.len() > most {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns whether no setting runs a program, and no address contains a password.
fn is_harmless(config: &str) -> bool {
    let mut section = String::new();
    config.lines().map(str::trim).all(|line| {
        // A continued line would hide the text of the next.
        if line.ends_with('\\') || line.contains('\0') {
            return false;
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if let Some(header) = line.strip_prefix('[') {
            let Some(inside) = header.strip_suffix(']') else {
                return false;
            };
            let (name, of) = inside.split_once(' ').unwrap_or((inside, "\"\""));
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let quoted = of.strip_prefix('"').and_then(|of| of.strip_suffix('"'));
            section = name.to_ascii_lowercase();
            return name.chars().all(plain) && quoted.is_some_and(|of| !of.contains(['"', '\\', ']']));
        }
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        if section == "core" && name == "bare" {
            return value == "false";
        }
        let known = HARMLESS.iter().find(|(known, _)| *known == section);
        let has_password = value.contains("://") && value.contains('@');
        known.is_some_and(|(_, names)| names.is_empty() || names.contains(&name.as_str())) && !has_password
    })
}

/// Returns whether an index has nested repositories, whose configurations git reads too, or may store such entries
/// elsewhere.
///
/// Searches all bytes: an index says where git starts to read entries and extensions, and a parser here could start at
/// another place.
fn has_repositories(index: &Path) -> bool {
    if symlink_metadata(index).is_err() {
        return false;
    }
    let bytes = bytes(index, MAX_INDEX_BYTES);
    bytes.is_none_or(|bytes| {
        let is_found = |(at, word): (usize, &[u8])| word == REPOSITORY || stores_elsewhere(&bytes[at..]);
        bytes.windows(4).enumerate().any(is_found)
    })
}

/// Returns whether `rest` starts with an extension that stores entries elsewhere: its name, and a length that fits into
/// the rest. The length distinguishes it from a path such as `src/link.rs`.
fn stores_elsewhere(rest: &[u8]) -> bool {
    let Some((name, rest)) = rest.split_at_checked(4) else {
        return false;
    };
    let length = rest.first_chunk().map(|length| u32::from_be_bytes(*length));
    ELSEWHERE.contains(&name) && length.is_some_and(|length| length as usize <= rest.len() - 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobbin_testkit::Folder as Workspace;

    const ORDINARY: &str = "[core]\n\tbare = false\n\tfilemode = true\n[remote \"origin\"]\n\turl = git@host:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tmerge = refs/heads/main\n";

    fn workspace() -> Workspace {
        let workspace = Workspace::new();
        workspace.write(".git/HEAD", "ref: refs/heads/main\n");
        workspace.write(".git/objects/x", "");
        workspace.write(".git/refs/x", "");
        workspace.write(".git/config", ORDINARY);
        workspace
    }

    #[test]
    fn an_ordinary_configuration_runs_nothing() {
        assert!(is_plain(workspace().root()));
        for more in ["# x", "[user]\n name = Mika", "[color \"diff\"]\n meta = yellow"] {
            assert!(is_harmless(&format!("{ORDINARY}{more}\n")), "{more}");
        }
    }

    #[test]
    fn a_configuration_that_may_run_something_is_not_plain() {
        for more in [
            "[core]\n fsmonitor = ./x",
            "[CORE]\n FSMonitor = ./x",
            "[core] fsmonitor = ./x",
            "[core] fsmonitor = ./x]",
            "[core]\n worktree = /",
            "[core]\n bare = true",
            "[core]\n abbrev = \\\n 7\nfsmonitor = ./x",
            "[diff]\n external = ./x",
            "[diff \"a\"]\n textconv = ./x",
            "[filter \"a\"]\n clean = ./x",
            "[include]\n path = ./x",
            "[includeIf \"gitdir:/\"]\n path = ./x",
            "[remote \"o\"]\n url = https://me:secret@host/a",
            "[remote \"o\"]\n promisor = true",
            "[extensions]\n worktreeConfig = true",
            "[branch \"a]\"]\n x = y",
            "fsmonitor = ./x\n[core]",
            "\u{feff}[core]\n fsmonitor = ./x",
        ] {
            assert!(!is_harmless(&format!("{more}\n")), "{more}");
        }
        let missing = |path: &str| {
            let workspace = workspace();
            workspace.write(path, "x");
            is_plain(workspace.root())
        };
        assert!(!missing(".git/hooks/post-index-change"));
        assert!(!missing(".git/objects/info/alternates"));
        assert!(!missing(".git/HEAD"));
        assert!(!missing(".git/config.worktree"));
        let confined = workspace();
        confined.write(".git/config.worktree", "");
        assert!(is_plain(confined.root()), "the sandbox leaves this file empty");
        let submodule = workspace();
        std::fs::write(submodule.root().join(".git/index"), [1, 0, 0, 0xe0, 0, 1]).unwrap();
        assert!(!is_plain(submodule.root()));
        assert!(!is_plain(Workspace::new().root()));
    }

    #[test]
    fn an_index_that_keeps_entries_elsewhere_is_not_plain() {
        for (bytes, expected) in [
            (&b"DIRC....link\0\0\0\x04abcd"[..], false),
            (b"DIRC....sdir\0\0\0\0", false),
            (b"DIRC....src/link.rs\0....", true),
            (b"DIRC....link", true),
        ] {
            let workspace = workspace();
            std::fs::write(workspace.root().join(".git/index"), bytes).unwrap();
            assert_eq!(is_plain(workspace.root()), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_directory_that_git_may_not_search_is_no_repository() {
        use std::os::unix::fs::PermissionsExt as _;
        let workspace = workspace();
        let objects = workspace.root().join(".git/objects");
        std::fs::set_permissions(&objects, std::fs::Permissions::from_mode(0o600)).unwrap();
        // The superuser may search it, so git run by the superuser takes it for a repository.
        assert_eq!(is_plain(workspace.root()), Uid::effective().is_root());
    }
}
