//! What can be wrong with a stream of messages.

/// Why a message could not be cut out of a stream. Unless [`FramingError::is_fatal`], the reader has
/// skipped what was wrong and the next message can be read.
#[derive(Debug, thiserror::Error)]
pub enum FramingError {
    /// A message is longer than the limit; it was skipped without being kept.
    #[error("a message is longer than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
        /// Whether the framing can find the next message.
        fatal: bool,
    },
    /// A header block is not one; what followed was skipped up to the next that is.
    #[error("bad message header: {0}")]
    Header(String),
    /// The stream ended inside a message.
    #[error("the stream ended inside a message")]
    Truncated,
    /// The stream broke, or its framing was violated beyond repair.
    #[error("the connection broke: {0}")]
    Broken(String),
}

impl FramingError {
    /// Whether nothing more can be read.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::TooLong { fatal, .. } => *fatal,
            Self::Header(_) => false,
            Self::Truncated | Self::Broken(_) => true,
        }
    }
}
