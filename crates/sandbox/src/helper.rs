//! The helper mode: confines this process in bubblewrap's view, then becomes the command.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use nix::sys::signal::SigSet;
use serde::{Deserialize, Serialize};

use crate::bubblewrap::inside::{Namespace, check, limit_processes, namespace};
use crate::descriptors::{close_on_exec, take_descriptor};
use crate::{Files, Outer, Plan, PlannedMounts, SandboxError};

/// First argument of the helper mode. The numbers of two descriptors follow: one for its report, one for its
/// [`Handed`]. A third is a socket over which the helper sends a descriptor of the command's network.
pub const HELPER_ARGUMENT: &str = "sandbox-exec";

/// Most bytes of an encoded [`Handed`].
const MAX_HANDED: u64 = 4 << 20;
/// The helper's report before it becomes the command: the command is confined. The end of the report means that the
/// command runs.
const READY: u8 = b'1';
/// First byte of the report of a failure.
const FAILED: u8 = b'0';

/// The input of the helper in bubblewrap: the command, and how to confine it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Handed {
    /// How to confine the command within bubblewrap.
    pub plan: Plan,
    /// The mounts of its view; `None` under [`Files::Full`].
    pub mounts: Option<PlannedMounts>,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Most processes and threads of the command and its descendants.
    pub processes: Option<u64>,
    /// The number of the user namespace outside. If the helper has no other one, processes cannot be limited
    /// separately.
    pub namespace: u64,
    /// The number of the network namespace of the machine.
    pub network: u64,
}

/// Why a command did not start. Nothing of it has run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The process cannot be confined as planned: the reason.
    Confinement(String),
    /// Its program cannot be run: the error number.
    Program(i32),
}

/// A helper's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartNote {
    /// The command runs, confined.
    Runs,
    /// The command does not run.
    Failed(Failure),
    /// The report is empty: the helper did not start.
    Nothing,
}

impl Handed {
    /// Returns the number of this process's user namespace.
    pub fn namespace() -> u64 {
        namespace(Namespace::User)
    }

    /// Returns the number of this process's network namespace.
    pub fn network() -> u64 {
        namespace(Namespace::Network)
    }

    /// Returns the encoded value.
    ///
    /// # Errors
    /// It exceeds the limit in size.
    pub fn encode(&self) -> io::Result<Vec<u8>> {
        let bytes = postcard::to_allocvec(self).map_err(io::Error::other)?;
        if bytes.len() as u64 > MAX_HANDED {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }
}

impl StartNote {
    /// Decodes the whole report of a helper.
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

/// Confines this process and becomes the command if the first argument after its name is [`HELPER_ARGUMENT`].
/// Returns only if the command cannot run, after reporting why.
///
/// Call it before any thread starts, with all arguments of this process. The command gets this process's
/// environment, directory and streams. It never runs with less confinement than its plan says.
pub fn helped(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != HELPER_ARGUMENT {
        return None;
    }
    let mut descriptor = || {
        let number = arguments.next()?.to_str()?.parse().ok();
        // The numbers up to 2 are the command's streams.
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
    let show_network = descriptor();
    let failure = match become_command(&mut report, handed, show_network) {
        Ok(never) => match never {},
        Err(failure) => postcard::to_extend(&failure, vec![FAILED]).unwrap_or_default(),
    };
    // The parent may have ended.
    drop(report.write_all(&failure));
    Some(ExitCode::FAILURE)
}

fn become_command(
    report: &mut File,
    handed: File,
    show_network: Option<File>,
) -> Result<Infallible, Failure> {
    let not_read = |error: String| Failure::Confinement(format!("its plan cannot be read: {error}"));
    let mut bytes = Vec::new();
    let read = handed.take(MAX_HANDED).read_to_end(&mut bytes);
    read.map_err(|error| not_read(error.to_string()))?;
    let handed: Handed = postcard::from_bytes(&bytes).map_err(|error| not_read(error.to_string()))?;
    let plan = &handed.plan;
    let confined = check(plan, handed.mounts.as_ref(), handed.network).and_then(|()| {
        close_on_exec();
        limit_processes(handed.processes, handed.namespace)?;
        if let Some(to) = show_network {
            let not_shown = |error| SandboxError::Kernel(format!("its network cannot be shared: {error}"));
            crate::network::show(to).map_err(not_shown)?;
        }
        confine(plan)
    });
    confined.map_err(|error| Failure::Confinement(error.full()))?;
    // The parent blocked TERM when it started bubblewrap.
    SigSet::empty()
        .thread_set_mask()
        .map_err(|error| not_read(error.to_string()))?;
    report
        .write_all(&[READY])
        .map_err(|error| not_read(error.to_string()))?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the process becomes the program and starts nothing"
    )]
    let error = Command::new(&handed.program).args(&handed.arguments).exec();
    Err(Failure::Program(error.raw_os_error().unwrap_or_default()))
}

/// Confines this process and its descendants for good, with the parts of a plan that bubblewrap does not cover. The
/// process must have one thread.
///
/// # Errors
/// The process is not confined as planned and must not go on.
pub fn confine(plan: &Plan) -> Result<(), SandboxError> {
    // Without Landlock, signals and sockets are only partly confined: `Support::gaps` reports that. Bubblewrap
    // confines files too.
    let without_landlock =
        plan.landlock == 0 && (plan.profile.files == Files::Full || plan.outer == Outer::Bubblewrap);
    if plan.profile.restricts_something() {
        if !without_landlock {
            crate::files::restrict(plan)?;
        }
        crate::rights::restrict()?;
        // Last: afterwards, the calls for restricting fail too.
        crate::calls::restrict(plan.reach())?;
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
