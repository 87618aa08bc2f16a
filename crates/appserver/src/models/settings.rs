//! What the configuration files say of models. Pure but for the name of the file a key stands in.
//!
//! ```json
//! { "Model": "anthropic/claude-sonnet-4-5",
//!   "Providers": {
//!     "anthropic": { "ApiKeyFile": "~/.craft/anthropic.key" },
//!     "local": { "Wire": "chat", "BaseUrl": "http://127.0.0.1:8080/v1", "Models": ["qwen"] } } }
//! ```
//!
//! `Model`, `EndPoint` and `ApiKey` alone are the form that the protocol's clients write; they are a provider named
//! `endpoint`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use bobbin_models::{Key, Limits, ModelFacts, OFFLINE, Price, Wire};
use serde_json::{Map, Value};

use super::facts;
use super::keys::{KeyPlace, below};
use crate::config::{at, strangers};
use crate::trust::Gate;

/// Name of the provider that `EndPoint` is.
const ENDPOINT: &str = "endpoint";
/// What a provider's object may have.
const NAMES: [&str; 16] = [
    "Wire",
    "BaseUrl",
    "ApiKey",
    "ApiKeyEnv",
    "ApiKeyFile",
    "Headers",
    "Models",
    "MaxOutputTokens",
    "Body",
    "IdleSeconds",
    "ReplySeconds",
    "Attempts",
    "ContextWindow",
    "Images",
    "Price",
    "ModelFacts",
];
/// Providers that need no setting up: name, wire, address, variable of the key.
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
/// Window of a model that a server on this machine runs, when nobody says.
const OLLAMA_WINDOW: u64 = 32_768;
/// Most fallbacks; each may take its time.
const MAX_FALLBACKS: usize = 8;
/// Most providers in a file; far more than anybody has.
const MAX_PROVIDERS: usize = 64;
/// Longest wait that can be asked for: a week.
const MAX_SECONDS: u64 = 7 * 24 * 3600;

/// The models' part of a configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelSettings {
    /// The usual model, as `PROVIDER/MODEL` where that is known; none means offline.
    pub(crate) model: Option<String>,
    /// Models to go on with when a provider fails.
    pub(super) fallbacks: Vec<String>,
    /// Those of the files first, then the built-in ones.
    pub(super) providers: Vec<ProviderEntry>,
    /// Sentences for the user.
    pub(crate) warnings: Vec<String>,
}

/// One provider.
#[derive(Debug, Clone)]
pub(super) struct ProviderEntry {
    pub(super) name: String,
    pub(super) wire: Wire,
    pub(super) base_url: String,
    pub(super) models: Vec<String>,
    pub(super) key: KeyPlace,
    pub(super) headers: Vec<(String, String)>,
    pub(super) max_output_tokens: Option<u64>,
    pub(super) body: Map<String, Value>,
    pub(super) limits: Limits,
    pub(super) facts: ModelFacts,
    pub(super) model_facts: BTreeMap<String, ModelFacts>,
    /// Who speaks of it.
    pub(super) origin: Origin,
}

/// Where a provider is from; earlier ones are looked through first for a bare name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    User,
    Project,
    /// No file speaks of it.
    BuiltIn,
}

/// Whose file it is.
enum Author<'a> {
    /// The user's, at a path.
    User(&'a Path),
    Project,
}

