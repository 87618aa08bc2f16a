//! Finds the files and directories that a rule hides from every command, as they are on disk now.
//!
//! A pattern without wildcards takes one lookup. Otherwise the search covers a directory, breadth first and without
//! following links: a link's target is judged by its own path. Blocking; bounded in entries and in matches. Paths
//! beyond the bounds are not found, which docs/design/confinement.md says.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use bobbin_rules::{Judgement, PathUse, RefusedPlace, RuleSet};

/// Most entries examined for all rules (guess: a tenth of a second).
const MAX_ENTRIES: usize = 65_536;
/// Most matches: each is a mount, and so is each directory on the way to it.
const MAX_MATCHES: usize = 256;

/// Places that are never hidden: no command starts without the system's programs and libraries, and every command has
/// its own `/proc` and `/dev`.
const LEFT_ALONE: &[&str] = &[
    "/proc", "/dev", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu",
];

/// Returns the existing paths that no command in `root` may read, without `root` itself.
pub(crate) fn refused(rules: &RuleSet, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut tops = Vec::new();
    for place in rules.refused(root) {
        match place {
            // A rule for a parent of the workspace is a rule for everything in the workspace.
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
        // A command has the server's rights at most, so it cannot read an unreadable directory either.
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
                // A rule without wildcards may have added the path before.
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
    use bobbin_testkit::Folder as Workspace;

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
