//! All models that Turns can use: the offline model, and those of providers.
//!
//! A Thread names a model or uses the default one. Names are `offline`, `PROVIDER/MODEL`, a model that a provider's
//! settings name, a model of the default model's provider, or a model that one provider alone has listed.

use std::collections::HashSet;
use std::sync::Arc;

use bobbin_agent_api::model::{Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink};
use bobbin_agent_api::model_catalog::{DefaultModel, DefaultSource};
use bobbin_model::{ContextWindow, Effort};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use tracing::Instrument as _;

use crate::failing::{Failing, Role};
use crate::listing::{Catalogue, Listed};
use crate::provider::{Ended, Shown};
use crate::request_log::RequestLog;
use crate::{Provider, ProviderError, ProviderSettings};

/// Name of the model that needs no provider.
pub const OFFLINE: &str = "offline";
/// Finished Turns that a provider's model gets; the engine limits their bytes.
const HISTORY_TURNS: u32 = 200;

/// No model has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("There is no model {name:?}. There are {known}; providers are set up in ~/.craft/config.json.")]
pub struct NoSuchModel {
    /// The name.
    pub name: String,
    /// The names that exist.
    pub known: String,
}

/// A model, found by its name.
#[derive(Debug, Clone)]
pub enum Chosen {
    /// The offline model.
    Offline,
    /// A provider's model.
    Provided {
        /// The provider.
        provider: Provider,
        /// The provider's name for the model.
        model: String,
    },
}

/// The models.
#[derive(Debug, Clone)]
pub struct ModelSet {
    /// The model that needs no provider.
    offline: Arc<dyn Model>,
    providers: Arc<[Catalogue]>,
    usual: Option<String>,
    /// The source of the default model, `usual`.
    source: DefaultSource,
    /// Names of the models to try when a provider fails.
    fallbacks: Arc<[String]>,
    /// Models that failed recently; clones of the set share them.
    failing: Arc<Failing>,
    /// The share of a window at which conversations are compacted, in percent; `None` means the default.
    compact_percent: Option<u64>,
    /// The currency of all prices.
    currency: Option<String>,
}

impl ModelSet {
    /// Returns a set. `offline` is the model that needs no provider. `usual` names the default model, for Threads that
    /// name none; `None` means the offline one. A bare name is searched in the providers in order. An unknown default
    /// model is no error here: the Turns that use it fail.
    pub fn new(offline: Arc<dyn Model>, providers: Vec<Provider>, usual: Option<String>) -> Self {
        Self {
            offline,
            providers: providers.into_iter().map(Catalogue::new).collect(),
            source: if usual.is_some() {
                DefaultSource::Setting
            } else {
                DefaultSource::Nothing
            },
            usual,
            fallbacks: Arc::default(),
            failing: Arc::default(),
            compact_percent: None,
            currency: None,
        }
    }

    /// Sets the fallback models, tried in order when the provider of a Thread's model fails before its reply
    /// starts. The Turn gets a note of each change. A model that failed is asked last for a while. Unknown names
    /// are skipped.
    #[must_use]
    pub fn with_fallbacks(mut self, names: Vec<String>) -> Self {
        self.fallbacks = names.into();
        self
    }

    /// Sets the share of a window at which conversations are compacted, in percent.
    #[must_use]
    pub fn compacted_at(mut self, percent: Option<u64>) -> Self {
        self.compact_percent = percent;
        self
    }

    /// Sets the currency of all prices.
    #[must_use]
    pub fn priced_in(mut self, currency: Option<String>) -> Self {
        self.currency = currency;
        self
    }

    /// Returns the currency of all prices, if a setting names it.
    pub fn currency(&self) -> Option<&str> {
        self.currency.as_deref()
    }

    /// Sets the source of the default model.
    #[must_use]
    pub fn chosen_by(mut self, source: DefaultSource) -> Self {
        self.source = source;
        self
    }

    /// Returns the default model with its known facts.
    pub fn default_model(&self) -> DefaultModel {
        let id = self.full_name(self.usual());
        DefaultModel {
            efforts: self.efforts(self.usual()),
            id: id.unwrap_or_else(|| self.usual().to_owned()),
            source: self.source.clone(),
        }
    }

