//! Method names of a host's requests to a client ([`Screen`](crate::Screen)).

/// Shows a page in a window.
pub const OPEN_WINDOW: &str = "hermes/ui/openWindow";
/// Notification: removes a window from the screen.
pub const CLOSE_WINDOW: &str = "hermes/ui/closeWindow";
/// Shows a message.
pub const SHOW_MESSAGE: &str = "hermes/ui/showMessage";
/// Asks a question.
pub const SHOW_CONFIRM: &str = "hermes/ui/showConfirm";
/// Asks for a file to open.
pub const OPEN_FILE: &str = "hermes/ui/openFile";
/// Asks for files to open.
pub const OPEN_FILES: &str = "hermes/ui/openFiles";
/// Asks for a file to save to.
pub const SAVE_FILE: &str = "hermes/ui/saveFile";
/// Asks for a directory.
pub const SELECT_DIRECTORY: &str = "hermes/ui/selectDirectory";
