//! A started child, from its start until everything of it is gone.

use crate::direct::Direct;
use crate::{ChildError, Exit};

/// A started child. Dropping it kills the child and its descendants.
#[derive(Debug)]
pub(crate) struct Running {
    control: Control,
}

#[derive(Debug)]
pub(crate) enum Control {
    /// Through its parent.
    #[cfg(target_os = "linux")]
    Parent(crate::link::Link),
    /// By its process group.
    Direct(Direct),
}

impl Running {
    pub(crate) fn new(control: Control) -> Self {
        Self { control }
    }

    /// Returns the id of the process that the server started: the parent, or the child itself.
    pub(crate) fn id(&self) -> i32 {
        match &self.control {
            #[cfg(target_os = "linux")]
            Control::Parent(link) => link.id().map_or(0, u32::cast_signed),
            Control::Direct(child) => child.id().as_raw(),
        }
    }

    /// Waits until it has exited. Its descendants may still run.
    ///
    /// # Cancel safety
    /// Cancel safe: the next call sees the exit again.
    pub(crate) async fn exited(&mut self) -> Result<Exit, ChildError> {
        match &mut self.control {
            #[cfg(target_os = "linux")]
            Control::Parent(link) => link.exited().await,
            Control::Direct(child) => child.exited().await,
        }
    }

    /// Asks its group to end.
    pub(crate) fn terminate(&self) {
        match &self.control {
            #[cfg(target_os = "linux")]
            Control::Parent(link) => link.terminate(),
            Control::Direct(child) => child.terminate(),
        }
    }

    /// Kills what is left of it, waits until all is gone, and returns how the child ended.
    pub(crate) async fn end(&mut self) -> Result<Exit, ChildError> {
        match &mut self.control {
            #[cfg(target_os = "linux")]
            Control::Parent(link) => {
                link.kill();
                link.ended().await
            }
            Control::Direct(child) => {
                child.kill();
                child.exited().await
            }
        }
    }
}
