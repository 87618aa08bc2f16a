//! Starting cargo for chores that build or run something of this repository.
//!
//! The child has this process's terminal and environment; it is waited for.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

/// Returns a call of cargo at the root of the repository.
#[expect(
    clippy::disallowed_methods,
    reason = "a chore of the repository starts its build tool, outside any server"
)]
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(args);
    command
}

/// Runs it to its end.
///
/// # Errors
/// It cannot be started, or it failed; what went wrong is on its own stderr.
pub(crate) fn run(mut command: Command) -> anyhow::Result<()> {
    let status = command.status().context("cannot start cargo")?;
    if !status.success() {
        let arguments: Vec<_> = command.get_args().map(|part| part.to_string_lossy()).collect();
        bail!("cargo {} ended with {status}", arguments.join(" "));
    }
    Ok(())
}
