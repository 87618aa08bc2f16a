//! The settings of models and their providers.
//!
//! ```json
//! { "Model": "anthropic/claude-sonnet-4-5",
//!   "Providers": {
//!     "anthropic": { "ApiKeyFile": "~/.craft/anthropic.key" },
//!     "local": { "Wire": "chat", "BaseUrl": "http://127.0.0.1:8080/v1", "Models": ["qwen"] } } }
//! ```
//!
//! The protocol's clients write `Model`, `EndPoint` and `ApiKey` only; these are a provider named `endpoint`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use bobbin_agent_api::model_catalog::DefaultSource;
use bobbin_settings::Source;
use serde_json::{Value, json};

use super::key_place::{KeyPlace, expanded};
use super::section::{ProviderSection, Section};
use super::{Key, ProviderSettings, Wire};
use crate::{ModelFacts, OFFLINE, Price};

/// Name of the provider that `EndPoint` is.
const ENDPOINT: &str = "endpoint";
/// Providers that need no settings: name, wire, address, variable of the key.
const BUILT_IN: [(&str, Wire, &str, Option<&str>); 4] = [
    (
        "openai",
        Wire::Responses,
        "https://api.openai.com/v1",
        Some("OPENAI_API_KEY"),
    ),
    (
        "anthropic",
        Wire::Messages,
        "https://api.anthropic.com/v1",
        Some("ANTHROPIC_API_KEY"),
    ),
    (
        "openrouter",
        Wire::ChatCompletions,
        "https://openrouter.ai/api/v1",
        Some("OPENROUTER_API_KEY"),
    ),
    ("ollama", Wire::ChatCompletions, "http://127.0.0.1:11434/v1", None),
];
/// The default model of a built-in provider if only its key is set. As of November 2026.
const FIRST_MODELS: [(&str, &str); 3] = [
    ("openai", "gpt-5"),
    ("anthropic", "claude-sonnet-4-5"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
];
/// Whether a provider is built in and needs no address.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN
        .iter()
        .any(|(known, ..)| known.eq_ignore_ascii_case(name))
}

/// Returns the address of a built-in provider.
pub fn built_in_address(name: &str) -> Option<&'static str> {
    let mut known = BUILT_IN.iter();
    let found = known.find(|(known, ..)| known.eq_ignore_ascii_case(name));
    found.map(|(_, _, address, _)| *address)
}

/// Default window of the models of `ollama`, in tokens.
const OLLAMA_WINDOW: u64 = 32_768;
/// Most attempts of one request.
const MAX_ATTEMPTS: u64 = 10;
/// Longest wait that a file can set: a week.
const MAX_SECONDS: u64 = 7 * 24 * 3600;

/// The settings of models.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// The default model, as `PROVIDER/MODEL` if the provider is known; `None`: offline.
    pub model: Option<String>,
    /// The source of the default model.
    pub source: DefaultSource,
    /// Models to try in order when a provider fails.
    pub fallbacks: Vec<String>,
    /// The currency of all prices, as three capital letters.
    pub currency: Option<String>,
    /// Providers of the files first, then the built-in ones.
    pub providers: Vec<ProviderEntry>,
    /// Sentences for the user.
    pub warnings: Vec<String>,
}

/// One provider.
#[derive(Debug, Clone)]
pub struct ProviderEntry {
    /// Its name for users.
    pub display_name: Option<String>,
    /// Its settings, without the key and what depends on it.
    pub settings: ProviderSettings,
    /// The source of its key.
    pub key: KeyPlace,
    /// The file that declares it.
    pub origin: Origin,
}

impl ProviderEntry {
    fn is_named(&self, name: &str) -> bool {
        self.settings.name.eq_ignore_ascii_case(name)
    }
}

/// The origin of a provider. A bare model name is looked up in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The user's own file.
    User,
    /// The workspace's file.
    Project,
    /// No file names it.
    BuiltIn,
}

impl Origin {
    fn of(source: &Source<'_>) -> Self {
        if source.is_of_folder() {
            Self::Project
        } else {
            Self::User
        }
    }
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            model: None,
            source: DefaultSource::Nothing,
            fallbacks: Vec::new(),
            currency: None,
            providers: BUILT_IN.into_iter().map(built_in).collect(),
            warnings: Vec::new(),
        }
    }
}

