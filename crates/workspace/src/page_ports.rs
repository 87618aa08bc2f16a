//! The ports at which pages of the user's servers are or were: `page-ports` in the state directory, one in a line.
//!
//! A browser hands what it stores for `127.0.0.1:PORT` to whatever answers there. So a port of the list is never given to a
//! command of an agent. All servers of the user share the file, and only add lines: there are as many as there are ports at
//! most, but for two servers that add the same one at the same time.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::{open_private, private_directory};

/// The port that every server of a user takes first. It is in the list without a line.
const DEFAULT_PORT: u16 = 9100;
/// Most bytes of the file that are read: twice those of all ports.
const MAX_BYTES: u64 = 1 << 20;

/// The list of one state directory.
#[derive(Debug, Clone)]
pub struct PagePorts {
    state: PathBuf,
}

impl PagePorts {
    /// Returns the list of a state directory. Creates nothing.
    pub fn of(state: &Path) -> Self {
        Self {
            state: state.to_owned(),
        }
    }

    /// Whether a page is or was at a port. Blocking.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn contains(&self, port: u16) -> io::Result<bool> {
        if port == DEFAULT_PORT {
            return Ok(true);
        }
        match bobbin_files::read_bytes(&self.path(), MAX_BYTES) {
            Ok(bytes) => {
                let port = port.to_string();
                Ok(bytes
                    .split(|byte| *byte == b'\n')
                    .any(|line| line == port.as_bytes()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Adds a port. Blocking.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn add(&self, port: u16) -> io::Result<()> {
        if self.contains(port)? {
            return Ok(());
        }
        private_directory(&self.state).map_err(io::Error::other)?;
        let mut options = OpenOptions::new();
        let mut file = open_private(&self.path(), options.create(true).append(true))?;
        // In one piece: another server may write at the same time.
        file.write_all(format!("{port}\n").as_bytes())
    }

    fn path(&self) -> PathBuf {
        self.state.join("page-ports")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_was_added_is_in_the_list_of_every_server_and_the_default_one_always_is() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path().join("state");
        let (ours, other) = (PagePorts::of(&state), PagePorts::of(&state));
        assert!(ours.contains(9100).unwrap() && !ours.contains(9101).unwrap());
        assert!(!state.exists(), "looking makes nothing");
        for port in [9101, 41000, 9101, 9100] {
            ours.add(port).unwrap();
        }
        assert!(other.contains(9101).unwrap() && other.contains(41000).unwrap());
        assert!(!other.contains(4100).unwrap() && !other.contains(1000).unwrap());
        assert_eq!(std::fs::read_to_string(ours.path()).unwrap(), "9101\n41000\n");
    }

    #[test]
    fn a_list_that_cannot_be_read_lets_no_port_pass_for_free() {
        let state = tempfile::tempdir().unwrap();
        let ports = PagePorts::of(state.path());
        std::fs::create_dir(ports.path()).unwrap();
        assert!(ports.contains(9101).is_err());
        assert!(ports.contains(9100).unwrap());
    }
}
