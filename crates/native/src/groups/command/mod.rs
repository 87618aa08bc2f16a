//! `command/*`: slash commands (AppServer protocol 05 §6).

pub(crate) mod handlers;

use bobbin_native_wire::command::types::{
    CommandExecuteParams, CommandExecuteResult, CommandListParams, CommandListResult,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

/// The parts of commands that are missing.
const BUILT_IN_COMMANDS: &str = "built in are `/help`, `/new`, `/stop`, and `/heartbeat` and `/cron` where jobs run (-32062 \
    elsewhere); there is no `/debug`. Descriptions are English";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::COMMANDS, Some("commandManagement");
        request "command/list" (CommandListParams => CommandListResult)
            [] now_with(prompts) handlers::list, needs Read:
            "Lists the slash commands.", spec "05 §6",
            test "native/commands_and_skills: commands_are_listed_and_executed",
            partial BUILT_IN_COMMANDS;
        request "command/execute" (CommandExecuteParams => CommandExecuteResult)
            [ThreadNotFound, CommandNotFound, CommandDenied, CommandServiceMissing] wait_with(prompts) handlers::execute, needs Prompt:
            "Runs a slash command, or returns the text of a custom one.", spec "05 §6",
            test "native/commands_and_skills: commands_are_listed_and_executed",
            partial BUILT_IN_COMMANDS;
    },
    capabilities: |server, capabilities| {
        capabilities.command_management = server.services().prompts.is_some();
    },
    ..Group::EMPTY
};