impl ModelSettings {
    /// Adds the settings of one file. The user's file comes first.
    ///
    /// # Errors
    /// A provider cannot be used.
    pub fn add(&mut self, mut section: Section, source: &mut Source<'_>) -> anyhow::Result<()> {
        self.add_endpoint(&mut section, source)?;
        for (name, provider) in section.providers {
            if name.is_empty()
                || name.contains('/')
                || name.eq_ignore_ascii_case(OFFLINE)
                || name.eq_ignore_ascii_case(ENDPOINT)
            {
                bail!("Providers.{name} has a name that a provider cannot have");
            }
            let value = &source.value()["Providers"][&name];
            self.add_provider(&name, provider, value, source)?;
        }
        self.providers.sort_by_key(|entry| entry.origin);
        let origin = Origin::of(source);
        if let Some(name) = said(section.model)
            && source.passes("Model")
        {
            self.set_usual(&name, origin);
        }
        if let Some(names) = section.fallbacks
            && source.passes("Fallbacks")
        {
            self.fallbacks = names.iter().map(|name| self.whole_name(name, origin)).collect();
        }
        if let Some(currency) = said(section.currency)
            && source.passes("Currency")
        {
            if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                bail!("Currency is three letters, such as EUR");
            }
            self.currency = Some(currency.to_ascii_uppercase());
        }
        if origin == Origin::Project {
            self.warn_of_the_projects_model();
        }
        Ok(())
    }

    /// Adds an editor's options, as [`ModelSettings::add`] adds the user's file. Their keys stay in memory only.
    ///
    /// # Errors
    /// A provider cannot be used.
    pub fn add_editors(&mut self, section: Section, source: &mut Source<'_>) -> anyhow::Result<()> {
        self.add(section, source)?;
        for entry in &mut self.providers {
            if let KeyPlace::Inline(key, path) = &entry.key
                && path == source.path
            {
                entry.key = KeyPlace::Given(key.clone());
            }
        }
        Ok(())
    }

    /// Sets the source of a provider's key.
    pub fn set_key(&mut self, name: &str, key: KeyPlace) {
        if let Some(entry) = self.providers.iter_mut().find(|entry| entry.is_named(name)) {
            entry.key = key;
        }
    }

    /// Adds the provider that `EndPoint` and its key describe.
    fn add_endpoint(&mut self, section: &mut Section, source: &mut Source<'_>) -> anyhow::Result<()> {
        let Some(address) = said(section.end_point.take()) else {
            if section.api_key.is_some() {
                let warning = "ApiKey is not used: it has no EndPoint beside it to be sent to";
                self.warnings.push(warning.to_owned());
            }
            return Ok(());
        };
        let mut value = json!({ "BaseUrl": address });
        for name in ["Wire", "ApiKey", "ApiKeyEnv", "ApiKeyFile"] {
            if let Some(said) = source.value().get(name) {
                value[name] = said.clone();
            }
        }
        let provider = ProviderSection {
            wire: section.wire,
            base_url: Some(address),
            api_key: section.api_key.take(),
            api_key_env: section.api_key_env.take(),
            api_key_file: section.api_key_file.take(),
            ..ProviderSection::default()
        };
        self.add_provider(ENDPOINT, provider, &value, source)
    }

    /// Sets the default model to the one that the user names.
    pub fn choose(&mut self, name: &str) {
        self.set_usual(name, Origin::User);
    }

    /// Chooses a model of the built-in provider with the only key in the environment, if no file names a model or a
    /// provider.
    pub fn choose_by_key(&mut self, is_set: impl Fn(&str) -> bool) {
        let is_built_in = |entry: &ProviderEntry| entry.origin == Origin::BuiltIn;
        if self.source != DefaultSource::Nothing || !self.providers.iter().all(is_built_in) {
            return;
        }
        let mut keys = self.providers.iter().filter_map(|entry| match &entry.key {
            KeyPlace::Variable(variable) if is_set(variable) => Some((&*entry.settings.name, variable)),
            _ => None,
        });
        let (Some((provider, variable)), None) = (keys.next(), keys.next()) else {
            return;
        };
        let first = FIRST_MODELS.iter().find(|(name, _)| *name == provider);
        if let Some((provider, model)) = first {
            let variable = variable.clone();
            self.model = Some(format!("{provider}/{model}"));
            self.source = DefaultSource::Key { variable };
        }
    }

    /// Returns the full name of a model that the user names, with its provider if that is known.
    pub fn meaning(&self, name: &str) -> String {
        match name.trim() {
            name if name.is_empty()
                || name.eq_ignore_ascii_case(OFFLINE)
                || name.eq_ignore_ascii_case("default") =>
            {
                name.to_owned()
            }
            name => self.whole_name(name, Origin::User),
        }
    }

    /// Returns the files that contain keys.
    pub fn key_files(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let files = self.providers.iter().filter_map(|entry| match &entry.key {
            KeyPlace::File(path) => Some(expanded(path, home)),
            KeyPlace::Inline(_, path) => Some(path.clone()),
            KeyPlace::Nowhere
            | KeyPlace::Variable(_)
            | KeyPlace::VariableOr(..)
            | KeyPlace::Given(_)
            | KeyPlace::Unsupported(_)
            | KeyPlace::Withheld => None,
        });
        files.collect()
    }

    fn set_usual(&mut self, name: &str, by: Origin) {
        let name = Some(name.trim()).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("default"));
        self.source = match name {
            Some(_) => DefaultSource::Setting,
            None => DefaultSource::Nothing,
        };
        self.model = name
            .filter(|name| !name.eq_ignore_ascii_case(OFFLINE))
            .map(|name| self.whole_name(name, by));
    }

    /// Warns of the addresses that receive conversations because of the workspace's file.
    fn warn_of_the_projects_model(&mut self) {
        let names = self.model.iter().chain(&self.fallbacks);
        let places = names.filter_map(|name| {
            let (provider, _) = name.split_once('/')?;
            let entry = self
                .providers
                .iter()
                .find(|entry| entry.settings.name == provider)?;
            (entry.origin == Origin::Project).then(|| {
                format!(
                    "The model {name:?} answers at {}, which the workspace's .craft/config.json names",
                    entry.settings.base_url
                )
            })
        });
        let places: Vec<String> = places.collect();
        self.warnings.extend(places);
    }

    /// Returns a name with its provider, if one is known. For a name that the user gives, providers of a project's
    /// file do not count: otherwise the file's author would receive the user's conversations.
    fn whole_name(&self, name: &str, by: Origin) -> String {
        let known = || {
            self.providers
                .iter()
                .filter(|entry| by == Origin::Project || entry.origin != Origin::Project)
        };
        let find = |named: &str| known().find(|entry| entry.is_named(named));
        let has_endpoint = find(ENDPOINT).is_some();
        let in_front = name.split_once('/').and_then(|(provider, _)| find(provider));
        // With an EndPoint, the name of a built-in provider is part of the model's name, as gateways write it.
        if in_front.is_some_and(|entry| !has_endpoint || entry.origin != Origin::BuiltIn) {
            return name.to_owned();
        }
        let lists = |entry: &&ProviderEntry| entry.settings.models.iter().any(|model| model == name);
        let listing = known().find(lists).map(|entry| entry.settings.name.as_str());
        let guess = match name {
            _ if name.contains('/') => None,
            _ if name.starts_with("claude") => Some("anthropic"),
            _ if ["gpt-", "o3", "o4"].iter().any(|start| name.starts_with(start)) => Some("openai"),
            _ => None,
        };
        let provider = listing.or(has_endpoint.then_some(ENDPOINT)).or(guess);
        provider.map_or_else(|| name.to_owned(), |provider| format!("{provider}/{name}"))
    }

    /// Adds a provider. `value` is its JSON in the file.
    fn add_provider(
        &mut self,
        name: &str,
        provider: ProviderSection,
        value: &Value,
        source: &mut Source<'_>,
    ) -> anyhow::Result<()> {
        let known = self.providers.iter().position(|entry| entry.is_named(name));
        let place = if name == ENDPOINT {
            "EndPoint".to_owned()
        } else {
            format!("Providers.{name}")
        };
        if source.is_of_folder() {
            if known.is_some() {
                self.warnings.push(format!(
                    "{place} of the workspace's .craft/config.json is not used: the name is taken, and a project's file \
                     cannot change what it means"
                ));
                return Ok(());
            }
            let address = provider.base_url.as_deref().unwrap_or_default();
            // The entry may also contain a key, so only the address is shown.
            let detail = format!("conversations go to {address}");
            if !source.passes_shown(place.as_str(), value, detail) {
                return Ok(());
            }
        }
        let mut entry = match known {
            Some(known) => self.providers.remove(known),
            None => built_in((name, Wire::ChatCompletions, "", None)),
        };
        let key = if source.is_of_folder() {
            self.warn_of_key(name, &provider);
            Some(KeyPlace::Withheld)
        } else {
            key(&provider, source.path)
        };
        entry.key = key.unwrap_or(entry.key);
        entry.origin = Origin::of(source);
        if provider.display_name.is_some() {
            entry.display_name.clone_from(&provider.display_name);
        }
        change(&mut entry.settings, provider);
        if entry.settings.base_url.is_empty() {
            bail!("{place}.BaseUrl is missing");
        }
        self.providers.push(entry);
        Ok(())
    }

    fn warn_of_key(&mut self, name: &str, provider: &ProviderSection) {
        let members = [
            ("ApiKey", &provider.api_key),
            ("ApiKeyEnv", &provider.api_key_env),
            ("ApiKeyFile", &provider.api_key_file),
        ];
        if let Some((member, _)) = members.into_iter().find(|(_, said)| said.is_some()) {
            self.warnings.push(format!(
                "{member} of {name} in the workspace's .craft/config.json is not used: keys belong in ~/.craft/config.json"
            ));
        }
    }
}

