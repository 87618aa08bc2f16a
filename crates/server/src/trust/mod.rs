//! Trust in a folder: what it brings along that runs, loosens or instructs, and what its user says about it.
//!
//! A folder may have come from anybody. Its configuration can make things stricter; all else that it brings waits until
//! its user has said that it counts. What runs or loosens counts by its content, so a changed one waits again; texts count
//! with the folder. That lies in the user's state, where no folder and no sandboxed command can write.

mod folder;
mod scan;

pub use bobbin_config::of_server;
pub use bobbin_workspace::{TrustFile, TrustRecord};
pub use folder::{Brought, Folder};
pub use scan::Scan;
