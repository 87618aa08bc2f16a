//! What this kernel can hold, found out without restricting anything.

use crate::{Files, Network, Profile};

/// The first version of Landlock that keeps files from being emptied, and so the first that counts.
const FIRST_THAT_HOLDS: u8 = 3;

/// What this kernel can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    /// Landlock's version, up to the one we use; 0 when it has none.
    pub landlock: u8,
    /// Whether system calls can be refused.
    pub seccomp: bool,
}

impl Support {
    /// Nothing, as on a kernel without Landlock and seccomp.
    pub const NONE: Self = Self {
        landlock: 0,
        seccomp: false,
    };

    /// Finds out what this kernel can hold.
    #[cfg(target_os = "linux")]
    pub fn probe() -> Self {
        let seccomp = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
        Self {
            landlock: crate::files::newest(),
            seccomp: seccomp.is_ok_and(|actions| actions.split_whitespace().any(|action| action == "errno")),
        }
    }

    /// Finds out what this kernel can hold: elsewhere than on Linux nothing.
    #[cfg(not(target_os = "linux"))]
    pub fn probe() -> Self {
        Self::NONE
    }

    /// Returns why a profile cannot be held here, as half a sentence; `None` when it can.
    pub fn missing(self, profile: Profile) -> Option<String> {
        if !profile.holds_something() {
            return None;
        }
        if !self.seccomp {
            return Some("this machine's kernel cannot refuse system calls (seccomp)".to_owned());
        }
        if profile.files == Files::Full || self.landlock >= FIRST_THAT_HOLDS {
            return None;
        }
        Some(match self.landlock {
            0 => "this machine's kernel has no Landlock, or it is switched off".to_owned(),
            version => format!(
                "this machine's kernel has version {version} of Landlock, which does not keep files from being emptied; \
                 version {FIRST_THAT_HOLDS} (Linux 6.2) does"
            ),
        })
    }

    /// Returns what a profile that can be held does not hold here, as half sentences.
    pub fn gaps(self, profile: Profile) -> Vec<&'static str> {
        let mut gaps = Vec::new();
        if !profile.holds_something() {
            return gaps;
        }
        if profile.files == Files::Full {
            gaps.push("files are not held");
            if self.landlock == 0 {
                gaps.push("environment and memory of processes outside can be read through /proc");
            }
        } else {
            gaps.push("owners, modes and times of the user's files can be changed");
        }
        if self.landlock < 6 {
            gaps.push("processes outside can be sent signals");
        }
        if profile.files == Files::WorkspaceWrite {
            gaps.push(
                "the workspace's own .git and .craft can be written, conversations and settings included",
            );
        }
        if profile.network == Network::On {
            gaps.push(
                "local services can be spoken to, this server and shared memory of other programs included",
            );
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
        let kernel = |landlock, seccomp| Support { landlock, seccomp };
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
        }
    }

    #[test]
    fn what_is_not_held_is_said() {
        let old = Support {
            landlock: 3,
            seccomp: true,
        };
        let new = Support {
            landlock: 6,
            seccomp: true,
        };
        let strict = profile(Files::ReadOnly, Network::Off);
        assert_eq!(old.gaps(strict).len(), new.gaps(strict).len() + 1);
        assert!(new.gaps(Profile::OPEN).is_empty());
        let full = profile(Files::Full, Network::Off);
        assert_eq!(old.gaps(full).len(), new.gaps(full).len() + 1);
        let without = Support { landlock: 0, ..new };
        assert_eq!(without.gaps(full).len(), old.gaps(full).len() + 1);
        assert!(
            new.gaps(profile(Files::Full, Network::Off))
                .contains(&"files are not held")
        );
    }
}