/// Overrides the settings that a file sets.
fn change(settings: &mut ProviderSettings, provider: ProviderSection) {
    fn set<T>(known: &mut T, said: Option<T>) {
        if let Some(said) = said {
            *known = said;
        }
    }
    let seconds = |seconds: u64| Duration::from_secs(seconds.min(MAX_SECONDS));
    set(&mut settings.wire, provider.wire);
    set(&mut settings.base_url, said(provider.base_url));
    set(&mut settings.models, provider.models);
    let headers = provider.headers.map(|headers| headers.into_iter().collect());
    set(&mut settings.headers, headers);
    set(&mut settings.body, provider.body);
    let most = provider.max_output_tokens.map(Some);
    set(&mut settings.max_output_tokens, most);
    set(&mut settings.web_search, provider.web_search);
    set(&mut settings.limits.idle, provider.idle_seconds.map(seconds));
    set(&mut settings.limits.whole, provider.reply_seconds.map(seconds));
    let attempts = provider.attempts.map(|attempts| attempts.min(MAX_ATTEMPTS));
    let attempts = attempts.map(|attempts| u32::try_from(attempts).unwrap_or(u32::MAX));
    set(&mut settings.limits.attempts, attempts);
    settings.facts = provider.facts.or(settings.facts);
    for (name, facts) in provider.model_facts {
        let known = settings.model_facts.entry(name).or_default();
        *known = facts.or(*known);
    }
}

/// Returns the source of a provider's key in the user's file at `path`, if it has one.
fn key(provider: &ProviderSection, path: &Path) -> Option<KeyPlace> {
    let file = said(provider.api_key_file.clone()).map(|file| KeyPlace::File(file.into()));
    let variable = || said(provider.api_key_env.clone()).map(KeyPlace::Variable);
    let inline =
        || said(provider.api_key.clone()).map(|key| KeyPlace::Inline(Key::new(&key), path.to_owned()));
    file.or_else(variable).or_else(inline)
}

/// Returns a text that is not blank; a blank one counts as left out.
fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn built_in((name, wire, base_url, variable): (&str, Wire, &str, Option<&str>)) -> ProviderEntry {
    let settings = ProviderSettings {
        // The real window depends on how the server was started; this is the usual one.
        facts: ModelFacts {
            context_window: (name == "ollama").then_some(OLLAMA_WINDOW),
            price: (name == "ollama").then(Price::default),
            ..ModelFacts::default()
        },
        ..ProviderSettings::new(name, wire, base_url)
    };
    ProviderEntry {
        display_name: None,
        settings,
        key: variable.map_or(KeyPlace::Nowhere, |name| KeyPlace::Variable(name.to_owned())),
        origin: Origin::BuiltIn,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
