//! The helper mode: restricts this process and becomes the command.

use std::error::Error;
use std::ffi::{CString, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;

use nix::unistd::execv;

use crate::{Files, Plan, SandboxError};

/// First argument of the helper mode.
pub const HELPER_ARGUMENT: &str = "sandbox-exec";
/// Argument of the helper behind that, with the number of a descriptor on which it says that all is held and the command
/// is next. Without it nothing is said.
pub const REPORT_ARGUMENT: &str = "--report";
/// Argument of the helper behind that, with the number of a descriptor from which its other arguments are read, each with a
/// zero byte behind it: those of a process can be seen by others.
pub const HANDED_ARGUMENT: &str = "--handed";
/// Most bytes of arguments that are handed over: more is not read, and the command does not run.
pub const MAX_HANDED: usize = 4 << 20;

/// Exit code of a helper that could not hold its command and did not run it.
const NOT_HELD: u8 = 125;

/// Becomes a command that is held, if that is what this process was started for: its first argument behind its name is
/// [`HELPER_ARGUMENT`] then. Says on stderr why the command is not run, and returns the exit code that says so too.
///
/// Call it before any thread is started, with all arguments of this process. The command gets its environment, directory and
/// streams. It never runs with less held than was said.
pub fn held(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != HELPER_ARGUMENT {
        return None;
    }
    match become_held(arguments) {
        Ok(never) => match never {},
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}"));
            drop(writeln!(
                std::io::stderr().lock(),
                "bobbin: the command was not run, since it cannot be held: {error}{}",
                cause.unwrap_or_default()
            ));
            Some(ExitCode::from(NOT_HELD))
        }
    }
}

/// Restricts this process as its arguments say and becomes the program they name.
///
/// # Errors
/// Why the command is not run. It never runs with less held than was said.
fn become_held(arguments: impl Iterator<Item = OsString>) -> Result<std::convert::Infallible, SandboxError> {
    let mut arguments = arguments.peekable();
    let mut descriptor = |name: &str| {
        arguments.next_if(|first| first == name)?;
        let number = arguments.next().and_then(|number| number.to_str()?.parse().ok());
        // Not the streams of the command.
        let number = number.filter(|number: &i32| *number > 2);
        Some(
            number.ok_or_else(|| SandboxError::Arguments(format!("{name} needs the number of a descriptor"))),
        )
    };
    let report = descriptor(REPORT_ARGUMENT).transpose()?;
    let handed = descriptor(HANDED_ARGUMENT).transpose()?.map(handed).transpose()?;
    let (plan, program, arguments) = Plan::read(handed.unwrap_or_default().into_iter().chain(arguments))?;
    let program_path = PathBuf::from(&program);
    let failed = |source| SandboxError::Program {
        program: program_path.clone(),
        source,
    };
    let text = |text: OsString| {
        CString::new(text.into_vec())
            .map_err(|_| SandboxError::Arguments("an argument has a zero byte".to_owned()))
    };
    let path = text(program.clone())?;
    let mut all = vec![path.clone()];
    for argument in arguments {
        all.push(text(argument)?);
    }
    enter(&plan, report)?;
    execv(&path, &all).map_err(|error| failed(error.into()))
}

/// Reads arguments that were handed over.
#[cfg(target_os = "linux")]
fn handed(number: i32) -> Result<Vec<OsString>, SandboxError> {
    let wrong = |what: &str| SandboxError::Arguments(format!("what was handed over {what}"));
    let text = crate::bubblewrap::inside::read(number, MAX_HANDED as u64)
        .map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    match text.strip_suffix(&[0]) {
        Some(text) => Ok(text
            .split(|byte| *byte == 0)
            .map(|argument| OsString::from_vec(argument.to_owned()))
            .collect()),
        None => Err(wrong("has no end")),
    }
}

#[cfg(not(target_os = "linux"))]
fn handed(_: i32) -> Result<Vec<OsString>, SandboxError> {
    Err(SandboxError::Arguments(
        "nothing is handed over but on Linux".to_owned(),
    ))
}

#[cfg(target_os = "linux")]
fn enter(plan: &Plan, report: Option<i32>) -> Result<(), SandboxError> {
    use crate::Outer;
    use crate::bubblewrap::inside::{Report, check, keep_back};

    let report = report.map(Report::new);
    if plan.outer == Outer::Bubblewrap {
        check(plan)?;
        keep_back();
    }
    // Without Landlock, what is held beside files is held in part: `Support::gaps` says so. Bubblewrap holds files too.
    let without_landlock =
        plan.landlock == 0 && (plan.profile.files == Files::Full || plan.outer == Outer::Bubblewrap);
    if plan.profile.holds_something() && !without_landlock {
        crate::files::restrict(plan)?;
    }
    if plan.profile.holds_something() {
        crate::rights::restrict()?;
        // Last: from here on, restricting is refused as well.
        crate::calls::restrict(plan.profile.network)?;
    }
    // A report that nobody hears any more must not end this process: after that.
    report.map_or(Ok(()), Report::begins)?;
    crate::signals::restore()
}

#[cfg(not(target_os = "linux"))]
fn enter(plan: &Plan, _: Option<i32>) -> Result<(), SandboxError> {
    if plan.profile.files == Files::Full && !plan.profile.holds_something() {
        return Ok(());
    }
    Err(SandboxError::Kernel("only Linux holds commands".to_owned()))
}
