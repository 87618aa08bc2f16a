//! The questions of `bobbin setup` on a terminal: a provider, its key, a test of both, and the model of new Threads.

use std::io::BufRead as _;

use anyhow::{Context as _, bail};
use bobbin_agent_api::workspace_config::{ConfigChange, ProviderChange, ProviderWire};
use bobbin_config::Config;
use bobbin_models::{Chosen, Provider};
use bobbin_server::models::{self, variable};
use bobbin_server::{console, state};
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

/// Providers that are known by name, with the variable of their keys.
const KNOWN: [(&str, &str, Option<&str>); 4] = [
    ("anthropic", "Anthropic", Some("ANTHROPIC_API_KEY")),
    ("openai", "OpenAI", Some("OPENAI_API_KEY")),
    ("openrouter", "OpenRouter", Some("OPENROUTER_API_KEY")),
    ("ollama", "Ollama on this machine", None),
];
/// Most models that are listed; others can be typed.
const MAX_LISTED: usize = 30;

/// Asks for a provider. `None`: its user wants none now.
///
/// # Errors
/// The terminal cannot be read.
pub(super) fn provider() -> anyhow::Result<Option<ProviderChange>> {
    console::note("Which provider of models do you use?");
    for (number, (_, label, _)) in (1..).zip(KNOWN) {
        console::note(&format!("  {number}  {label}"));
    }
    console::note("  5  another one");
    loop {
        let chosen = line("Number, or Enter for none: ")?;
        match chosen.as_str() {
            "" => return Ok(None),
            "5" => return other().map(Some),
            _ => {}
        }
        let known = chosen
            .parse::<usize>()
            .ok()
            .and_then(|number| KNOWN.get(number.checked_sub(1)?));
        let Some((name, _, key)) = known else {
            console::note("Type a number from 1 to 5.");
            continue;
        };
        let api_key = match key {
            None => None,
            Some(key) if variable(key).is_some() => {
                said(secret(&format!("API key, or Enter to use the variable {key}: "))?)
            }
            Some(_) => said(secret("API key: ")?),
        };
        return Ok(Some(ProviderChange {
            name: (*name).to_owned(),
            wire: None,
            base_url: None,
            api_key,
        }));
    }
}

fn other() -> anyhow::Result<ProviderChange> {
    let name = said(line("Name for it, in front of its models [custom]: ")?);
    let wire = loop {
        let wire = line("It speaks chat, responses or messages [chat]: ")?;
        break match wire.as_str() {
            "" | "chat" => ProviderWire::Chat,
            "responses" => ProviderWire::Responses,
            "messages" => ProviderWire::Messages,
            _ => continue,
        };
    };
    let base_url = loop {
        let address = line("Address, as https://HOST/v1: ")?;
        if address.starts_with("https://") || address.starts_with("http://") {
            break address;
        }
        console::note("An address starts with https:// or http://.");
    };
    Ok(ProviderChange {
        name: name.unwrap_or_else(|| "custom".to_owned()),
        wire: Some(wire),
        base_url: Some(base_url),
        api_key: said(secret("API key, or Enter for none: ")?),
    })
}

/// Asks the provider for its models, then its user for one of them; returns the change that makes it the default. `None`: the
/// provider does not answer, and its user wants to set it up again.
///
/// # Errors
/// The terminal cannot be read; the provider's settings cannot be used.
pub(super) async fn model(config: &Config, name: &str) -> anyhow::Result<Option<ConfigChange>> {
    let provider = provider_of(config, name)?;
    console::note(&format!("Asking {name} for its models …"));
    let models: Vec<String> = match provider.models().await {
        Ok(listed) => listed.into_iter().map(|model| model.id).collect(),
        Err(error) => {
            console::complain(&error.to_string());
            if line("Set it up again? [Y/n]: ")?.to_lowercase() != "n" {
                return Ok(None);
            }
            Vec::new()
        }
    };
    for (number, model) in (1..).zip(models.iter().take(MAX_LISTED)) {
        console::note(&format!("  {number}  {model}"));
    }
    if models.len() > MAX_LISTED {
        console::note(&format!("  … and {} more", models.len() - MAX_LISTED));
    }
    let usual = if models.is_empty() { "" } else { " [1]" };
    let chosen = loop {
        let mut typed = line(&format!("Default model, its number or name{usual}: "))?;
        if typed.is_empty() && !models.is_empty() {
            typed.push('1');
        }
        let number = typed
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        match number.map(|number| models.get(number)) {
            Some(Some(model)) => break model.clone(),
            Some(None) => {}
            None if typed.is_empty() => {}
            None => break typed,
        }
    };
    let prefix = format!("{name}/");
    let model = if chosen.starts_with(&prefix) {
        chosen
    } else {
        prefix + &chosen
    };
    Ok(Some(ConfigChange {
        model: Some(Some(model)),
        for_all_folders: true,
        ..ConfigChange::default()
    }))
}

fn provider_of(config: &Config, name: &str) -> anyhow::Result<Provider> {
    let home = state::home();
    let opened = models::open(&config.models, home.as_deref(), config.agent.compact_percent)?;
    match opened.models.choose(Some(&format!("{name}/model"))) {
        Ok(Chosen::Provided { provider, .. }) => Ok(provider),
        _ => bail!("{}", opened.complaints.join("; ")),
    }
}

fn said(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn line(question: &str) -> anyhow::Result<String> {
    console::ask(question);
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    if read.context("the terminal cannot be read")? == 0 {
        bail!("there is no answer");
    }
    Ok(line.trim().to_owned())
}

/// Reads a line that the terminal does not show.
fn secret(question: &str) -> anyhow::Result<String> {
    let terminal = std::io::stdin();
    let before = tcgetattr(&terminal).context("the terminal cannot hide a key")?;
    let mut hidden = before.clone();
    hidden.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(&terminal, SetArg::TCSANOW, &hidden).context("the terminal cannot hide a key")?;
    let read = line(question);
    tcsetattr(&terminal, SetArg::TCSANOW, &before).context("the terminal does not show what is typed")?;
    console::note("");
    read
}
