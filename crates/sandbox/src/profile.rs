//! The files and the network that a command may use.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The files that a command may write, from the fewest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Files {
    /// None but temporary files of its own.
    ReadOnly,
    /// Files of the workspace and of a directory for temporary files.
    WorkspaceWrite,
    /// All files that the user may write.
    Full,
}

/// Whether a command may use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Network {
    /// No network but a loopback of its own, where bubblewrap makes one; no socket at all elsewhere.
    Off,
    /// Addresses of the machine and of others, but no local socket: for programs that are to reach a service elsewhere.
    /// No configuration names it.
    Internet,
    /// Unrestricted network.
    On,
}

/// The files and the network that a command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Profile {
    /// Its files.
    pub files: Files,
    /// Its network.
    pub network: Network,
}

impl Profile {
    /// Everything: no confinement.
    pub const OPEN: Self = Self {
        files: Files::Full,
        network: Network::On,
    };

    /// Whether the profile restricts anything.
    pub fn restricts_something(self) -> bool {
        self != Self::OPEN
    }
}

impl Default for Profile {
    /// Returns the strictest profile.
    fn default() -> Self {
        Self {
            files: Files::ReadOnly,
            network: Network::Off,
        }
    }
}

impl Files {
    /// Every value, from the strictest.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::WorkspaceWrite, Self::Full];

    /// Returns its name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnly",
            Self::WorkspaceWrite => "workspaceWrite",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Profile {
    /// Writes what a command may do, as part of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.files {
            Files::ReadOnly => "no file may be written",
            Files::WorkspaceWrite => "only files of the workspace may be written",
            Files::Full => "any file may be written",
        })?;
        f.write_str(match self.network {
            Network::Off => ", no network",
            Network::Internet => ", with network, without local sockets",
            Network::On => ", with network",
        })
    }
}
