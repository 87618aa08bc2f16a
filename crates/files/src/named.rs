//! Files that a command line names for writing.
//!
//! Users may follow links of their own. A link in a cloned folder was made by others, and leads where they want.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;

use crate::directory::Directory;
use crate::read::as_link;

/// Opens a file for writing, made or emptied. Links are followed, except for those that lie in `folders`, which are resolved.
///
/// # Errors
/// A link of a folder is on the way, or the file cannot be made.
pub fn overwrite_named(path: &Path, folders: &[PathBuf]) -> io::Result<File> {
    let real = without_links_of(folders, path)?;
    if is_in(folders, &real) {
        // By the directory that was reached: a program may have put a link there since.
        let (directory, name) = Directory::parent_of(&real).map_err(as_link)?;
        return directory.overwrite(name).map_err(as_link);
    }
    File::create(real)
}

/// Returns where a path leads, with the links of other places resolved.
///
/// # Errors
/// A link that lies in `folders`, which are resolved, is on the way.
pub fn without_links_of(folders: &[PathBuf], path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::from("/");
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::Normal(name) => real.push(name),
            Component::ParentDir => drop(real.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
        if !real.is_symlink() {
            continue;
        }
        if is_in(folders, &real) {
            return Err(as_link(Errno::ELOOP.into()));
        }
        // The last one may lead to a file that is not there yet, or to a pipe of the shell.
        real = real.canonicalize().unwrap_or(real);
    }
    Ok(real)
}

fn is_in(folders: &[PathBuf], path: &Path) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_of_the_folder_are_refused_and_those_of_the_user_followed() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        let work = home.join("work");
        let folders = [work.clone()];
        for directory in ["work/sub", "logs"] {
            std::fs::create_dir_all(home.join(directory)).unwrap();
        }
        std::fs::write(home.join("profile"), "mine").unwrap();
        symlink("../profile", work.join("file")).unwrap();
        symlink("../new", work.join("dangling")).unwrap();
        symlink("../logs", work.join("directory")).unwrap();
        symlink("sub", work.join("inner")).unwrap();
        for path in [
            "file",
            "dangling",
            "directory/x",
            "directory/../x",
            "inner/x",
            "sub/../file",
        ] {
            let error = overwrite_named(&work.join(path), &folders).unwrap_err();
            assert!(error.to_string().contains("it is a link"), "{path}: {error}");
        }
        assert_eq!(std::fs::read_to_string(home.join("profile")).unwrap(), "mine");
        assert!(!home.join("new").exists());

        symlink("work", home.join("to-work")).unwrap();
        symlink("new", home.join("own")).unwrap();
        for (path, written) in [
            ("work/x", "work/x"),
            ("to-work/sub/../y", "work/y"),
            ("own", "new"),
        ] {
            let mut file = overwrite_named(&home.join(path), &folders).unwrap();
            file.write_all(b"tea").unwrap();
            assert_eq!(
                std::fs::read_to_string(home.join(written)).unwrap(),
                "tea",
                "{path}"
            );
        }
        overwrite_named(&home.join("to-work/sub/../y"), &folders).unwrap();
        assert_eq!(std::fs::read_to_string(work.join("y")).unwrap(), "");
        overwrite_named(Path::new("/dev/null"), &folders).unwrap();
    }
}