    /// Returns the name of the default model.
    pub fn usual(&self) -> &str {
        self.usual.as_deref().unwrap_or(OFFLINE)
    }

    /// Returns a model's window and its longest reply in tokens, if both are known.
    pub fn limits(&self, model: &str) -> Option<(u64, u64)> {
        match self.choose(Some(model)) {
            Ok(Chosen::Provided { provider, model }) => {
                let settings = provider.settings();
                let window = settings.facts_of(&model).context_window?;
                Some((window, crate::wires::output_limit(settings, &model)?))
            }
            Ok(Chosen::Offline) | Err(_) => None,
        }
    }

    /// Returns the reasoning efforts that a model can be asked for.
    pub fn efforts(&self, model: &str) -> Vec<Effort> {
        match self.choose(Some(model)) {
            Ok(Chosen::Provided { provider, model }) => {
                provider.settings().facts_of(&model).efforts().iter().collect()
            }
            Ok(Chosen::Offline) | Err(_) => Vec::new(),
        }
    }

    /// Returns the full names of the models that are known without a request: those of settings, and those that
    /// providers have listed.
    pub fn known(&self) -> Vec<String> {
        let mut known = self.configured();
        let mut seen: HashSet<String> = known.iter().cloned().collect();
        let offered = |catalogue: &&Catalogue| catalogue.provider.settings().offered;
        for catalogue in self.providers.iter().filter(offered) {
            let provider = &catalogue.provider.settings().name;
            for model in catalogue.last().iter() {
                let name = format!("{provider}/{}", model.id);
                if seen.insert(name.clone()) {
                    known.push(name);
                }
            }
        }
        known
    }

    /// Returns the full name of the model that a name means; `None` if it means none.
    pub fn full_name(&self, name: &str) -> Option<String> {
        match self.find(Some(name)).ok()? {
            Chosen::Offline => Some(OFFLINE.to_owned()),
            Chosen::Provided { provider, model } => Some(format!("{}/{model}", provider.settings().name)),
        }
    }

    /// Returns the settings of the providers whose models are offered to clients.
    pub fn offered(&self) -> impl Iterator<Item = &ProviderSettings> {
        let settings = self
            .providers
            .iter()
            .map(|catalogue| catalogue.provider.settings());
        settings.filter(|settings| settings.offered)
    }

    /// Returns the models of settings: the offline one, the default one, those that providers' settings name.
    fn configured(&self) -> Vec<String> {
        let mut known = vec![OFFLINE.to_owned()];
        let settings = self
            .providers
            .iter()
            .map(|catalogue| catalogue.provider.settings());
        let named = settings.flat_map(|settings| {
            settings
                .models
                .iter()
                .map(|model| format!("{}/{model}", settings.name))
        });
        let usual = self.full_name(self.usual());
        for name in usual.into_iter().chain(named) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        known
    }

    /// Finds a model by its name; `None` means the default one.
    ///
    /// # Errors
    /// No model has that name.
    pub fn choose(&self, name: Option<&str>) -> Result<Chosen, NoSuchModel> {
        self.find(name).map_err(|name| self.unknown(name))
    }

