//! The limits on the size of incoming messages.

/// Size limits of the byte-stream framings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest message body or line, in bytes. Default 64 MiB.
    pub max_body_bytes: usize,
    /// Longest header line, in bytes. Default 8 KiB.
    pub max_header_line_bytes: usize,
    /// Most lines in one header block. Default 64.
    pub max_header_lines: usize,
    /// Most input dropped while searching for the next header, in bytes. Default 1 MiB.
    pub max_resync_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // Peer spec 3.1.
        Self {
            max_body_bytes: 64 << 20,
            max_header_line_bytes: 8 << 10,
            max_header_lines: 64,
            max_resync_bytes: 1 << 20,
        }
    }
}

impl Limits {
    /// Returns these limits with another body or line limit.
    #[must_use]
    pub fn with_max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }
}
