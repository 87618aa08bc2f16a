//! `command/*`: slash commands (AppServer protocol 05 §6).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, Method};
use crate::wire::{self, ErrorCode};

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[
        Method::request::<wire::CommandListParams, wire::CommandListResult>(
            "command/list",
            "Lists the slash commands.",
            &[],
            |call| call.now_with(|of| of.prompts.as_ref(), handlers::list),
        ),
        Method::request::<wire::CommandExecuteParams, wire::CommandExecuteResult>(
            "command/execute",
            "Runs a slash command, or returns the text of a custom one.",
            &[
                ErrorCode::ThreadNotFound,
                ErrorCode::CommandNotFound,
                ErrorCode::CommandDenied,
                ErrorCode::CommandServiceMissing,
            ],
            |call| call.wait_with(|of| of.prompts.as_ref(), handlers::execute),
        ),
    ],
    capabilities: |server, capabilities| {
        capabilities.command_management = server.services.prompts.is_some();
    },
    ..Group::EMPTY
};
