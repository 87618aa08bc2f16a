//! The configuration of this process, and `bobbin config`: what configuration files can say.

use std::path::Path;
use std::process::ExitCode;

use bobbin_config::Config;
use bobbin_workspace::{TrustFile, TrustRecord};
use clap::{Args, Subcommand};

use crate::models::variable;
use crate::{console, state};

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

/// Reads both files. What the workspace's file loosens counts as far as its user trusts it.
///
/// # Errors
/// As [`Config::read`].
pub(crate) fn read(workspace: &Path, home: Option<&Path>) -> anyhow::Result<Config> {
    let state = state::directory().ok();
    let record = state.map(|state| TrustFile::of(&state, workspace).read());
    read_with(workspace, home, &record.unwrap_or_default())
}

/// Reads both files with what the user has said about the workspace.
///
/// # Errors
/// As [`Config::read`].
pub(crate) fn read_with(
    workspace: &Path,
    home: Option<&Path>,
    record: &TrustRecord,
) -> anyhow::Result<Config> {
    let mut config = Config::read(workspace, home, record)?;
    if let Some(model) = variable("BOBBIN_MODEL") {
        config.models.choose(&model);
    }
    Ok(config)
}
