//! `bobbin config`: what configuration files can say, and setting one value.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use bobbin_server::{config_files, console, state};
use bobbin_workspace::TrustFile;
use clap::{Args, Subcommand};
use serde_json::Value;

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
    /// Write a setting into your own configuration file, for all folders.
    Set {
        /// The setting, as Permissions.DefaultApprovalPolicy.
        #[arg(value_name = "NAME")]
        name: String,
        /// Its value: JSON, or else a text. Without a value the setting is removed.
        #[arg(value_name = "VALUE")]
        value: Option<String>,
        /// Write it into the folder's file instead, and trust it there.
        #[arg(long)]
        folder: bool,
        /// The folder; the one around the current directory when left out.
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
}

/// Does what was asked.
pub(crate) fn run(command: ConfigCommand) -> anyhow::Result<ExitCode> {
    match command.action {
        // The alternate form of a JSON value has lines.
        Action::Schema => console::stream(&format!("{:#}\n", bobbin_config::file::schema())),
        Action::Set {
            name,
            value,
            folder,
            workspace,
        } => {
            let last = name.rsplit('.').next().unwrap_or_default();
            if last.eq_ignore_ascii_case("ApiKey") {
                bail!("other users see the words of a command: `bobbin setup` asks for a key");
            }
            let workspace = state::workspace(workspace.as_deref())?;
            let trust = TrustFile::of(&state::directory()?, &workspace.root);
            let value = value.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text)));
            let verb = if value.is_some() { "sets" } else { "no longer sets" };
            let home = state::home();
            let file = config_files::set(&workspace.root, home.as_deref(), trust, folder, &name, value)?;
            console::say(&format!("{} {verb} {name}", file.display()));
            if workspace.holder().is_some() {
                console::note("A server runs here; it reads this when it starts again.");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
