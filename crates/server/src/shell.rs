//! The shells: the one that the user types into, and that of commands.
//!
//! Commands have the user's shell if it is bash, else the machine's bash, else its `sh`.
//!
//! Rules judge a line as bash reads it. Zsh and fish read some lines differently (`*(e:'rm x':)` runs a command in
//! zsh), so the judgement would be wrong for them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bobbin_children::Shell;

/// Usual paths of bash.
const PLACES: [&str; 4] = [
    "/bin/bash",
    "/usr/bin/bash",
    "/usr/local/bin/bash",
    "/run/current-system/sw/bin/bash",
];

/// Returns the shell of commands.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub fn shell() -> Shell {
    let own = std::env::var_os("SHELL").map(PathBuf::from);
    chosen(own, &PLACES.map(PathBuf::from))
}

/// Returns the shell that the user types into: the one that the environment names, or that of the account.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub fn users_own() -> PathBuf {
    let named = std::env::var_os("SHELL").map(PathBuf::from);
    let account = nix::unistd::User::from_uid(nix::unistd::getuid());
    let account = account.ok().flatten().map(|user| user.shell);
    own_of(named.into_iter().chain(account))
}

fn own_of(mut named: impl Iterator<Item = PathBuf>) -> PathBuf {
    named
        .find(|path| path.is_absolute() && is_program(path))
        .unwrap_or_else(|| "/bin/sh".into())
}

fn chosen(own: Option<PathBuf>, places: &[PathBuf]) -> Shell {
    let own = own.filter(|path| path.is_absolute() && path.file_name().is_some_and(|name| name == "bash"));
    let mut all = own.into_iter().chain(places.iter().cloned());
    all.find(|path| is_program(path))
        .map_or(Shell::Posix, Shell::Bash)
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_shell_is_a_program_with_a_whole_path() {
        let place = tempfile::tempdir().unwrap();
        let fish = place.path().join("fish");
        std::fs::write(&fish, "").unwrap();
        let named = [PathBuf::from("zsh"), fish.clone()];
        assert_eq!(own_of(named.clone().into_iter()), Path::new("/bin/sh"));
        std::fs::set_permissions(&fish, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(own_of(named.into_iter()), fish);
    }

    #[test]
    fn a_users_bash_counts_and_no_other_shell_of_theirs() {
        let place = tempfile::tempdir().unwrap();
        let [own, zsh, machines] = ["own/bash", "own/zsh", "bash"].map(|name| place.path().join(name));
        std::fs::create_dir(place.path().join("own")).unwrap();
        for path in [&own, &zsh, &machines] {
            std::fs::write(path, "").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let places = [place.path().join("missing"), machines.clone()];
        assert_eq!(chosen(Some(own.clone()), &places), Shell::Bash(own.clone()));
        for other in [
            Some(zsh),
            Some("bash".into()),
            Some(place.path().join("no/bash")),
            None,
        ] {
            assert_eq!(chosen(other, &places), Shell::Bash(machines.clone()));
        }
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(chosen(Some(own), &[]), Shell::Posix);
    }
}
