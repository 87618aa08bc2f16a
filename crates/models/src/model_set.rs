//! All models that Turns can be run with: the built-in one, and those of providers.
//!
//! A Thread names one, or takes the usual one. Names are `offline`, `PROVIDER/MODEL`, a model that a provider's
//! settings name, or a model of the provider of the usual model.

use std::sync::Arc;

use bobbin_agent_api::model::{Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink};
use bobbin_model::ContextWindow;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};

use crate::failing::Failing;
use crate::listing::{Catalogue, Listed};
use crate::provider::{Ended, Shown};
use crate::{Provider, ProviderError};

/// Name of the model that needs no provider.
pub const OFFLINE: &str = "offline";
/// Finished Turns that a provider's model is shown; the engine bounds their bytes.
const HISTORY_TURNS: u32 = 200;

/// Why a name means no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("There is no model {name:?}. There are {known}; providers are set up in ~/.craft/config.json.")]
pub struct NoSuchModel {
    /// The name.
    pub name: String,
    /// What there is instead.
    pub known: String,
}

/// A model that was found.
#[derive(Debug, Clone)]
pub enum Chosen {
    /// The built-in one.
    Offline,
    /// One of a provider.
    Provided {
        /// The provider.
        provider: Provider,
        /// Its name of the model.
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
    /// Names of the models to go on with when a provider fails.
    fallbacks: Arc<[String]>,
    /// Models that have failed a moment ago; clones of the set share them.
    failing: Arc<Failing>,
    /// At which share of a window conversations are compacted, in percent; none means the usual point.
    compact_percent: Option<u64>,
}

impl ModelSet {
    /// Returns a set. `offline` is the model that needs no provider; `usual` is the name of the model for Threads that name none, `None` the offline one. A
    /// bare name among several providers is looked for in their order. A usual model that nobody has is no
    /// error here: its Turns say so.
    pub fn new(offline: Arc<dyn Model>, providers: Vec<Provider>, usual: Option<String>) -> Self {
        Self {
            offline,
            providers: providers.into_iter().map(Catalogue::new).collect(),
            usual,
            fallbacks: Arc::default(),
            failing: Arc::default(),
            compact_percent: None,
        }
    }

    /// Sets the models that answer instead, in order, when the provider of a Thread's model fails before it has
    /// said anything. Each change is noted in the Turn. A model that has failed is asked last for a while. A name that nobody
    /// has is passed over.
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

    /// Returns the name of the usual model.
    pub fn usual(&self) -> &str {
        self.usual.as_deref().unwrap_or(OFFLINE)
    }

    /// Returns a model's window and the tokens of its longest reply, where both are known.
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

    /// Returns the models that can be named without asking anybody: the offline one, the usual one, those of
    /// settings.
    pub fn known(&self) -> Vec<String> {
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
        let usual = self.usual.iter().filter(|name| self.at(name).is_some());
        for name in usual.cloned().chain(named) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        known
    }

    /// Finds a model by its name; nothing means the usual one.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn choose(&self, name: Option<&str>) -> Result<Chosen, NoSuchModel> {
        let name = name
            .map(str::trim)
            .filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("default"));
        let name = name.unwrap_or(self.usual());
        if name.eq_ignore_ascii_case(OFFLINE) {
            return Ok(Chosen::Offline);
        }
        let found = self.at(name).or_else(|| self.bare(name)).or_else(|| {
            // A name that only its provider can know.
            let (usual, _) = self.at(self.usual())?;
            (!name.contains('/')).then_some((usual, name))
        });
        match found {
            Some((provider, model)) => Ok(Chosen::Provided {
                provider: provider.clone(),
                model: model.to_owned(),
            }),
            None => Err(self.unknown(name)),
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

    /// Finds a model that settings name.
    fn bare<'a>(&self, name: &'a str) -> Option<(&Provider, &'a str)> {
        let found = self
            .providers
            .iter()
            .find(|known| known.provider.settings().models.iter().any(|model| model == name));
        found.map(|known| (&known.provider, name))
    }

    fn unknown(&self, name: &str) -> NoSuchModel {
        let mut known: Vec<String> = self.known();
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

    /// Asks the offered providers for their models, all at once. A provider that fails is left out,
    /// unless all of them do.
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
        let mut order = self.order(wanted.clone(), chosen);
        let (name, mut chosen) = order.remove(0);
        if name != wanted && request.begins {
            // Where it failed in the same Turn, that was told then.
            let text = format!("The model {wanted:?} failed a moment ago. Going on with {name:?}.");
            sink.event(fallback(text)).await?;
        }
        let mut passed = name == wanted;
        let mut others = order.into_iter();
        loop {
            let (provider, model) = match &chosen {
                Chosen::Offline => return self.offline.respond(request, sink).await,
                Chosen::Provided { provider, model } => (provider, model),
            };
            let place = &provider.settings().name;
            let error = match provider.reply(model, request, sink).await {
                Ok(reply) => {
                    self.failing.answered(place, model);
                    return Ok(reply);
                }
                // What one that only stands in says of a request is not the last word on it.
                Err(Ended::Provider(error, Shown::Nothing)) if !passed || error.is_the_providers() => error,
                Err(ended) => return Err(ended.into()),
            };
            if error.is_the_providers() {
                self.failing.note(place, model, &error);
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

    /// Returns the models to ask, one after the other: the wanted one and its fallbacks, and last of all those that have failed a
    /// moment ago. There is always one.
    fn order(&self, wanted: String, chosen: Chosen) -> Vec<(String, Chosen)> {
        let mut order = vec![(wanted, chosen)];
        for name in self.fallbacks.iter() {
            if let Ok(other) = self.choose(Some(name))
                && !order.iter().any(|(_, known)| known.is(&other))
            {
                order.push((name.clone(), other));
            }
        }
        order.sort_by_cached_key(|(_, chosen)| match chosen {
            Chosen::Offline => false,
            Chosen::Provided { provider, model } => self.failing.has(&provider.settings().name, model),
        });
        order
    }
}

/// A note that another model answers.
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
