//! The server's part of the page in the browser: its files, and the sign-in of a browser.
//!
//! The built files of `clients/page` are in the binary and need no token: they have no secret. Their content comes over
//! a WebSocket, which needs a token. A [code](Devices::invite) on the user's terminal, once, becomes a secret of the
//! browser, which is a [`Device`] from then on; the secret becomes a ticket, once, for each WebSocket.
//!
//! Knows no Thread and starts no process. The record of devices is a file of the user's state directory, shared by all of
//! the user's servers.

mod assets;
mod devices;
mod exchange;
mod file;
pub mod group;
mod once;

pub use assets::{Frames, files, files_of_node, is_there};
pub use devices::{Code, DeviceError, Devices, Entered, Invited};
pub use exchange::router as exchange;
pub use file::{Device, DeviceFile, FileError};
pub use group::{DeviceFeature, GROUP, GROUPS};