impl ModelSettings {
    /// Reads both files' values; the user's with its path. `gate` is that of the project's file.
    ///
    /// # Errors
    /// A value is not one of those possible.
    pub(crate) fn read(
        user: Option<(&Path, &Value)>,
        project: Option<&Value>,
        gate: &mut Gate<'_>,
    ) -> anyhow::Result<Self> {
        let mut settings = Self::default();
        for name in BUILT_IN {
            settings.providers.push(built_in(name));
        }
        if let Some((path, value)) = user {
            settings.take_providers(value, &Author::User(path), gate)?;
        }
        if let Some(value) = project {
            settings.take_providers(value, &Author::Project, gate)?;
        }
        settings.providers.sort_by_key(|entry| entry.origin);
        let files = [
            project.map(|value| (value, Origin::Project)),
            user.map(|(_, value)| (value, Origin::User)),
        ];
        let files = files.into_iter().flatten();
        let mut chosen = None;
        for (value, origin) in files.clone() {
            if let Some(name) = text(value, "Model")?
                && passes(gate, origin, value, "Model")
            {
                chosen = Some((name, origin));
                break;
            }
        }
        if let Some((name, origin)) = chosen {
            settings.set_usual(&name, origin);
        }
        let mut fallbacks = None;
        for (value, origin) in files {
            if let Some(names) = at(value, "Fallbacks")
                && passes(gate, origin, value, "Fallbacks")
            {
                fallbacks = Some((names, origin));
                break;
            }
        }
        if let Some((names, origin)) = fallbacks {
            let names = names.as_array().filter(|names| names.len() <= MAX_FALLBACKS);
            let names =
                names.with_context(|| format!("Fallbacks is not a list of at most {MAX_FALLBACKS} names"))?;
            let names = names
                .iter()
                .map(|name| Some(settings.whole_name(name.as_str()?, origin)));
            settings.fallbacks = names
                .collect::<Option<_>>()
                .context("Fallbacks is not a list of names")?;
        }
        settings.warn_of_the_projects_model();
        Ok(settings)
    }

    /// Makes a model that the user names the usual one.
    pub(crate) fn choose(&mut self, name: &str) {
        self.set_usual(name, Origin::User);
    }

    /// Returns what a name that the user gives means, with its provider where one can be told.
    pub(crate) fn meaning(&self, name: &str) -> String {
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

    /// Returns the files that keys stand in.
    pub(crate) fn key_files(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let files = self.providers.iter().filter_map(|entry| match &entry.key {
            KeyPlace::File(path) => Some(below(path, home)),
            KeyPlace::Inline(_, path) => Some(path.clone()),
            KeyPlace::Nowhere | KeyPlace::Variable(_) | KeyPlace::Withheld => None,
        });
        files.collect()
    }

    fn set_usual(&mut self, name: &str, by: Origin) {
        let name = Some(name.trim()).filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("default"));
        self.model = name
            .filter(|name| !name.eq_ignore_ascii_case(OFFLINE))
            .map(|name| self.whole_name(name, by));
    }

    /// Says where a conversation goes that a workspace's file sends somewhere.
    fn warn_of_the_projects_model(&mut self) {
        let names = self.model.iter().chain(&self.fallbacks);
        let places = names.filter_map(|name| {
            let (provider, _) = name.split_once('/')?;
            let entry = self.providers.iter().find(|entry| entry.name == provider)?;
            (entry.origin == Origin::Project).then(|| {
                format!(
                    "The model {name:?} answers at {}, which the workspace's .craft/config.json names",
                    entry.base_url
                )
            })
        });
        let places: Vec<String> = places.collect();
        self.warnings.extend(places);
    }

    /// Returns a name with its provider, where one can be told. What a project's file brings has no part in what a
    /// name of the user's means: whoever wrote it would be sent the user's conversations.
    fn whole_name(&self, name: &str, by: Origin) -> String {
        let known = || {
            self.providers
                .iter()
                .filter(|entry| by == Origin::Project || entry.origin != Origin::Project)
        };
        let find = |named: &str| known().find(|entry| entry.name.eq_ignore_ascii_case(named));
        let has_endpoint = find(ENDPOINT).is_some();
        let in_front = name.split_once('/').and_then(|(provider, _)| find(provider));
        // Behind an EndPoint a built-in name is part of the model's: gateways name models so.
        if in_front.is_some_and(|entry| !has_endpoint || entry.origin != Origin::BuiltIn) {
            return name.to_owned();
        }
        let lists = |entry: &&ProviderEntry| entry.models.iter().any(|model| model == name);
        let listing = known().find(lists).map(|entry| entry.name.as_str());
        let guess = match name {
            _ if name.contains('/') => None,
            _ if name.starts_with("claude") => Some("anthropic"),
            _ if ["gpt-", "o3", "o4"].iter().any(|start| name.starts_with(start)) => Some("openai"),
            _ => None,
        };
        let provider = listing.or(has_endpoint.then_some(ENDPOINT)).or(guess);
        provider.map_or_else(|| name.to_owned(), |provider| format!("{provider}/{name}"))
    }

