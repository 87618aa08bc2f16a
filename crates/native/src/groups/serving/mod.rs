//! `ext/*` and the server's other requests to a client (AppServer protocol 04 §7 to §9).

pub(crate) mod connection;
pub(crate) mod dynamic;

use bobbin_native_wire::handshake::types::EmptyResult;
use bobbin_native_wire::serving::types::{
    AcpReadTextFileParams, AcpReadTextFileResult, AcpTerminalCreateParams, AcpTerminalCreateResult,
    AcpTerminalOutputResult, AcpTerminalParams, AcpTerminalWaitParams, AcpTerminalWaitResult,
    AcpWriteTextFileParams, AcpWriteTextFileResult, NodeReplCancelParams, NodeReplCancelResult,
    NodeReplEvaluateParams, NodeReplEvaluateResult,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const EXT_ACP_FS_READ_TEXT_FILE: &str = "ext/acp/fs/readTextFile";
pub(crate) const EXT_ACP_FS_WRITE_TEXT_FILE: &str = "ext/acp/fs/writeTextFile";
pub(crate) const EXT_ACP_TERMINAL_CREATE: &str = "ext/acp/terminal/create";
pub(crate) const EXT_ACP_TERMINAL_GET_OUTPUT: &str = "ext/acp/terminal/getOutput";
pub(crate) const EXT_ACP_TERMINAL_WAIT_FOR_EXIT: &str = "ext/acp/terminal/waitForExit";
pub(crate) const EXT_ACP_TERMINAL_KILL: &str = "ext/acp/terminal/kill";
pub(crate) const EXT_ACP_TERMINAL_RELEASE: &str = "ext/acp/terminal/release";

/// The tools that ask a client for files.
const FILES: &str = "asked by `ReadFile`, `WriteFile` and, where both are declared, `EditFile`; searching and listing \
    is done on the server's machine";

/// The parts of commands on a client that are missing.
const COMMANDS: &str = "no `env`; output is shown when the command has ended; commands that only the sandbox may run, \
    and those of threads that ask nobody, run on the server's machine";

/// The reason for which no client is asked for a JavaScript console.
const NODE_REPL: &str =
    "never sent. Decided: a client that has a JavaScript console offers it as a dynamic tool";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::SERVING, None;
        server_request EXT_ACP_FS_READ_TEXT_FILE (AcpReadTextFileParams => AcpReadTextFileResult), needs Prompt:
            "Reads a file through the editor.", spec "04 §8",
            test "native/editor_proxy: a_file_is_read_as_the_editor_has_it",
            note FILES;
        server_request EXT_ACP_FS_WRITE_TEXT_FILE (AcpWriteTextFileParams => AcpWriteTextFileResult), needs Prompt:
            "Writes a file through the editor.", spec "04 §8",
            test "native/editor_proxy: a_file_is_read_as_the_editor_has_it",
            note FILES;
        server_request EXT_ACP_TERMINAL_CREATE (AcpTerminalCreateParams => AcpTerminalCreateResult), needs Prompt:
            "Runs a command in the editor.", spec "04 §8",
            test "native/editor_proxy: a_command_runs_in_a_terminal_of_the_editor",
            partial COMMANDS;
        server_request EXT_ACP_TERMINAL_GET_OUTPUT (AcpTerminalParams => AcpTerminalOutputResult), needs Prompt:
            "Reads the output of a command in the editor.", spec "04 §8",
            test "native/editor_proxy: a_command_runs_in_a_terminal_of_the_editor",
            partial COMMANDS;
        server_request EXT_ACP_TERMINAL_WAIT_FOR_EXIT (AcpTerminalWaitParams => AcpTerminalWaitResult), needs Prompt:
            "Waits for a command in the editor.", spec "04 §8",
            test "native/editor_proxy: a_command_runs_in_a_terminal_of_the_editor",
            partial COMMANDS;
        server_request EXT_ACP_TERMINAL_KILL (AcpTerminalParams => EmptyResult), needs Prompt:
            "Ends a command in the editor.", spec "04 §8",
            test "native/editor_proxy: a_command_runs_in_a_terminal_of_the_editor",
            partial COMMANDS;
        server_request EXT_ACP_TERMINAL_RELEASE (AcpTerminalParams => EmptyResult), needs Prompt:
            "Closes a terminal in the editor.", spec "04 §8",
            test "native/editor_proxy: a_command_runs_in_a_terminal_of_the_editor",
            partial COMMANDS;
        @later server_request "ext/nodeRepl/evaluate" (NodeReplEvaluateParams => NodeReplEvaluateResult), needs Prompt:
            "Runs JavaScript in the client.", spec "04 §9",
            note NODE_REPL;
        @later server_request "ext/nodeRepl/cancel" (NodeReplCancelParams => NodeReplCancelResult), needs Prompt:
            "Gives up an evaluation.", spec "04 §9",
            note NODE_REPL;
    },
    ..Group::EMPTY
};
