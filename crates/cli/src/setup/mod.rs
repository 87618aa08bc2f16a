//! `bobbin setup`: the first configuration of a folder. On a terminal it asks; desktop clients name everything by options.

mod questions;

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use bobbin_agent_api::model_catalog::DefaultSource;
use bobbin_agent_api::trust::TrustChange;
use bobbin_agent_api::workspace_config::ConfigChange;
use bobbin_server::trust::Scan;
use bobbin_server::{config, config_files, console, state};
use bobbin_settings::edit;
use bobbin_workspace::TrustFile;
use clap::Args;

use crate::first_start;

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

impl Setup {
    /// Whether a user is there to be asked, and has not said anything yet.
    fn may_ask(&self) -> bool {
        let is_said = self.model.is_some() || self.endpoint.is_some() || self.api_key.is_some();
        !is_said && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

/// Asks for a provider and a model, and writes each answer.
async fn ask(root: &Path, home: Option<&Path>) -> anyhow::Result<()> {
    let trust = || Ok::<_, anyhow::Error>(TrustFile::of(&state::directory()?, root));
    while let Some(provider) = questions::provider()? {
        let name = provider.name.clone();
        let change = ConfigChange {
            provider: Some(provider),
            ..ConfigChange::default()
        };
        if let Err(error) = config_files::change(root, home, trust()?, &change) {
            console::complain(&format!("{error:#}"));
            continue;
        }
        let config = config::read(root, home)?;
        if let Some(change) = questions::model(&config, &name).await? {
            return config_files::change(root, home, trust()?, &change);
        }
    }
    Ok(())
}

/// Writes the files.
pub(crate) async fn run(setup: Setup) -> anyhow::Result<ExitCode> {
    let here = std::env::current_dir().context("there is no current directory")?;
    let workspace = state::workspace(Some(&here))?;
    let home = state::home();
    let asks = setup.may_ask();
    if asks {
        ask(&workspace.root, home.as_deref()).await?;
        first_start::choose_policy(&workspace).await?;
    }
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
    // A desktop client takes the file as the sign that the folder is set up; no other client needs an empty one.
    if !asks {
        config_files::set_up(&workspace.root, home.as_deref(), trust.clone(), &change)?;
    }
    if let (true, Some(own), Some(model)) = (setup.save_user_config, &own, model) {
        edit::set(own, &[(&["Model"], Some(model.into()))])?;
    }
    console::say(&format!("{} is set up", workspace.root.display()));
    let record = trust.read();
    let config = config::read_with(&workspace.root, home.as_deref(), &record)?;
    let scan = Scan::of(&config, &record, &workspace.root, home.as_deref());
    match scan.sentence() {
        Some(waits) => console::note(&waits),
        // What its user writes there from now on is the user's own.
        None => drop(trust.change(|record| scan.apply(&TrustChange::TrustAll, record))?),
    }
    match (&config.models.model, &config.models.source) {
        (Some(model), DefaultSource::Key { variable }) => {
            console::note(&format!("New threads use {model}, because {variable} is set."));
        }
        (Some(model), _) => console::note(&format!("New threads use {model}.")),
        (None, _) => console::note("No model is set yet: the offline engine answers."),
    }
    if workspace.holder().is_some() {
        console::note("A server runs here; it reads this when it starts again.");
    }
    Ok(ExitCode::SUCCESS)
}
