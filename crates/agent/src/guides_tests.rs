//! Which files of a project are read as instructions, and which are not.

use std::os::unix::fs::symlink;

use bobbin_agent_api::policy::{AppliedRule, CommandRuling, NoRules, Ruling};

use super::*;

/// A tree: directories end with a slash, others are files with the text behind `=`.
fn tree(entries: &[&str]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for entry in entries {
        let (path, text) = entry.split_once('=').unwrap_or((entry, ""));
        let path_of = place.path().join(path);
        if path.ends_with('/') {
            std::fs::create_dir_all(path_of).unwrap();
        } else {
            std::fs::create_dir_all(path_of.parent().unwrap()).unwrap();
            std::fs::write(path_of, text).unwrap();
        }
    }
    place
}

fn names(workspace: &Path, folder: &Path) -> Vec<(String, String)> {
    let real = |path: &Path| path.canonicalize().unwrap();
    let guides = read(&real(workspace), &real(folder), &NoRules, true);
    guides.into_iter().map(|guide| (guide.name, guide.text)).collect()
}

fn pair(name: &str, text: &str) -> (String, String) {
    (name.to_owned(), text.to_owned())
}

#[test]
fn files_are_read_from_the_repository_around_the_workspace_down_to_the_folder() {
    let place = tree(&[
        "AGENTS.md=far",
        "repo/.git/",
        "repo/AGENTS.md=top",
        "repo/a/AGENTS.md=a",
        "repo/a/b/",
        "repo/a/c/AGENTS.md=other",
    ]);
    let repo = place.path().join("repo");
    let expected = [pair("../../AGENTS.md", "top"), pair("../AGENTS.md", "a")];
    assert_eq!(names(&repo.join("a/b"), &repo.join("a/b")), expected);
    assert_eq!(names(&repo, &repo), [pair("AGENTS.md", "top")]);
}

#[test]
fn without_a_repository_the_workspace_is_where_reading_begins() {
    let place = tree(&["AGENTS.md=far", "w/AGENTS.md=w", "w/a/AGENTS.md=a"]);
    let workspace = place.path().join("w");
    let expected = [pair("../AGENTS.md", "w"), pair("AGENTS.md", "a")];
    assert_eq!(names(&workspace, &workspace.join("a")), expected);
    // A folder outside of the workspace has only its own file.
    assert_eq!(names(&workspace.join("a"), &workspace), [pair("AGENTS.md", "w")]);
}

#[test]
fn a_link_counts_as_what_it_leads_to() {
    let place = tree(&[
        "secret=s",
        "w/GUIDE.md=g",
        "w/a/",
        "w/b/",
        "w/c/",
        "w/.craft/AGENTS.md=c",
    ]);
    let workspace = place.path().join("w");
    symlink("../../secret", workspace.join("a/AGENTS.md")).unwrap();
    symlink("../GUIDE.md", workspace.join("b/AGENTS.md")).unwrap();
    symlink("../.craft/AGENTS.md", workspace.join("c/AGENTS.md")).unwrap();
    assert_eq!(names(&workspace, &workspace.join("a")), []);
    assert_eq!(names(&workspace, &workspace.join("b")), [pair("AGENTS.md", "g")]);
    assert_eq!(names(&workspace, &workspace.join("c")), []);
    // A file with two names is read once.
    symlink("GUIDE.md", workspace.join("AGENTS.md")).unwrap();
    assert_eq!(names(&workspace, &workspace.join("b")).len(), 1);
}

#[test]
fn pipes_and_blank_files_are_passed_over() {
    let place = tree(&["w/a/", "w/AGENTS.md= \n"]);
    let workspace = place.path().join("w");
    let pipe = workspace.join("a/AGENTS.md");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(names(&workspace, &workspace.join("a")), []);
}

#[test]
fn the_nearest_files_have_the_room_and_what_is_cut_is_marked() {
    let long = "é".repeat(MAX_FILE_BYTES);
    let place = tree(&[
        &format!("AGENTS.md={long}"),
        &format!("a/AGENTS.md={long}"),
        "a/b/AGENTS.md=near",
    ]);
    let root = place.path().canonicalize().unwrap();
    let guides = read(&root, &root.join("a/b"), &NoRules, true);
    let sizes: Vec<_> = guides.iter().map(|guide| (guide.text.len(), guide.cut)).collect();
    assert_eq!(
        sizes,
        [(MAX_FILE_BYTES - 4, true), (MAX_FILE_BYTES, true), (4, false)]
    );
}

