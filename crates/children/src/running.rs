//! A child that was started, from its start until nothing of it is left.

use crate::direct::Direct;
use crate::{ChildError, Exit};

/// A started child. Dropped, it is killed with everything that came of it.
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

    /// Returns the id of the process that the server has started: its parent, or itself.
    pub(crate) fn id(&self) -> i32 {
        match &self.control {
            #[cfg(target_os = "linux")]
            Control::Parent(link) => link.id().map_or(0, u32::cast_signed),
            Control::Direct(child) => child.id().as_raw(),
        }
    }

    /// Waits until it has exited. What it started may still be there.
    ///
    /// # Cancel safety
    /// Safe: the exit is seen again by the next call.
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

    /// Kills what is left of it, waits until nothing is, and returns how it had ended.
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

impl Drop for Running {
    fn drop(&mut self) {
        match &mut self.control {
            // Its socket is closed, which says the same.
            #[cfg(target_os = "linux")]
            Control::Parent(_) => {}
            Control::Direct(child) => child.kill(),
        }
    }
}
