//! `bobbin config`: what configuration files can say.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use bobbin_serve::console;

/// Arguments of `bobbin config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the JSON Schema of configuration files, for editors.
    Schema,
}

/// Does what was asked.
pub(crate) fn run(command: &ConfigCommand) -> ExitCode {
    match command.action {
        // The alternate form of a JSON value has lines.
        Action::Schema => console::stream(&format!("{:#}\n", bobbin_config::file::schema())),
    }
    ExitCode::SUCCESS
}
