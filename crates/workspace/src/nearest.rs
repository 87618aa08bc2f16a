//! Which folder is the workspace of a command that names none.
//!
//! The nearest one with a directory `.craft`, up to the root of the repository; else that root; else the folder itself.
//! The user's home, its parents and `/` are no such folders, nor are those of another user or on another disk: a
//! `.craft` there was not made for this folder.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Returns the workspace around a canonical folder.
pub(crate) fn nearest(folder: &Path, home: Option<&Path>) -> PathBuf {
    let id = |path: &Path| path.metadata().ok().map(|found| (found.uid(), found.dev()));
    let own = id(folder);
    let around: Vec<&Path> = folder
        .ancestors()
        .take_while(|path| path.parent().is_some() && home.is_none_or(|home| !home.starts_with(path)))
        .take_while(|path| own.is_some() && id(path) == own)
        .collect();
    let repository = around.iter().position(|path| path.join(".git").exists());
    let is_at_home = home.is_some_and(|home| folder.starts_with(home));
    let candidates = match repository {
        Some(root) => &around[..=root],
        None if is_at_home => &around[..],
        None => &around[..around.len().min(1)],
    };
    let has_craft = |path: &&&Path| {
        path.join(".craft")
            .symlink_metadata()
            .is_ok_and(|found| found.is_dir())
    };
    let marked = candidates.iter().find(has_craft);
    let chosen = marked.or_else(|| repository.map(|root| &around[root]));
    chosen.map_or_else(|| folder.to_owned(), |path| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use std::fs::create_dir_all;

    use super::*;

    #[test]
    fn workspaces_follow_the_table() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        for folder in [
            "home/.craft",
            "home/.git",
            "home/tea/.git",
            "home/tea/src/deep",
            "home/tea/pots/.craft",
            "home/tea/pots/lids",
            "home/plain/.craft",
            "home/plain/src",
            "home/bare/src",
            "out/.craft",
            "out/src",
            "out/repo/.git",
            "out/repo/src",
        ] {
            create_dir_all(top.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("/etc", top.join("home/tea/src/.craft")).unwrap();
        for (folder, expected) in [
            ("home", "home"),
            ("home/tea/src/deep", "home/tea"),
            ("home/tea/pots/lids", "home/tea/pots"),
            ("home/plain/src", "home/plain"),
            ("home/bare/src", "home/bare/src"),
            ("out/src", "out/src"),
            ("out/repo/src", "out/repo"),
        ] {
            let found = nearest(&top.join(folder), Some(&top.join("home")));
            assert_eq!(found, top.join(expected), "{folder}");
        }
        assert_eq!(nearest(Path::new("/"), None), Path::new("/"));
    }
}
