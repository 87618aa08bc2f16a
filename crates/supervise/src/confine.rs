//! How the process of a service is confined. The server implements it; this crate knows no sandbox.

use std::fmt;
use std::pin::Pin;

use bobbin_children::{ChildError, ProcessSpec};

/// The confined process of a service, or why there is none.
pub type Confining<'a> = Pin<Box<dyn Future<Output = Result<ProcessSpec, String>> + Send + 'a>>;

/// Confines the processes of services whose files others may write.
pub trait Confine: Send + Sync + 'static {
    /// Returns a process as it may be started.
    ///
    /// # Errors
    /// The process cannot be confined and must not start: why, as half a sentence.
    fn confine(&self, process: ProcessSpec) -> Confining<'_>;

    /// Learns that a confined process did not start.
    fn has_failed(&self, error: &ChildError);
}

impl fmt::Debug for dyn Confine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Confine")
    }
}
