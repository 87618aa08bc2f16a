//! Runs of actions with real child processes: runners made with our library, and recorded ones.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod files;
#[cfg(test)]
mod lab;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod losses;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod results;
#[cfg(test)]
mod starts;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;

/// The process of a runner.
#[test]
#[ignore = "not a test: the process that the others speak with"]
fn runner() {
    lab::serve();
}