    fn take_providers(
        &mut self,
        value: &Value,
        author: &Author<'_>,
        gate: &mut Gate<'_>,
    ) -> anyhow::Result<()> {
        if let Some(address) = text(value, "EndPoint")? {
            let flat = ["Wire", "ApiKey", "ApiKeyEnv", "ApiKeyFile"];
            let mut object: Map<String, Value> = flat
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), at(value, name)?.clone())))
                .collect();
            object.insert("BaseUrl".to_owned(), address.into());
            self.take(ENDPOINT, &object, author, gate)?;
        } else if at(value, "ApiKey").is_some() {
            self.warnings
                .push("ApiKey is not used: it has no EndPoint beside it to be sent to".to_owned());
        }
        let providers = match at(value, "Providers") {
            None | Some(Value::Null) => return Ok(()),
            Some(Value::Object(providers)) if providers.len() <= MAX_PROVIDERS => providers,
            Some(_) => bail!("Providers is not an object of at most {MAX_PROVIDERS} providers"),
        };
        for (name, value) in providers {
            let place = format!("Providers.{name}");
            let object = value
                .as_object()
                .with_context(|| format!("{place} is not an object"))?;
            if name.is_empty()
                || name.contains('/')
                || name.eq_ignore_ascii_case(OFFLINE)
                || name.eq_ignore_ascii_case(ENDPOINT)
            {
                bail!("{place} has a name that a provider cannot have");
            }
            self.warnings.extend(strangers(&place, object, &NAMES));
            self.take(name, object, author, gate).with_context(|| place)?;
        }
        Ok(())
    }

    fn take(
        &mut self,
        name: &str,
        object: &Map<String, Value>,
        author: &Author<'_>,
        gate: &mut Gate<'_>,
    ) -> anyhow::Result<()> {
        let known = self
            .providers
            .iter()
            .position(|entry| entry.name.eq_ignore_ascii_case(name));
        let place = if name == ENDPOINT {
            "EndPoint".to_owned()
        } else {
            format!("Providers.{name}")
        };
        let base = match (author, known) {
            (Author::User(_), Some(known)) => Some(self.providers.remove(known)),
            (Author::User(_) | Author::Project, None) => None,
            (Author::Project, Some(_)) => {
                self.warnings.push(format!(
                    "{place} of the workspace's .craft/config.json is not used: the name is taken, \
                     and a project's file cannot change what it means"
                ));
                return Ok(());
            }
        };
        if matches!(author, Author::Project) {
            let whole = Value::Object(object.clone());
            let address = at(&whole, "BaseUrl").and_then(Value::as_str).unwrap_or_default();
            // A key may stand beside the address.
            if !gate.passes_shown(place, &whole, format!("conversations go to {address}")) {
                return Ok(());
            }
        }
        let (entry, warnings) = entry(name, object, base, author)?;
        self.warnings.extend(warnings);
        self.providers.push(entry);
        Ok(())
    }
}

fn built_in((name, wire, base_url, variable): (&str, Wire, &str, Option<&str>)) -> ProviderEntry {
    ProviderEntry {
        name: name.to_owned(),
        wire,
        base_url: base_url.to_owned(),
        models: Vec::new(),
        key: variable.map_or(KeyPlace::Nowhere, |name| KeyPlace::Variable(name.to_owned())),
        headers: Vec::new(),
        max_output_tokens: None,
        body: Map::new(),
        limits: Limits::default(),
        // What a server on one's own machine has is what it was started with; this is what it has as a rule.
        facts: ModelFacts {
            context_window: (name == "ollama").then_some(OLLAMA_WINDOW),
            price: (name == "ollama").then(Price::default),
            ..ModelFacts::default()
        },
        model_facts: BTreeMap::new(),
        origin: Origin::BuiltIn,
    }
}

/// Whether a value of one file counts.
fn passes(gate: &mut Gate<'_>, origin: Origin, value: &Value, name: &str) -> bool {
    origin != Origin::Project || at(value, name).is_some_and(|value| gate.passes(name, value))
}

