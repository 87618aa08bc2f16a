//! The files and directories that a rule keeps every command from reading, as they are on the disk now.
//!
//! A place that a pattern names whole is one look. What lies anywhere below a directory is searched for, those next to the
//! top first, and without following links: what a link leads to is judged by its own path. Blocking; bounded in entries and
//! in matches. What is beyond the bounds is not found, which docs/design/confinement.md says.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use bobbin_rules::{Judgement, PathUse, RefusedPlace, RuleSet};

/// Most entries that are looked at for all rules (guess: a tenth of a second).
const MAX_ENTRIES: usize = 65_536;
/// Most matches: each is a mount, and so is each directory on the way to it.
const MAX_MATCHES: usize = 256;

/// Places that stay as they are: without its programs and libraries no command starts, confined or not, and of `/proc` and
/// `/dev` every command has its own.
const LEFT_ALONE: &[&str] = &[
    "/proc", "/dev", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu",
];

/// Returns what no command that runs in `root` may read and what is there, without `root` itself.
pub(super) fn refused(rules: &RuleSet, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut tops = Vec::new();
    for place in rules.refused(root) {
        match place {
            // A rule for all that the workspace lies in is a rule for all that is in the workspace.
            RefusedPlace::All(top) | RefusedPlace::Within(top) if root.starts_with(&top) => {
                tops.push(root.to_owned());
            }
            RefusedPlace::All(place) => found.push(place),
            RefusedPlace::Within(top) => tops.push(top),
        }
    }
    let left_alone = |place: &PathBuf| LEFT_ALONE.iter().any(|top| place.starts_with(top));
    found.retain(|place| !left_alone(place) && place.exists());
    tops.retain(|place| !left_alone(place));
    tops.sort_unstable();
    tops.dedup_by(|next, before| next.starts_with(before));
    let mut deeper = VecDeque::from(tops);
    let mut looks = 0;
    while let Some(directory) = deeper.pop_front() {
        // What cannot be looked at cannot be read either, by a command that has our rights.
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if looks == MAX_ENTRIES || found.len() >= MAX_MATCHES {
                tracing::debug!(looks, "not every path that a rule refuses was looked for");
                return found;
            }
            looks += 1;
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_symlink() {
                continue;
            }
            if matches!(rules.path(PathUse::Read, &path, root), Some((Judgement::Deny, _))) {
                // One that a rule names whole is there already.
                if !found.contains(&path) {
                    found.push(path);
                }
            } else if kind.is_dir() {
                deeper.push_back(path);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use bobbin_rules::RuleText;

    use super::*;
    use crate::testing::Workspace;

    fn names(workspace: &Workspace, patterns: &[(&str, Option<&str>)]) -> Vec<String> {
        let rules = patterns.iter().map(|(path, operation)| RuleText {
            action: "deny".to_owned(),
            path: Some((*path).to_owned()),
            operation: operation.map(str::to_owned),
            ..RuleText::default()
        });
        let rules = RuleSet::new(rules, None).unwrap();
        let found = refused(&rules, workspace.root());
        let inside = |path: PathBuf| path.strip_prefix(workspace.root()).map(Path::to_path_buf);
        let mut names: Vec<String> = found
            .into_iter()
            .map(|path| inside(path).unwrap().display().to_string())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_there_of_refused_paths_is_found() {
        let workspace = Workspace::new();
        for path in [
            ".env",
            "app/deep/.env",
            "app/shown",
            "secrets/a/key",
            "keys/one.pem",
            "keys/two.txt",
        ] {
            workspace.write(path, "x");
        }
        symlink("app", workspace.root().join("alias")).unwrap();
        symlink("shown", workspace.root().join("app/link.pem")).unwrap();
        let all = |patterns: &[&str]| {
            let patterns: Vec<_> = patterns.iter().map(|&pattern| (pattern, None)).collect();
            names(&workspace, &patterns)
        };
        assert_eq!(all(&["**/.env"]), [".env", "app/deep/.env"]);
        assert_eq!(all(&[".env", "missing"]), [".env"]);
        assert_eq!(all(&["secrets/**", "keys/*.pem"]), ["keys/one.pem", "secrets"]);
        assert_eq!(all(&["**/*.pem", "app"]), ["app", "keys/one.pem"]);
        assert_eq!(all(&["**"]), [".env", "app", "keys", "secrets"]);
        assert_eq!(
            all(&["/proc/self", "/dev/**", "/usr/**", "/bin/sh", "/lib64/**"]),
            [""; 0]
        );
        let written = [("secrets", Some("write")), ("keys", Some("read"))];
        assert_eq!(names(&workspace, &written), ["keys"]);
    }

    #[test]
    fn what_lies_next_to_the_top_is_found_first_and_no_more_than_fits() {
        let workspace = Workspace::new();
        workspace.write("deep/er/and/deeper/.env", "x");
        for number in 0..=MAX_MATCHES {
            workspace.write(&format!("many/{number}/.env"), "x");
        }
        workspace.write("z/.env", "x");
        let found = names(&workspace, &[("**/.env", None)]);
        assert_eq!(found.len(), MAX_MATCHES);
        assert!(found.contains(&"z/.env".to_owned()), "{found:?}");
    }
}
