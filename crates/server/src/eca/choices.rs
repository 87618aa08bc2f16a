//! The configured models, for editors to choose from.

use bobbin_agent_api::model::Model;
use bobbin_editor_kit::{EditorModels, KeyStatus, Limit};
use bobbin_model::Effort;
use bobbin_models::CurrentModels;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Offers the current models.
pub(super) struct Choices(pub(super) CurrentModels);

impl EditorModels for Choices {
    fn known(&self) -> Vec<String> {
        self.0.get().known()
    }

    fn usual(&self) -> String {
        let models = self.0.get();
        let usual = models.usual();
        models.full_name(usual).unwrap_or_else(|| usual.to_owned())
    }

    fn find(&self, name: &str) -> Option<String> {
        self.0.get().full_name(name)
    }

    fn efforts(&self, name: &str) -> Vec<Effort> {
        self.0.get().efforts(name)
    }

    fn sees_pictures(&self, name: &str) -> bool {
        Model::sees_pictures(&self.0, Some(name))
    }

    fn providers(&self) -> Vec<(String, KeyStatus)> {
        let models = self.0.get();
        let offered = models.offered().map(|settings| {
            let key = match (&settings.key, settings.needs_key) {
                (Some(_), _) => KeyStatus::Configured,
                (None, true) => KeyStatus::Missing,
                (None, false) => KeyStatus::NotNeeded,
            };
            (settings.name.clone(), key)
        });
        offered.collect()
    }

    fn currency(&self) -> Option<String> {
        self.0.get().currency().map(str::to_owned)
    }

    fn limit(&self, name: &str) -> Option<Limit> {
        let (context, output) = self.0.get().limits(name)?;
        Some(Limit { context, output })
    }

    fn refresh(&self) -> BoxFuture<'_, ()> {
        async move {
            // A provider that does not answer is asked again later. The log has the reason.
            if let Err(error) = self.0.get().list().await {
                tracing::debug!(%error, "no provider has listed its models");
            }
        }
        .boxed()
    }
}