    /// Finds a model by its name. The error is the unknown name.
    fn find<'a>(&'a self, name: Option<&'a str>) -> Result<Chosen, &'a str> {
        let name = name
            .map(str::trim)
            .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("default"));
        let name = name.unwrap_or(self.usual());
        if name.eq_ignore_ascii_case(OFFLINE) {
            return Ok(Chosen::Offline);
        }
        let found = self.at(name).or_else(|| self.bare(name)).or_else(|| {
            let usual = self.usual_provider();
            if usual.is_some_and(|usual| usual.lists(name)) {
                return usual.map(|usual| (&usual.provider, name));
            }
            self.listed(name).or_else(|| {
                // Only the default model's provider can know such a name.
                let usual = usual.filter(|_| !name.contains('/'));
                usual.map(|usual| (&usual.provider, name))
            })
        });
        match found {
            Some((provider, model)) => Ok(Chosen::Provided {
                provider: provider.clone(),
                model: model.to_owned(),
            }),
            None => Err(name),
        }
    }

    /// Splits `PROVIDER/MODEL`.
    fn at<'a>(&self, name: &'a str) -> Option<(&Provider, &'a str)> {
        let (provider, model) = name.split_once('/')?;
        let found = self
            .providers
            .iter()
            .find(|known| known.provider.settings().name.eq_ignore_ascii_case(provider));
        found
            .filter(|_| !model.is_empty())
            .map(|known| (&known.provider, model))
    }

    /// Finds a model that a provider's settings name.
    fn bare<'a>(&self, name: &'a str) -> Option<(&Provider, &'a str)> {
        let found = self
            .providers
            .iter()
            .find(|known| known.provider.settings().models.iter().any(|model| model == name));
        found.map(|known| (&known.provider, name))
    }

    /// Finds a model that one provider alone has listed.
    fn listed<'a>(&self, name: &'a str) -> Option<(&Provider, &'a str)> {
        let mut found = self.providers.iter().filter(|known| known.lists(name));
        match (found.next(), found.next()) {
            (Some(only), None) => Some((&only.provider, name)),
            _ => None,
        }
    }

    /// Finds the provider that the default model's name names.
    fn usual_provider(&self) -> Option<&Catalogue> {
        let (name, _) = self.usual().split_once('/')?;
        let is_usual = |known: &&Catalogue| known.provider.settings().name.eq_ignore_ascii_case(name);
        self.providers.iter().find(is_usual)
    }

    fn unknown(&self, name: &str) -> NoSuchModel {
        let mut known: Vec<String> = self.configured();
        known.extend(
            self.providers
                .iter()
                .map(|known| format!("{}/…", known.provider.settings().name)),
        );
        NoSuchModel {
            name: name.to_owned(),
            known: known.join(", "),
        }
    }

    /// Asks all offered providers for their models at once. A provider that fails is left out, unless all of them
    /// fail.
    ///
    /// # Errors
    /// The first provider's failure.
    pub async fn list(&self) -> Result<Vec<Listed>, ProviderError> {
        let offered = |catalogue: &&Catalogue| catalogue.provider.settings().offered;
        let offered: Vec<&Catalogue> = self.providers.iter().filter(offered).collect();
        let answers = join_all(offered.iter().map(|catalogue| catalogue.list())).await;
        let mut models = vec![Listed {
            id: OFFLINE.to_owned(),
            owned_by: "bobbin".to_owned(),
            created_at_ms: 0,
        }];
        let mut failure = None;
        let mut answered = offered.is_empty();
        for (catalogue, answer) in offered.iter().zip(answers) {
            let name = &catalogue.provider.settings().name;
            match answer {
                Ok(listed) => {
                    answered = true;
                    models.extend(listed.iter().map(|model| Listed {
                        id: format!("{name}/{}", model.id),
                        ..model.clone()
                    }));
                }
                Err(error) => {
                    tracing::warn!(provider = name, %error, "cannot list a provider's models");
                    failure.get_or_insert(error);
                }
            }
        }
        // A provider need not list the default model; Threads use it all the same.
        if let Some(id) = self.full_name(self.usual())
            && models.iter().all(|model| model.id != id)
        {
            models.push(Listed {
                id,
                owned_by: String::new(),
                created_at_ms: 0,
            });
        }
        match failure {
            Some(error) if !answered => Err(error),
            _ => Ok(models),
        }
    }

    async fn answer(
        &self,
        request: ModelRequest<'_>,
        sink: &mut dyn ModelSink,
    ) -> Result<ModelReply, ModelError> {
        let chosen = self
            .choose(request.model)
            .map_err(|unknown| ModelError::Failed(unknown.to_string()))?;
        let wanted = request.model.unwrap_or(self.usual()).to_owned();
        let mut order = self.order(&wanted, chosen);
        let (name, mut chosen) = order.remove(0);
        if name != wanted && request.is_first {
            // If it failed in this Turn, the Turn already has a note of that.
            let text = format!("The model {wanted:?} failed a moment ago. Going on with {name:?}.");
            sink.event(fallback(text)).await?;
        }
        let mut passed = name == wanted;
        let mut others = order.into_iter();
        loop {
            let (provider, model) = match &chosen {
                Chosen::Offline => {
                    let mut log = RequestLog::new(OFFLINE, OFFLINE, &mut *sink);
                    let span = log.span();
                    let reply = self.offline.respond(request, &mut log).instrument(span).await;
                    log.ended(reply.as_ref().ok());
                    return reply;
                }
                Chosen::Provided { provider, model } => (provider, model),
            };
            let place = &provider.settings().name;
            let mut log = RequestLog::new(place, model, &mut *sink);
            let span = log.span();
            let reply = provider.reply(model, request, &mut log).instrument(span).await;
            log.ended(reply.as_ref().ok());
            let error = match reply {
                Ok(reply) => {
                    self.failing.answered(place, model);
                    return Ok(reply);
                }
                // A fallback's refusal of the request is not final: another model may accept it.
                Err(Ended::Provider(error, Shown::Nothing)) => error,
                Err(ended) => return Err(ended.into()),
            };
            if error.is_the_providers() || error.is_of_settings() {
                self.failing.note(place, model, &error);
            }
            if passed && !error.is_the_providers() {
                return Err(error.into());
            }
            let Some((name, other)) = others.next() else {
                return Err(error.into());
            };
            passed |= name == wanted;
            sink.event(fallback(format!("{error} Going on with {name:?}.")))
                .await?;
            chosen = other;
        }
    }

    /// Returns the models to ask, in order: the wanted one, its fallbacks, and last those that failed recently.
    /// Never empty.
    fn order(&self, wanted: &str, chosen: Chosen) -> Vec<(String, Chosen)> {
        let mut order = vec![(wanted.to_owned(), chosen)];
        for name in self.fallbacks.iter() {
            if let Ok(other) = self.choose(Some(name))
                && !order.iter().any(|(_, known)| known.is(&other))
            {
                order.push((name.clone(), other));
            }
        }
        order.sort_by_cached_key(|(name, chosen)| {
            let role = if name == wanted {
                Role::Chosen
            } else {
                Role::Fallback
            };
            match chosen {
                Chosen::Offline => false,
                Chosen::Provided { provider, model } => {
                    self.failing.has(&provider.settings().name, model, role)
                }
            }
        });
        order
    }
}

