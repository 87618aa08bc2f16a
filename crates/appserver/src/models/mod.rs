//! The models that are configured: what the files say, where the keys come from, and the set made of it.
//!
//! Who may say what: the user's own `~/.craft/config.json` sets providers up; a workspace's file may choose a model
//! and bring a provider that gets no key. Anybody can put a file into a project, and a key sent to an address of
//! its choosing would be gone. Keys are in memory only.

mod catalog;
mod keys;
mod settings;

pub(crate) use catalog::Catalog;
pub(crate) use keys::variable;
pub(crate) use settings::ModelSettings;

use std::path::Path;

use bobbin_models::{ModelSet, Network, Provider, ProviderSettings, Proxies};

use keys::KeyPlace;
use settings::ProviderEntry;

/// The models, and what is wrong with their configuration.
pub(crate) struct Opened {
    pub(crate) models: ModelSet,
    /// Sentences for the user.
    pub(crate) complaints: Vec<String>,
}

/// Makes the set of models; connects nowhere. What cannot be used is left out and complained of.
///
/// # Errors
/// There is no TLS on this machine, or a proxy's address cannot be used.
pub(crate) fn open(settings: &ModelSettings, home: Option<&Path>) -> anyhow::Result<Opened> {
    let network = Network::new(&proxies())?;
    let mut complaints = Vec::new();
    let mut providers = Vec::new();
    for entry in &settings.providers {
        match Provider::new(provider(entry, home), &network) {
            Ok(provider) => providers.push(provider),
            Err(error) => complaints.push(error.to_string()),
        }
    }
    let models = ModelSet::new(providers, settings.model.clone()).with_fallbacks(settings.fallbacks.clone());
    let names = settings.fallbacks.iter().map(|name| Some(name.as_str()));
    for name in names.chain([None]) {
        if let Err(unknown) = models.choose(name) {
            complaints.push(unknown.to_string());
        }
    }
    Ok(Opened { models, complaints })
}

fn provider(entry: &ProviderEntry, home: Option<&Path>) -> ProviderSettings {
    let found = keys::find(&entry.key, home);
    ProviderSettings {
        name: entry.name.clone(),
        wire: entry.wire,
        base_url: entry.base_url.clone(),
        models: entry.models.clone(),
        // A provider that nobody set up is offered once there is a key for it.
        offered: !entry.built_in || found.key.is_some(),
        key: found.key,
        needs_key: !matches!(entry.key, KeyPlace::Nowhere | KeyPlace::Withheld),
        key_source: found.source,
        headers: entry.headers.clone(),
        max_output_tokens: entry.max_output_tokens,
        body: entry.body.clone(),
        limits: entry.limits,
    }
}

/// Reads what the environment says of proxies, in either case of letters.
fn proxies() -> Proxies {
    let either = |name: &str| variable(name).or_else(|| variable(&name.to_ascii_uppercase()));
    let all = either("all_proxy");
    Proxies {
        // A server's HTTP_PROXY can be a header of its client; only the spelling in small letters is safe.
        http: variable("http_proxy").or_else(|| all.clone()),
        https: either("https_proxy").or(all),
        except: either("no_proxy"),
    }
}
