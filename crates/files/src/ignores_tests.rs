use std::fs;
use std::os::unix::fs::symlink;

use ignore::WalkBuilder;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

use super::*;

const ALL: IgnoreRules = IgnoreRules {
    names: &[".rgignore", ".ignore", ".gitignore"],
    parents: true,
    repository: false,
    hidden: false,
};

fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// Returns the entries that a walk finds.
fn shown(base: &Path, rules: IgnoreRules) -> Vec<String> {
    let ignores = Ignores::new(base, rules);
    let walk = WalkBuilder::new(base)
        .standard_filters(false)
        .sort_by_file_path(Ord::cmp)
        .filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || !ignores.leaves_out(entry.path(), is_directory)
        })
        .build();
    names(base, walk)
}

fn names(base: &Path, walk: ignore::Walk) -> Vec<String> {
    walk.map(Result::unwrap)
        .filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()))
        .map(|entry| {
            entry
                .path()
                .strip_prefix(base)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[test]
fn the_same_is_left_out_as_the_library_would() {
    let dir = tree(&[
        (
            ".gitignore",
            "\u{feff}*.o\n/top\n!keep.o\nbuild/\n# note\n\n[broken\n",
        ),
        ("a.o", ""),
        ("keep.o", ""),
        ("top", ""),
        ("sub/top", ""),
        ("sub/.gitignore", "!a.o\n*.txt\r\n"),
        ("sub/a.o", ""),
        ("sub/b.o", ""),
        ("sub/c.txt", ""),
        ("sub/.ignore", "!c.txt\n"),
        ("sub/deep/er/c.txt", ""),
        ("sub/deep/er/.rgignore", "c.txt\nd\n"),
        ("sub/deep/er/d", ""),
        ("other/d", ""),
        ("other/build/x", ""),
        ("other/.git/info/exclude", "d\n!x.o\n"),
        ("other/x.o", ""),
        (".hidden/x", ""),
        (".ignore", "!.wanted\n"),
        (".wanted", ""),
        ("last", ""),
    ]);
    for (repository, hidden) in [(false, false), (true, false), (false, true)] {
        for base in ["", "sub", "sub/deep", "other"] {
            let base = dir.path().join(base);
            let expected = WalkBuilder::new(&base)
                .standard_filters(false)
                .hidden(hidden)
                .parents(true)
                .ignore(true)
                .git_ignore(true)
                .git_exclude(true)
                .require_git(repository)
                .add_custom_ignore_filename(".rgignore")
                .sort_by_file_path(Ord::cmp)
                .build();
            let rules = IgnoreRules {
                repository,
                hidden,
                ..ALL
            };
            assert_eq!(
                shown(&base, rules),
                names(&base, expected),
                "{base:?} {repository} {hidden}"
            );
        }
    }
}

#[test]
fn a_work_tree_has_the_excludes_of_its_repository() {
    let dir = tree(&[
        ("main/.git/info/exclude", "secret\n"),
        ("main/.git/worktrees/w/commondir", "../..\n"),
        ("w/secret", ""),
        ("w/open", ""),
    ]);
    let git = dir.path().join("main/.git/worktrees/w");
    fs::write(dir.path().join("w/.git"), format!("gitdir: {}\n", git.display())).unwrap();
    assert_eq!(shown(&dir.path().join("w"), ALL), [".git", "open"]);
}

#[test]
fn an_ignore_file_that_is_hostile_counts_as_empty() {
    let dir = tree(&[("a", ""), ("real", "a\n")]);
    let file = dir.path().join(".gitignore");
    let refused = || {
        let ignores = Ignores::new(dir.path(), ALL);
        !ignores.leaves_out(&dir.path().join("a"), false) && !ignores.is_complete()
    };
    for target in ["/dev/zero", "real", "/proc/self/maps"] {
        symlink(target, &file).unwrap();
        assert!(refused(), "{target}");
        fs::remove_file(&file).unwrap();
    }
    mkfifo(&file, Mode::S_IRWXU).unwrap();
    assert!(refused());
    fs::remove_file(&file).unwrap();
    fs::File::create(&file).unwrap().set_len(20 << 30).unwrap();
    assert!(refused());
    fs::write(&file, "a\n".repeat(1 << 20)).unwrap();
    assert!(refused());
    fs::write(&file, "a\n").unwrap();
    assert!(!refused());
}

#[test]
fn what_many_ignore_files_take_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    // Each takes a quarter of the memory bound.
    let text = "b\n".repeat((64 << 10) / 2);
    let mut deepest = dir.path().to_owned();
    for _ in 0..40 {
        deepest.push("d");
        fs::create_dir(&deepest).unwrap();
        fs::write(deepest.join(".gitignore"), &text).unwrap();
    }
    let ignores = Ignores::new(dir.path(), ALL);
    assert!(!ignores.leaves_out(&deepest.join("a"), false));
    assert!(!ignores.is_complete());
    let state = ignores.state.lock();
    assert!(state.live <= MAX_LIVE_BYTES && state.read <= MAX_READ_BYTES);
}
