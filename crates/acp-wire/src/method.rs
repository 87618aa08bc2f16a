//! Names of the protocol's methods.

/// Client to agent: greets, and says what the client can.
pub const INITIALIZE: &str = "initialize";
/// Client to agent: signs in.
pub const AUTHENTICATE: &str = "authenticate";
/// Client to agent: signs out.
pub const LOGOUT: &str = "logout";
/// Client to agent: starts a session.
pub const SESSION_NEW: &str = "session/new";
/// Client to agent: opens a session and replays it.
pub const SESSION_LOAD: &str = "session/load";
/// Client to agent: opens a session without its history.
pub const SESSION_RESUME: &str = "session/resume";
/// Client to agent: lists sessions.
pub const SESSION_LIST: &str = "session/list";
/// Client to agent: leaves a session.
pub const SESSION_CLOSE: &str = "session/close";
/// Client to agent: deletes a session.
pub const SESSION_DELETE: &str = "session/delete";
/// Client to agent: one input; its answer ends the turn.
pub const SESSION_PROMPT: &str = "session/prompt";
/// Client to agent, a notification: stops the turn.
pub const SESSION_CANCEL: &str = "session/cancel";
/// Client to agent: chooses a mode.
pub const SESSION_SET_MODE: &str = "session/set_mode";
/// Client to agent: chooses a value of an option.
pub const SESSION_SET_CONFIG_OPTION: &str = "session/set_config_option";
/// Client to agent: chooses a model. Gone from the schema, still sent by clients.
pub const SESSION_SET_MODEL: &str = "session/set_model";
/// Agent to client, a notification: news of a session.
pub const SESSION_UPDATE: &str = "session/update";
/// Agent to client: asks whether a tool call may run.
pub const SESSION_REQUEST_PERMISSION: &str = "session/request_permission";
/// Agent to client: reads a text file as the editor has it.
pub const FS_READ_TEXT_FILE: &str = "fs/read_text_file";
/// Agent to client: writes a text file through the editor.
pub const FS_WRITE_TEXT_FILE: &str = "fs/write_text_file";
/// Agent to client: starts a command.
pub const TERMINAL_CREATE: &str = "terminal/create";
/// Agent to client: returns the output so far.
pub const TERMINAL_OUTPUT: &str = "terminal/output";
/// Agent to client: waits for the command's end.
pub const TERMINAL_WAIT_FOR_EXIT: &str = "terminal/wait_for_exit";
/// Agent to client: ends the command.
pub const TERMINAL_KILL: &str = "terminal/kill";
/// Agent to client: ends the command and its id.
pub const TERMINAL_RELEASE: &str = "terminal/release";
/// Agent to client: asks the user to fill a form, or to open an address.
pub const ELICITATION_CREATE: &str = "elicitation/create";
/// Agent to client, a notification: what the user did at an address is done.
pub const ELICITATION_COMPLETE: &str = "elicitation/complete";
/// Both directions, a notification: the sender no longer wants an answer.
pub const CANCEL_REQUEST: &str = "$/cancel_request";
