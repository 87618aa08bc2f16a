//! The guard's own side: the loop that the helper mode runs. No runtime, no threads, no logging.

use std::collections::BTreeMap;
use std::io::Read;

use nix::sys::signal::{Signal, killpg};

use super::record::{RECORD_BYTES, Record};

/// Runs as the guard: keeps the books that `input` dictates and, at its end, kills every group left on them.
///
/// `input` is the standard input of a process started by [`Children`](crate::Children) as its
/// [`GuardProgram`](crate::GuardProgram). Returns when all is done; the process should then exit.
pub fn guard_main(mut input: impl Read) {
    let mut groups = BTreeMap::new();
    let mut bytes = [0; RECORD_BYTES];
    while input.read_exact(&mut bytes).is_ok() {
        match Record::decode(bytes) {
            Some(Record::Watch { serial, group }) => {
                groups.insert(serial, group);
            }
            Some(Record::Forget { serial }) => {
                groups.remove(&serial);
            }
            None => {}
        }
    }
    for group in groups.into_values() {
        // A group that is already empty is as good.
        let _ = killpg(group, Signal::SIGKILL);
    }
}
