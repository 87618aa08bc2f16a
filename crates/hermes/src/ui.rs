//! The names of what a host asks of a client ([`Screen`](crate::Screen)), as clients know them.

/// Shows a page in a window.
pub const OPEN_WINDOW: &str = "hermes/ui/openWindow";
/// Notification: takes a window off the screen.
pub const CLOSE_WINDOW: &str = "hermes/ui/closeWindow";
/// Shows a message.
pub const SHOW_MESSAGE: &str = "hermes/ui/showMessage";
/// Asks a question.
pub const SHOW_CONFIRM: &str = "hermes/ui/showConfirm";
/// Asks for a file to open.
pub const OPEN_FILE: &str = "hermes/ui/openFile";
/// Asks for files to open.
pub const OPEN_FILES: &str = "hermes/ui/openFiles";
/// Asks where to save.
pub const SAVE_FILE: &str = "hermes/ui/saveFile";
/// Asks for a directory.
pub const SELECT_DIRECTORY: &str = "hermes/ui/selectDirectory";
