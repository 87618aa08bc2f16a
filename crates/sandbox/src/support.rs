//! Finds out how far this machine can confine commands, without restricting anything.

use crate::{Files, Network, Outer, Profile};

/// The first version of Landlock that prevents truncating files. Earlier versions do not count.
const FIRST_SUFFICIENT: u8 = 3;

/// The means of confinement that this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    /// Landlock's version, up to the newest we use; 0 without Landlock.
    pub landlock: u8,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// The layer around commands. Testing bubblewrap takes a process, so [`Support::probe`] leaves this at nothing.
    pub outer: Outer,
}

impl Support {
    /// No support, as on a kernel without Landlock and seccomp.
    pub const NONE: Self = Self {
        landlock: 0,
        seccomp: false,
        outer: Outer::Nothing,
    };

    /// Finds out what this kernel can confine.
    #[cfg(target_os = "linux")]
    pub fn probe() -> Self {
        let seccomp = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
        Self {
            landlock: crate::files::newest(),
            seccomp: seccomp.is_ok_and(|actions| actions.split_whitespace().any(|action| action == "errno")),
            outer: Outer::Nothing,
        }
    }

    /// Finds out what this kernel can confine: nothing on systems other than Linux.
    #[cfg(not(target_os = "linux"))]
    pub fn probe() -> Self {
        Self::NONE
    }

    /// Returns why a profile cannot be enforced here, as half a sentence; `None` when it can.
    pub fn missing(self, profile: Profile) -> Option<String> {
        if !profile.restricts_something() {
            return None;
        }
        if !self.seccomp {
            return Some("this machine's kernel cannot refuse system calls (seccomp)".to_owned());
        }
        if profile.files == Files::Full
            || self.landlock >= FIRST_SUFFICIENT
            || self.outer == Outer::Bubblewrap
        {
            return None;
        }
        Some(match self.landlock {
            0 => "this machine's kernel has no Landlock, or it is switched off".to_owned(),
            version => format!(
                "this machine's kernel has version {version} of Landlock, which does not prevent that files are emptied; \
                 version {FIRST_SUFFICIENT} (Linux 6.2) does"
            ),
        })
    }

    /// Returns the gaps of an enforceable profile on this machine, as half sentences.
    pub fn gaps(self, profile: Profile) -> Vec<&'static str> {
        let mut gaps = Vec::new();
        if !profile.restricts_something() {
            return gaps;
        }
        let alone = self.outer == Outer::Nothing;
        if profile.files == Files::Full {
            gaps.push("files are not confined");
            if self.landlock == 0 && alone {
                gaps.push("environment and memory of processes outside can be read through /proc");
            }
        } else if alone {
            gaps.push("owners, modes and times of the user's files can be changed");
        } else if self.landlock == 0 {
            gaps.push("a hidden file that appears while a command runs can be read by it");
            gaps.push(
                "without Landlock a command can write into the process that began its view, where the system lets processes \
                 of one user trace each other",
            );
        }
        if self.landlock < 6 && alone {
            gaps.push("processes outside can be sent signals");
        }
        match (profile.files, self.outer) {
            (Files::WorkspaceWrite, Outer::Nothing) => {
                gaps.push("the workspace's own .git and .craft can be written, hooks and settings included");
            }
            (Files::WorkspaceWrite, Outer::Bubblewrap) => {
                gaps.push("a command can make a git repository in the workspace that names programs for your git to run");
            }
            (Files::ReadOnly | Files::Full, _) => {}
        }
        match (profile.network, self.outer) {
            (Network::On, Outer::Nothing) => gaps.push(
                "local services can be spoken to, this server and shared memory of other programs included",
            ),
            (Network::On, Outer::Bubblewrap) => gaps.push("local services can be spoken to"),
            (Network::Off, Outer::Bubblewrap) if profile.files != Files::Full => {
                gaps.push(
                    "a local socket that appears among your files while a command runs can be spoken to",
                );
            }
            (Network::Off | Network::Internet, _) => {}
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(files: Files, network: Network) -> Profile {
        Profile { files, network }
    }

    #[test]
    fn what_cannot_be_held_is_said() {
        let kernel = |landlock, seccomp| Support {
            landlock,
            seccomp,
            ..Support::NONE
        };
        let strict = profile(Files::WorkspaceWrite, Network::Off);
        assert_eq!(kernel(3, true).missing(strict), None);
        assert_eq!(kernel(0, false).missing(Profile::OPEN), None);
        assert_eq!(kernel(0, true).missing(profile(Files::Full, Network::Off)), None);
        for (kernel, part) in [
            (kernel(0, true), "no Landlock"),
            (kernel(2, true), "version 2"),
            (kernel(6, false), "seccomp"),
        ] {
            let missing = kernel.missing(strict).unwrap();
            assert!(missing.contains(part), "{missing}");
            // Bubblewrap confines files where Landlock does not; it does not filter system calls.
            let with_bubblewrap = Support {
                outer: Outer::Bubblewrap,
                ..kernel
            };
            let still_missing = with_bubblewrap.missing(strict).is_some();
            assert_eq!(still_missing, part == "seccomp");
        }
    }

    #[test]
    fn what_is_not_held_is_said() {
        let old = Support {
            landlock: 3,
            seccomp: true,
            outer: Outer::Nothing,
        };
        let new = Support { landlock: 6, ..old };
        let strict = profile(Files::ReadOnly, Network::Off);
        assert_eq!(old.gaps(strict).len(), new.gaps(strict).len() + 1);
        assert!(new.gaps(Profile::OPEN).is_empty());
        let full = profile(Files::Full, Network::Off);
        assert_eq!(old.gaps(full).len(), new.gaps(full).len() + 1);
        let without = Support { landlock: 0, ..new };
        assert_eq!(without.gaps(full).len(), old.gaps(full).len() + 1);
        assert!(
            new.gaps(profile(Files::Full, Network::Off))
                .contains(&"files are not confined")
        );
    }

    #[test]
    fn with_bubblewrap_less_is_not_held() {
        let old = Support {
            landlock: 0,
            seccomp: true,
            outer: Outer::Bubblewrap,
        };
        let new = Support { landlock: 6, ..old };
        let write = |network| profile(Files::WorkspaceWrite, network);
        let git =
            "a command can make a git repository in the workspace that names programs for your git to run";
        let socket = "a local socket that appears among your files while a command runs can be spoken to";
        assert_eq!(new.gaps(write(Network::Off)), [git, socket]);
        assert_eq!(
            new.gaps(write(Network::On)),
            [git, "local services can be spoken to"]
        );
        assert_eq!(new.gaps(profile(Files::ReadOnly, Network::Off)), [socket]);
        assert_eq!(old.gaps(write(Network::Off)).len(), 4);
        let full = profile(Files::Full, Network::Off);
        assert_eq!(old.gaps(full), ["files are not confined"]);
    }
}
