//! Table of paths into and out of a workspace.

use std::os::unix::fs::symlink;

use bobbin_testkit::Folder;
use rstest::rstest;

use super::*;
use crate::Reserved;

/// `work/` is the root; beside it lies `out/secret`.
fn workspace() -> Folder {
    let workspace = Folder::new();
    let root = workspace.root();
    let out = workspace.outside();
    std::fs::write(out.join("secret"), "s").unwrap();
    std::fs::create_dir_all(root.join("src/deep")).unwrap();
    std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
    std::fs::create_dir_all(root.join(".craft")).unwrap();
    std::fs::write(root.join("src/lib.rs"), "l").unwrap();
    symlink(out, root.join("leak")).unwrap();
    symlink(out.join("secret"), root.join("src/leaf")).unwrap();
    symlink(out.join("not-there"), root.join("dangling")).unwrap();
    symlink("src/lib.rs", root.join("fine")).unwrap();
    symlink("nowhere/yet", root.join("later")).unwrap();
    symlink(".git", root.join("git-link")).unwrap();
    symlink("/", root.join("src/deep/top")).unwrap();
    workspace
}

#[rstest]
#[case("src/lib.rs", Standing::Inside)]
#[case("./src//deep/../lib.rs", Standing::Inside)]
#[case("new/file.txt", Standing::Inside)]
#[case(".", Standing::Inside)]
#[case("fine", Standing::Inside)]
#[case("later", Standing::Inside)]
#[case("src/../..", Standing::Outside)]
#[case("../out/secret", Standing::Outside)]
#[case("../work-sibling", Standing::Outside)]
#[case("missing/../../out/secret", Standing::Outside)]
#[case("/etc/passwd", Standing::Outside)]
#[case("leak/secret", Standing::Outside)]
#[case("leak/new", Standing::Outside)]
#[case("src/leaf", Standing::Outside)]
#[case("dangling", Standing::Outside)]
#[case("src/deep/top/etc/passwd", Standing::Outside)]
#[case("leak/../out/secret", Standing::Outside)]
#[case(".git/config", Standing::Reserved)]
#[case(".GIT/hooks/pre-commit", Standing::Reserved)]
#[case("sub/.git/hooks/x", Standing::Reserved)]
#[case("git-link/hooks/x", Standing::Reserved)]
#[case(".craft/bobbin.db", Standing::Reserved)]
#[case("src/../.craft", Standing::Reserved)]
#[case(".gitignore", Standing::Inside)]
#[case("src/.craft/notes", Standing::Reserved)]
#[case("home/.craft/config.json", Standing::Reserved)]
#[case("home/.Craft/config.json", Standing::Reserved)]
#[case(".craftwork", Standing::Inside)]
fn a_path_is_judged_by_where_it_really_leads(#[case] text: &str, #[case] expected: Standing) {
    let workspace = workspace();
    let trace = trace(workspace.root(), text, None).unwrap();
    let standing = Reserved::of(workspace.root()).standing(&trace);
    assert_eq!(standing, expected, "{text} -> {}", trace.path.display());
}

#[rstest]
#[case("")]
#[case("a\0b")]
#[case("src/lib.rs/x")]
#[case("loop/x")]
fn a_path_that_leads_nowhere_is_refused(#[case] text: &str) {
    let workspace = workspace();
    symlink("loop", workspace.root().join("loop")).unwrap();
    assert!(resolve(workspace.root(), text).is_err(), "{text:?}");
}
