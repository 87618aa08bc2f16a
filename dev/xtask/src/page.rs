//! The built page: made with npm, and compared with its sources without.
//!
//! `crates/page/dist/SOURCES.sha256` is what `sha256sum` prints of the sources, so a shell can check it too. It is written with a
//! build, and a source that differs from it was not built.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use sha2::{Digest as _, Sha256};

/// What the page is built from. Tests, texts about it and the protocol's types, which are erased, change nothing in it.
const SOURCES: [&str; 5] = [
    "clients/page",
    "clients/typescript/src",
    ":!clients/page/tests",
    ":!clients/page/README.md",
    ":!clients/typescript/src/protocol.ts",
];
/// Where the build is, and its record in there.
const DIST: &str = "crates/page/dist";
const RECORD: &str = "SOURCES.sha256";

/// Builds the page and records what from.
///
/// # Errors
/// npm or git is missing or fails, or a file cannot be read or written.
pub(crate) fn build(root: &Path) -> anyhow::Result<()> {
    let page = root.join("clients/page");
    for arguments in [&["ci"][..], &["run", "build"]] {
        let status = program("npm", &page).args(arguments).status();
        let status = status.context("cannot start npm; the page is built with Node 20")?;
        if !status.success() {
            bail!("npm {} ended with {status}", arguments.join(" "));
        }
    }
    let mut record = String::new();
    for (path, digest) in sources(root)? {
        writeln!(record, "{digest}  {path}")?;
    }
    let file = root.join(DIST).join(RECORD);
    std::fs::write(&file, record).with_context(|| format!("cannot write {}", file.display()))
}

/// Compares the sources with those that the page was built from.
///
/// # Errors
/// They differ, or git or a file is missing.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let file = root.join(DIST).join(RECORD);
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    let built = lines
        .map(|(digest, path)| (path.to_owned(), digest.to_owned()))
        .collect();
    let different = differences(&sources(root)?, &built);
    if different.is_empty() {
        return Ok(());
    }
    bail!(
        "the page was built from other sources; run `cargo xtask page`\n  {}",
        different.join("\n  ")
    )
}

/// Returns the paths with another digest, or with one on one side only.
fn differences(now: &BTreeMap<String, String>, built: &BTreeMap<String, String>) -> Vec<String> {
    let changed = now
        .iter()
        .filter(|(path, digest)| built.get(*path) != Some(digest));
    let gone = built.keys().filter(|path| !now.contains_key(*path));
    changed.map(|(path, _)| path).chain(gone).cloned().collect()
}

/// Returns the sources with their digests: those that git has or would add.
fn sources(root: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let listed = program("git", root)
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
            "--",
        ])
        .args(SOURCES)
        .output()
        .context("cannot start git, which lists the sources")?;
    if !listed.status.success() {
        bail!(
            "git ls-files failed: {}",
            String::from_utf8_lossy(&listed.stderr).trim()
        );
    }
    let paths = String::from_utf8(listed.stdout).context("a path is no UTF-8")?;
    let paths = paths.split('\0').filter(|path| !path.is_empty());
    // What is deleted and still in the index is no source any more.
    let paths = paths.filter(|path| root.join(path).exists());
    paths
        .map(|path| {
            let bytes = std::fs::read(root.join(path)).with_context(|| format!("cannot read {path}"))?;
            Ok((path.to_owned(), hex::encode(Sha256::digest(&bytes))))
        })
        .collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore of the repository starts its build tools, outside any server"
)]
fn program(name: &str, directory: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(directory);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_came_or_went_is_named() {
        let list = |text: &[(&str, &str)]| -> BTreeMap<String, String> {
            let pairs = text
                .iter()
                .map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned()));
            pairs.collect()
        };
        let built = list(&[("a", "1"), ("b", "2"), ("gone", "3")]);
        assert!(differences(&built, &built).is_empty());
        let now = list(&[("a", "1"), ("b", "other"), ("new", "4")]);
        assert_eq!(differences(&now, &built), ["b", "new", "gone"]);
    }
}
