//! `ext/*`, and the rest of what the server asks of a client (AppServer protocol 04 §7 to §9).

pub(crate) mod connection;
pub(crate) mod dynamic;
pub mod types;

use crate::group::{Group, Method};
use crate::wire;

pub(crate) const EXT_ACP_FS_READ_TEXT_FILE: &str = "ext/acp/fs/readTextFile";
pub(crate) const EXT_ACP_FS_WRITE_TEXT_FILE: &str = "ext/acp/fs/writeTextFile";
pub(crate) const EXT_ACP_TERMINAL_CREATE: &str = "ext/acp/terminal/create";
pub(crate) const EXT_ACP_TERMINAL_GET_OUTPUT: &str = "ext/acp/terminal/getOutput";
pub(crate) const EXT_ACP_TERMINAL_WAIT_FOR_EXIT: &str = "ext/acp/terminal/waitForExit";
pub(crate) const EXT_ACP_TERMINAL_KILL: &str = "ext/acp/terminal/kill";
pub(crate) const EXT_ACP_TERMINAL_RELEASE: &str = "ext/acp/terminal/release";

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::server_request::<wire::AcpReadTextFileParams, wire::AcpReadTextFileResult>(
            EXT_ACP_FS_READ_TEXT_FILE,
            "Reads a file through the editor.",
        ),
        Method::server_request::<wire::AcpWriteTextFileParams, wire::AcpWriteTextFileResult>(
            EXT_ACP_FS_WRITE_TEXT_FILE,
            "Writes a file through the editor.",
        ),
        Method::server_request::<wire::AcpTerminalCreateParams, wire::AcpTerminalCreateResult>(
            EXT_ACP_TERMINAL_CREATE,
            "Runs a command in the editor.",
        ),
        Method::server_request::<wire::AcpTerminalParams, wire::AcpTerminalOutputResult>(
            EXT_ACP_TERMINAL_GET_OUTPUT,
            "Reads the output of a command in the editor.",
        ),
        Method::server_request::<wire::AcpTerminalWaitParams, wire::AcpTerminalWaitResult>(
            EXT_ACP_TERMINAL_WAIT_FOR_EXIT,
            "Waits for a command in the editor.",
        ),
        Method::server_request::<wire::AcpTerminalParams, wire::EmptyResult>(
            EXT_ACP_TERMINAL_KILL,
            "Ends a command in the editor.",
        ),
        Method::server_request::<wire::AcpTerminalParams, wire::EmptyResult>(
            EXT_ACP_TERMINAL_RELEASE,
            "Closes a terminal in the editor.",
        ),
        Method::server_request::<wire::NodeReplEvaluateParams, wire::NodeReplEvaluateResult>(
            "ext/nodeRepl/evaluate",
            "Runs JavaScript in the client.",
        )
        .later(),
        Method::server_request::<wire::NodeReplCancelParams, wire::NodeReplCancelResult>(
            "ext/nodeRepl/cancel",
            "Gives up an evaluation.",
        )
        .later(),
    ],
    ..Group::EMPTY
};