/// Returns the note that another model answers.
fn fallback(text: String) -> ModelEvent {
    ModelEvent::Note {
        code: "model_fallback",
        text,
    }
}

impl Chosen {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Offline, Self::Offline) => true,
            (
                Self::Provided { provider, model },
                Self::Provided {
                    provider: other,
                    model: same,
                },
            ) => same == model && other.settings().name == provider.settings().name,
            _ => false,
        }
    }
}

impl Model for ModelSet {
    fn history_turns(&self, model: Option<&str>) -> u32 {
        match self.choose(model) {
            Ok(Chosen::Provided { .. }) => HISTORY_TURNS,
            Ok(Chosen::Offline) | Err(_) => self.offline.history_turns(model),
        }
    }

    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        match self.choose(model) {
            Ok(Chosen::Provided { provider, model }) => {
                let window = provider.settings().facts_of(&model).window();
                Some(ContextWindow::of(window, self.compact_percent))
            }
            Ok(Chosen::Offline) | Err(_) => None,
        }
    }

    fn sees_pictures(&self, model: Option<&str>) -> bool {
        match self.choose(model) {
            Ok(Chosen::Provided { provider, model }) => provider.settings().facts_of(&model).sees_images(),
            Ok(Chosen::Offline) | Err(_) => false,
        }
    }

    fn is_offline(&self, model: Option<&str>) -> bool {
        matches!(self.choose(model), Ok(Chosen::Offline))
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.answer(request, sink).boxed()
    }
}
