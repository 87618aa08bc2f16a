//! The right that a method needs of its caller.

/// A right of a caller, from the least to the most. Each right includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// Lists, reads and subscribes.
    Read,
    /// Starts, steers and queues Turns, and manages the Threads and jobs that they are in.
    Prompt,
    /// Answers approvals and questions.
    Approve,
    /// Changes configuration, trust, keys and devices, reads secrets, changes files outside of a Turn, starts programs
    /// and manages the server.
    Own,
}

impl Need {
    /// Returns the word that pages print.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Approve => "approve",
            Self::Own => "own",
        }
    }
}

/// A member of the params that needs more of a caller than its method does, by its path: `config.approvalPolicy`.
///
/// Such a member loosens what is asked or confined, or it starts, opens or writes something.
pub type Member = (&'static str, Need);
