//! The three dialects of the protocol.

use serde::{Deserialize, Serialize};

/// How the two ends speak. They agree on it before the first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// The documented protocol: formats of `actions/run` are JSON inside a string.
    Documented,
    /// Published revisions of April 2026: options in snake case.
    Early,
    /// Published revisions since July 2026.
    Current,
}

impl Dialect {
    /// Returns the dialect of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "documented" => Some(Self::Documented),
            "early" => Some(Self::Early),
            "current" => Some(Self::Current),
            _ => None,
        }
    }
}