/// Reads one provider's object over what is known of it.
fn entry(
    name: &str,
    object: &Map<String, Value>,
    base: Option<ProviderEntry>,
    author: &Author<'_>,
) -> anyhow::Result<(ProviderEntry, Vec<String>)> {
    let value = Value::Object(object.clone());
    let said = |member: &str| text(&value, member);
    let mut entry = match base {
        Some(base) => base,
        None => built_in((name, Wire::ChatCompletions, "", None)),
    };
    entry.origin = match author {
        Author::User(_) => Origin::User,
        Author::Project => Origin::Project,
    };
    if let Some(wire) = said("Wire")? {
        entry.wire = match wire.to_ascii_lowercase().as_str() {
            "chat" | "chatcompletions" => Wire::ChatCompletions,
            "responses" => Wire::Responses,
            "messages" | "anthropic" => Wire::Messages,
            _ => bail!("Wire is {wire:?}; it can be chat, responses or messages"),
        };
    }
    if let Some(address) = said("BaseUrl")? {
        entry.base_url = address;
    }
    if entry.base_url.is_empty() {
        bail!("BaseUrl is missing");
    }
    let (key, warning) = key(name, &value, author)?;
    entry.key = key.unwrap_or(entry.key);
    if let Some(models) = at(&value, "Models") {
        let models = models.as_array().context("Models is not a list")?;
        let names = models.iter().map(|model| model.as_str().map(str::to_owned));
        entry.models = names
            .collect::<Option<_>>()
            .context("Models is not a list of names")?;
    }
    if let Some(headers) = at(&value, "Headers") {
        let headers = headers.as_object().context("Headers is not an object")?;
        let pairs = headers
            .iter()
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        // What stands there may be a secret and is not repeated.
        entry.headers = pairs
            .collect::<Option<_>>()
            .context("Headers has a value that is no text")?;
    }
    if let Some(body) = at(&value, "Body") {
        entry
            .body
            .clone_from(body.as_object().context("Body is not an object")?);
    }
    entry.max_output_tokens = number(&value, "MaxOutputTokens")?.or(entry.max_output_tokens);
    if let Some(seconds) = number(&value, "IdleSeconds")? {
        entry.limits.idle = Duration::from_secs(seconds.min(MAX_SECONDS));
    }
    if let Some(seconds) = number(&value, "ReplySeconds")? {
        entry.limits.whole = Duration::from_secs(seconds.min(MAX_SECONDS));
    }
    if let Some(attempts) = number(&value, "Attempts")? {
        entry.limits.attempts = u32::try_from(attempts).unwrap_or(u32::MAX).min(10);
    }
    entry.facts = facts::read(&value, entry.facts)?;
    let mut warnings: Vec<String> = warning.into_iter().collect();
    if let Some(models) = at(&value, "ModelFacts") {
        let models = models.as_object().context("ModelFacts is not an object")?;
        let place = format!("Providers.{name}");
        warnings.extend(facts::read_models(&place, models, &mut entry.model_facts)?);
    }
    Ok((entry, warnings))
}

/// Returns where the key is to come from, if this object says so.
fn key(name: &str, value: &Value, author: &Author<'_>) -> anyhow::Result<(Option<KeyPlace>, Option<String>)> {
    let said = |member: &str| text(value, member);
    let Author::User(path) = author else {
        let named = ["ApiKey", "ApiKeyEnv", "ApiKeyFile"]
            .into_iter()
            .find(|member| at(value, member).is_some());
        let warning = named.map(|member| {
            format!("{member} of {name} in the workspace's .craft/config.json is not used: keys belong in ~/.craft/config.json")
        });
        return Ok((Some(KeyPlace::Withheld), warning));
    };
    let inline = said("ApiKey")?.map(|key| KeyPlace::Inline(Key::new(&key), (*path).to_owned()));
    let file = said("ApiKeyFile")?.map(|file| KeyPlace::File(file.into()));
    let variable = said("ApiKeyEnv")?.map(KeyPlace::Variable);
    Ok((file.or(variable).or(inline), None))
}

/// Returns a text; blank and `null` are as good as absent. What is no text may be a secret and is not repeated.
fn text(value: &Value, path: &str) -> anyhow::Result<Option<String>> {
    match at(value, path) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.trim().is_empty())),
        Some(_) => bail!("{path} is not text"),
    }
}

fn number(value: &Value, name: &str) -> anyhow::Result<Option<u64>> {
    match crate::config::number(value, name)? {
        Some(0) => bail!("{name} is 0"),
        number => Ok(number),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
