//! Supervised services: scripted ones on a driven clock, and a real child that announces a port.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod announced;
#[cfg(test)]
mod lossy;
#[cfg(test)]
mod restarts;

/// The child of `announced`.
#[test]
#[ignore = "not a test: the process that the others speak with"]
fn kettle() {
    announced::serve_one_client();
}

/// The child of `lossy`.
#[test]
#[ignore = "not a test: the process that the others read"]
fn torrent() {
    lossy::write_much();
}
