//! Finds a bubblewrap that is safe to use: only root can have installed it.
//!
//! The search covers a few fixed places and ignores `PATH`. A project could change `PATH`, and then would choose
//! the program that confines its own commands.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Places to search, in this order.
pub const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// Mode bits that allow users other than the owner to write.
const OTHERS_WRITE: u32 = 0o022;
/// Mode bit of a directory in which only an entry's owner may move it.
const STICKY: u32 = 0o1000;
/// Mode bits that allow a user to execute.
const EXECUTE: u32 = 0o111;

/// Why there is no usable bubblewrap.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// There is none.
    #[error("there is no {}", names(.0))]
    Missing(Vec<PathBuf>),
    /// The file is no executable program.
    #[error("{} is no program", .0.display())]
    NoProgram(PathBuf),
    /// The file, or a directory on the way to it, does not belong to root.
    #[error("{} does not belong to root, so that another user could have put it there", .0.display())]
    Owner(PathBuf),
    /// Users other than root can write the file or a directory on the way to it.
    #[error("{} can be written by others than root", .0.display())]
    Writable(PathBuf),
}

fn names(places: &[PathBuf]) -> String {
    let names: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

/// Returns the real name of bubblewrap from the first of some places that has it.
///
/// # Errors
/// [`Unfit`], about the first place that has a file.
pub fn find(places: &[PathBuf]) -> Result<PathBuf, Unfit> {
    let mut first = None;
    for real in places.iter().filter_map(|path| path.canonicalize().ok()) {
        match check(&real) {
            Ok(()) => return Ok(real),
            Err(unfit) => first = first.or(Some(unfit)),
        }
    }
    Err(first.unwrap_or_else(|| Unfit::Missing(places.to_vec())))
}

fn check(real: &Path) -> Result<(), Unfit> {
    for path in real.ancestors() {
        let unfit = |why: fn(PathBuf) -> Unfit| Err(why(path.to_owned()));
        let Ok(found) = path.metadata() else {
            return unfit(Unfit::NoProgram);
        };
        if path == real && !(found.is_file() && found.mode() & EXECUTE != 0) {
            return unfit(Unfit::NoProgram);
        }
        if found.uid() != 0 {
            return unfit(Unfit::Owner);
        }
        let shared = found.is_dir() && found.mode() & STICKY != 0;
        if found.mode() & OTHERS_WRITE != 0 && !shared {
            return unfit(Unfit::Writable);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_not_there_is_told_with_every_place() {
        let unfit = find(&["/no/such/bwrap".into(), "/nor/this".into()]).unwrap_err();
        assert_eq!(unfit.to_string(), "there is no /no/such/bwrap, /nor/this");
    }

    #[test]
    fn a_program_of_the_system_is_found_by_its_real_name() {
        // Every machine has a shell, and root owns it.
        let shell = Path::new("/bin/sh");
        let found = find(&["/no/such".into(), shell.to_owned()]);
        assert_eq!(found, Ok(shell.canonicalize().unwrap()));
        assert_eq!(
            find(&["/etc/passwd".into()]),
            Err(Unfit::NoProgram("/etc/passwd".into()))
        );
        assert_eq!(find(&["/usr".into()]), Err(Unfit::NoProgram("/usr".into())));
    }

    #[test]
    fn what_others_could_have_put_there_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let program = top.join("bwrap");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        set_mode(&program, 0o755);
        let found = find(std::slice::from_ref(&program));
        if program.metadata().unwrap().uid() != 0 {
            assert_eq!(found, Err(Unfit::Owner(program)));
            return;
        }
        if found != Ok(program.clone()) {
            // A file of root in another user's directory.
            assert!(
                matches!(found, Err(Unfit::Owner(_) | Unfit::Writable(_))),
                "{found:?}"
            );
            return;
        }
        set_mode(&program, 0o777);
        assert_eq!(
            find(std::slice::from_ref(&program)),
            Err(Unfit::Writable(program.clone()))
        );
        set_mode(&program, 0o755);
        set_mode(&top, 0o775);
        assert_eq!(
            find(std::slice::from_ref(&program)),
            Err(Unfit::Writable(top.clone()))
        );
        set_mode(&top, 0o755);
        std::os::unix::fs::chown(&top, Some(1), None).unwrap();
        assert_eq!(find(&[program]), Err(Unfit::Owner(top)));
    }
}
