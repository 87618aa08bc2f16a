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
#[case("src/lib.rs", TraceStatus::Inside)]
#[case("./src//deep/../lib.rs", TraceStatus::Inside)]
#[case("new/file.txt", TraceStatus::Inside)]
#[case(".", TraceStatus::Inside)]
#[case("fine", TraceStatus::Inside)]
#[case("later", TraceStatus::Inside)]
#[case("src/../..", TraceStatus::Outside)]
#[case("../out/secret", TraceStatus::Outside)]
#[case("../work-sibling", TraceStatus::Outside)]
#[case("missing/../../out/secret", TraceStatus::Outside)]
#[case("/etc/passwd", TraceStatus::Outside)]
#[case("leak/secret", TraceStatus::Outside)]
#[case("leak/new", TraceStatus::Outside)]
#[case("src/leaf", TraceStatus::Outside)]
#[case("dangling", TraceStatus::Outside)]
#[case("src/deep/top/etc/passwd", TraceStatus::Outside)]
#[case("leak/../out/secret", TraceStatus::Outside)]
#[case(".git/config", TraceStatus::Reserved)]
#[case(".GIT/hooks/pre-commit", TraceStatus::Reserved)]
#[case("sub/.git/hooks/x", TraceStatus::Reserved)]
#[case("git-link/hooks/x", TraceStatus::Reserved)]
#[case(".craft/bobbin.db", TraceStatus::Reserved)]
#[case("src/../.craft", TraceStatus::Reserved)]
#[case(".gitignore", TraceStatus::Inside)]
#[case("src/.craft/notes", TraceStatus::Reserved)]
#[case("home/.craft/config.json", TraceStatus::Reserved)]
#[case("home/.Craft/config.json", TraceStatus::Reserved)]
#[case(".craftwork", TraceStatus::Inside)]
fn a_path_is_judged_by_where_it_really_leads(#[case] text: &str, #[case] expected: TraceStatus) {
    let workspace = workspace();
    let trace = trace(workspace.root(), text, None).unwrap();
    let status = Reserved::of(workspace.root()).status(&trace);
    assert_eq!(status, expected, "{text} -> {}", trace.path.display());
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
