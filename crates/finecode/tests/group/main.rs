//! `finecode/*` as a client sees it, with a runner that is this test program.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod over_the_wire;

/// The process of a runner.
#[test]
#[ignore = "not a test: the process that the others speak with"]
fn runner() {
    over_the_wire::serve();
}
