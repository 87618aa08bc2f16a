//! Finds the files that the names of programs start, and whether the agent may write them.
//!
//! If a program's file, or a link on the way to it, is in a place that the agent may write, the agent decides what the
//! name starts. Such a line needs an approval, which is valid for the file's content. All other lines that run without
//! an approval get a search path without those places. So their names cannot change their meaning between the judgement
//! and the start.
//!
//! Blocking: a `stat` per part of a path, and one bounded read of a program that the agent may write.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use bobbin_agent_api::policy::WritableProgram;
use nix::fcntl::OFlag;
use sha2::{Digest as _, Sha256};

use crate::trace::MAX_LINKS;

/// Longest program whose content an answer is bound to, bytes: enough for scripts, not for compiled programs.
const MAX_PROGRAM_BYTES: u64 = 8 << 20;

/// The search for the programs of command lines. The default finds none.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    search: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

impl Programs {
    /// Returns the programs of a search path (`PATH`); the agent may write `writable` beside the root of its Thread.
    pub fn new(search: Option<&OsStr>, writable: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            search: search.map_or_else(Vec::new, |search| std::env::split_paths(search).collect()),
            writable: writable.into_iter().collect(),
        }
    }

    /// Returns the programs that these names start in `root` and that the agent may write; no duplicates.
    pub(crate) fn writable(&self, names: &[String], root: &Path) -> Vec<WritableProgram> {
        let places = self.places(root);
        let mut found: Vec<WritableProgram> = Vec::new();
        for name in names {
            let Some(path) = self.path(name, root).filter(|path| is_writable(path, &places)) else {
                continue;
            };
            // Another command of the line may change the directory before a relative path is started.
            let is_elsewhere = name.contains('/') && !name.starts_with('/') && names.len() > 1;
            let digest = if is_elsewhere { None } else { digest(&path) };
            if found.iter().all(|known| known.path != path) {
                found.push(WritableProgram { path, digest });
            }
        }
        found
    }

    /// Returns the search path without the places that the agent may write, or `None` if there is none.
    pub fn search_path(&self, root: &Path) -> Option<OsString> {
        let places = self.places(root);
        let search = self.search.iter();
        let fixed = search.filter(|place| place.is_absolute() && !is_writable(place, &places));
        let fixed = std::env::join_paths(fixed).ok()?;
        (!self.search.is_empty()).then_some(fixed)
    }

    /// Returns the file that a shell in `root` would start, if there is one: its path before links are followed.
    fn path(&self, name: &str, root: &Path) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(root.join(name));
        }
        // An empty entry is the cwd of the shell.
        let places = self.search.iter().map(|place| root.join(place).join(name));
        let is_program = |path: &PathBuf| {
            let found = std::fs::metadata(path);
            found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        let mut places = places.filter(is_program);
        places.next()
    }

    /// Returns every place that the agent may write, with links resolved.
    fn places(&self, root: &Path) -> Vec<PathBuf> {
        let places = std::iter::once(root).chain(self.writable.iter().map(PathBuf::as_path));
        let real = places.map(|place| place.canonicalize().unwrap_or_else(|_| place.to_owned()));
        real.collect()
    }
}

/// Returns whether the way of a path passes one of these places. A way that cannot be followed counts.
fn is_writable(path: &Path, places: &[PathBuf]) -> bool {
    passes(path, places).unwrap_or(true)
}

