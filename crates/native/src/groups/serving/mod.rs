//! `ext/*` and the server's other requests to a client (AppServer protocol 04 §7 to §9).

pub(crate) mod connection;
pub(crate) mod dynamic;
pub mod types;

use crate::group::{Group, rows};
use crate::wire::{
    AcpReadTextFileParams, AcpReadTextFileResult, AcpTerminalCreateParams, AcpTerminalCreateResult,
    AcpTerminalOutputResult, AcpTerminalParams, AcpTerminalWaitParams, AcpTerminalWaitResult,
    AcpWriteTextFileParams, AcpWriteTextFileResult, EmptyResult, NodeReplCancelParams, NodeReplCancelResult,
    NodeReplEvaluateParams, NodeReplEvaluateResult,
};

pub(crate) const EXT_ACP_FS_READ_TEXT_FILE: &str = "ext/acp/fs/readTextFile";
pub(crate) const EXT_ACP_FS_WRITE_TEXT_FILE: &str = "ext/acp/fs/writeTextFile";
pub(crate) const EXT_ACP_TERMINAL_CREATE: &str = "ext/acp/terminal/create";
pub(crate) const EXT_ACP_TERMINAL_GET_OUTPUT: &str = "ext/acp/terminal/getOutput";
pub(crate) const EXT_ACP_TERMINAL_WAIT_FOR_EXIT: &str = "ext/acp/terminal/waitForExit";
pub(crate) const EXT_ACP_TERMINAL_KILL: &str = "ext/acp/terminal/kill";
pub(crate) const EXT_ACP_TERMINAL_RELEASE: &str = "ext/acp/terminal/release";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        server_request EXT_ACP_FS_READ_TEXT_FILE (AcpReadTextFileParams => AcpReadTextFileResult):
            "Reads a file through the editor.";
        server_request EXT_ACP_FS_WRITE_TEXT_FILE (AcpWriteTextFileParams => AcpWriteTextFileResult):
            "Writes a file through the editor.";
        server_request EXT_ACP_TERMINAL_CREATE (AcpTerminalCreateParams => AcpTerminalCreateResult):
            "Runs a command in the editor.";
        server_request EXT_ACP_TERMINAL_GET_OUTPUT (AcpTerminalParams => AcpTerminalOutputResult):
            "Reads the output of a command in the editor.";
        server_request EXT_ACP_TERMINAL_WAIT_FOR_EXIT (AcpTerminalWaitParams => AcpTerminalWaitResult):
            "Waits for a command in the editor.";
        server_request EXT_ACP_TERMINAL_KILL (AcpTerminalParams => EmptyResult):
            "Ends a command in the editor.";
        server_request EXT_ACP_TERMINAL_RELEASE (AcpTerminalParams => EmptyResult):
            "Closes a terminal in the editor.";
        @later server_request "ext/nodeRepl/evaluate" (NodeReplEvaluateParams => NodeReplEvaluateResult):
            "Runs JavaScript in the client.";
        @later server_request "ext/nodeRepl/cancel" (NodeReplCancelParams => NodeReplCancelResult):
            "Gives up an evaluation.";
    },
    ..Group::EMPTY
};
