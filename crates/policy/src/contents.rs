//! Searches the contents of a directory for paths that a rule protects.
//!
//! Reads names only, on the thread that judges, and is therefore bounded in entries and in time. Ignored entries cost
//! time too, and a directory may have millions of them.

use std::cell::OnceCell;
use std::fs::{DirEntry, read_dir};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bobbin_files::{IgnoreRules, Ignores};
use bobbin_rules::{LeavesOut, Look};

/// Most entries of directories that are searched for protected paths (some milliseconds).
pub(crate) const MAX_ENTRIES: usize = 4096;
/// Longest time for all directories of a line (guess: the parser's limit).
const MAX_TIME: Duration = Duration::from_millis(100);

/// The searches for one line.
#[derive(Debug)]
pub(crate) struct Contents {
    time: Duration,
    /// When their time is over.
    until: OnceCell<Instant>,
}

impl Default for Contents {
    fn default() -> Self {
        Self::within(MAX_TIME)
    }
}

impl Contents {
    fn within(time: Duration) -> Self {
        Self {
            time,
            until: OnceCell::new(),
        }
    }

    /// Returns whether an entry in a directory fits, links lead out of it, or a bound was reached.
    pub(crate) fn contains(&self, directory: &Path, look: Look, fits: &dyn Fn(&Path) -> bool) -> bool {
        let until = *self.until.get_or_init(|| Instant::now() + self.time);
        if fits(directory) {
            return true;
        }
        let ignores = ignores(directory, look.leaves_out);
        let mut seen = 1;
        let mut deeper = vec![PathBuf::new()];
        while let Some(part) = deeper.pop() {
            // A command has the server's rights at most, so it cannot read an unreadable directory either.
            let Ok(entries) = read_dir(directory.join(&part)) else {
                continue;
            };
            for entry in entries {
                if seen >= MAX_ENTRIES || Instant::now() >= until {
                    return true;
                }
                seen += 1;
                let Ok(entry) = entry else { continue };
                let inside = part.join(entry.file_name());
                let (is_directory, is_link) = kind(&entry);
                if let Some(ignores) = &ignores
                    && ignores.leaves_out(&directory.join(&inside), is_directory)
                {
                    // Ignored entries are bounded by time alone: build directories have many.
                    seen -= 1;
                    continue;
                }
                if (look.links && is_link) || fits(&entry.path()) {
                    return true;
                }
                if is_directory {
                    deeper.push(inside);
                }
            }
        }
        // The program may read an ignore file that this search does not, and so reach files that another one excludes.
        !ignores.is_none_or(|ignores| ignores.is_complete())
    }
}

/// Returns whether an entry is a directory, and whether it is a link.
fn kind(entry: &DirEntry) -> (bool, bool) {
    let kind = entry.file_type();
    kind.map_or((false, false), |kind| (kind.is_dir(), kind.is_symlink()))
}

/// Returns the entries of a directory that a program skips by its ignore files.
fn ignores(directory: &Path, leaves_out: LeavesOut) -> Option<Ignores> {
    let rules = match leaves_out {
        LeavesOut::Nothing => return None,
        LeavesOut::AsRipgrep => IgnoreRules {
            names: &[".rgignore", ".ignore", ".gitignore"],
            parents: true,
            repository: true,
            hidden: true,
        },
        LeavesOut::AsAg => IgnoreRules {
            names: &[".ignore", ".gitignore"],
            parents: false,
            repository: false,
            hidden: true,
        },
    };
    Some(Ignores::new(directory, rules))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    use super::*;
    use bobbin_testkit::Folder as Workspace;

    const MINUTE: Duration = Duration::from_mins(1);

    fn contains(workspace: &Workspace, directory: &str, leaves_out: LeavesOut, name: &str) -> bool {
        let look = Look {
            leaves_out,
            links: false,
        };
        let fits = |path: &Path| path.file_name().is_some_and(|found| found == name);
        Contents::within(MINUTE).contains(&workspace.root().join(directory), look, &fits)
    }

    #[test]
    fn a_program_shows_what_it_does_not_leave_out() {
        use LeavesOut::{AsAg, AsRipgrep, Nothing};
        let workspace = Workspace::new();
        for path in [
            ".git/x",
            "shown/.env",
            "lifted/.env",
            "kept/key",
            "out/deep/key",
            "named/key",
        ] {
            workspace.write(path, "x");
        }
        workspace.write(".gitignore", "/out/deep\n/named/\n");
        workspace.write("kept/.gitignore", "key\n");
        workspace.write("lifted/.rgignore", "!.env\n");
        for (directory, name, leaves_out, is_shown) in [
            ("shown", ".env", Nothing, true),
            ("shown", ".env", AsRipgrep, false),
            ("shown", ".env", AsAg, false),
            ("lifted", ".env", AsRipgrep, true),
            ("lifted", ".env", AsAg, false),
            ("kept", "key", Nothing, true),
            ("kept", "key", AsRipgrep, false),
            ("kept", "key", AsAg, false),
            ("out", "key", AsRipgrep, false),
            // The program does not know the ignore files of parent directories.
            ("out", "key", AsAg, true),
            // A directory that is named itself is searched.
            ("named", "key", AsRipgrep, true),
        ] {
            let found = contains(&workspace, directory, leaves_out, name);
            assert_eq!(found, is_shown, "{directory} {leaves_out:?}");
        }
    }

    #[test]
    fn what_is_too_much_to_say_holds_something() {
        let workspace = Workspace::new();
        workspace.write("few/a", "");
        for number in 0..MAX_ENTRIES {
            workspace.write(&format!("many/{number}"), "");
        }
        assert!(!contains(&workspace, "few", LeavesOut::Nothing, "key"));
        assert!(contains(&workspace, "many", LeavesOut::Nothing, "key"));
        let over = Contents::within(Duration::ZERO);
        assert!(over.contains(&workspace.root().join("few"), Look::default(), &|_| false));
    }

    #[test]
    fn what_is_left_out_counts_in_time_alone() {
        let workspace = Workspace::new();
        workspace.write("many/.ignore", "*.bin\n");
        for number in 0..MAX_ENTRIES {
            workspace.write(&format!("many/{number}.bin"), "");
        }
        assert!(!contains(&workspace, "many", LeavesOut::AsRipgrep, "key"));
        let many = workspace.root().join("many");
        let look = Look {
            leaves_out: LeavesOut::AsRipgrep,
            links: false,
        };
        assert!(Contents::within(Duration::from_nanos(1)).contains(&many, look, &|_| false));
    }

    #[test]
    fn links_lead_away_only_where_they_are_followed() {
        let workspace = Workspace::new();
        workspace.write("sub/a", "");
        symlink(workspace.outside(), workspace.root().join("sub/leak")).unwrap();
        let sub = workspace.root().join("sub");
        let below = Contents::within(MINUTE);
        assert!(!below.contains(&sub, Look::default(), &|_| false));
        let look = Look {
            links: true,
            ..Look::default()
        };
        assert!(below.contains(&sub, look, &|_| false));
    }

    #[test]
    fn names_that_are_no_text_are_looked_at() {
        let workspace = Workspace::new();
        let odd = workspace.root().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
        std::fs::create_dir(&odd).unwrap();
        std::fs::write(odd.join("key"), "").unwrap();
        assert!(contains(&workspace, ".", LeavesOut::AsRipgrep, "key"));
    }
}
