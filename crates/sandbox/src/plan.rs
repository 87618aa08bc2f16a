//! What the helper is told: a plan, in its arguments.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::{Files, Network, Profile, SandboxError};

/// Most paths in a plan.
const MAX_PATHS: usize = 256;

/// How one command is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What it is let do.
    pub profile: Profile,
    /// Places it may write under [`Files::WorkspaceWrite`], absolute. One that is missing is left out.
    pub write: Vec<PathBuf>,
    /// Places whose files it may not read, absolute; not under [`Files::Full`].
    pub hide: Vec<PathBuf>,
    /// Landlock's version that was promised: what is asked of the kernel, no more and no less.
    pub landlock: u8,
}

impl Plan {
    /// Returns a hidden place that could be written and read all the same, since it lies in a place that may be
    /// written; such a plan is not carried out.
    pub fn exposed(&self) -> Option<PathBuf> {
        if self.profile.files != Files::WorkspaceWrite {
            return None;
        }
        let real = |path: &PathBuf| path.canonicalize().ok();
        let write: Vec<PathBuf> = self.write.iter().filter_map(real).collect();
        let mut hidden = self.hide.iter().filter_map(real);
        hidden.find(|hidden| write.iter().any(|place| hidden.starts_with(place)))
    }

    /// Returns the helper's arguments, behind the one that chooses it, for a program and its arguments.
    pub fn arguments(&self, program: impl Into<OsString>, arguments: Vec<OsString>) -> Vec<OsString> {
        let mut all: Vec<OsString> = vec![
            "--files".into(),
            self.profile.files.name().into(),
            "--network".into(),
            self.profile.network.name().into(),
            "--landlock".into(),
            self.landlock.to_string().into(),
        ];
        for (flag, paths) in [("--write", &self.write), ("--hide", &self.hide)] {
            for path in paths {
                all.push(flag.into());
                all.push(path.into());
            }
        }
        all.push("--".into());
        all.push(program.into());
        all.extend(arguments);
        all
    }

    /// Reads the helper's arguments: the plan, the program, and what the program is given.
    ///
    /// # Errors
    /// [`SandboxError::Arguments`]
    pub fn read(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<(Self, OsString, Vec<OsString>), SandboxError> {
        let wrong = |what: &str| SandboxError::Arguments(what.to_owned());
        let mut arguments = arguments.into_iter();
        let (mut files, mut network, mut landlock) = (None, None, None);
        let (mut write, mut hide) = (Vec::new(), Vec::new());
        loop {
            let flag = arguments.next().ok_or_else(|| wrong("there is no program"))?;
            if flag == "--" {
                break;
            }
            let value = arguments.next().ok_or_else(|| wrong("a value is missing"))?;
            match flag.to_str() {
                Some("--files") => files = Files::ALL.into_iter().find(|known| value == known.name()),
                Some("--network") => {
                    network = [Network::Off, Network::On]
                        .into_iter()
                        .find(|known| value == known.name());
                }
                Some("--landlock") => landlock = value.to_str().and_then(|value| value.parse().ok()),
                Some("--write") => write.push(absolute(&value)?),
                Some("--hide") => hide.push(absolute(&value)?),
                _ => return Err(wrong("it has an unknown flag")),
            }
            if write.len() + hide.len() > MAX_PATHS {
                return Err(wrong("it has too many paths"));
            }
        }
        let (Some(files), Some(network), Some(landlock)) = (files, network, landlock) else {
            return Err(wrong("--files, --network and --landlock are needed"));
        };
        let program = arguments.next().ok_or_else(|| wrong("there is no program"))?;
        let plan = Self {
            profile: Profile { files, network },
            write,
            hide,
            landlock,
        };
        Ok((plan, program, arguments.collect()))
    }
}

fn absolute(path: &OsStr) -> Result<PathBuf, SandboxError> {
    let path = PathBuf::from(path);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(SandboxError::Arguments("a path is not absolute".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_arguments() {
        for files in Files::ALL {
            for network in [Network::Off, Network::On] {
                let plan = Plan {
                    profile: Profile { files, network },
                    write: vec!["/w".into(), "/t mp".into()],
                    hide: vec!["/home/mika/.ssh".into()],
                    landlock: 6,
                };
                let rest: Vec<OsString> = vec!["-c".into(), "--".into(), "--hide".into()];
                let read = Plan::read(plan.arguments("/bin/sh", rest.clone())).unwrap();
                assert_eq!(read, (plan, "/bin/sh".into(), rest));
            }
        }
    }

    #[test]
    fn a_hidden_place_within_one_that_may_be_written_is_exposed() {
        let place = tempfile::tempdir().unwrap();
        let secret = place.path().join("secret");
        std::fs::create_dir(&secret).unwrap();
        let plan = |files, write: &std::path::Path| Plan {
            profile: Profile {
                files,
                network: Network::Off,
            },
            write: vec![write.to_owned()],
            hide: vec![secret.clone()],
            landlock: 6,
        };
        assert!(plan(Files::WorkspaceWrite, place.path()).exposed().is_some());
        assert!(plan(Files::ReadOnly, place.path()).exposed().is_none());
        assert!(
            plan(Files::WorkspaceWrite, &place.path().join("other"))
                .exposed()
                .is_none()
        );
    }

    #[test]
    fn anything_else_is_refused() {
        let base = ["--files", "readOnly", "--network", "off", "--landlock", "6"];
        let long: Vec<&str> = std::iter::repeat_n(["--hide", "/x"], 300).flatten().collect();
        for more in [
            &["--", "sh"][..],
            &["--"],
            &[],
            &["--write", "w", "--", "sh"],
            &["--read", "/", "--", "sh"],
            &long,
        ] {
            let arguments = base.iter().chain(more).map(OsString::from);
            assert_eq!(Plan::read(arguments).is_ok(), more == ["--", "sh"], "{more:?}");
        }
        for without in ["readOnly", "off", "6"] {
            let arguments = base
                .iter()
                .chain(&["--", "sh"])
                .map(|text| if *text == without { "x" } else { text });
            assert!(Plan::read(arguments.map(OsString::from)).is_err(), "{without}");
        }
    }
}
