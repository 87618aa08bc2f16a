//! `bobbin models`: lists what `model/list` has, the configuration's model marked.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use bobbin_native_wire::models::types::ModelListResult;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{config, console, state, telemetry};
use clap::Args;
use serde_json::json;

use crate::call::{ask_server, asking, call};

/// Arguments of `bobbin models`.
#[derive(Debug, Args)]
pub(crate) struct Models {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Lists the models.
pub(crate) async fn run(models: Models) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let workspace = state::workspace(models.workspace.as_deref())?;
    let config = config::read(&workspace.root, state::home().as_deref())?;
    let listed: ModelListResult = ask_server(&workspace, &config, asking("bobbin-models"), async |client| {
        call(client, "model/list", &json!({})).await
    })
    .await?;
    let default = config.models.model.as_deref().unwrap_or("offline");
    for model in &listed.models {
        if models.json {
            let mut line = serde_json::to_value(model)?;
            line["isDefault"] = (model.id == default).into();
            console::data(&line);
            continue;
        }
        let mark = if model.id == default { "*" } else { " " };
        let efforts = model.reasoning_efforts.iter().flatten();
        let efforts: Vec<String> = efforts
            .filter_map(|effort| serde_json::to_value(effort).ok()?.as_str().map(str::to_owned))
            .collect();
        let efforts = if efforts.is_empty() {
            String::new()
        } else {
            format!("  (effort: {})", efforts.join(", "))
        };
        console::say(&format!("{mark} {}{efforts}", model.id));
    }
    if !listed.success {
        bail!(
            "a provider could not list its models: {}",
            listed.error_message.as_deref().unwrap_or("it did not say why")
        );
    }
    Ok(ExitCode::SUCCESS)
}
