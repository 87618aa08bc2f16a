//! The helper mode: restricts this process and becomes the command.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use nix::unistd::execv;

use crate::{Files, Plan, SandboxError};

/// First argument of the helper mode.
pub const HELPER_ARGUMENT: &str = "sandbox-exec";
/// Argument of the helper behind that, with the number of a descriptor on which it says that all is held and the command
/// is next. Without it nothing is said.
pub const REPORT_ARGUMENT: &str = "--report";

/// Runs as the helper: restricts this process as its arguments say and becomes the program they name.
///
/// Call it before any thread is started, with the arguments behind [`HELPER_ARGUMENT`]. The program gets the
/// environment, directory and streams of this process.
///
/// # Errors
/// Why the command is not run. It never runs with less held than was said.
pub fn helper_main(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<std::convert::Infallible, SandboxError> {
    let mut arguments = arguments.into_iter().peekable();
    let report = if arguments.next_if(|first| first == REPORT_ARGUMENT).is_some() {
        let number = arguments.next().and_then(|number| number.to_str()?.parse().ok());
        // Not the streams of the command.
        let number = number.filter(|number| *number > 2);
        Some(number.ok_or_else(|| SandboxError::Arguments("nobody can be told there".to_owned()))?)
    } else {
        None
    };
    let (plan, program, arguments) = Plan::read(arguments)?;
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
