//! Holds a command and becomes it: what the helper mode of the server does, and nothing else.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    bobbin_sandbox::held(std::env::args_os()).unwrap_or_else(|| {
        drop(writeln!(
            std::io::stderr().lock(),
            "bobbin-hold: this is a part of bobbin, which starts it; there is nothing to be done by hand"
        ));
        ExitCode::FAILURE
    })
}
