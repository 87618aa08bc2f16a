//! Checks which model answers, and whether its provider accepts the key.

use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};
use bobbin_config::Config;
use bobbin_models::settings::KeyPlace;
use bobbin_models::{Chosen, ProviderError};

use crate::models::{self, variable};
use crate::state;

/// Reports the default model and asks its provider for the list of models, which tests address, key and name.
pub(super) async fn model(config: &Config, report: &mut DoctorReport) {
    const WHAT: &str = "model";
    let opened = match models::open(
        &config.models,
        state::home().as_deref(),
        config.agent.compact_percent,
    ) {
        Ok(opened) => opened,
        Err(error) => return report.add(WHAT, DoctorLevel::Error, format!("{error:#}")),
    };
    for complaint in opened.complaints {
        report.add(WHAT, DoctorLevel::Error, complaint);
    }
    let (provider, model) = match opened.models.choose(None) {
        Ok(Chosen::Provided { provider, model }) => (provider, model),
        Ok(Chosen::Offline) => {
            let text = "offline: no model is configured; the built-in engine answers";
            return report.add_mendable(WHAT, DoctorLevel::Warning, text, how_to_have_one(config));
        }
        // Already reported.
        Err(_) => return,
    };
    if let Some(notice) = opened.models.default_model().notice() {
        report.add(WHAT, DoctorLevel::Warning, notice);
    }
    let (name, place) = (opened.models.usual(), provider.place());
    let key = match &provider.settings().key {
        Some(_) => format!("the key is from {}", provider.settings().key_source),
        None => "no key".to_owned(),
    };
    let (verdict, text) = match provider.models().await {
        Ok(listed) if listed.iter().any(|listed| listed.id == model) => {
            (DoctorLevel::Ok, format!("{name} at {place}, which has it; {key}"))
        }
        Ok(listed) => {
            let text = format!(
                "{name} at {place}, which lists {} others and not this one; {key}",
                listed.len()
            );
            (DoctorLevel::Warning, text)
        }
        Err(ProviderError::UnknownModel { .. } | ProviderError::Malformed { .. }) => (
            DoctorLevel::Warning,
            format!("{name} at {place}, which has no list of models; {key}"),
        ),
        Err(error) => (DoctorLevel::Error, format!("{name}: {error}")),
    };
    report.add(WHAT, verdict, text);
    if provider.shows_its_key() {
        let text = format!("the key goes to {place} unencrypted");
        report.add_mendable(WHAT, DoctorLevel::Warning, text, "use https");
    }
}

/// Returns the providers whose keys the environment has, each with its variable.
fn keys(config: &Config) -> Vec<(&str, &str)> {
    let providers = config.models.providers.iter();
    let named = providers.filter_map(|entry| match &entry.key {
        KeyPlace::Variable(name) => Some((entry.settings.name.as_str(), name.as_str())),
        _ => None,
    });
    named.filter(|(_, name)| variable(name).is_some()).collect()
}

/// Returns advice to get a model, as the end of a sentence.
fn how_to_have_one(config: &Config) -> String {
    match keys(config).first() {
        Some((provider, variable)) => format!(
            "{variable} is set: put {{ \"Model\": \"{provider}/NAME\" }} into ~/.craft/config.json, or try \
             `bobbin exec --model {provider}/NAME`"
        ),
        None => {
            "run `bobbin setup`, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY".to_owned()
        }
    }
}
