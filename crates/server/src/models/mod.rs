//! The configured models: the set of models from the settings of the files and their keys.
//!
//! The user's own `~/.craft/config.json` sets up providers. A workspace's file may choose a model and add a provider
//! without a key, if the user trusts it. Any author can put a file into a project, and could otherwise receive a key
//! or a conversation. Keys are in memory only.

mod catalog;
mod keys;

pub(crate) use catalog::{Catalog, protocol, tested, wire};
pub(crate) use keys::read_secret;
pub use keys::variable;

use std::path::Path;

use bobbin_models::settings::{KeyPlace, ModelSettings, Origin, ProviderEntry};
use bobbin_models::{ModelSet, Network, Provider, ProviderSettings, Proxies};

/// The models, and the problems of their configuration.
pub struct Opened {
    /// The usable models.
    pub models: ModelSet,
    /// Sentences for the user.
    pub complaints: Vec<String>,
}

/// Returns the set of models, without connecting to any. An unusable provider is left out, with a complaint.
///
/// `compact_percent` is the share of a window at which conversations are compacted.
///
/// # Errors
/// The address of a proxy cannot be used.
pub fn open(
    settings: &ModelSettings,
    home: Option<&Path>,
    compact_percent: Option<u64>,
) -> anyhow::Result<Opened> {
    let (proxies, mut complaints) = proxies();
    let network = Network::new(&proxies)?;
    let mut providers = Vec::new();
    for entry in &settings.providers {
        match Provider::new(provider(entry, home), &network) {
            Ok(provider) => providers.push(provider),
            Err(error) => complaints.push(error.to_string()),
        }
    }
    let models = ModelSet::new(
        std::sync::Arc::new(bobbin_offline::Offline),
        providers,
        settings.model.clone(),
    )
    .chosen_by(settings.source.clone())
    .with_fallbacks(settings.fallbacks.clone())
    .compacted_at(compact_percent)
    .priced_in(settings.currency.clone());
    let names = settings.fallbacks.iter().map(|name| Some(name.as_str()));
    for name in names.chain([None]) {
        if let Err(unknown) = models.choose(name) {
            complaints.push(unknown.to_string());
        }
    }
    Ok(Opened { models, complaints })
}

/// Returns a provider with its key, if there is one.
pub(crate) fn provider(entry: &ProviderEntry, home: Option<&Path>) -> ProviderSettings {
    let found = keys::find(&entry.key, home);
    ProviderSettings {
        // A built-in provider is offered only if there is a key for it.
        offered: entry.origin != Origin::BuiltIn || found.key.is_some(),
        key_variable: match (&entry.key, &found.key) {
            (KeyPlace::Variable(name), None) => Some(name.clone()),
            _ => None,
        },
        key: found.key,
        needs_key: !matches!(entry.key, KeyPlace::Nowhere | KeyPlace::Withheld),
        key_source: found.source,
        ..entry.settings.clone()
    }
}

/// Returns the proxies of the environment, with a sentence for each unusable one.
fn proxies() -> (Proxies, Vec<String>) {
    let either = |name: &str| variable(name).or_else(|| variable(&name.to_ascii_uppercase()));
    let mut complaints = Vec::new();
    let mut usable = |name: &str, address: Option<String>| {
        let address = address.filter(|address| !address.trim().is_empty())?;
        if bobbin_models::is_proxy(&address) {
            return Some(address);
        }
        // The address may contain a password.
        complaints.push(format!(
            "The variable {name} is not used: it is no address of a proxy, as http://HOST:PORT or socks5://HOST:PORT"
        ));
        None
    };
    let all = usable("all_proxy", either("all_proxy"));
    // In a CGI program HTTP_PROXY can be a client's header; only the lower-case name is safe.
    let http = usable("http_proxy", variable("http_proxy")).or_else(|| all.clone());
    let https = usable("https_proxy", either("https_proxy")).or(all);
    let except = either("no_proxy");
    (Proxies { http, https, except }, complaints)
}
