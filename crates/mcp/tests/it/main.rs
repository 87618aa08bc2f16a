//! Servers run for real: the host over child processes that behave and others that do not.
#![cfg(target_os = "linux")]

mod hostile;
#[cfg(test)]
mod hosting;
#[cfg(test)]
mod login;
#[cfg(test)]
mod over_http;
#[cfg(test)]
mod support;
#[cfg(test)]
mod trouble;

/// The server's own process; see `bobbin_testkit::tea_server`.
#[test]
#[ignore = "not a test: the process that the others speak with"]
fn pantry() {
    bobbin_testkit::tea_server::serve();
}
