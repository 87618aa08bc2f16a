//! The helper mode: confines this process, in bubblewrap, and becomes the command.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::sys::signal::SigSet;
use serde::{Deserialize, Serialize};

use crate::bubblewrap::inside::{check, limit_processes, namespace};
use crate::descriptors::{keep_back, take_descriptor};
use crate::{Files, Outer, Plan, SandboxError};

/// First argument of the helper mode. Behind it are the numbers of two descriptors: where it reports, and where it reads
/// what it is to become.
pub const HELPER_ARGUMENT: &str = "sandbox-exec";

/// Most bytes that are handed to the helper.
const MAX_HANDED: u64 = 4 << 20;
/// What the helper reports before it becomes the command: all is confined. The end of the report says that it has.
const READY: u8 = b'1';
/// What it reports before a failure.
const FAILED: u8 = b'0';

/// What the helper in bubblewrap reads: what it is to become, and how that is confined.
#[derive(Debug, Serialize, Deserialize)]
pub struct Handed {
    /// How the command is confined, beside bubblewrap.
    pub plan: Plan,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The most processes and threads that it may have with all that it starts.
    pub processes: Option<u64>,
    /// The user namespace outside, by its number: where there is no other within, processes are not counted apart.
    pub namespace: u64,
}

/// Why a command did not start. Nothing of it has run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// It cannot be confined as planned: why.
    Confinement(String),
    /// Its program cannot be run: an error number.
    Program(i32),
}

/// What a helper has reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartNote {
    /// The command runs, confined.
    Runs,
    /// It does not.
    Failed(Failure),
    /// Nothing: the helper was not started.
    Nothing,
}

impl Handed {
    /// Returns the number of this process's user namespace.
    pub fn namespace() -> u64 {
        namespace()
    }

    /// Returns it as it is handed over.
    ///
    /// # Errors
    /// It is more than is read.
    pub fn encode(&self) -> io::Result<Vec<u8>> {
        let bytes = postcard::to_allocvec(self).map_err(io::Error::other)?;
        if bytes.len() as u64 > MAX_HANDED {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }
}

impl StartNote {
    /// Reads all that a helper has written.
    pub fn read(text: &[u8]) -> Self {
        let failed = |rest: &[u8]| match rest.split_first() {
            Some((&FAILED, rest)) => postcard::from_bytes(rest).ok(),
            _ => None,
        };
        match text.split_first() {
            None => Self::Nothing,
            Some((&READY, [])) => Self::Runs,
            Some((&READY, rest)) => Self::failed(failed(rest)),
            Some(_) => Self::failed(failed(text)),
        }
    }

    fn failed(failure: Option<Failure>) -> Self {
        let cut = || Failure::Confinement("its report is cut off".to_owned());
        Self::Failed(failure.unwrap_or_else(cut))
    }
}

/// Becomes a command that is confined, if that is what this process was started for: its first argument behind its name is
/// [`HELPER_ARGUMENT`] then. Reports why the command is not run, and returns.
///
/// Call it before any thread is started, with all arguments of this process. The command gets its environment, directory and
/// streams. It never runs with less confinement than its plan says.
pub fn helped(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != HELPER_ARGUMENT {
        return None;
    }
    let mut descriptor = || {
        let number = arguments.next()?.to_str()?.parse().ok();
        // Not the streams of the command.
        take_descriptor(number.filter(|number| *number > 2)?)
            .ok()
            .map(File::from)
    };
    let (Some(mut report), Some(handed)) = (descriptor(), descriptor()) else {
        drop(writeln!(
            io::stderr().lock(),
            "bobbin: only the server uses {HELPER_ARGUMENT}"
        ));
        return Some(ExitCode::FAILURE);
    };
    let failure = match become_command(&mut report, handed) {
        Ok(never) => match never {},
        Err(failure) => postcard::to_extend(&failure, vec![FAILED]).unwrap_or_default(),
    };
    // The parent may be gone.
    drop(report.write_all(&failure));
    Some(ExitCode::FAILURE)
}

fn become_command(report: &mut File, handed: File) -> Result<Infallible, Failure> {
    let not_read = |error: String| Failure::Confinement(format!("its plan cannot be read: {error}"));
    let mut bytes = Vec::new();
    let read = handed.take(MAX_HANDED).read_to_end(&mut bytes);
    read.map_err(|error| not_read(error.to_string()))?;
    let handed: Handed = postcard::from_bytes(&bytes).map_err(|error| not_read(error.to_string()))?;
    let plan = &handed.plan;
    let confined = check(plan).and_then(|()| {
        keep_back();
        limit_processes(handed.processes, handed.namespace)?;
        confine(plan)
    });
    confined.map_err(|error| Failure::Confinement(error.full()))?;
    // Bubblewrap was started with TERM blocked.
    SigSet::empty()
        .thread_set_mask()
        .map_err(|error| not_read(error.to_string()))?;
    report
        .write_all(&[READY])
        .map_err(|error| not_read(error.to_string()))?;
    #[expect(
        clippy::disallowed_methods,
        reason = "it becomes the program, and starts nothing"
    )]
    let error = Command::new(&handed.program).args(&handed.arguments).exec();
    Err(Failure::Program(error.raw_os_error().unwrap_or_default()))
}

/// Confines this process, which must have one thread, and all that it becomes and starts, for good: what of a plan bubblewrap
/// does not do.
///
/// # Errors
/// It is not confined as planned, and must not go on.
pub fn confine(plan: &Plan) -> Result<(), SandboxError> {
    // Without Landlock, what is held beside files is held in part: `Support::gaps` says so. Bubblewrap holds files too.
    let without_landlock =
        plan.landlock == 0 && (plan.profile.files == Files::Full || plan.outer == Outer::Bubblewrap);
    if plan.profile.holds_something() {
        if !without_landlock {
            crate::files::restrict(plan)?;
        }
        crate::rights::restrict()?;
        // Last: from here on, restricting is refused as well.
        crate::calls::restrict(plan.profile.network)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_for_what_it_says() {
        let failure = Failure::Program(2);
        let failed = postcard::to_extend(&failure, vec![FAILED]).unwrap();
        assert_eq!(StartNote::read(b""), StartNote::Nothing);
        assert_eq!(StartNote::read(&[READY]), StartNote::Runs);
        for text in [failed.clone(), [&[READY], failed.as_slice()].concat()] {
            assert_eq!(StartNote::read(&text), StartNote::Failed(failure.clone()));
        }
        for text in [&b"x"[..], b"0", b"1x"] {
            let note = StartNote::read(text);
            assert!(
                matches!(note, StartNote::Failed(Failure::Confinement(_))),
                "{note:?}"
            );
        }
    }
}
