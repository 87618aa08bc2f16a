//! Actions as tools, with a runner that is this test program.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod lab;
#[cfg(test)]
mod running;

/// The process of a runner.
#[test]
#[ignore = "not a test: the process that the others speak with"]
fn runner() {
    lab::serve();
}
