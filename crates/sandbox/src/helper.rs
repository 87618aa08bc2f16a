//! The helper mode: restricts this process and becomes the command.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use nix::unistd::execv;

use crate::{Files, Plan, SandboxError};

/// First argument of the helper mode.
pub const HELPER_ARGUMENT: &str = "sandbox-exec";

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
    enter(&plan)?;
    execv(&path, &all).map_err(|error| failed(error.into()))
}

#[cfg(target_os = "linux")]
fn enter(plan: &Plan) -> Result<(), SandboxError> {
    // Without Landlock, what is held beside files is held in part: `Support::gaps` says so.
    let in_part = plan.profile.files == Files::Full && plan.landlock == 0;
    if plan.profile.holds_something() && !in_part {
        crate::files::restrict(plan)?;
    }
    if plan.profile.holds_something() {
        crate::rights::restrict()?;
        // Last: from here on, restricting is refused as well.
        crate::calls::restrict(plan.profile.network)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn enter(plan: &Plan) -> Result<(), SandboxError> {
    if plan.profile.files == Files::Full && !plan.profile.holds_something() {
        return Ok(());
    }
    Err(SandboxError::Kernel("only Linux holds commands".to_owned()))
}