fn passes(path: &Path, places: &[PathBuf]) -> io::Result<bool> {
    let parts = |path: &Path| -> Vec<OsString> { path.iter().map(ToOwned::to_owned).collect() };
    let mut rest: VecDeque<OsString> = parts(path).into();
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        match part.to_str() {
            Some("/") => real = PathBuf::from("/"),
            Some(".") => {}
            Some("..") => {
                real.pop();
            }
            _ => {
                let next = real.join(&part);
                if places.iter().any(|place| next.starts_with(place)) {
                    return Ok(true);
                }
                match std::fs::symlink_metadata(&next) {
                    Ok(found) if found.is_symlink() => {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(io::ErrorKind::TooManyLinks.into());
                        }
                        for part in parts(&std::fs::read_link(&next)?).into_iter().rev() {
                            rest.push_front(part);
                        }
                    }
                    Ok(_) => real = next,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => real = next,
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(false)
}

/// Returns the digest of a regular file of bounded length.
fn digest(path: &Path) -> Option<String> {
    // Opening a pipe must not block.
    let flags = OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)
        .ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() || found.len() > MAX_PROGRAM_BYTES {
        return None;
    }
    let mut content = Vec::new();
    let read = file.take(MAX_PROGRAM_BYTES + 1).read_to_end(&mut content).ok()?;
    (read as u64 <= MAX_PROGRAM_BYTES).then(|| hex::encode(Sha256::digest(&content)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A workspace and a directory of programs that only the user may write.
    struct Machine {
        place: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            let machine = Self {
                place: tempfile::tempdir().unwrap(),
            };
            for directory in ["work/bin", "usr/bin"] {
                std::fs::create_dir_all(machine.at(directory)).unwrap();
            }
            machine
        }

        fn at(&self, path: &str) -> PathBuf {
            self.place.path().canonicalize().unwrap().join(path)
        }

        fn program(&self, path: &str, text: &str) {
            let path = self.at(path);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn programs(&self, search: &[&str]) -> Programs {
            let search = search.iter().map(|place| match *place {
                "" | "bin" => PathBuf::from(place),
                place => self.at(place),
            });
            let search = std::env::join_paths(search).unwrap();
            Programs::new(Some(&search), [self.at("work")])
        }

        fn written(&self, programs: &Programs, names: &[&str]) -> Vec<(PathBuf, bool)> {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let found = programs.writable(&names, &self.at("work"));
            found
                .into_iter()
                .map(|program| (program.path, program.digest.is_some()))
                .collect()
        }
    }

    #[test]
    fn the_first_file_of_the_search_path_counts_and_links_are_followed() {
        let machine = Machine::new();
        machine.program("usr/bin/cat", "real");
        machine.program("usr/bin/ls", "real");
        machine.program("work/bin/cat", "theirs");
        machine.program("work/bin/tool", "theirs");
        symlink(machine.at("work/bin/tool"), machine.at("usr/bin/tool")).unwrap();
        // A link in the workspace can be replaced, wherever it leads.
        symlink(machine.at("usr/bin/ls"), machine.at("work/bin/chain")).unwrap();
        symlink(machine.at("work/bin/chain"), machine.at("usr/bin/chain")).unwrap();
        symlink(machine.at("usr/bin"), machine.at("work/alias")).unwrap();
        let work = |name: &str| (machine.at("work/bin").join(name), true);
        let programs = machine.programs(&["work/bin", "usr/bin"]);
        assert_eq!(
            machine.written(&programs, &["cat", "ls", "cat", "none"]),
            [work("cat")]
        );
        let programs = machine.programs(&["usr/bin", "work/bin"]);
        assert_eq!(machine.written(&programs, &["cat"]), []);
        for name in ["tool", "chain"] {
            let path = machine.at("usr/bin").join(name);
            assert_eq!(machine.written(&programs, &[name]), [(path, true)]);
        }
        for search in [["", "usr/bin"], ["bin", "usr/bin"], ["work/alias", "usr/bin"]] {
            let programs = machine.programs(&search);
            machine.program("work/ls", "theirs");
            machine.program("work/bin/ls", "theirs");
            assert_eq!(machine.written(&programs, &["ls"]).len(), 1, "{search:?}");
            let fixed = programs.search_path(&machine.at("work"));
            assert_eq!(fixed, Some(machine.at("usr/bin").into_os_string()), "{search:?}");
        }
    }

    #[test]
    fn an_answer_is_bound_to_content_that_can_be_known() {
        let machine = Machine::new();
        let programs = machine.programs(&["work/bin"]);
        let names = ["./bin/run".to_owned()];
        let now = || programs.writable(&names, &machine.at("work"));
        machine.program("work/bin/run", "one");
        let before = now();
        assert_eq!(before, now());
        machine.program("work/bin/run", "two");
        assert_ne!(before, now());
        // After `cd`, the directory is unknown.
        assert!(!machine.written(&programs, &["cd", "./bin/run"])[0].1);
        let long = std::fs::File::create(machine.at("work/bin/run")).unwrap();
        long.set_len(MAX_PROGRAM_BYTES + 1).unwrap();
        assert_eq!(now()[0].digest, None);
        std::fs::remove_file(machine.at("work/bin/run")).unwrap();
        nix::unistd::mkfifo(&machine.at("work/bin/run"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(now()[0].digest, None);
    }
}
