//! Trust in a folder: its items that run, loosen or instruct, and the user's decisions about them.
//!
//! A folder may come from any author. Its configuration can make things stricter; all its other items wait until the
//! user trusts them. Trust in an item that runs or loosens is bound to its content, so a changed item waits again.
//! Texts count with the folder. The record is in the user's state directory, where no folder and no sandboxed command
//! can write.

mod folder;
mod scan;

pub use bobbin_workspace::{TrustFile, TrustRecord};
pub use folder::{Brought, Folder};
pub use scan::Scan;