#[derive(Debug)]
struct Denies;

impl Policy for Denies {
    fn command(&self, command: &str, root: &Path) -> CommandRuling {
        NoRules.command(command, root)
    }

    fn path(&self, _: PathAccess, _: &Path, _: &Path) -> Option<Ruling> {
        Some(Ruling {
            judgement: Judgement::Deny,
            reason: "no".to_owned(),
            rule: None::<AppliedRule>,
        })
    }

    fn tool(&self, _: &str) -> Option<Ruling> {
        None
    }
}

#[test]
fn a_file_that_a_rule_keeps_back_is_not_read() {
    let place = tree(&["AGENTS.md=x"]);
    let root = place.path().canonicalize().unwrap();
    assert_eq!(read(&root, &root, &NoRules, true).len(), 1);
    assert_eq!(read(&root, &root, &Denies, true), []);
}

#[test]
fn of_each_folder_the_override_counts_most_and_claude_md_where_there_is_nothing_else() {
    let place = tree(&[
        "AGENTS.override.md=mine",
        "AGENTS.md=theirs",
        "a/AGENTS.md=agents",
        "a/CLAUDE.md=claude",
        "a/b/CLAUDE.md=only",
    ]);
    let expected = [
        pair("../../AGENTS.override.md", "mine"),
        pair("../AGENTS.md", "agents"),
        pair("CLAUDE.md", "only"),
    ];
    assert_eq!(names(place.path(), &place.path().join("a/b")), expected);
    let root = place.path().canonicalize().unwrap();
    assert_eq!(project_instructions(&root), ["AGENTS.override.md"]);
}

#[test]
fn a_file_imports_others_of_its_project() {
    let place = tree(&[
        "w/AGENTS.md=See @docs/style.md and @docs/tests.md.\n`@code.md` me@x.org @someone\n```\n@code.md\n```\n@../far.md @link.md",
        "w/docs/style.md=style @../AGENTS.md @deep/1.md",
        "w/docs/tests.md=tests",
        "w/docs/deep/1.md=one @2.md",
        "w/docs/deep/2.md=two @3.md",
        "w/docs/deep/3.md=three",
        "w/code.md=code",
        "far.md=far",
    ]);
    let root = place.path().join("w");
    symlink(place.path().join("far.md"), root.join("link.md")).unwrap();
    let read: Vec<String> = names(&root, &root).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        read,
        [
            "docs/deep/2.md",
            "docs/deep/1.md",
            "docs/style.md",
            "docs/tests.md",
            "AGENTS.md"
        ]
    );
}

#[derive(Debug)]
struct At(PathBuf);

impl Policy for At {
    fn command(&self, command: &str, root: &Path) -> CommandRuling {
        NoRules.command(command, root)
    }

    fn path(&self, _: PathAccess, _: &Path, _: &Path) -> Option<Ruling> {
        None
    }

    fn tool(&self, _: &str) -> Option<Ruling> {
        None
    }

    fn home(&self) -> Option<&Path> {
        Some(&self.0)
    }
}

#[test]
fn the_users_own_file_comes_first_and_counts_in_a_folder_that_is_not_trusted() {
    let place = tree(&[
        "home/.craft/AGENTS.md=mine @more.md @../secret",
        "home/.craft/more.md=more",
        "home/secret=key",
        "w/AGENTS.md=theirs",
    ]);
    let root = place.path().join("w").canonicalize().unwrap();
    let home = At(place.path().join("home").canonicalize().unwrap());
    let of = |is_trusted| -> Vec<String> {
        let guides = read(&root, &root, &home, is_trusted).into_iter();
        guides.map(|guide| guide.name).collect()
    };
    assert_eq!(of(true), ["~/.craft/more.md", "~/.craft/AGENTS.md", "AGENTS.md"]);
    assert_eq!(of(false), ["~/.craft/more.md", "~/.craft/AGENTS.md"]);
}
