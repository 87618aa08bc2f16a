//! `bobbin setup`: the first configuration of a folder, as the first-run dialog of desktop clients asks for it.

use std::process::ExitCode;

use anyhow::Context as _;
use bobbin_agent_api::workspace_config::ConfigChange;
use bobbin_config::edit;
use bobbin_serve::{config_files, console, state};
use bobbin_workspace::TrustFile;
use clap::Args;

/// Arguments of `bobbin setup`.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// The usual model of this folder.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Address of its provider, which speaks the chat completions wire; written into your own configuration.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Key for that address; written into your own configuration. Other users see it in `ps` meanwhile.
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// Make the model the usual one of all folders too.
    #[arg(long)]
    save_user_config: bool,
    /// Leave the address and the key that your own configuration has.
    #[arg(long)]
    prefer_existing_user_config: bool,
    /// Taken from clients that pass it; has no effect.
    #[arg(long, value_name = "LANGUAGE", hide = true)]
    language: Option<String>,
    /// Taken from clients that pass it; has no effect.
    #[arg(long, value_name = "PROFILE", hide = true)]
    profile: Option<String>,
}

/// Writes the files.
pub(crate) fn run(setup: Setup) -> anyhow::Result<ExitCode> {
    let here = std::env::current_dir().context("there is no current directory")?;
    let workspace = state::workspace(Some(&here))?;
    let home = state::home();
    let given = |value: Option<String>| value.filter(|value| !value.trim().is_empty());
    let own = home.as_deref().map(edit::users_file);
    let has_own = |name: &str| -> anyhow::Result<bool> {
        match &own {
            Some(own) if setup.prefer_existing_user_config => Ok(edit::get(own, &[name])?.is_some()),
            _ => Ok(false),
        }
    };
    let (has_end_point, has_key) = (has_own("EndPoint")?, has_own("ApiKey")?);
    let model = given(setup.model);
    let change = ConfigChange {
        model: model.clone().map(Some),
        end_point: given(setup.endpoint).filter(|_| !has_end_point).map(Some),
        api_key: given(setup.api_key).filter(|_| !has_key).map(Some),
        ..ConfigChange::default()
    };
    let trust = TrustFile::of(&state::directory()?, &workspace.root);
    config_files::set_up(&workspace.root, home.as_deref(), trust, &change)?;
    if let (true, Some(own), Some(model)) = (setup.save_user_config, &own, model) {
        edit::set(own, &[(&["Model"], Some(model.into()))])?;
    }
    console::say(&format!("{} is set up", workspace.root.display()));
    if workspace.holder().is_some() {
        console::note("A server runs here; it reads this when it starts again.");
    }
    Ok(ExitCode::SUCCESS)
}
