//! Holds a command and becomes it: what the helper mode of the server does, and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    bobbin_sandbox::held(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
