//! The helper modes that the server has, for the tests of this crate.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    bobbin_sandbox::helped(std::env::args_os()).unwrap_or_else(bobbin_children::run_child)
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
