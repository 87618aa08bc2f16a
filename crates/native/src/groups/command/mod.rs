//! `command/*`: slash commands (AppServer protocol 05 §6).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{CommandExecuteParams, CommandExecuteResult, CommandListParams, CommandListResult};

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "command/list" (CommandListParams => CommandListResult) [] now_with(prompts) handlers::list:
            "Lists the slash commands.";
        request "command/execute" (CommandExecuteParams => CommandExecuteResult)
            [ThreadNotFound, CommandNotFound, CommandDenied, CommandServiceMissing] wait_with(prompts) handlers::execute:
            "Runs a slash command, or returns the text of a custom one.";
    },
    capabilities: |server, capabilities| {
        capabilities.command_management = server.services().prompts.is_some();
    },
    ..Group::EMPTY
};
