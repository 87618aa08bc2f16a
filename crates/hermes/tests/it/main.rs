//! The host with extensions that are real processes. The numbers are those of `docs/contributing/hermes-checklist.md`.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod agent;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod life;
#[cfg(test)]
mod logging;
#[cfg(test)]
mod screens;
#[cfg(test)]
mod support;
#[cfg(test)]
mod wire;

/// The process of an extension. The harness writes lines of its own to standard output, which are no frames.
#[test]
#[ignore = "not a test: the extension that the others drive"]
fn extension() {
    fake::run();
}
